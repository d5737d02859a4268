"""Placeholders: scalars that another tool fills in before the API server sees them, and that can be
any value.

``${APP}`` (envsubst, Flux, Terraform), ``$(APP)`` (Kubernetes, kustomize), ``__APP__`` (sed),
``<app>`` (a person), ``{{ app }}`` in quotes (Jinja, Helm).
"""

import re

from dractl.manifests import Document
from dractl.validation.violation import Path, Violation

_PLACEHOLDER = (
    r"(?s)\$\{[^{}]*\}|\$\([A-Za-z_][\w.-]*\)|\(\$[A-Za-z_][\w.]*\)|__[A-Z][A-Z0-9_]*__"
    r"|<[A-Za-z_][\w. -]*>|\{\{.*?\}\}"
)
_FLUX_VARIABLE = r"\$\{[^{}]*\}"
_FOR_HANDS = r"<[A-Za-z_][\w. -]*>\Z"


def holds_placeholder(value: object) -> bool:
    """Return True if a scalar has a placeholder in it."""
    if not isinstance(value, str):
        return False
    marked = "$" in value or "__" in value or "<" in value or "{{" in value
    return marked and re.search(_PLACEHOLDER, value) is not None


def may_become(text: str, name: str) -> bool:
    """Return True if a text with a placeholder of Flux can become a name: ``${APP}-gpu`` becomes
    jellyfin-gpu.
    """
    parts = re.split(_FLUX_VARIABLE, text)
    pattern = "[a-z0-9.-]*".join(map(re.escape, parts))
    return len(parts) > 1 and bool("".join(parts)) and re.fullmatch(pattern, name) is not None


def is_for_hands(value: object) -> bool:
    """Return True if a scalar is a placeholder that no tool substitutes:
    ``<resource-claim-template-name>``.
    """
    return isinstance(value, str) and re.match(_FOR_HANDS, value) is not None


def depends(document: Document, violation: Violation) -> bool:
    """Return True if a violation may vanish once the placeholder is filled in."""
    if any(holds_placeholder(step) for step in violation.path):
        return True
    value = document.at(violation.path)
    if holds_placeholder(violation.path[-1] if violation.key and violation.path else value):
        return True
    # The violation is about a whole map, such as "one of a and b".
    if isinstance(value, dict | list) and not violation.key:
        inside = value.values() if isinstance(value, dict) else value
        if any(holds_placeholder(item) for item in inside):
            return True
    # A name is looked up among other names, and if one of these has a placeholder, it may become
    # the missing name.
    return any(holds_placeholder(name) for name in violation.allowed)


def hides(document: Document, path: Path, span: tuple[int, int] | None) -> bool:
    """Return True if the scalar at ``path``, or the part of it in ``span``, has a placeholder in
    it.
    """
    value = document.at(path)
    if not isinstance(value, str) or span is None:
        return holds_placeholder(value)
    start, end = span
    return any(
        match.start() < end and start < match.end() for match in re.finditer(_PLACEHOLDER, value)
    )
