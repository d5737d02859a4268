"""Print the next free code of each range of lint rules. A code never gets another meaning."""

from __future__ import annotations

import re
from pathlib import Path

RULES = Path(__file__).resolve().parent.parent / "dractl" / "lint" / "rules"
RANGES = {
    "claims and templates, dractl's own advice": range(150, 199),
    "classes": range(200, 300),
    "slices": range(300, 400),
    "pods and workloads": range(400, 500),
    "the rest of the API": range(500, 600),
    "CEL": range(600, 700),
    "accepted but never satisfied": range(700, 750),
    "accepted, tried on devices": range(750, 760),
    "accepted, refused by a consumer of claims": range(760, 800),
    "releases and gates": range(800, 900),
    "ignores, configuration and style": range(900, 1000),
}


def codes() -> set[int]:
    """Return the numbers of all rules."""
    matches = (re.match(r"dra(\d{3})", path.name, re.IGNORECASE) for path in RULES.rglob("*"))
    return {int(match[1]) for match in matches if match}


def next_code(numbers: range, taken: set[int]) -> int:
    """Return the number after the highest one of a range; in a full range, the lowest free one."""
    after = max((number + 1 for number in taken if number in numbers), default=numbers.start)
    return after if after in numbers else min(set(numbers) - taken)


if __name__ == "__main__":
    for about, numbers in RANGES.items():
        print(f"DRA{next_code(numbers, codes())}  {about}")
