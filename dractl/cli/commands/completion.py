"""``dractl completion SHELL``: the script that a shell loads."""

import sys
from typing import Annotated

from typer import Argument

from dractl.cli import completing
from dractl.cli.common import choose
from dractl.resources import data_dir

SHELLS = ("bash", "zsh", "fish", "powershell")


def command(
    shell: Annotated[
        str,
        Argument(
            metavar="bash|zsh|fish|powershell",
            help="Shell to print the script for.",
            autocompletion=completing.offer_words(*SHELLS),
        ),
    ],
) -> None:
    """Print the completion script of a shell.

    Load it once, for example: `source <(dractl completion bash)`, `dractl completion fish |
    source`. For `kubectl dra`, kubectl finds the program kubectl_complete-dra by itself.
    """
    choose("SHELL", shell, SHELLS)
    sys.stdout.write((data_dir("completions") / file_name(shell)).read_text(encoding="utf-8"))


def file_name(shell: str) -> str:
    """Return the name of a shell's script in ``completions/``."""
    return {
        "bash": "dractl.bash",
        "zsh": "_dractl",
        "fish": "dractl.fish",
        "powershell": "dractl.ps1",
    }[shell]
