"""Safe access to parsed values: the wrong type reads as empty."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec.json

from dractl.model.quantity import Quantity

Raw = Mapping[str, Any]
"""An object or a part of an object, as written."""

Path = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value."""

_SERVER_METADATA = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}
)
"""The metadata that the API server writes, and that a new object must not have."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return ``value`` if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def drop_uid(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its UID, like an object that the cluster does not have yet. For a
    pod without a UID, claims are generated from their templates.
    """
    return _drop_metadata(value, frozenset({"uid"}))


def drop_server_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its status and the metadata that the API server writes, as one that
    can be created again.
    """
    kept = {key: each for key, each in value.items() if key != "status"}
    return _drop_metadata(kept, _SERVER_METADATA)


def _drop_metadata(value: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    metadata = mapping(value.get("metadata"))
    return {**value, "metadata": {key: metadata[key] for key in metadata if key not in names}}


def text(value: Any) -> str:
    """Return ``value`` if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """Return ``value`` if it is an integer, otherwise 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def quantity(value: Any) -> Quantity | None:
    """Return a quantity as written; None if it is not one."""
    try:
        return Quantity.parse(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def encode_json(value: Any) -> bytes:
    """Encode ``value`` as JSON, such that two results are equal only if the values are equal, with
    their keys in the same order.
    """
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:  # one half of a surrogate pair
        encoded = b"null"
    # Msgspec writes null for infinity, too
    return json.dumps(value).encode() if b"null" in encoded else encoded
