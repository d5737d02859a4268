"""Keeps the pack of facts.

tools/facts.py format        one row a line, in every file of dractl/facts/data
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "dractl" / "facts" / "data"


_WIDE = 200


def written(value: Any, indent: int = 0) -> str:
    """A value of the pack: a row on one line where it has room, the outer levels on a line each."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (indent > 1 and len(line) + indent <= _WIDE):
        return line
    if isinstance(value, list):
        if not any(isinstance(item, dict | list) for item in value):
            return (
                line if indent > 1 else _block([json.dumps(item, ensure_ascii=False) for item in value], "[]", indent)
            )
        return _block([written(item, indent + 1) for item in value], "[]", indent)
    return _block([f"{json.dumps(key)}: {written(item, indent + 1)}" for key, item in value.items()], "{}", indent)


def _block(lines: list[str], brackets: str, indent: int) -> str:
    inner = " " * (indent + 1)
    return brackets[0] + "\n" + ",\n".join(inner + line for line in lines) + "\n" + " " * indent + brackets[1]


def main(arguments: list[str]) -> int:
    if arguments == ["format"]:
        for path in sorted(DATA.rglob("*.json")):
            path.write_text(written(json.loads(path.read_text(encoding="utf-8"))) + "\n", encoding="utf-8")
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
