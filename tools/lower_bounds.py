"""Prints pip constraints that hold every dependency at its lower bound, for the wheel test."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def constraints(pyproject: Path) -> list[str]:
    dependencies = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    matches = (
        re.match(r"([\w-]+)>=([\w.]+)[^;]*(;.*)?", dependency) for dependency in dependencies
    )
    return [f"{match[1]}=={match[2]}{match[3] or ''}" for match in matches if match]


if __name__ == "__main__":
    print("\n".join(constraints(Path(__file__).resolve().parent.parent / "pyproject.toml")))
