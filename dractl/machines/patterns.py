"""Patterns of the machines that are known by name: ``all``, a vendor, ``p5*``.

A pattern has the wildcards of a shell: ``*``, ``?`` and ``[...]``. Digits behind the only ``*`` are
a number of nodes: ``p5.48xlarge*2``.
"""

import os
import re
from fnmatch import fnmatchcase

from dractl.errors import UsageError
from dractl.machines import described, names
from dractl.machines.spec import is_file
from dractl.model.nearest import nearest_names
from dractl.program import program_name

ALL = "all"
VENDORS = {
    "aws": "Amazon EC2",
    "azure": "Azure",
    "dell": "Dell",
    "gcp": "Google Cloud",
    "ibm": "IBM Cloud",
    "nvidia": "NVIDIA",
    "oracle": "Oracle Cloud",
}
"""The words for vendors, and how the titles of their machines begin."""

_WILDCARD = re.compile(r"[*?\[]")
_COUNTED = re.compile(r"[^*?\[]+\*[0-9]+\Z")
_LEAST_SIMILAR = 0.5
_LEAST_COMMON = 2  # the fewest characters that a near name shares with a pattern
_MAX_NEAR = 3


def expand(text: str) -> list[str]:
    """Replace the patterns in a list of machines by the machines that match.

    Items between patterns stay unchanged. Raises UsageError for a pattern that nothing matches, and
    for a setting behind a pattern.
    """
    if os.path.isfile(text):
        return [text]
    values: list[str] = []
    plain: list[str] = []
    pattern = ""
    for item in filter(None, (part.strip() for part in text.split(","))):
        if _is_pattern(item):
            values += [",".join(plain)] if plain else []
            values += _match(item)
            plain, pattern = [], item
            continue
        if pattern and not plain and "=" in item:
            raise UsageError(
                f"--hardware: {item} follows {pattern}, which matches several machines",
                hint=f"write the machines one by one, each with {item}",
            )
        plain.append(item)
    return [*values, ",".join(plain)] if plain or not values else values


def _is_pattern(item: str) -> bool:
    word = item.lower()
    if word == ALL or word in VENDORS:
        return True
    return bool(_WILDCARD.search(item)) and not (
        "=" in item or _COUNTED.match(item) or is_file(item)
    )


def _match(pattern: str) -> list[str]:
    """Return the machines that match a pattern. Raises UsageError if there are none."""
    word = pattern.lower()
    if word == ALL:
        return list(names.every())
    if word in VENDORS:
        return [name for name in names.every() if _is_made_by(name, VENDORS[word])]
    machines = [name for name in names.every() if fnmatchcase(name.lower(), word)]
    if not machines:
        near = _find_near(word)
        raise UsageError(
            f"--hardware: no machine matches {pattern!r}"
            + (f"; the nearest are {', '.join(near)}" if near else ""),
            hint=f"{ALL}, a vendor ({', '.join(VENDORS)}), or a pattern of the names that"
            f" `{program_name()} render --list-hardware` prints",
        )
    return machines


def _is_made_by(name: str, vendor: str) -> bool:
    return described.load(name).title.startswith(vendor)


def _find_near(pattern: str) -> list[str]:
    """Return names that begin with the longest text between the wildcards, or resemble it."""
    longest = max(re.split(r"[*?]+|\[[^\]]*\]?", pattern), key=len)
    for length in range(len(longest), _LEAST_COMMON - 1, -1):
        family = dict.fromkeys(names.names_with_prefix(longest[:length]))
        if family:
            return list(family)[:_MAX_NEAR]
    return nearest_names(longest, names.every(), _LEAST_SIMILAR) if longest else []
