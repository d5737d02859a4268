"""Hints for violations whose message, the API server's own, does not contain one."""

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
    """Return a sentence for some of the rules; None for the others."""
    match violation.rule:
        case "wrong-type" if violation.path[-1:] == ("cel",) and violation.meant:
            return "write cel: {expression: ...}"
        case "unknown-field" | "wrong-type" if violation.path[-2:] in (
            ("limits", "claims"),
            ("requests", "claims"),
        ):
            return "claims belongs next to limits and requests, not in them"
        case "wrong-type" if violation.path[-3:-1] == ("resources", "claims"):
            name = document.at(violation.path)
            return f"write {{name: {name}}}" if isinstance(name, str) else None
        case "PC-09" if not violation.nearest:
            list_place = (
                "pod or defaultPodOptions" if "controllers" in violation.path else "the pod's spec"
            )
            return (
                f"list it under resourceClaims of {list_place}, with its resourceClaimTemplateName "
                "or resourceClaimName"
            )
        case "unknown-field" if (
            violation.path[-2:-1] == ("devices",) and violation.path[-1] in _REQUEST_FIELDS
        ):
            return f"{violation.path[-1]} belongs in requests[].exactly"
        case "unknown-field" if violation.path[-3:-2] == ("resourceClaims",):
            if violation.path[-1] == "deviceClassName":
                return "a pod names a claim or a template, which in turn names the class"
        case "RC-13" | "DC-04":
            from dractl.lint.cel_hints import hint_for_issues  # not for files without selectors

            written = document.at(violation.path)
            return (
                hint_for_issues(written, violation.issues, target)
                if isinstance(written, str)
                else None
            )
        case "RC-14" | "DC-05":
            from dractl.lint.cel_hints import hint_for_cost

            return hint_for_cost(document.at(violation.path), target)
        case "RC-19" if document.namespace:
            label = violation.message.partition("`")[2].partition(":")[0]
            return f'add {label}: "true" to metadata.labels of the Namespace {document.namespace}'
        case "RC-22" | "RC-23" if meant := qualify(document.at(violation.path)):
            return f"did you mean {meant}?"
        case "RC-24" if (
            "multiple fields" in violation.message
        ):  # what the API server says where neither is set
            return "the constraint has neither: name the attribute that the devices must share"
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
        case "PC-10" if isinstance(name := document.at(violation.path), str) and "/" in name:
            return (
                f"name the request, {name.partition('/')[0]}: that includes whichever alternative "
                "was chosen"
            )
    return None


def rewrite(written: str, issues: Sequence[Issue]) -> tuple[tuple[int, int, str], ...]:
    """Return the parts of an expression that the hint replaces: start, end and the new text."""
    from dractl.lint.cel_hints import rewrite  # not for files without selectors

    return rewrite(written, issues)


def _version(written: object) -> str:
    try:
        return f"write {Version.parse_tolerant(written if isinstance(written, str) else '').text}"
    except ValueError:
        return "a version has three numbers without leading zeros: 550.8.1"
