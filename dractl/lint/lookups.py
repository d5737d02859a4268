"""What an expression looks up in a device, read from its text, so that it need not compile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dractl.lint.run import Expression

STANDARD_DOMAIN: Final = "resource.kubernetes.io"
STANDARD: Final = ("pcieRoot", "pciBusID", "numaNode")
"""The attributes that Kubernetes defines: k8s.io/dynamic-resource-allocation/deviceattribute; numaNode: KEP-6072."""

_QUOTED = r"""(?:"([^"\\\n]*)"|'([^'\\\n]*)')"""
_LOOKUP = (
    rf"\bdevice\s*\.\s*(attributes|capacity)\s*\[\s*\??\s*{_QUOTED}\s*\]"
    rf"(?:\s*(?:\.\s*\??\s*([A-Za-z_]\w*)(?!\w*\s*\()|\[\s*\??\s*{_QUOTED}\s*\]))?"
)
_DRIVER = r"""\s*device\.driver\s*==\s*["']([^"']+)["']\s*(?:&&(?!.*\|\|)|\Z)"""
_LIKE_STANDARD = re.compile("kube|k8s|netes|resou")


class Lookup(NamedTuple):
    """``device.attributes["domain"].name``: what, and where domain and name stand in the text (code points).

    ``name`` is None where the domain's map is used for something else (``"model" in device.attributes["domain"]``).
    """

    kind: str
    domain: str
    domain_start: int
    name: str | None
    name_start: int


def lookups(expression: str) -> Iterator[Lookup]:
    """Every lookup whose domain is a literal; comments of CEL are left out."""
    if "device" not in expression:
        return
    text = _without_comments(expression)
    for match in re.finditer(_LOOKUP, text):
        domain = 2 if match[2] is not None else 3
        name = next((group for group in (4, 5, 6) if match[group] is not None), None)
        yield Lookup(
            match[1],
            match[domain],
            match.start(domain),
            match[name] if name else None,
            match.start(name) if name else match.end(),
        )


def driver_of(selectors: Iterable[Expression]) -> str | None:
    """The driver that every device of a class has, where a selector begins with ``device.driver == "..."``."""
    matches = (re.match(_DRIVER, selector.text, re.DOTALL) for selector in selectors)
    return next((match[1] for match in matches if match), None)


def spot(expression: str, name: str = "") -> tuple[int, int]:
    """The part of an expression to point at: the lookup of ``name``, else the first lookup, else its first line."""
    named = [item for item in lookups(expression) if item.name is not None]
    for item in [item for item in named if item.name == name] or named:
        return item.name_start, item.name_start + len(item.name or "")
    return 0, len(expression.partition("\n")[0])


def literal_arguments(function: str, expression: str) -> Iterator[tuple[str, int, str]]:
    """Each call of a function whose first argument is a plain text: (text, where it starts, what follows it)."""
    if function not in expression:
        return
    text = _without_comments(expression)
    for match in re.finditer(rf"(?<![\w.]){function}\s*\(\s*{_QUOTED}\s*([,)])", text):
        group = 1 if match[1] is not None else 2
        yield match[group], match.start(group), text[match.start(3) :]


def _without_comments(text: str) -> str:
    """``// ...`` blanked out, so that the places stay the same; a quoted ``//`` is no comment."""
    if "//" not in text:
        return text
    return re.sub(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*""", lambda m: m[1] or " " * len(m[0]), text)


def meant_standard(domain: str, name: str) -> str | None:
    """The standard attribute that a name was certainly or probably meant to be; None if it is one, or is another's."""
    if (domain == STANDARD_DOMAIN and name in STANDARD) or not _LIKE_STANDARD.search(domain.lower()):
        return None
    from difflib import SequenceMatcher

    from dractl.model.nearest import nearest

    if domain == STANDARD_DOMAIN:
        near = nearest(name, STANDARD)
        return f"{domain}/{near}" if near else None
    alike = SequenceMatcher(None, domain.lower()[:80], STANDARD_DOMAIN).ratio() > 0.85
    if not (alike or domain.lower() in ("resource.k8s.io", "kubernetes.io", "k8s.io", "resources.kubernetes.io")):
        return None
    near = nearest(name, STANDARD, alike=0.8)
    return f"{STANDARD_DOMAIN}/{near}" if near else None
