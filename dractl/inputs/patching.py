"""Patches of kustomizations for objects whose lists have no merge keys: custom resources, and
objects of resource.k8s.io, which kustomize's schema does not know either.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.model.paths import at

_MAX_QUANTIFIERS = 3
# Patterns as text, which are compiled on first use, since lint starts faster without them.
_REPEATED_GROUP = r"\)[*+?{]|[*+?}][*+{]"
_OPERATIONS = frozenset({"add", "replace", "remove"})


class NeedsProgram(Exception):
    """The reason why a kustomization cannot be built without kustomize."""

    def __init__(self, why: str, place: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.place = place
        """The file and the line of the patch."""


def selects(target: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Return True if the target of a patch selects an object (kustomize api/types/selector.go).

    Names are regular expressions that match as a whole. Raises NeedsProgram for an expression that
    might take long here; kustomize's engine takes linear time.
    """
    group, _, version = str(value.get("apiVersion") or "").rpartition("/")
    facts = {
        "group": group,
        "version": version,
        "kind": value.get("kind"),
        "name": at(value, "metadata", "name"),
        "namespace": at(value, "metadata", "namespace"),
    }
    for field, text in facts.items():
        pattern = target.get(field)
        if not isinstance(pattern, str) or not pattern:
            continue
        if (
            re.search(_REPEATED_GROUP, pattern)
            or len(re.findall(r"[*+{]", pattern)) > _MAX_QUANTIFIERS
        ):
            raise NeedsProgram(f"the target {pattern[:80]!r} of a patch needs kustomize")
        try:
            is_match = re.fullmatch(pattern, str(text or "")) is not None
        except re.error:
            is_match = False  # kustomize refuses the pattern
        if not is_match:
            return False
    return _selects_labels(target.get("labelSelector"), at(value, "metadata", "labels")) and (
        _selects_labels(target.get("annotationSelector"), at(value, "metadata", "annotations"))
    )


_SET = r"\s*([^\s,()=!]+)\s+(in|notin)\s+\(([^)]*)\)\s*(?:,|\Z)"
_EQUAL = r"\s*([^\s,()=!]+)\s*(==|=|!=)\s*([^\s,]*)\s*(?:,|\Z)"
_EXISTS = r"\s*(!?)\s*([^\s,()=!]+)\s*(?:,|\Z)"


def _selects_labels(selector: Any, labels: Any) -> bool:
    """Return True if a label selector in text form matches (k8s.io/apimachinery pkg/labels)."""
    text = selector if isinstance(selector, str) else ""
    values = labels if isinstance(labels, dict) else {}
    while text.strip():
        if match := re.match(_SET, text):
            listed = {item.strip() for item in match[3].split(",")}
            is_in = match[1] in values and str(values[match[1]]) in listed
            is_match = is_in == (match[2] == "in")
        elif match := re.match(_EQUAL, text):
            is_equal = match[1] in values and str(values[match[1]]) == match[3]
            is_match = is_equal == (match[2] != "!=")
        elif match := re.match(_EXISTS, text):
            is_match = (match[2] in values) == (not match[1])
        else:
            return False
        if not is_match:
            return False
        text = text[match.end() :]
    return True


def merge_patch(value: Any, patch: Any, *, is_inner: bool = False) -> Any:
    """Return a value after a strategic merge patch without merge keys: maps are merged, everything
    else is replaced, and null deletes. If the patch deletes the object, return an empty map.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    fields = {name: item for name, item in patch.items() if not str(name).startswith("$")}
    if directive == "replace" or not isinstance(value, dict):
        return {name: merge_patch(None, item) for name, item in fields.items() if item is not None}
    merged = dict(value)
    about = fields.get("metadata")
    if not is_inner and isinstance(about, dict):
        # The name in a patch only identifies its object.
        kept = {key: text for key, text in about.items() if key not in ("name", "namespace")}
        fields["metadata"] = kept
    for name, item in fields.items():
        if item is None or (isinstance(item, dict) and item.get("$patch") == "delete"):
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(value.get(name), item, is_inner=True)
    return merged


def apply_operations(value: dict[str, Any], operations: Sequence[Any]) -> dict[str, Any] | None:
    """Return an object after the operations of a JSON patch (RFC 6902); None if only kustomize can
    apply them, or if it refuses them.
    """
    made: Any = value
    for operation in operations:
        pointer = operation.get("path") if isinstance(operation, dict) else None
        if not isinstance(pointer, str) or operation.get("op") not in _OPERATIONS:
            return None
        steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        if not steps:
            return None
        try:
            made = _put(made, steps, operation)
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return made if isinstance(made, dict) else None


def _put(node: Any, steps: Sequence[str], operation: Mapping[str, Any]) -> Any:
    """Return a value after one operation at a path in it; everything outside the path is shared.

    Raises an error for a path that does not exist.
    """
    step, *below = steps
    name, kind = operation["op"], operation.get("value")
    if isinstance(node, dict):
        if below:
            return {**node, step: _put(node[step], below, operation)}
        if name != "add":
            node[step]  # raises an error if there is no such key
        kept = {key: item for key, item in node.items() if key != step}
        return kept if name == "remove" else {**node, step: kind}
    if not isinstance(node, list):
        raise TypeError(step)
    number = len(node) if step == "-" else int(step)
    if below or name != "add":
        node[number]  # raises an error if there is no such item
    if below:
        return [*node[:number], _put(node[number], below, operation), *node[number + 1 :]]
    if name == "remove":
        return [*node[:number], *node[number + 1 :]]
    return [*node[:number], kind, *node[number + (name == "replace") :]]
