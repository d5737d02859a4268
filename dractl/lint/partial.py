"""Patches and patterns: documents that contain only a part of an object, and so are no objects
themselves.
"""

import re
from functools import lru_cache
from typing import Any

from dractl.manifests import Document
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.markdown import ELIDED, SUFFIXES
from dractl.model import pod_templates
from dractl.objects import encode_json, items, mapping
from dractl.validation.violation import Violation

_DIRECTIVE = (
    # strategicpatch/patch.go of apimachinery
    r"\$(?:patch|retainKeys|setElementOrder/|deleteFromPrimitiveList/)"
    # Kyverno's anchors (kyverno/kyverno pkg/engine/anchor/anchor.go), Chainsaw's expressions
    r"|[=^<+X]?\(.*\)\Z"
)
"""Keys of patches and of patterns."""
_ASSERTED = r"(?:^|[\\/])(?:\d+-errors?|[^\\/]*(?<![a-z])asserts?)(?![a-z])[^\\/]*\Z"
"""Files of kuttl and Chainsaw with parts of objects that a test expects (kudobuilder/kuttl
pkg/test/step.go).
"""
_NAME_RULES = frozenset({"RC-21"})
"""Rules that look up a name in another part of the object, which a patch need not repeat."""
_MESSAGES_ABOUT_MAPS = (
    "Invalid value: {",
    "Invalid value: [",
    'Invalid value: ""',
    "Required value",
    "Forbidden: ",
)
_COLLECTIONS = (dict, list)  # creating a union at each use takes three times as long
_PATCH = r"(?:^|[\\/._-])patch(?:es)?(?:[\\/._-]|$)"
_WORKLOADS = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")


def is_patch(document: Document, kustomizations: Kustomizations) -> bool:
    """Return True for a patch or a pattern: the document shows that it is one, or a kustomization
    lists its file as a patch.
    """
    return (
        _has_directive(document.value)
        or _is_partial(document)
        or _is_asserted(document.file)
        or _is_elided(document)
        or kustomizations.is_patch(document.file)
    )


def _is_asserted(file: str) -> bool:
    """Return True for a file with parts of objects that a test of kuttl or Chainsaw expects."""
    return ("error" in file or "assert" in file) and re.search(_ASSERTED, file) is not None


def _is_elided(document: Document) -> bool:
    """Return True for a block of Markdown that leaves out lines."""
    if not document.file.endswith(SUFFIXES):
        return False
    place = document.locate(())
    return any(
        document.line(line).strip() == ELIDED for line in range(place.line, place.end_line + 1)
    )


def stands_alone(violation: Violation) -> bool:
    """Return True if a violation in a patch holds whatever object the patch changes, since a value
    in the patch itself is wrong.
    """
    if violation.type in ("FieldValueRequired", "FieldValueNotFound") or not violation.path:
        return False
    if violation.rule in _NAME_RULES:
        return False
    if violation.rule == "unknown-field":
        return not _is_directive(violation.path[-1])
    return violation.rule in ("wrong-type", "duplicate-key") or _concerns_scalar(violation)


def _concerns_scalar(violation: Violation) -> bool:
    """Return True unless a violation is about a whole map (``Invalid value: {...}``); such a map
    may lack fields that another document adds.
    """
    return not any(start in violation.message for start in _MESSAGES_ABOUT_MAPS)


def _has_directive(value: Any) -> bool:
    encoded = encode_json(value)
    # Most documents have no directives, which their bytes show faster than their keys.
    if b'"$' not in encoded and b')":' not in encoded:
        return False
    keys: set[object] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            keys.update(node)
            node = node.values()
        stack += [child for child in node if isinstance(child, _COLLECTIONS)]
    return any(map(_is_directive, keys))


@lru_cache(4096)  # most keys are fields of the API
def _is_directive(key: object) -> bool:
    return isinstance(key, str) and re.match(_DIRECTIVE, key) is not None


def _is_partial(document: Document) -> bool:
    """Return True for a workload without a selector whose containers have no image. Return True,
    too, for an object in a file that is named like a patch, if it lacks a part that every object of
    its kind has.
    """
    named = "patch" in document.file and re.search(_PATCH, document.file) is not None
    if not named and document.kind not in _WORKLOADS:
        return False
    value = document.value
    spec = mapping(value.get("spec"))
    containers = [
        container
        for _, pod in pod_templates(value)
        for container in items(pod.get("containers"))
        if isinstance(container, dict)
    ]
    without_image = bool(containers) and not any("image" in container for container in containers)
    if document.kind in _WORKLOADS and without_image and "selector" not in spec:
        return True
    if not named:
        return False
    if document.kind in _WORKLOADS:
        return "selector" not in spec
    if document.kind in ("ResourceClaim", "ResourceClaimTemplate"):
        return not _names_a_class(spec)
    return without_image or (document.kind == "Pod" and not containers)


def _names_a_class(value: Any) -> bool:
    if isinstance(value, dict):
        return "deviceClassName" in value or any(map(_names_a_class, value.values()))
    return isinstance(value, list) and any(map(_names_a_class, value))
