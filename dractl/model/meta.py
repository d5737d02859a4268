"""meta/v1: the metadata of every object."""

from collections.abc import Mapping

from dractl.model.apitype import APIType


class OwnerReference(APIType, frozen=True):
    """The owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    """True for the owner that manages the object."""


class ObjectMeta(APIType, frozen=True):
    """Timestamps are RFC 3339 strings. ``name`` and ``namespace`` are "" if absent."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    uid: str
    creation_timestamp: str | None
    deletion_timestamp: str | None
    owner_references: tuple[OwnerReference, ...]
    generate_name: str
    finalizers: tuple[str, ...]
    generation: int | None

    @property
    def full_name(self) -> str:
        """``namespace/name``, or the name alone of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Condition(APIType, frozen=True):
    """A statement about an object at a time; ``status`` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
