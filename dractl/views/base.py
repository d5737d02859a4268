"""The parts that all objects of a cluster share, as lazy and lenient views."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from dractl.model.paths import list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.redaction import redact

Key = tuple[str, str]
"""Namespace ("" for objects of the whole cluster) and name."""

_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""The label with the LocalQueue of a pod or workload (kubernetes-sigs/kueue apis/kueue/v1beta1)."""


class OwnerReference(Struct, frozen=True):
    """An entry of ``metadata.ownerReferences``."""

    kind: str
    name: str
    uid: str
    is_controller: bool
    """True for the owner that creates the object again after a deletion."""
    api_version: str


class Condition(Struct, frozen=True):
    """An entry of ``status.conditions``; empty fields if the object has no such entry."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition: str = ""
    """When ``status`` changed last (RFC 3339)."""


class FieldManager(Struct, frozen=True):
    """An entry of ``metadata.managedFields``: a client that has written the object."""

    name: str
    time: str
    """When the client wrote last (RFC 3339)."""
    subresource: str
    """The subresource that the client wrote, such as ``status``; "" for the object itself."""
    api_version: str = ""
    """The version of the API in which the client wrote."""


class View:
    """An object as it was read, with typed fields.

    A field is read when it is first needed, and then cached. A view never raises: a missing field
    reads as empty, and so does a field of the wrong type, which no API server would store. The view
    of an object that does not exist has empty fields only.
    """

    def __init__(self, raw: Raw | None, key: Key | None = None) -> None:
        self.raw: Raw = {} if raw is None else raw
        self._key = key

    @property
    def exists(self) -> bool:
        """True if the input has the object."""
        return bool(self.raw)

    @cached_property
    def key(self) -> Key:
        """The namespace and name under which the cluster has the object; a manifest may leave out
        its namespace.
        """
        return (self.namespace, self.name) if self._key is None else self._key

    @property
    def full_name(self) -> str:
        """``namespace/name`` as the object itself has them."""
        return f"{self.namespace}/{self.name}"

    @cached_property
    def kind(self) -> str:
        """The object's own ``kind``."""
        return text_at(self.raw, "kind")

    @property
    def api_group(self) -> str:
        """The group of ``apiVersion``, "" for the core group."""
        return text_at(self.raw, "apiVersion").rpartition("/")[0]

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """``metadata``."""
        return map_at(self.raw, "metadata")

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """``spec``."""
        return map_at(self.raw, "spec")

    @cached_property
    def status(self) -> Mapping[str, Any]:
        """``status``."""
        return map_at(self.raw, "status")

    @cached_property
    def name(self) -> str:
        """``metadata.name``."""
        return text_at(self.raw, "metadata", "name")

    @cached_property
    def namespace(self) -> str:
        """``metadata.namespace``; "" for a manifest that leaves it out."""
        return text_at(self.raw, "metadata", "namespace")

    @cached_property
    def uid(self) -> str:
        """``metadata.uid``; "" for a manifest."""
        return text_at(self.raw, "metadata", "uid")

    @cached_property
    def labels(self) -> Mapping[str, Any]:
        """``metadata.labels``."""
        return map_at(self.raw, "metadata", "labels")

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """``metadata.annotations``."""
        return map_at(self.raw, "metadata", "annotations")

    @cached_property
    def creation_timestamp(self) -> str:
        """``metadata.creationTimestamp`` (RFC 3339); "" for a manifest."""
        return text_at(self.raw, "metadata", "creationTimestamp")

    @cached_property
    def deletion_timestamp(self) -> str:
        """The time by which the object is to be gone (RFC 3339); "" if it is not being deleted."""
        return text_at(self.raw, "metadata", "deletionTimestamp")

    @cached_property
    def finalizers(self) -> tuple[str, ...]:
        """``metadata.finalizers``."""
        return tuple(name for name in list_at(self.metadata, "finalizers") if isinstance(name, str))

    @cached_property
    def owners(self) -> tuple[OwnerReference, ...]:
        """``metadata.ownerReferences``."""
        return tuple(
            OwnerReference(
                text_at(owner, "kind"),
                text_at(owner, "name"),
                text_at(owner, "uid"),
                owner.get("controller") is True,
                text_at(owner, "apiVersion"),
            )
            for owner in maps_at(self.metadata, "ownerReferences")
        )

    @cached_property
    def controller(self) -> OwnerReference | None:
        """The owner that recreates the object when it is deleted; None if it has none."""
        return next((owner for owner in self.owners if owner.is_controller), None)

    @property
    def field_managers(self) -> tuple[FieldManager, ...]:
        """``metadata.managedFields``."""
        return tuple(
            FieldManager(
                text_at(entry, "manager"),
                text_at(entry, "time"),
                text_at(entry, "subresource"),
                text_at(entry, "apiVersion"),
            )
            for entry in maps_at(self.metadata, "managedFields")
        )

    @property
    def condition_entries(self) -> tuple[Condition, ...]:
        """``status.conditions`` in their order, even if several have one type."""
        return read_conditions(self.status, "conditions")

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """``status.conditions`` by type; if two have the same type, the first one."""
        return conditions_by_type(self.status)

    @property
    def local_queue(self) -> str:
        """The LocalQueue of Kueue that a pod or workload waits in, "" if none."""
        return text_at(self.labels, _QUEUE_LABEL)

    def condition(self, kind: str) -> Condition:
        """Return the condition of one type."""
        return self.conditions.get(kind, Condition())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.full_name!r})"


def conditions_by_type(status: Raw) -> dict[str, Condition]:
    """Return the ``conditions`` of a status by type; if two have the same type, the first one."""
    entries = read_conditions(status, "conditions")
    return {condition.type: condition for condition in reversed(entries)}


def read_conditions(status: Raw, field: str) -> tuple[Condition, ...]:
    """Return the conditions in a field of a status, in their order."""
    return tuple(
        Condition(
            text_at(condition, "type"),
            text_at(condition, "status"),
            text_at(condition, "reason"),
            redact(text_at(condition, "message")),
            text_at(condition, "lastTransitionTime"),
        )
        for condition in maps_at(status, field)
    )


def parse_timestamp(text: str) -> float | None:
    """Return an RFC 3339 timestamp in seconds since 1970; None if the text is not a timestamp."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def age(since: str | None, now: float | None) -> str:
    """Format how long ago a time (RFC 3339) is, as kubectl prints ages: ``5d``.

    ``now`` is in seconds since 1970. The text is empty if one of the times is unknown.
    """
    began = parse_timestamp(since or "")
    if began is None or now is None:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if now - began >= 2 * size:
            return f"{int((now - began) // size)}{unit}"
    return f"{max(int(now - began), 0)}s"
