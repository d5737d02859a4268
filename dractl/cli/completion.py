"""``dractl completion SHELL``: the script that a shell loads; and the candidates for kubectl's plug-in completion."""

from __future__ import annotations

import sys
from typing import Annotated

from dractl.cli.options import Argument

SHELLS = ("bash", "zsh", "fish", "powershell")


def command(
    shell: Annotated[str, Argument(metavar="bash|zsh|fish|powershell", help="Shell to print the script for.")],
) -> None:
    """Print the completion script of a shell.

    Load it once, for example: `source <(dractl completion bash)`, `dractl completion fish | source`. For `kubectl dra`,
    kubectl finds the program kubectl_complete-dra by itself.
    """
    from dractl.cli.common import choose
    from dractl.resources import data_dir

    choose("SHELL", shell, SHELLS)
    sys.stdout.write((data_dir("completions") / file_name(shell)).read_text(encoding="utf-8"))


def file_name(shell: str) -> str:
    """The file in ``completions/`` with the script of ``shell``."""
    return {"bash": "dractl.bash", "zsh": "_dractl", "fish": "dractl.fish", "powershell": "dractl.ps1"}[shell]


def candidates(words: list[str], incomplete: str) -> list[str]:
    """Candidates after ``words`` (without the program's name): names that begin with ``incomplete``."""
    from dractl.cli.app import command_line

    group = command_line()
    context = group.make_context("dractl", list(words), resilient_parsing=True)
    command = group
    if words:
        found = group.get_command(context, words[0])
        if found is None:
            return []
        command = found  # type: ignore[assignment]
    names: list[str] = []
    if command is group and not incomplete.startswith("-"):
        names = group.list_commands(context)
    elif incomplete.startswith("-"):
        names = [name for option in command.get_params(context) for name in option.opts if name.startswith("--")]
    return sorted(name for name in names if name.startswith(incomplete))
