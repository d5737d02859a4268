"""Decodes the mapping of a Kubernetes object to its class."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dractl.model.claims import ResourceClaim, ResourceClaimTemplate
from dractl.model.classes import DeviceClass
from dractl.model.convert import to_v1
from dractl.model.core import Namespace, Node, Pod
from dractl.model.reader import DecodeError, Origin, Path, Reader
from dractl.model.slices import ResourceSlice
from dractl.model.taints import DeviceTaintRule

Object = (
    ResourceClaim
    | ResourceClaimTemplate
    | DeviceClass
    | ResourceSlice
    | DeviceTaintRule
    | Pod
    | Node
    | Namespace
)

_CORE: Final[dict[str, Callable[[Reader], Object]]] = {
    "Pod": Pod.read,
    "Node": Node.read,
    "Namespace": Namespace.read,
}
_RESOURCE: Final[dict[str, Callable[[Reader], Object]]] = {
    "ResourceClaim": ResourceClaim.read,
    "ResourceClaimTemplate": ResourceClaimTemplate.read,
    "DeviceClass": DeviceClass.read,
    "ResourceSlice": ResourceSlice.read,
    "DeviceTaintRule": DeviceTaintRule.read,
}
_VERSIONS: Final = tuple(
    f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha3")
)


def decodable(value: Mapping[str, Any]) -> bool:
    """Return True if :func:`decode` accepts this apiVersion and kind."""
    return _kind(value) is not None


def decode(value: Mapping[str, Any], origin: str = "") -> Object:
    """Return the object as resource.k8s.io/v1 or core/v1 defines it, from any version of the API
    (``v1beta1`` claims, ...).

    Unknown fields are ignored and nothing is defaulted. Raises DecodeError for a value that does
    not fit its place; the message names ``origin`` and the path in v1. The parts of a device are
    decoded when they are read.
    """
    root: Path = (Origin(origin),) if origin else ()
    Reader(value, root)  # raises DecodeError if the document is not an object
    read = _kind(value)
    if read is None:
        raise DecodeError(
            root,
            f"no object that dractl reads: {value.get('apiVersion')!r}, kind {value.get('kind')!r}",
        )
    return read(Reader(to_v1(value), root))


def _kind(value: Mapping[str, Any]) -> Callable[[Reader], Object] | None:
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(kind, str):
        return None
    if version == "v1":
        return _CORE.get(kind)
    return _RESOURCE.get(kind) if version in _VERSIONS else None
