"""The rules that offer a fix, and the releases that report their examples: ``rules/table.json``,
which ``tools/make_rule_table.py`` makes by linting the example of each page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from dractl.model.releases import PREVIEWS, RELEASES

TABLE: Final = Path(__file__).parent / "rules" / "table.json"
FIRST_RELEASE: Final = "1.34"
"""The first release that serves resource.k8s.io/v1, in which the examples are written."""


class RuleRow(Struct, frozen=True):
    """The result of linting the example on a rule's page."""

    fix: Literal["safe", "unsafe", ""] = ""
    """``safe`` if ``--fix`` applies it, ``unsafe`` if ``--unsafe-fixes`` does, and empty without a
    fix.
    """
    releases: tuple[str, ...] = ()
    """The releases that report it with their default gates; empty for all."""

    @property
    def period(self) -> str:
        """The releases as a phrase: ``1.36 and later``."""
        if not self.releases:
            return "all"
        releases = [one for one in RELEASES if one >= FIRST_RELEASE and one not in PREVIEWS]
        first, last = self.releases[0], self.releases[-1]
        if list(self.releases) != releases[releases.index(first) : releases.index(last) + 1]:
            return ", ".join(self.releases)
        if last == releases[-1]:
            return f"{first} and later"
        return f"up to {last}" if first == releases[0] else f"{first} to {last}"


@cache
def rule_table() -> Mapping[str, RuleRow]:
    """Return the rows by code; a rule whose page has no example has no row."""
    return msgspec.convert(json.loads(TABLE.read_bytes()), dict[str, RuleRow])
