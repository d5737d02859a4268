"""Hints for violations whose message, the API server's own, does not contain one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.errors import UsageError
from dractl.model import Version
from dractl.model.releases import RELEASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.cel import Issue, Program
    from dractl.manifests import Document
    from dractl.model import Target
    from dractl.validation.violation import Violation

_QUANTITY = "kubernetes.Quantity"
_OF_REQUESTS = ("adminAccess", "allocationMode", "capacity", "count", "deviceClassName", "selectors", "tolerations")
_DEVICE = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_GATES = ("DRAConsumableCapacity", "DRAListTypeAttributes")  # they add to what selectors may say


def hint(document: Document, violation: Violation, target: Target) -> str | None:
    """One sentence for some of the rules; None for the others."""
    match violation.rule:
        case "wrong-type" if violation.path[-1:] == ("cel",) and violation.meant:
            return "write cel: {expression: ...}"
        case "unknown-field" | "wrong-type" if violation.path[-2:] in (("limits", "claims"), ("requests", "claims")):
            return "claims belongs next to limits and requests, not in them"
        case "wrong-type" if violation.path[-3:-1] == ("resources", "claims"):
            name = document.at(violation.path)
            return f"write {{name: {name}}}" if isinstance(name, str) else None
        case "PC-09" if not violation.nearest:
            where = "pod or defaultPodOptions" if "controllers" in violation.path else "the pod's spec"
            return f"list it under resourceClaims of {where}, with its resourceClaimTemplateName or resourceClaimName"
        case "unknown-field" if violation.path[-2:-1] == ("devices",) and violation.path[-1] in _OF_REQUESTS:
            return f"{violation.path[-1]} belongs in requests[].exactly"
        case "unknown-field" if violation.path[-3:-2] == ("resourceClaims",):
            if violation.path[-1] == "deviceClassName":
                return "a pod names a claim or a template, which in turn names the class"
        case "RC-13" | "DC-04":
            written = document.at(violation.path)
            return _compiling(written, violation.issues, target) if isinstance(written, str) else None
        case "RC-14" | "DC-05":
            return _cost(document.at(violation.path), target)
        case "RC-24" if "multiple fields" in violation.message:  # what the API server says where neither is set
            return "the constraint has neither: name the attribute that the devices must share"
        case "RS-11":
            return "since 1.35 they belong in two slices of one pool, both with resourceSliceCount: 2"
        case "RS-32" if "must reference a" in violation.message:
            return "in 1.34, sharedCounters belong in the slice of the devices that consume them"
        case "RS-12" if "at most 64" in violation.message:
            return "128 are only allowed if no device has taints, consumes counters or has list attributes"
        case "RS-20":
            return _version(document.at(violation.path))
        case "PC-10" if isinstance(name := document.at(violation.path), str) and "/" in name:
            return f"name the request, {name.partition('/')[0]}: that includes whichever alternative was chosen"
    return None


def help_of(program: Program, target: Target) -> str | None:
    """A hint for an expression that an API server of ``target`` rejects."""
    if program.admission == "tooComplex":
        return _cost(program.text, target)
    return _compiling(program.text, program.issues, target) if program.issues else None


def _version(written: object) -> str:
    try:
        return f"write {Version.parse_tolerant(written if isinstance(written, str) else '').text}"
    except ValueError:
        return "a version has three numbers without leading zeros: 550.8.1"


def _compiling(written: str, issues: Sequence[Issue], target: Target) -> str | None:
    if any(issue.is_assignment for issue in issues):
        return "use == to compare values"
    operands = next((issue.operands for issue in issues if issue.operands), None)
    if operands:
        for side in (operands.left, operands.right):
            if side.startswith("map("):
                return _name_one(side)
        if operands.left == operands.right == _QUANTITY:
            return f"compare quantities with a.compareTo(b) {operands.operator} 0, or with isGreaterThan and isLessThan"
        if _QUANTITY in (operands.left, operands.right):
            return f'a capacity is a quantity: write a.compareTo(quantity("10Gi")) {operands.operator} 0'
    output = next((issue.output for issue in issues if issue.output), "")
    if output.startswith("map("):
        return _name_one(output)
    undeclared = next((issue.undeclared for issue in issues if issue.undeclared or issue.undefined), None)
    if undeclared in _DEVICE:
        return f"write device.{undeclared}"
    later = _later(written, target)
    if later is None and undeclared is None and any(issue.undefined for issue in issues):
        return f"a device has {', '.join(_DEVICE[:3])}"
    if later is None and undeclared and f"{undeclared}(" not in written:
        return f'put strings in quotes: "{undeclared}"; the only variable is device'
    return later


def _cost(written: object, target: Target) -> str:
    if isinstance(written, str) and "!=" in written:
        from dractl.cel import environment  # not for files without selectors

        with_equal = environment(target, "new").compile(written.replace("!=", "=="))
        if with_equal.admission == "ok":
            return "the estimate for != between quantities is unbounded: write !(a == b)"
    return "the estimate assumes lists and strings of maximum length: avoid loops (all, exists) inside loops"


def _name_one(kind: str) -> str:
    what, name = ("capacity", "memory") if _QUANTITY in kind else ("attributes", "model")
    return f'this is the map of all {what} in a domain: name one, as in device.{what}["gpu.example.com"].{name}'


def _later(written: str, target: Target) -> str | None:
    """The gate or the release with which the expression compiles."""

    def compiles(release: str, **gates: bool) -> bool:
        try:
            from dractl.cel import environment  # not for files without selectors

            return environment(target.of(release, gates), "new").compile(written).ok
        except UsageError:
            return False  # the release does not have the gate

    for release in RELEASES[RELEASES.index(target.release) :]:
        if release != target.release and compiles(release):
            return f"Kubernetes {release} and later accept it"
        for gate in _GATES:
            if compiles(release, **{gate: True}):
                return f"Kubernetes {release} accepts it if the feature gate {gate} is on"
    return None
