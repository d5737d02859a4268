"""Attributes that a driver has probably misread: they contradict other attributes of the device, or
attributes of the same hardware on another node.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.explain.context import Case
from dractl.explain.obstacles.trial import Trial, set_in
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.drivers import DeviceContradiction
from dractl.explain.reasons.scheduling import Mixed
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.facts.drivers import driver as facts_about, names
from dractl.model import Device
from dractl.model.names import full_name
from dractl.objects import Raw, slice_of

_MODEL_NAMES = frozenset(
    {"model", "productName", "product", "deviceName", "pciDevice", "pciVendor", "vendor", "type"}
)
"""Attributes that identify the hardware of a device, by the last part of their name."""
MAX_DEVICES_COMPARED = 512
_OTHER_VALUES = {"false": True, "true": False}
"""The opposite value of a boolean, by the text of the boolean."""


class _Reading(Struct, frozen=True):
    """A value that a driver has published for a device."""

    device: DeviceID
    published: Device
    value: object


def find_contradictions(case: Case, ranked: Sequence[Cause]) -> Iterator[Cause]:
    """Yield attributes that exclude devices from a selector and are probably wrong."""
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
            decides = _decides(case, ranked[0], cause, contradiction)
            yield replace(contradiction, decides=decides)
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


def _decides(
    case: Case, first: Cause, cause: SelectorFalse, contradiction: DeviceContradiction
) -> bool:
    """Return True if a contradiction explains the first cause, or the subject would fit with the
    opposite value.

    ``cause`` is the cause that the contradiction explains. If the nodes have different causes
    (:class:`Mixed`), only the cause on the nearest node is compared, since any of many changes
    would let the subject fit.
    """
    if isinstance(first, Mixed):
        return first.nearest_cause is not None and first.nearest_cause.key == cause.key
    return first.key == cause.key or _fits_with_other_value(case, contradiction)


def _fits_with_other_value(case: Case, contradiction: DeviceContradiction) -> bool:
    """Return True if the subject would fit if the driver published the opposite boolean."""
    if contradiction.value not in _OTHER_VALUES:
        return False
    trial = Trial(case.state, case.question)
    trial = trial.edit_all("ResourceSlice", partial(_publish_other_value, contradiction))
    return case.scheduler.with_state(trial.state).attempt_pod(trial.question.value).fits


def _publish_other_value(contradiction: DeviceContradiction, value: Raw) -> Raw:
    """Return a slice in which the devices of a contradiction have the opposite boolean."""
    driver, name = contradiction.driver, full_name(contradiction.attribute, contradiction.driver)
    published, devices = slice_of(value), frozenset(contradiction.devices)
    for device in published.devices if published.driver == driver else ():
        if str(DeviceID(driver, published.pool, device.name)) in devices:
            attributes = {
                key: attribute
                for key, attribute in device.attributes.items()
                if full_name(key, driver) != name
            }
            attributes[name] = {"bool": _OTHER_VALUES[contradiction.value]}
            value = set_in(value, (*device.path, "attributes"), attributes)
    return value


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
