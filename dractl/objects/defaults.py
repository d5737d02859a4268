"""Defaults that the API server sets in objects of manifests.

The defaults of resource.k8s.io are in kubernetes pkg/apis/resource/v1*/defaults.go.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dractl.objects.core_defaults import set_core_defaults

_REQUESTS: dict[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec", "devices", "requests"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "requests"),
}
_RESULTS = ("status", "allocation", "devices", "results")
_GROUP = "resource.k8s.io/"
_FLAT_VERSIONS = ("v1beta1", "v1alpha3")
"""Versions in which the fields of a request are at the level of its name."""


def set_defaults(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object as an API server would store it if it was sent in its own version.

    Objects of unknown kinds, and values that cannot be read as a request, stay unchanged.
    """
    api_version = str(value.get("apiVersion"))
    path = _REQUESTS.get(str(value.get("kind")))
    if path is None or not api_version.startswith(_GROUP):
        return set_core_defaults(value)
    is_flat = api_version.removeprefix(_GROUP) in _FLAT_VERSIONS
    changed = _change_each(value, path, _default_flat_request if is_flat else _default_request)
    return _change_each(changed, _RESULTS, _default_tolerations)


def set_defaults_of_converted(value: Mapping[str, Any], api_version: str) -> dict[str, Any]:
    """Set the defaults of requests in a document that was converted to v1, and return it.

    ``api_version`` is the version of the input. The defaults are ExactCount for ``allocationMode``,
    1 for ``count`` with that mode (also in place of 0), and Equal for the ``operator`` of a
    toleration. The input is not modified.
    """
    path = _REQUESTS.get(str(value.get("kind")))
    if path is None:
        return dict(value)
    is_flat = api_version.rpartition("/")[2] in _FLAT_VERSIONS
    changed = _change_each(value, path, partial(_default_request, was_flat=is_flat))
    return _change_each(changed, _RESULTS, _default_tolerations)


def _change_each(
    value: Mapping[str, Any],
    path: tuple[str, ...],
    change: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Return ``value`` with every object in the list at ``path`` changed."""
    name, below = path[0], path[1:]
    inner = value.get(name)
    if below:
        if not inner or not isinstance(inner, Mapping):
            return dict(value)
        return {**value, name: _change_each(inner, below, change)}
    if not inner or not isinstance(inner, list):
        return dict(value)
    return {**value, name: [_change_object(item, change) for item in inner]}


def _change_object(item: Any, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """Return a changed object; null counts as an empty object, and any other value stays
    unchanged.
    """
    return change(item or {}) if item is None or isinstance(item, Mapping) else item


def _default_request(request: Mapping[str, Any], *, was_flat: bool = False) -> dict[str, Any]:
    changed = dict(request)
    exactly = request.get("exactly")
    if isinstance(exactly, Mapping):
        # A flat request without a class may be a request with alternatives, so it gets no defaults.
        is_counted = not was_flat or bool(exactly.get("deviceClassName"))
        changed["exactly"] = _default_body(exactly, is_counted=is_counted)
    return _default_alternatives(changed)


def _default_flat_request(request: Mapping[str, Any]) -> dict[str, Any]:
    is_counted = bool(request.get("deviceClassName"))
    return _default_alternatives(_default_body(request, is_counted=is_counted))


def _default_alternatives(request: dict[str, Any]) -> dict[str, Any]:
    alternatives = request.get("firstAvailable")
    if not alternatives or not isinstance(alternatives, list):
        return request
    bodies = [
        _change_object(body, partial(_default_body, is_counted=True)) for body in alternatives
    ]
    return {**request, "firstAvailable": bodies}


def _default_body(body: Mapping[str, Any], *, is_counted: bool) -> dict[str, Any]:
    changed = dict(body)
    if is_counted:
        changed["allocationMode"] = body.get("allocationMode") or "ExactCount"
        if changed["allocationMode"] == "ExactCount":
            changed["count"] = body.get("count") or 1
    return _default_tolerations(changed)


def _default_tolerations(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request, or an allocated device, with the operators of its tolerations set."""
    tolerations = value.get("tolerations")
    if not tolerations or not isinstance(tolerations, list):
        return dict(value)
    return {
        **value,
        "tolerations": [_change_object(row, _default_toleration) for row in tolerations],
    }


def _default_toleration(toleration: Mapping[str, Any]) -> dict[str, Any]:
    return {**toleration, "operator": toleration.get("operator") or "Equal"}
