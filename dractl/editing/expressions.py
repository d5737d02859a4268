"""What is being written in a device selector, judged by the text before a position alone."""

from __future__ import annotations

import re

from dractl.records import NamedTuple

_MAP = r"""device\.(?P<kind>attributes|capacity)\s*\[\s*\??\s*"""
_LOOKUP = _MAP + r"""(?P<quote>["'])(?P<domain>[^"']*)(?P=quote)\s*\]\s*\.\s*\??\s*(?P<name>\w*)"""
_COMPARED = r"""(?:\.orValue\([^()]*\))?\s*(?:==|!=|in\s*\[[^\]]*?)\s*(?P<open>["'])(?P<value>[^"']*)"""

LOOKUP = re.compile(_LOOKUP)
"""A whole lookup: the kind, the domain and the name."""

_DOMAIN = re.compile(_MAP + r"""["'](?P<value>[^"'\]]*)\Z""")
_NAME = re.compile(_LOOKUP + r"\Z")
_VALUE = re.compile(_LOOKUP + _COMPARED + r"\Z")
_DRIVER = re.compile(r"device\.driver" + _COMPARED + r"\Z")
_MEMBER = re.compile(r"\bdevice\.(?P<value>\w*)\Z")

MEMBERS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
"""Fields of ``device`` (staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go)."""


class Wanted(NamedTuple):
    """What belongs at a position.

    ``what`` is ``member``, ``domain``, ``name``, ``value`` or ``driver``; ``word`` is the part of it that is written;
    ``kind``, ``domain`` and ``name`` are those of the lookup.
    """

    what: str
    word: str
    kind: str = ""
    domain: str = ""
    name: str = ""


def wanted(before: str) -> Wanted | None:
    """What belongs behind a text; None where nothing is known."""
    before = plain(before)
    if match := _DOMAIN.search(before):
        return Wanted("domain", match["value"], match["kind"])
    if match := _NAME.search(before):
        return Wanted("name", match["name"], match["kind"], match["domain"].strip())
    if match := _VALUE.search(before):
        return Wanted("value", match["value"], match["kind"], match["domain"].strip(), match["name"])
    if match := _DRIVER.search(before):
        return Wanted("driver", match["value"])
    if match := _MEMBER.search(before):
        return Wanted("member", match["value"])
    return None


def plain(text: str) -> str:
    """CEL in a double-quoted YAML string, with the escaped quotes as spaces and quotes, so that columns stay."""
    return text.replace('\\"', ' "')
