"""DeviceTaintRules and ResourceSlices that are created or that replace stored ones."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dractl.allocation import Features
from dractl.cluster.state import ClusterState, Key
from dractl.errors import InputError
from dractl.objects import Raw, items, mapping
from dractl.views import TaintRule, View

TAINT_KINDS = ("DeviceTaintRule", "ResourceSlice")
"""The kinds of objects that taint devices."""

TaintObjects = Mapping[str, Mapping[Key, Raw]]
"""Objects of the kinds in :data:`TAINT_KINDS`, by kind and name."""


def select_taint_objects(state: ClusterState, place: str) -> TaintObjects:
    """Return the objects in files that taint devices. Raises InputError if there are none."""
    objects = {kind: state.objects(kind) for kind in TAINT_KINDS if state.has(kind)}
    if not objects:
        kinds = ", ".join(state.kinds)
        raise InputError(
            "it has no DeviceTaintRule and no ResourceSlice" + (f", only {kinds}" if kinds else ""),
            place=place,
            hint="name the manifests of the change, and the cluster's dump with -f",
        )
    return objects


def store_taint_objects(
    state: ClusterState, objects: TaintObjects, features: Features, now: float
) -> ClusterState:
    """Return the cluster in which ``objects`` are stored and replace objects of the same names.

    A taint without ``timeAdded`` gets ``now`` (seconds since 1970), as the API server sets it
    (kubernetes pkg/apis/resource/v1/defaults.go SetDefaults_DeviceTaint).
    """
    rules = {
        key: _store_rule(TaintRule(rule), _find_stored_rule(state, key), features, now)
        for key, rule in objects.get("DeviceTaintRule", {}).items()
    }
    slices = {
        key: _store_slice(View(item), now) for key, item in objects.get("ResourceSlice", {}).items()
    }
    return state.with_objects({"DeviceTaintRule": rules, "ResourceSlice": slices})


def format_time(seconds: float) -> str:
    """Return a time in seconds since 1970 as the API server writes it, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _find_stored_rule(state: ClusterState, key: Key) -> TaintRule:
    return TaintRule(state.get("DeviceTaintRule", key), key)


def _store_rule(
    rule: TaintRule, stored: TaintRule, features: Features, now: float
) -> dict[str, Any]:
    """Return a rule as the API server stores it.

    If the effect of a stored rule changes but its time does not, releases with the feature
    ``rule-time-follows-effect`` set a new time (pkg/registry/resource/devicetaintrule/strategy.go
    PrepareForUpdate).
    """
    time_added = rule.time_added
    if (
        time_added == stored.time_added
        and rule.effect != stored.effect
        and features.has("rule-time-follows-effect")
    ):
        time_added = ""
    new = rule.with_taint(timeAdded=time_added or format_time(now))
    return {key: value for key, value in new.items() if key != "status"}


def _store_slice(item: View, now: float) -> Raw:
    """Return a slice in which every taint has a time."""
    stamp = {"timeAdded": format_time(now)}
    devices = [_store_device(mapping(device), stamp) for device in items(item.spec.get("devices"))]
    return {**item.raw, "spec": {**item.spec, "devices": devices}}


def _store_device(device: Raw, stamp: Raw) -> Raw:
    if "basic" in device:  # v1beta1
        return {**device, "basic": _store_device(mapping(device["basic"]), stamp)}
    taints = items(device.get("taints"))
    if not taints:
        return device
    return {**device, "taints": [{**stamp, **mapping(taint)} for taint in taints]}
