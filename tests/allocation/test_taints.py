"""DeviceTaintRules of 1.34 that select by class or CEL.

Expected is what applyPatches and syncSlice of k8s.io/dynamic-resource-allocation v0.34
(resourceslice/tracker/tracker.go) do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features, apply_taint_rules
from dractl.model import decode

if TYPE_CHECKING:
    from .conftest import Cluster

BROKEN = "device.nothing"  # does not compile


def rule(name: str = "r", key: str = "k", **selector: Any) -> Any:
    if "selectors" in selector:
        selector["selectors"] = [{"cel": {"expression": text}} for text in selector["selectors"]]
    spec = {
        "deviceSelector": selector,
        "taint": {"key": key, "value": name, "effect": "NoSchedule"},
    }
    kind = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
    }
    return decode({**kind, "spec": spec})


def gpu(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"index": {"int": int(name[-1])}}, **fields}


@pytest.fixture
def two(cluster: Cluster) -> Cluster:
    """Devices a-0 and a-1 of a.io, b-0 of b.io; classes a.io and b.io, and some more."""
    cluster.pool("a.io", [gpu("a-0"), gpu("a-1")]).pool("b.io", [gpu("b-0")])
    cluster.device_class("all").device_class(
        "first", 'device.driver == "a.io"', 'device.attributes["a.io"].index == 0'
    )
    return cluster.device_class("broken", BROKEN)


def taints_by_device(
    cluster: Cluster, *rules: Any, release: str = "1.34", **gates: bool
) -> dict[str, list[str]]:
    """The values of the taints of every device that the scheduler still knows."""
    slices: list[Any] = [decode(found) for found in cluster.slices]
    classes: list[Any] = [decode(found) for found in cluster.classes]
    features = Features.for_release(release, {"DRADeviceTaints": True, **gates})
    found = apply_taint_rules(slices, rules, features, classes=classes)
    return {d.name: [t.value for t in d.taints] for s in found for d in s.spec.devices}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"deviceClassName": "b.io"}, {"b-0"}),
        ({"deviceClassName": "first"}, {"a-0"}),
        ({"deviceClassName": "all"}, {"a-0", "a-1", "b-0"}),
        ({"deviceClassName": "gone"}, set()),
        ({"selectors": ['device.attributes["a.io"].?index.orValue(-1) == 1']}, {"a-1"}),
        ({"selectors": ['device.driver == "a.io"', "false"]}, set()),
        (
            {"deviceClassName": "a.io", "selectors": ['device.attributes["a.io"].index > 0']},
            {"a-1"},
        ),
        ({"driver": "b.io", "deviceClassName": "all"}, {"b-0"}),
        ({"pool": "elsewhere", "deviceClassName": "all"}, set()),
        ({"device": "a-1", "selectors": ["true"]}, {"a-1"}),
        ({"device": "a-1", "deviceClassName": "first"}, set()),
    ],
)
def test_all_parts_of_a_selector_must_match(two: Cluster, selector: Any, names: set[str]) -> None:
    found = taints_by_device(two, rule(**selector))
    assert {name for name, taints in found.items() if taints} == names
    assert set(found) == {"a-0", "a-1", "b-0"}


def test_runtime_errors_of_class_and_rule_do_not_match(two: Cluster) -> None:
    """b-0 has no attribute of a.io: the expression fails there, and the other devices are tainted all the same."""
    fails = 'device.attributes["a.io"].index >= 0'
    two.device_class("fails", fails)
    expected = {"a-0": ["r"], "a-1": ["r"], "b-0": []}
    assert taints_by_device(two, rule(selectors=[fails])) == expected
    assert taints_by_device(two, rule(deviceClassName="fails")) == expected


@pytest.mark.parametrize(
    "selector", [{"deviceClassName": "broken"}, {"selectors": ["true", BROKEN]}]
)
def test_slice_is_skipped_if_a_device_meets_a_compile_error(two: Cluster, selector: Any) -> None:
    assert taints_by_device(
        two, rule("ok", selectors=["true"]), rule(driver="a.io", **selector)
    ) == {"b-0": ["ok"]}
    assert set(taints_by_device(two, rule(device="a-1", **selector))) == {"b-0"}


def test_compile_error_is_not_seen_if_no_device_meets_it(two: Cluster) -> None:
    everything = {"a-0", "a-1", "b-0"}
    assert set(taints_by_device(two, rule(device="gone", selectors=[BROKEN]))) == everything
    assert set(taints_by_device(two, rule(selectors=["false", BROKEN]))) == everything
    assert (
        set(taints_by_device(two, rule(deviceClassName="gone", selectors=[BROKEN]))) == everything
    )
    # The class comes before the rule's own selectors.
    assert set(taints_by_device(two, rule(deviceClassName="b.io", selectors=[BROKEN]))) == {
        "a-0",
        "a-1",
    }


def test_taints_are_added_behind_those_of_the_device(cluster: Cluster) -> None:
    cluster.pool("a.io", [gpu("a-0", taints=[{"key": "k", "value": "own", "effect": "NoExecute"}])])
    first, second = rule("r1", deviceClassName="a.io"), rule("r2", selectors=["true"])
    assert taints_by_device(cluster, second, first) == {"a-0": ["own", "r1", "r2"]}


def test_a_selector_without_cel_is_passed_over(two: Cluster) -> None:
    spec = {
        "deviceSelector": {"selectors": [{}]},
        "taint": {"key": "k", "value": "r", "effect": "NoSchedule"},
    }
    kind = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
    }
    assert taints_by_device(two, decode({**kind, "spec": spec})) == {
        "a-0": ["r"],
        "a-1": ["r"],
        "b-0": ["r"],
    }


def test_the_tracker_does_not_tell_cel_of_sharing(cluster: Cluster) -> None:
    cluster.pool("a.io", [gpu("a-0", allowMultipleAllocations=True)])
    shared, own = (
        rule("yes", selectors=["device.allowMultipleAllocations"]),
        rule("no", selectors=["true"]),
    )
    assert taints_by_device(cluster, shared, own, DRAConsumableCapacity=True) == {"a-0": ["no"]}


def test_without_the_gate_rules_are_not_read(two: Cluster) -> None:
    assert taints_by_device(two, rule(selectors=[BROKEN]), DRADeviceTaints=False) == {
        "a-0": [],
        "a-1": [],
        "b-0": [],
    }


def test_1_35_knows_neither_class_nor_cel(two: Cluster) -> None:
    """The fields were removed from the API: what is left of the selector decides."""
    selected = rule(driver="b.io", deviceClassName="gone", selectors=[BROKEN])
    assert taints_by_device(two, selected, release="1.35", DRADeviceTaintRules=True) == {
        "a-0": [],
        "a-1": [],
        "b-0": ["r"],
    }
