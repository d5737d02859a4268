"""Events."""

from msgspec import Struct

from dractl.model.paths import at, map_at, text_at
from dractl.properties import cached_property
from dractl.redaction import redact
from dractl.views.base import View

_COMBINED = "(combined from similar events): "
"""The prefix of a message that stands for several similar events (client-go
tools/record/events_cache.go).
"""


class ObjectReference(Struct, frozen=True):
    """The object that an event is about."""

    kind: str
    name: str
    uid: str
    field: str = ""
    """The path of the part that the reference means, such as ``spec.containers{main}``."""

    @property
    def container(self) -> str:
        """The name of the container that the reference means; "" for the whole object."""
        return self.field.partition("{")[2].removesuffix("}")


class Event(View):
    """An event of core/v1 or of events.k8s.io/v1."""

    @cached_property
    def reason(self) -> str:
        """``reason``, such as FailedScheduling."""
        return text_at(self.raw, "reason")

    @cached_property
    def message(self) -> str:
        """The message, without the prefix of combined events."""
        message = text_at(self.raw, "message") or text_at(self.raw, "note")
        return redact(message.removeprefix(_COMBINED))

    @cached_property
    def regarding(self) -> ObjectReference:
        """The object that the event is about."""
        reference = map_at(self.raw, "involvedObject") or map_at(self.raw, "regarding")
        return ObjectReference(
            text_at(reference, "kind"),
            text_at(reference, "name"),
            text_at(reference, "uid"),
            text_at(reference, "fieldPath"),
        )

    @cached_property
    def reporters(self) -> frozenset[str]:
        """The component that wrote the event, under the names of both API groups."""
        names = (
            text_at(self.raw, "source", "component"),
            text_at(self.raw, "reportingComponent"),
            text_at(self.raw, "reportingController"),
        )
        return frozenset(filter(None, names))

    @cached_property
    def count(self) -> int:
        """The number of times that the event was seen."""
        counts = (at(self.raw, "series", "count"), at(self.raw, "count"))
        return next((number for number in counts if isinstance(number, int)), 1)

    @cached_property
    def first_seen(self) -> str:
        """The time at which the event was first seen (RFC 3339); "" if unknown."""
        return (
            text_at(self.raw, "firstTimestamp")
            or text_at(self.raw, "eventTime")
            or self.creation_timestamp
        )

    @cached_property
    def last_seen(self) -> str:
        """The time at which the event was last seen (RFC 3339); "" if unknown."""
        return (
            text_at(self.raw, "series", "lastObservedTime")
            or text_at(self.raw, "lastTimestamp")
            or text_at(self.raw, "eventTime")
            or self.creation_timestamp
        )
