"""Writes ``completions/``: the scripts that ``dractl completion SHELL`` prints.

``--check`` only reports whether they are up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from typer.completion import get_completion_script

from dractl.cli.commands.completion import SHELLS, file_name

# zsh runs a file on its fpath when the first word is completed: that has to be answered as well.
_REGISTER = "compdef _dractl_completion dractl"
_ANSWER_OR_REGISTER = f"""\
if [[ $funcstack[1] == _dractl ]]; then
  _dractl_completion
else
  {_REGISTER}
fi"""

FOLDER = Path(__file__).resolve().parent.parent / "completions"


def script(shell: str) -> str:
    text = get_completion_script(
        prog_name="dractl", complete_var="_DRACTL_COMPLETE", shell=shell
    ).strip()
    return text.replace(_REGISTER, _ANSWER_OR_REGISTER) + "\n"


def main() -> int:
    stale = [
        s
        for s in SHELLS
        if not (path := FOLDER / file_name(s)).exists() or path.read_text() != script(s)
    ]
    if "--check" in sys.argv[1:]:
        for shell in stale:
            print(
                f"completions/{file_name(shell)} is not up to date: run python "
                "tools/make_completions.py"
            )
        return bool(stale)
    for shell in stale:
        (FOLDER / file_name(shell)).write_text(script(shell))
    return 0


if __name__ == "__main__":
    sys.exit(main())
