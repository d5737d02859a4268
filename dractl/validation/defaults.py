"""Defaults that the API server sets (pkg/apis/resource/v1*/defaults.go) and that rules depend on."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_REQUESTS: dict[str, tuple[str, ...]] = {
    "ResourceClaim": ("spec", "devices", "requests"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "requests"),
}

_RESULTS = ("status", "allocation", "devices", "results")


def apply(value: Mapping[str, Any], api_version: str) -> dict[str, Any]:
    """A v1 document with the defaults of requests set; ``api_version`` is the version of the input.

    ``allocationMode`` is ExactCount, ``count`` then 1 (also in place of 0), a toleration's ``operator`` Equal. The
    input is not modified.
    """
    path = _REQUESTS.get(str(value.get("kind")))
    if path is None:
        return dict(value)
    flat = api_version.rpartition("/")[2] in ("v1beta1", "v1alpha3")
    changed = _each(value, path, partial(_request, flat=flat))
    return _each(changed, _RESULTS, _tolerating) if changed.get("status") else changed


def _each(
    value: Mapping[str, Any],
    path: tuple[str, ...],
    change: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """``value`` with every item of the list at ``path`` changed."""
    name, rest = path[0], path[1:]
    inner = value.get(name)
    if not inner:
        return dict(value)
    return {
        **value,
        name: _each(inner, rest, change) if rest else [change(item or {}) for item in inner],
    }


def _request(request: Mapping[str, Any], *, flat: bool) -> dict[str, Any]:
    changed = dict(request)
    exactly, first_available = request.get("exactly"), request.get("firstAvailable")
    if exactly is not None:
        # A flat request without a class may be one with alternatives, so it gets no defaults.
        changed["exactly"] = _body(
            exactly, counted=not flat or bool(exactly.get("deviceClassName"))
        )
    if first_available:
        changed["firstAvailable"] = [_body(sub or {}, counted=True) for sub in first_available]
    return changed


def _body(body: Mapping[str, Any], *, counted: bool) -> dict[str, Any]:
    changed = dict(body)
    if counted:
        changed["allocationMode"] = body.get("allocationMode") or "ExactCount"
        if changed["allocationMode"] == "ExactCount":
            changed["count"] = body.get("count") or 1
    return _tolerating(changed)


def _tolerating(value: Mapping[str, Any]) -> dict[str, Any]:
    """A request, or an allocated device, with the operators of its tolerations set."""
    tolerations = value.get("tolerations")
    if not tolerations:
        return dict(value)
    return {
        **value,
        "tolerations": [
            {**(each or {}), "operator": (each or {}).get("operator") or "Equal"}
            for each in tolerations
        ],
    }
