"""meta/v1: the metadata of every object."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from dractl.model.reader import Reader


class OwnerReference(Struct, frozen=True):
    """The owner of an object; ``controller`` marks the one that manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None

    @classmethod
    def read(cls, r: Reader) -> OwnerReference:
        return cls(r.text("apiVersion"), r.text("kind"), r.text("name"), r.text("uid"), r.boolean("controller"))


class ObjectMeta(Struct, frozen=True):
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

    @classmethod
    def read(cls, r: Reader) -> ObjectMeta:
        return cls(
            name=r.text("name"),
            namespace=r.text("namespace"),
            labels=r.text_map("labels"),
            annotations=r.text_map("annotations"),
            uid=r.text("uid"),
            creation_timestamp=r.optional_text("creationTimestamp"),
            deletion_timestamp=r.optional_text("deletionTimestamp"),
            owner_references=r.each("ownerReferences", OwnerReference.read),
            generate_name=r.text("generateName"),
            finalizers=r.texts("finalizers"),
            generation=r.integer("generation"),
        )


class Condition(Struct, frozen=True):
    """A statement about an object at a time; ``status`` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None

    @classmethod
    def read(cls, r: Reader) -> Condition:
        return cls(
            r.text("type"), r.text("status"), r.text("reason"), r.text("message"), r.optional_text("lastTransitionTime")
        )
