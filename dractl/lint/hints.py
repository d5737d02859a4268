"""Hints for violations, since the API server's messages contain none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.standard import qualify
from dractl.model import Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.cel import Issue
    from dractl.manifests import Document
    from dractl.model import Target
    from dractl.validation.violation import Violation

_REQUEST_FIELDS = (
    "adminAccess",
    "allocationMode",
    "capacity",
    "count",
    "deviceClassName",
    "selectors",
    "tolerations",
)


def hint(document: Document, violation: Violation, target: Target) -> str | None:
    """Return a hint for a violation; None if there is none for its rule."""
    match violation.rule:
        case "unknown-field" | "wrong-type":
            return _hint_for_field(document, violation)
        case "RC-13" | "DC-04" | "RC-14" | "DC-05":
            return _hint_for_expression(document, violation, target)
        case rule if rule.startswith("RS-"):
            return _hint_for_slice(document, violation)
    return _hint_for_reference(document, violation)


def _hint_for_field(document: Document, violation: Violation) -> str | None:
    """Return a hint for a field in the wrong place, or of the wrong type."""
    path = violation.path
    is_unknown = violation.rule == "unknown-field"
    if not is_unknown and path[-1:] == ("cel",) and violation.meant:
        return "write cel: {expression: ...}"
    if path[-2:] in (("limits", "claims"), ("requests", "claims")):
        return "claims belongs next to limits and requests, not in them"
    if not is_unknown and path[-3:-1] == ("resources", "claims"):
        name = document.at(path)
        return f"write {{name: {name}}}" if isinstance(name, str) else None
    if is_unknown and path[-2:-1] == ("devices",) and path[-1] in _REQUEST_FIELDS:
        return f"{path[-1]} belongs in requests[].exactly"
    if is_unknown and path[-3:-2] == ("resourceClaims",) and path[-1] == "deviceClassName":
        return "a pod names a claim or a template, which in turn names the class"
    return None


def _hint_for_expression(document: Document, violation: Violation, target: Target) -> str | None:
    # Files without selectors need no CEL.
    from dractl.lint.cel_hints import hint_for_cost, hint_for_issues

    written = document.at(violation.path)
    if violation.rule in ("RC-14", "DC-05"):
        return hint_for_cost(written, target)
    return hint_for_issues(written, violation.issues, target) if isinstance(written, str) else None


def _hint_for_slice(document: Document, violation: Violation) -> str | None:
    match violation.rule:
        case "RS-11":
            return (
                "since 1.35 they belong in two slices of one pool, both with resourceSliceCount: 2"
            )
        case "RS-32" if "must reference a" in violation.message:
            return "in 1.34, sharedCounters belong in the slice of the devices that consume them"
        case "RS-12" if "at most 64" in violation.message:
            return (
                "128 are only allowed if no device has taints, consumes counters or has list "
                "attributes"
            )
        case "RS-20":
            return _version(document.at(violation.path))
    return None


def _hint_for_reference(document: Document, violation: Violation) -> str | None:
    """Return a hint on the object that a claim, a pod or a namespace has to name."""
    match violation.rule:
        case "PC-09" if not violation.nearest:
            list_place = (
                "pod or defaultPodOptions" if "controllers" in violation.path else "the pod's spec"
            )
            return (
                f"list it under resourceClaims of {list_place}, with its resourceClaimTemplateName "
                "or resourceClaimName"
            )
        case "PC-10" if isinstance(name := document.at(violation.path), str) and "/" in name:
            return (
                f"name the request, {name.partition('/')[0]}: that includes whichever alternative "
                "was chosen"
            )
        case "RC-19" if document.namespace:
            label = violation.message.partition("`")[2].partition(":")[0]
            return f'add {label}: "true" to metadata.labels of the Namespace {document.namespace}'
        case "RC-22" | "RC-23" if meant := qualify(document.at(violation.path)):
            return f"did you mean {meant}?"
        case "RC-24" if "multiple fields" in violation.message:
            # The API server says "multiple fields" even if neither field is set.
            return "the constraint has neither: name the attribute that the devices must share"
    return None


def rewrite(written: str, issues: Sequence[Issue]) -> tuple[tuple[int, int, str], ...]:
    """Return the parts of an expression that the hint replaces: start, end and the new text."""
    # Files without selectors need no CEL.
    from dractl.lint.cel_hints import rewrite

    return rewrite(written, issues)


def _version(written: object) -> str:
    try:
        return f"write {Version.parse_tolerant(written if isinstance(written, str) else '').text}"
    except ValueError:
        return "a version has three numbers without leading zeros: 550.8.1"
