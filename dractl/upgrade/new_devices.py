"""Devices of a kind that only a later version of a driver publishes, and the objects whose requests
they may match.

The input has no such device, so the scheduler cannot be tried on it: a request is reported unless
its selectors and constraints exclude every device of the kind.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.cel import reading
from dractl.cel.device import Field
from dractl.cel.program import Program
from dractl.cluster import ClusterState
from dractl.facts.drivers import DeviceKind, driver as find_driver
from dractl.model import Device
from dractl.objects import Claim, Device as PublishedDevice, Expression, Raw, selectors_of, slice_of
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade.exclusions import find_exclusion
from dractl.upgrade.finding import Finding, ObjectEdit
from dractl.upgrade.readers import SPECS, object_name

_VALUE_KEYS: Mapping[type, str] = {bool: "bool", int: "int", str: "string"}


class NewDevices(Struct, frozen=True):
    """A kind of devices, as a driver publishes it."""

    driver: str
    kind: DeviceKind
    example: Device
    """A device with every property that is known of the kind."""
    condition: Program
    """A selector that matches the devices of the kind."""
    decided_fields: frozenset[Field]
    """The parts of a device whose values, or absence, are known for all devices of the kind."""


def find_new_devices(name: str, start: str, to: str, slices: Iterable[Raw]) -> list[NewDevices]:
    """Return the kinds of devices that a driver first publishes in a version after ``start``, up to
    ``to``. Kinds that the present slices have are left out.
    """
    catalogue = find_driver(name)
    order = catalogue.versions
    present = [device for item in map(slice_of, slices) for device in item.devices]
    new_devices = []
    for kind in catalogue.device_kinds:
        since = kind.since
        if since is None or not order.index(start) < order.index(since) <= order.index(to):
            continue
        values = {key: _format_value(value) for key, value in kind.attributes.items()}
        if not any(_is_of_kind(device, kind, values) for device in present):
            new_devices.append(_new_devices(name, kind, values))
    return new_devices


def _is_of_kind(device: PublishedDevice, kind: DeviceKind, values: Mapping[str, Raw]) -> bool:
    attributes = device.attributes
    has_values = all(attributes.get(key) == value for key, value in values.items())
    return has_values and attributes.keys().isdisjoint(kind.lacks)


def _format_value(value: str | int | bool) -> dict[str, str | int | bool]:
    return {_VALUE_KEYS[type(value)]: value}


def _new_devices(name: str, kind: DeviceKind, values: Mapping[str, Raw]) -> NewDevices:
    conditions = [f'device.driver == "{name}"']
    decided_fields = {Field("driver")}
    for attribute in (*kind.attributes, *kind.lacks):
        domain, _, short = attribute.rpartition("/")
        domain = domain or name
        lookup = f'device.attributes["{domain}"].{short}'
        decided_fields.add(Field("attributes", domain, short))
        if attribute in kind.lacks:
            conditions.append(f"!has({lookup})")
        else:
            conditions.append(f"{lookup} == {_literal(kind.attributes[attribute])}")
    return NewDevices(
        name,
        kind,
        Device({"name": "new", "attributes": values}),
        reading(" && ".join(conditions)),
        frozenset(decided_fields),
    )


def _literal(value: str | int | bool) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


# -- findings --


def describe_new_devices(
    new_devices: Iterable[NewDevices], nodes: Sequence[str]
) -> Iterator[Finding]:
    """Yield a finding for each kind that the present slices do not show; ``nodes`` are the nodes of
    the driver.
    """
    for each in new_devices:
        kind = each.kind
        condition = f" {kind.when}" if kind.when else ""
        yield Finding(
            "device-may-come",
            "info",
            f"{kind.about} may be published{condition}; the present slices do not tell",
            tuple(f"Node/{node}" for node in nodes if node),
            source=kind.source,
            date=kind.read or find_driver(each.driver).read,
        )


def find_wider_requests(
    new_devices: Sequence[NewDevices], version: str, before: Scheduler, after: Scheduler
) -> Iterator[Finding]:
    """Yield a finding for each class, claim or template that new devices may match, with edits of
    the classes that exclude these devices. Kinds that are published under a condition are left out,
    since the cluster does not show the condition.

    ``before`` has the slices of the present version, and ``after`` the slices of the later one.
    """
    unconditional = [each for each in new_devices if not each.kind.when]
    if not unconditional:
        return
    edits: dict[tuple[str, ...], ObjectEdit | None] = {}
    for name, requests in _requests_by_object(before.state):
        matches = [
            (each, request.class_name)
            for each in unconditional
            for request in requests
            if _may_match(each, request)
        ]
        if not matches:
            continue
        matching = list({each.kind.about: each for each, _ in matches}.values())
        examples = [(each.kind, each.example) for each in matching]
        keys = [
            (class_name, *(kind.about for kind, _ in examples))
            for class_name in sorted({class_name for _, class_name in matches})
        ]
        for key in keys:
            if key not in edits:
                edits[key] = find_exclusion(key[0], matching[0].driver, examples, before, after)
        yield _wider_finding(name, matching, version, [edits[key] for key in keys])


def _wider_finding(
    name: str, matching: Sequence[NewDevices], version: str, edits: Sequence[ObjectEdit | None]
) -> Finding:
    """Return the finding on an object. The finding has edits only if each class that the object
    uses has an edit.
    """
    kinds = " and ".join(each.kind.about for each in matching)
    attributes = "; ".join(map(_describe_attributes, matching))
    proven = tuple(edit for edit in edits if edit is not None)
    is_complete = len(proven) == len(edits)
    return Finding(
        "may-match-more",
        "changes",
        f"may match {kinds} ({attributes}), which only {matching[0].driver} {version} publishes",
        (name,),
        fix="; ".join(edit.title for edit in proven) if is_complete else None,
        edits=proven if is_complete else None,
    )


def _describe_attributes(new: NewDevices) -> str:
    catalogue = find_driver(new.driver)
    return ", ".join(f"{catalogue.full(key)} {value}" for key, value in new.kind.attributes.items())


class _Request(Struct, frozen=True):
    """A request, or a class that a request may name."""

    class_name: str
    selectors: tuple[Expression, ...]
    """The selectors of the class and of the request."""
    constraints: tuple[str, ...] = ()
    """The attributes of the constraints that concern it."""


def _requests_by_object(state: ClusterState) -> Iterator[tuple[str, list[_Request]]]:
    """Yield classes, claims and templates with their requests; requests of unknown classes are left
    out.
    """
    classes = {
        key[1]: tuple(selectors_of(value)) for key, value in state.objects("DeviceClass").items()
    }
    for class_name, selectors in classes.items():
        yield object_name("DeviceClass", ("", class_name)), [_Request(class_name, selectors)]
    for kind, prefix in SPECS.items():
        for key, value in state.objects(kind).items():
            claim = Claim.of(None, value, prefix)
            constraints: dict[str, tuple[str, ...]] = {}
            for constraint in claim.constraints:
                for target in claim.targets(constraint.requests):
                    others = constraints.get(target.reference, ())
                    constraints[target.reference] = (*others, constraint.attribute)
            yield (
                object_name(kind, key),
                [
                    _Request(
                        request.device_class,
                        (*classes[request.device_class], *request.selectors),
                        constraints.get(request.reference, ()),
                    )
                    for request in claim.alternatives
                    if request.device_class in classes
                ],
            )


def _may_match(new: NewDevices, request: _Request) -> bool:
    """Return False if no device of a kind can match a request.

    A constraint is never satisfied by a device without its attribute
    (k8s.io/dynamic-resource-allocation structured/internal/stable/allocator_stable.go).
    """
    if not {find_driver(new.driver).full(name) for name in new.kind.lacks}.isdisjoint(
        request.constraints
    ):
        return False
    programs = [reading(selector.text) for selector in request.selectors]
    if not all(program.ok for program in programs) or new.condition.excludes(programs):
        return False
    decided = [
        each for each in programs if each.reads is not None and each.reads <= new.decided_fields
    ]
    return all(program.evaluate(new.driver, new.example) is True for program in decided)
