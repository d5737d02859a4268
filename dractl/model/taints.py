"""Device taints, tolerations and DeviceTaintRules."""

from __future__ import annotations

from msgspec import Struct

from dractl.model.apitype import APIType
from dractl.model.core import Taint
from dractl.model.meta import Condition, ObjectMeta
from dractl.model.reader import Reader


class DeviceTaint(APIType, frozen=True):
    """A taint of a device."""

    key: str
    value: str = ""
    effect: str = ""
    """None, NoSchedule or NoExecute."""
    time_added: str | None = None


def format_taint(taint: Taint | DeviceTaint) -> str:
    """Return ``key=value:effect`` as kubectl writes it, or ``key:effect`` without a value."""
    return f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"


def parse_taint(text: str) -> Taint:
    """Return the taint of a text that :func:`format_taint` has made."""
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return Taint(key, value, effect)


class DeviceToleration(APIType, frozen=True):
    """A request's toleration of a device's taint. A field that is None was not written: without
    ``key`` or ``effect``, it tolerates all keys or effects; without ``operator``, the operator is
    Equal.
    """

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class DeviceTaintSelector(Struct, frozen=True):
    """Selects the devices that have the same value in every field that is not None. Up to 1.34,
    there are also a class name, whose selectors must match, and CEL expressions.
    """

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    device_class_name: str | None = None
    selectors: tuple[str, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceTaintSelector:
        expressions = r.items_of(
            "selectors", lambda s: s.optional("cel", lambda cel: cel.text("expression"))
        )
        return cls(
            r.optional_text("driver"),
            r.optional_text("pool"),
            r.optional_text("device"),
            r.optional_text("deviceClassName"),
            tuple([text for text in expressions if text is not None]),
        )


class DeviceTaintRuleSpec(APIType, frozen=True):
    """The devices that a rule taints, and the taint."""

    device_selector: DeviceTaintSelector | None
    """The devices; None selects nothing (all devices up to 1.36, against the documentation)."""
    taint: DeviceTaint


class DeviceTaintRuleStatus(APIType, frozen=True):
    """Progress of the eviction of pods by a rule."""

    conditions: tuple[Condition, ...] = ()


class DeviceTaintRule(APIType, frozen=True):
    """Taints devices independently of their driver. Cluster-scoped."""

    metadata: ObjectMeta
    spec: DeviceTaintRuleSpec
    status: DeviceTaintRuleStatus
