"""Node selectors of slices, devices, allocated claims and pods.

k8s.io/component-helpers/scheduling/corev1/nodeaffinity and NodeMatches in
k8s.io/dynamic-resource-allocation/structured/internal/*/pools_*.go.
"""

import re
from collections.abc import Mapping

from dractl.model import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_INTEGER = re.compile(r"[+-]?0*(?P<digits>[0-9]+)")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


class SelectorFault(ValueError):
    """A node selector that cannot be parsed. The text is upstream's, except where upstream prints a
    whole object.
    """


def node_matches(
    node: Node, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Return True if a slice or device with these three fields is for the node; the first of the
    fields that is set decides.

    Raises SelectorFault for a selector that cannot be parsed.
    """
    if node_name:
        return node.metadata.name == node_name
    if all_nodes:
        return True
    if selector is None:
        return False
    return selector_matches(selector, node)


def selector_matches(selector: NodeSelector, node: Node) -> bool:
    """Return True if any term matches the node's labels and fields; an empty term matches nothing.

    Raises SelectorFault for a selector that cannot be parsed.
    """
    terms = [t for t in selector.node_selector_terms if t.match_expressions or t.match_fields]
    faults = [
        fault
        for index, term in enumerate(selector.node_selector_terms)
        for fault in _faults(term, f"nodeSelectorTerms[{index}]")
    ]
    if faults:
        text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        raise SelectorFault(f"failed to parse node selector {_go_string(selector)}: {text}")
    return any(_term_matches(term, node.metadata.name, node.metadata.labels) for term in terms)


def matches_some_term(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Return True if any term that can be parsed matches a node; other terms match nothing.

    This is how the scheduler reads the node affinity of pods (nodeaffinity.go
    LazyErrorNodeSelector).
    """
    return any(
        _term_matches(term, name, labels)
        for term in selector.node_selector_terms
        if (term.match_expressions or term.match_fields) and not _faults(term, "")
    )


def _term_matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not all(label_matches(requirement, labels) for requirement in term.match_expressions):
        return False
    return not name or all(_field_matches(requirement, name) for requirement in term.match_fields)


def label_matches(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Return True if labels meet a requirement (apimachinery/pkg/labels Requirement.Matches)."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            if requirement.operator not in ("Gt", "Lt") or len(requirement.values) != 1:
                return False
            number, bound = _int64(value), _int64(requirement.values[0])
            if number is None or bound is None:
                return False
            return number > bound if requirement.operator == "Gt" else number < bound


def _int64(text: str | None) -> int | None:
    """Parse an integer like Go's strconv.ParseInt(text, 10, 64); None for an error."""
    match = _INTEGER.fullmatch(text or "")
    if match is None or len(match["digits"]) > 19:
        return None
    number = int(match["digits"]) * (-1 if text and text[0] == "-" else 1)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _field_matches(requirement: NodeSelectorRequirement, name: str) -> bool:
    value = name if requirement.key == "metadata.name" else ""
    return (value == requirement.values[0]) == (requirement.operator == "In")


def _faults(term: NodeSelectorTerm, path: str) -> list[str]:
    faults = []
    for index, requirement in enumerate(term.match_expressions):
        fault = _label_fault(requirement, f"{path}.matchExpressions[{index}]")
        if fault:
            faults.append(fault)
    for index, requirement in enumerate(term.match_fields):
        place = f"{path}.matchFields[{index}]"
        if requirement.operator not in _FIELD_OPERATORS:
            faults.append(_not_supported(place, requirement.operator, _FIELD_OPERATORS))
        elif len(requirement.values) != 1:
            faults.append(
                f"{place}.values: Invalid value: {_list(requirement.values)}: must have one element"
            )
    return faults


def _label_fault(requirement: NodeSelectorRequirement, path: str) -> str | None:
    operator, values = requirement.operator, requirement.values
    place = f"{path}.values"
    if operator not in _LABEL_OPERATORS:
        return _not_supported(path, operator, _LABEL_OPERATORS)
    if operator in {"In", "NotIn"} and not values:
        return (
            f"{place}: Invalid value: {_list(values)}: for 'in', 'notin' operators, values set"
            " can't be empty"
        )
    if operator in {"Exists", "DoesNotExist"} and values:
        return (
            f"{place}: Invalid value: {_list(values)}: values set must be empty for exists and does"
            " not exist"
        )
    if operator in {"Gt", "Lt"}:
        if len(values) != 1:
            return (
                f"{place}: Invalid value: {_list(values)}: for 'Gt', 'Lt' operators, exactly one"
                " value is required"
            )
        if _int64(values[0]) is None:
            return (
                f"{place}[0]: Invalid value: \"{values[0]}\": for 'Gt', 'Lt' operators, the value"
                " must be an integer"
            )
    return None


def _not_supported(path: str, operator: str, allowed: tuple[str, ...]) -> str:
    supported = ", ".join(f'"{name}"' for name in sorted(allowed))
    return f'{path}.operator: Unsupported value: "{operator}": supported values: {supported}'


def _list(values: tuple[str, ...]) -> str:
    return "[" + ",".join(f'"{value}"' for value in values) + "]" if values else "null"


def _go_string(selector: NodeSelector) -> str:
    """Return the object as Go's generated String prints it."""

    def requirements(items: tuple[NodeSelectorRequirement, ...]) -> str:
        inner = "".join(
            f"NodeSelectorRequirement{{Key:{r.key},Operator:{r.operator},"
            f"Values:[{' '.join(r.values)}],}},"
            for r in items
        )
        return f"[]NodeSelectorRequirement{{{inner}}}"

    terms = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{requirements(t.match_expressions)},"
        f"MatchFields:{requirements(t.match_fields)},}},"
        for t in selector.node_selector_terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"
