"""Attributes that a driver has probably misread: they contradict other attributes of the device, or
attributes of the same hardware on another node.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.allocation import DeviceID
from dractl.explain.context import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.drivers import DeviceContradiction
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.facts.drivers import driver as facts_about, names
from dractl.model import Device

_MODEL_NAMES = frozenset(
    {"model", "productName", "product", "deviceName", "pciDevice", "pciVendor", "vendor", "type"}
)
"""The last parts of the names of attributes that identify the hardware of a device."""
MAX_DEVICES_COMPARED = 512


class _Reading(Struct, frozen=True):
    """A value that a driver has published for a device."""

    device: DeviceID
    published: Device
    value: object


def find_contradictions(case: Case, ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Yield attributes that keep devices from a selector and are probably wrong."""
    for cause in ranked:
        if not isinstance(cause, SelectorFalse) or not cause.attribute or cause.have:
            continue
        readings = [
            _Reading(device, published, attribute.value)
            for device in _list_lost_devices(case, cause)[:MAX_DEVICES_COMPARED]
            if (published := case.devices.get(device)) is not None
            if (attribute := published.attribute(cause.attribute, device.driver)) is not None
        ]
        contradiction = _from_facts(cause, readings) or _from_peers(case, cause, readings)
        if contradiction is not None:
            yield contradiction
            return


def _list_lost_devices(case: Case, cause: SelectorFalse) -> list[DeviceID]:
    """Return the devices that the selector excludes, on all nodes that were surveyed."""
    devices = (
        loss.device
        for survey in case.refusing.values()
        for request in survey.requests
        if request.ref == cause.request
        for stage in request.stages
        if stage.expression == cause.selector
        for loss in stage.lost
    )
    return list(dict.fromkeys(devices))


def _from_facts(cause: SelectorFalse, readings: Sequence[_Reading]) -> DeviceContradiction | None:
    """Return a value that the driver's facts show to be wrong, if all of the devices have it."""
    for driver in {reading.device.driver for reading in readings} & {*names()}:
        for fact in facts_about(driver).contradictions:
            wrong = [
                reading
                for reading in readings
                if fact.attribute == cause.attribute
                and reading.value == fact.value
                and _matches(reading, fact.when)
            ]
            if wrong and len(wrong) == len(readings):
                return DeviceContradiction(
                    driver=driver,
                    selector=cause.selector,
                    attribute=fact.attribute,
                    value=_text(fact.value),
                    because=" and ".join(f"{name} {text}" for name, text in fact.when.items()),
                    why=fact.about,
                    devices=tuple(str(reading.device) for reading in wrong),
                    nodes=cause.nodes,
                )
    return None


def _matches(reading: _Reading, wanted: Mapping[str, str]) -> bool:
    return all(
        (attribute := reading.published.attribute(name, reading.device.driver)) is not None
        and attribute.value == text
        for name, text in wanted.items()
    )


def _from_peers(
    case: Case, cause: SelectorFalse, readings: Sequence[_Reading]
) -> DeviceContradiction | None:
    """Return a value that differs from the same hardware's value on another node.

    Only booleans are compared, since other values legitimately differ from node to node.
    """
    attribute = cause.attribute or ""
    wrong = {
        (reading.device.driver, model): reading
        for reading in readings
        if isinstance(reading.value, bool) and (model := _model(reading.published))
    }
    for item in case.scheduler.slices if wrong else ():
        for published in item.spec.devices:
            reading = wrong.get((item.spec.driver, _model(published)))
            other = published.attribute(attribute, item.spec.driver) if reading else None
            if (
                reading is not None
                and other is not None
                and other.value != reading.value
                and item.spec.pool.name != reading.device.pool
            ):
                return DeviceContradiction(
                    driver=item.spec.driver,
                    selector=cause.selector,
                    attribute=attribute,
                    value=_text(reading.value),
                    peer=item.spec.node_name or item.spec.pool.name,
                    peer_value=_text(other.value),
                    devices=tuple(str(one.device) for one in readings),
                    nodes=cause.nodes,
                )
    return None


def _model(device: Device) -> tuple[tuple[str, object], ...]:
    """Return the attributes that identify the hardware of a device."""
    return tuple(
        sorted(
            (name, str(attribute.value))
            for name, attribute in device.attributes.items()
            if name.rpartition("/")[2] in _MODEL_NAMES
        )
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
