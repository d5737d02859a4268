"""The README's pictures, drawn from examples/: ``python tools/make_pictures.py``. A test compares them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
NODE = ["discover", "--from", "examples/discover/node.json", "-o", "svg"]
EXPLAIN = ["explain", "examples/explain", "--color", "always"]

# Rich's own frame asks a content delivery network for a font.
FRAME = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"><style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; }}
{styles}
</style><defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}"/></clipPath>{lines}</defs>
<rect fill="#0d1117" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


def printed(words: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "dractl", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ends with {done.returncode}")
    return done.stdout


def terminal(words: list[str]) -> str:
    """What a command prints on a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    shown = " ".join(word for word in words if word not in ("--color", "always"))
    console = Console(record=True, width=100, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.from_ansi(f"$ dractl {shown}\n{printed(words)}"))
    return console.export_svg(title="", code_format=FRAME, unique_id="dractl")


def main() -> None:
    (PICTURES / "node.svg").write_text(printed(NODE), encoding="utf-8")
    (PICTURES / "explain.svg").write_text(terminal(EXPLAIN), encoding="utf-8")


if __name__ == "__main__":
    main()
