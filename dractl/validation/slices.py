"""ResourceSlices: the rules RS-01 to RS-43.

They follow validateResourceSliceSpec of kubernetes/kubernetes
pkg/apis/resource/validation/validation.go, release by release, together with the declarative rules
of 1.37 (tags of api/resource/v1/types.go).
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from dractl.model.releases import Target
from dractl.model.version import SEMVER_ORG
from dractl.validation.capacity import request_policy
from dractl.validation.causes import (
    as_declared,
    as_ratcheted,
    count_violation,
    duplicate,
    filter_declared,
    invalid,
    length_violation,
    not_found,
    not_supported,
    value_required,
)
from dractl.validation.formats import (
    MAX_ID,
    MAX_LABEL,
    check_qualified_name,
    driver_name,
    fully_qualified_name,
    is_native_resource,
    label,
    label_errors,
    label_key,
    length,
    pool_name,
    shorten_key,
)
from dractl.validation.lists import check_list, check_set, name_of, text_of, unique
from dractl.validation.nodes import node_name, node_selector
from dractl.validation.place import Place
from dractl.validation.tolerations import TaintRules, taint
from dractl.validation.violation import Violation

MAX_DEVICES = 128
MAX_ADVANCED_DEVICES = 64
MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_ATTRIBUTE_VALUES = 48
MAX_TEXT = 64
MAX_COUNTER_SETS = 8
MAX_COUNTERS = 32
MAX_CONSUMED_SETS = 2
MAX_COMPATIBILITY_GROUPS = 2
MAX_DEVICE_COUNTERS_1_34 = 1024
MAX_BINDING_CONDITIONS = 4
MAX_TAINTS = 16
MAX_TAINTS_1_34 = 4
ONE_TERM = "must have exactly one node selector term"
SKIPPABLE = ("*", "NodePrepareResources", "NodeUnprepareResources")

_TAINT = TaintRules("RS-40", "RS-41", "RS-42")
_LISTS = ("ints", "bools", "strings", "versions")
_SCALARS = ("int", "bool", "string", "version")
_MAX_SHOWN_KEY = MAX_LABEL + 1 + MAX_ID
_PLAIN_FIELDS = frozenset({"name", "attributes", "capacity"})
"""The only fields that most devices have."""
_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def spec(place: Place, target: Target) -> Iterator[Violation]:
    yield from driver_name("RS-01", place.child("driver"), target)
    yield from _pool(place.child("pool"))
    yield from _nodes(place)
    counters, devices = place.child("sharedCounters"), place.child("devices")
    if counters.set and devices.set and target.has("counters-apart-from-devices"):
        yield invalid("RS-11", place, "only one of `sharedCounters` or `devices` is allowed", "")
    yield from _devices(place, devices, target)
    yield from _check_shared_counters(place, target)
    if place.child("partitionTypeAttribute").set:
        yield from _partition_type(place, target)
    yield from skip_operations("RS-39", place.child("skipNodeOperations"))


def _pool(place: Place) -> Iterator[Violation]:
    yield from pool_name("RS-02", place.child("name"))
    count, generation = place.child("resourceSliceCount"), place.child("generation")
    if count.integer <= 0:
        yield invalid("RS-03", count, "must be greater than zero", count.integer)
    if generation.integer < 0:
        yield invalid("RS-04", generation, "must be greater than or equal to zero")


def _nodes(place: Place) -> Iterator[Violation]:
    node, selector, all_nodes, per_device = (place.child(name) for name in _NODES)
    chosen = []
    if node.text:
        chosen.append("`nodeName`")
        yield from node_name("RS-06", node)
    elif node.set:
        yield invalid("RS-06", node, "must be either unset or set to a non-empty string")
    if selector.set:
        chosen.append("`nodeSelector`")
        yield from node_selector("RS-08", selector)
        terms = selector.child("nodeSelectorTerms")
        if terms.size != 1:
            yield invalid("RS-08", terms, ONE_TERM)
    for flag in (all_nodes, per_device):
        if flag.value:
            chosen.append("`allNodes`" if flag is all_nodes else "`perDeviceNodeSelection`")
        elif flag.set:
            yield invalid("RS-07", flag, "must be either unset or set to true")
    detail = (
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is"
        " required"
    )
    if not chosen:
        yield value_required("RS-09", place, detail)
    elif len(chosen) > 1:
        yield invalid(
            "RS-10", place, f"{detail}, but multiple fields are set", f"{{{', '.join(chosen)}}}"
        )


def _devices(slice_spec: Place, devices: Place, target: Target) -> Iterator[Violation]:
    check = partial(_device, slice_spec, target)
    limit = _max_devices(devices, target)
    yield from check_set(("RS-12", "RS-13"), devices, limit, check, name_of, target, name="name")
    if devices.size > limit:
        for device in devices.items():
            yield from filter_declared(check(device), target)


def _max_devices(devices: Place, target: Target) -> int:
    if target.has("advanced-devices-limit"):
        for device in devices.value or ():
            if device and (device.get("taints") or device.get("consumesCounters")):
                return MAX_ADVANCED_DEVICES
            if (
                target.has("list-attributes-limit")
                and device
                and _has_list(device.get("attributes") or {})
            ):
                return MAX_ADVANCED_DEVICES
    return MAX_DEVICES


def _has_list(attributes: Mapping[str, Any]) -> bool:
    return any(
        attribute
        and not attribute.keys().isdisjoint(_LISTS)
        and any(attribute.get(name) is not None for name in _LISTS)
        for attribute in attributes.values()
    )


# -- devices ---------------------------------------------------------------------------------------


def _device(slice_spec: Place, target: Target, place: Place) -> Iterator[Violation]:
    yield from label("RS-14", place.child("name"))
    attributes, capacity = place.child("attributes"), place.child("capacity")
    if (total := attributes.size + capacity.size) > MAX_ATTRIBUTES_AND_CAPACITIES:
        detail = (
            "the total number of attributes and capacities must not exceed"
            f" {MAX_ATTRIBUTES_AND_CAPACITIES}"
        )
        yield invalid("RS-15", place, detail, total)
    if (
        target.has("list-attributes-limit")
        and (values := _attribute_values(attributes)) > MAX_ATTRIBUTE_VALUES
    ):
        detail = f"the total number of attribute values must not exceed {MAX_ATTRIBUTE_VALUES}"
        yield invalid("RS-16", place, detail, values)
    for key, value in attributes.entries():
        if not (_is_plain_key(key) and _is_plain_attribute(value)):
            attribute = _entry(attributes, key)
            yield from _key(key, attributes, attribute, target)
            yield from _attribute(attribute, target)
    shareable = place.child("allowMultipleAllocations").value is True
    for key, amount in capacity.entries():
        if not (_is_plain_key(key) and _is_plain_amount(amount)):
            entry = _entry(capacity, key)
            yield from _key(key, capacity, entry, target)
            yield from request_policy(entry, shareable=shareable, target=target)
    is_plain = (place.value or {}).keys() <= _PLAIN_FIELDS
    if not is_plain or slice_spec.child("perDeviceNodeSelection").value:
        yield from _check_rarer_fields(slice_spec, place, target)


def _check_rarer_fields(slice_spec: Place, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in fields that only few devices have."""
    capacity = place.child("capacity")
    yield from _taints(place.child("taints"), target)
    yield from _check_consumed_counters(slice_spec, place, target)
    yield from _device_nodes(slice_spec, place, target)
    yield from binding_conditions("RS-35", place, target)
    if target.has("node-allocatable-resources"):
        yield from _node_allocatable(place.child("nodeAllocatableResources"), capacity)
    else:
        yield from _node_allocatable_mappings(
            place.child("nodeAllocatableResourceMappings"), capacity
        )


def _entry(places: Place, key: str) -> Place:
    """Return an entry of a map with the server's spelling of its key."""
    return places.key(key, shorten_key(key, _MAX_SHOWN_KEY))


@lru_cache(maxsize=4096)
def _is_plain_key(key: str) -> bool:
    """Return True for a name without violations in any release: releases differ only in names with
    more than one slash, and in the report on an empty part.
    """
    return key.count("/") < 2 and not any(
        check_qualified_name("RS-17", Place(key), key, Target.of())
    )


def _is_plain_attribute(attribute: Any) -> bool:
    """Return True for an attribute of a common form, which cannot have violations."""
    if type(attribute) is dict and len(attribute) == 1:
        ((name, value),) = attribute.items()
        return value is not None and (
            name in ("int", "bool")
            or (name == "string" and value.isascii() and len(value) <= MAX_TEXT)
            or (name == "version" and _is_plain_version(value))
        )
    return False


@lru_cache(maxsize=4096)
def _is_plain_version(text: str) -> bool:
    return len(text) <= MAX_TEXT and re.fullmatch(SEMVER_ORG, text) is not None


def _is_plain_amount(amount: Any) -> bool:
    """Return True for a capacity without a policy for requests."""
    return type(amount) is dict and amount.keys() == {"value"}


def _key(key: str, places: Place, entry: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in a key. Up to 1.35 the server reports a wrong key at its entry, and
    from 1.36 on at the map. The path always leads to the entry.
    """
    for violation in check_qualified_name("RS-17", entry, key, target, key=True):
        yield replace(violation, field=places.field) if target.has("keys-at-the-map") else violation


def _attribute_values(attributes: Place) -> int:
    total = attributes.size
    for _, attribute in attributes.entries():
        if attribute and not attribute.keys().isdisjoint(_LISTS):
            total += max(sum(len(attribute.get(name) or ()) for name in _LISTS) - 1, 0)
    return total


def _attribute(place: Place, target: Target) -> Iterator[Violation]:
    text, version = place.child("string"), place.child("version")
    if length(text.text) > MAX_TEXT:
        yield length_violation("RS-19", text, MAX_TEXT)
    if version.set:
        yield from _version(version)
    chosen = [name for name in (*_SCALARS, *_LISTS) if place.child(name).set]
    filled = [name for name in chosen if name in _SCALARS or place.child(name).size]
    for name in chosen:
        values = place.child(name)
        if name in _LISTS and not values.size:
            yield invalid("RS-21", values, "must not be empty if specified")
        if name in ("strings", "versions"):
            for item in values.items():
                yield from _version(item) if name == "versions" else _string(item)
    yield from _check_value_count(place, chosen, filled, target)


def _check_value_count(
    place: Place, chosen: list[str], filled: list[str], target: Target
) -> Iterator[Violation]:
    """Check that an attribute has exactly one value. Handwritten validation counts every list that
    is present; the generated validation of 1.37 counts only lists with items.
    """
    generated = target.has("one-value-generated") and len(filled) != 1
    if not target.has("one-value-invalid") and not chosen:
        yield value_required("RS-18", place, "exactly one value must be specified")
    # Both validations find this error, and the server reports it once, unless a shortened key is
    # spelled differently in the two paths.
    elif len(chosen) != 1 and (not generated or place.shortened):
        yield invalid(
            "RS-18", place, "exactly one value must be specified", place.value if chosen else ""
        )
    if generated:
        names = ", ".join(f"`{name}`" for name in (*_SCALARS, *_LISTS))
        exactly, shown = (" exactly", f"{{{', '.join(filled)}}}") if filled else ("", "")
        yield from as_declared(
            place, [invalid("RS-18", place, f"must specify{exactly} one of: {names}", shown)]
        )


def _string(place: Place) -> Iterator[Violation]:
    if length(place.text) > MAX_TEXT:
        yield length_violation("RS-19", place, MAX_TEXT)


def _version(place: Place) -> Iterator[Violation]:
    if not re.fullmatch(SEMVER_ORG, place.text):
        yield invalid(
            "RS-20", place, "must be a string compatible with semver.org spec 2.0.0", place.text
        )
    if length(place.text) > MAX_TEXT:
        yield length_violation("RS-20", place, MAX_TEXT)


def _device_nodes(slice_spec: Place, place: Place, target: Target) -> Iterator[Violation]:
    node, selector, all_nodes = (place.child(name) for name in _NODES[:3])
    if not slice_spec.child("perDeviceNodeSelection").value:
        if node.set or selector.set or all_nodes.set:
            detail = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if"
                " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            )
            yield invalid("RS-34", place, detail, None)
        return
    chosen = []
    if node.text:
        chosen.append("`nodeName`")
        yield from node_name("RS-33", node)
    elif node.set:
        yield invalid("RS-33", node, "must not be empty")
    if selector.set:
        chosen.append("`nodeSelector`")
        yield from node_selector("RS-33", selector)
        terms = selector.child("nodeSelectorTerms")
        if terms.size > 1 and target.has("device-selector-one-term"):
            yield as_ratcheted(invalid("RS-33", terms, ONE_TERM))
    if all_nodes.value:
        chosen.append("`allNodes`")
    elif all_nodes.set:
        yield invalid("RS-33", all_nodes, "must be either unset or set to true")
    detail = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
        " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
    )
    if not chosen:
        yield value_required("RS-33", place, detail)
    elif len(chosen) > 1:
        yield invalid("RS-33", place, detail, f"{{{', '.join(chosen)}}}")


def binding_conditions(rule: str, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of validateDeviceBindingParameters, for a device and for an allocated
    device.
    """
    conditions, failures = place.child("bindingConditions"), place.child("bindingFailureConditions")
    for places in (conditions, failures):
        yield from check_list(
            rule, places, MAX_BINDING_CONDITIONS, partial(label_key, rule), target
        )
        yield from unique(rule, places, text_of, target)
    expected = {item.text for item in conditions.items()}
    for item in failures.items():
        if item.text in expected:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(rule, item, detail, item.text)
    for missing, present in ((conditions, failures), (failures, conditions)):
        if present.size and not missing.size:
            detail = f"{missing.path[-1]} are required to use {present.path[-1]}"
            yield invalid(rule, missing, detail, missing.value)


def _taints(places: Place, target: Target) -> Iterator[Violation]:
    since_35 = target.has("taints-16")
    limit = MAX_TAINTS if since_35 else MAX_TAINTS_1_34
    if places.size > limit:
        yield count_violation("RS-43", places, limit)
    for item in places.items():
        violations = taint(_TAINT, item, target)
        yield from (
            filter_declared(violations, target) if since_35 and places.size > limit else violations
        )


# -- counters --------------------------------------------------------------------------------------


def _check_shared_counters(slice_spec: Place, target: Target) -> Iterator[Violation]:
    places = slice_spec.child("sharedCounters")
    if not target.has("counter-limits"):
        yield from _totals_1_34(slice_spec)
    limit = MAX_COUNTER_SETS if target.has("counter-limits") else places.size
    check = partial(_counter_set, target)
    yield from check_set(("RS-36", "RS-36"), places, limit, check, name_of, target, name="name")


def _totals_1_34(slice_spec: Place) -> Iterator[Violation]:
    devices, sets = slice_spec.child("devices"), slice_spec.child("sharedCounters")
    consumed = sum(
        consumption.child("counters").size
        for device in devices.items()
        for consumption in device.child("consumesCounters").items()
    )
    if consumed > MAX_DEVICE_COUNTERS_1_34:
        detail = (
            f"the total number of counters in devices must not exceed {MAX_DEVICE_COUNTERS_1_34}"
        )
        yield invalid("RS-32", devices, detail, consumed)
    shared = sum(counter_set.child("counters").size for counter_set in sets.items())
    if shared > MAX_COUNTERS:
        yield invalid(
            "RS-36",
            sets,
            f"the total number of shared counters must not exceed {MAX_COUNTERS}",
            shared,
        )


def _counter_set(target: Target, place: Place) -> Iterator[Violation]:
    name = place.child("name")
    if not name.text:
        yield value_required("RS-36", name)
    else:
        yield from label("RS-36", name)
    yield from _counters("RS-36", place.child("counters"), target)


def _counters(rule: str, places: Place, target: Target) -> Iterator[Violation]:
    if not places.size:
        yield from as_declared(places, [value_required(rule, places)])
        return
    if target.has("counter-limits") and places.size > MAX_COUNTERS:
        yield count_violation(rule, places, MAX_COUNTERS)
        # The declarative rule for keys applies even to too many counters
        if not target.has("counter-keys-declared"):
            return
    for key, _ in places.entries():
        entry = places.key(key, shorten_key(key, MAX_LABEL))
        at = places if target.has("keys-at-the-map") else entry
        yield from as_declared(
            at, (invalid(rule, entry, error, key, key=True) for error in label_errors(key))
        )


def _check_consumed_counters(
    slice_spec: Place, device: Place, target: Target
) -> Iterator[Violation]:
    places = device.child("consumesCounters")
    if not places.size:
        return
    since_35 = target.has("counter-limits")
    limit = MAX_CONSUMED_SETS if since_35 else places.size
    check = partial(_consumption, target)
    key = _counter_set_of
    yield from check_set(("RS-32", "RS-32"), places, limit, check, key, target, name="counterSet")
    if not since_35:
        yield from _references_1_34(slice_spec, device)


def _counter_set_of(place: Place) -> str:
    return place.child("counterSet").text


def _consumption(target: Target, place: Place) -> Iterator[Violation]:
    name = place.child("counterSet")
    if not name.text:
        yield from as_declared(name, [value_required("RS-32", name)])
    elif target.has("counter-set-names"):
        yield from as_declared(name, label("RS-32", name))
    yield from _counters("RS-32", place.child("counters"), target)
    if "DRASharedConsumableCapacity" in target.gates:
        yield from _counter_amounts(place.child("counters"))
    groups = place.child("compatibilityGroups")
    check = _compatibility_group
    yield from check_set(
        ("RS-32", "RS-32"), groups, MAX_COMPATIBILITY_GROUPS, check, text_of, target
    )


def _counter_amounts(places: Place) -> Iterator[Violation]:
    """Check that a device specifies its amount of each counter, and in only one way (KEP-5941, "API
    additions").
    """
    for key, _ in places.entries():
        entry = places.key(key)
        source = entry.child("valueFrom")
        if entry.child("value").set == source.set:
            yield invalid("RS-32", entry, "exactly one of `value` and `valueFrom` must be set")
        elif source.set and not source.child("capacityName").text:
            yield value_required("RS-32", source.child("capacityName"))


def _compatibility_group(place: Place) -> Iterator[Violation]:
    yield from as_declared(place, label("RS-32", place))


def _references_1_34(slice_spec: Place, device: Place) -> Iterator[Violation]:
    """Check the counter sets of a device as 1.34 does, where they must be in the same slice; in
    later releases they must be in another slice.
    """
    places = device.child("consumesCounters")
    total = sum(item.child("counters").size for item in places.items())
    if total > MAX_COUNTERS:
        yield invalid(
            "RS-32", device, f"the total number of counters must not exceed {MAX_COUNTERS}", total
        )
    counters_by_set = {
        name_of(item): item.child("counters").value or {}
        for item in slice_spec.child("sharedCounters").items()
    }
    for item in places.items():
        name, counters = item.child("counterSet"), item.child("counters")
        if name.text not in counters_by_set:
            detail = "must reference a counterSet defined in the ResourceSlice sharedCounters"
            yield invalid("RS-32", name, detail, name.text, allowed=tuple(counters_by_set))
            continue
        for key, _ in counters.entries():
            if key not in counters_by_set[name.text]:
                detail = "must reference a counter defined in the ResourceSlice sharedCounters"
                yield invalid(
                    "RS-32", counters, detail, key, allowed=tuple(counters_by_set[name.text])
                )


# -- fields of alpha gates
# --------------------------------------------------------------------------


def _node_allocatable_mappings(places: Place, capacity: Place) -> Iterator[Violation]:
    """Yield the violations of 1.36 (validateNodeAllocatableResourceMappings), whose defaults set a
    missing multiplier.
    """
    for name, _ in places.entries():
        place = places.key(name)
        multiplier, key = place.child("allocationMultiplier"), place.child("capacityKey")
        if not is_native_resource(name):
            yield invalid(
                "RS-37", place, "must be a node allocatable resource name", name, key=True
            )
        if multiplier.set and multiplier.quantity.sign() <= 0:
            yield invalid("RS-37", multiplier, "must be positive")
        yield from _capacity_key(key, capacity)


def _node_allocatable(places: Place, capacity: Place) -> Iterator[Violation]:
    """Yield the violations of 1.37 (validateNodeAllocatableResources, and a declarative union)."""
    for name, _ in places.entries():
        place = places.key(name)
        mapping, overhead = place.child("mapping"), place.child("overhead")
        if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
            yield invalid(
                "RS-37", place, "must be a node allocatable resource name", name, key=True
            )
        if not mapping.set and not overhead.set:
            yield value_required("RS-37", place, "at least one of mapping or overhead must be set")
        if mapping.set:
            yield from _mapping(mapping, capacity)
        if overhead.set:
            yield from _overhead(overhead)


def _mapping(place: Place, capacity: Place) -> Iterator[Violation]:
    key, multiplier, per_device = (
        place.child(name) for name in ("capacityKey", "capacityMultiplier", "deviceMultiplier")
    )
    if key.set and per_device.set:
        detail = "must specify exactly one of: `capacityKey`, `deviceMultiplier`"
        yield from as_declared(
            place, [invalid("RS-37", place, detail, "{capacityKey, deviceMultiplier}")]
        )
    elif not key.set and not per_device.set:
        detail = "must specify one of: `capacityKey`, `deviceMultiplier`"
        yield from as_declared(place, [invalid("RS-37", place, detail, "")])
    yield from _capacity_key(key, capacity)
    if key.set and not multiplier.set:
        yield value_required(
            "RS-37", multiplier, "capacityMultiplier is required when capacityKey is set"
        )
    elif key.set and multiplier.quantity.sign() <= 0:
        yield invalid("RS-37", multiplier, "must be positive")
    if per_device.set and per_device.quantity.sign() <= 0:
        yield invalid("RS-37", per_device, "must be positive")
    if multiplier.set and not key.set:
        yield value_required("RS-37", key, "capacityKey is required when capacityMultiplier is set")


def _capacity_key(key: Place, capacity: Place) -> Iterator[Violation]:
    if key.set and not key.text:
        yield invalid("RS-37", key, "capacityKey must not be an empty string")
    elif key.set and key.text not in (capacity.value or {}):
        yield not_found("RS-37", key, key.text, allowed=tuple(capacity.value or ()))


def _overhead(place: Place) -> Iterator[Violation]:
    per_pod, per_container = place.child("perPod"), place.child("perContainer")
    if not per_pod.set and not per_container.set:
        yield invalid("RS-37", place, "at least one of perPod or perContainer must be set", "")
    for quantity in (per_pod, per_container):
        if quantity.set and quantity.quantity.sign() < 0:
            yield invalid("RS-37", quantity, "must be non-negative")


def _partition_type(slice_spec: Place, target: Target) -> Iterator[Violation]:
    place = slice_spec.child("partitionTypeAttribute")
    wrong = list(fully_qualified_name("RS-38", place, target))
    yield from wrong
    consuming = [d for d in slice_spec.child("devices").items() if d.child("consumesCounters").size]
    if not consuming:
        yield invalid(
            "RS-38",
            place,
            "may only be set on a slice which declares devices that consume counters",
        )
        return
    if wrong:
        return
    bare = place.text.removeprefix(f"{slice_spec.child('driver').text}/")
    for device in consuming:
        attributes = device.child("attributes")
        name = next((n for n in (place.text, bare) if n in (attributes.value or {})), None)
        reported = attributes.key(place.text).field
        if name is None:
            detail = (
                "device consumes counters and `partitionTypeAttribute` names this attribute, so it"
                " must be set"
            )
            yield value_required("RS-38", attributes, detail, field=reported)
        elif not attributes.key(name).child("string").set:
            detail = "must be a string value because `partitionTypeAttribute` names this attribute"
            yield invalid("RS-38", attributes.key(name), detail, field=reported)


def skip_operations(rule: str, places: Place) -> Iterator[Violation]:
    """Yield the violations of validateSkipNodeOperations, for a slice and for an
    allocated device.
    """
    seen = set()
    for item in places.items():
        if item.text in seen:
            yield duplicate(rule, item, item.text)
        seen.add(item.text)
        if item.text not in SKIPPABLE:
            yield not_supported(rule, item, SKIPPABLE)
    if "NodePrepareResources" in seen and not seen & {"NodeUnprepareResources", "*"}:
        detail = (
            "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        )
        yield invalid(rule, places, detail)
