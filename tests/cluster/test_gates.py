"""Feature gates that stored objects and the scheduler's words show."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.gates import find_gates_in, find_shown_gates
from dractl.model import Target
from tests.explain.cluster import claim, device, pod, request, slice_of, state_of

SHARES = "DRAConsumableCapacity"


def gates_of(*objects: dict[str, Any], release: str = "1.34", **options: bool) -> dict[str, bool]:
    gates = find_shown_gates(state_of(*objects), release, Target.of(release).gates)
    return gates.override(options)


def with_uid(value: dict[str, Any]) -> dict[str, Any]:
    value["metadata"]["uid"] = "u"
    return value


def slice_with_shares() -> dict[str, Any]:
    value = slice_of("gpu.example.com", "node-1", device("gpu-0"))
    value["spec"]["devices"][0]["allowMultipleAllocations"] = True
    return value


def test_a_stored_field_proves_its_gate() -> None:
    assert gates_of(with_uid(slice_with_shares())) == {SHARES: True}


def test_a_manifest_proves_nothing() -> None:
    assert gates_of(slice_with_shares()) == {}


def test_a_resource_version_tells_a_stored_object_too() -> None:
    value = slice_with_shares()
    value["metadata"]["resourceVersion"] = "7"
    assert gates_of(value) == {SHARES: True}


def test_a_field_of_an_older_version_is_found_in_its_own_place() -> None:
    value = with_uid(slice_of("gpu.example.com", "node-1"))
    value["apiVersion"] = "resource.k8s.io/v1beta1"
    value["spec"]["devices"] = [{"name": "gpu-0", "basic": {"allowMultipleAllocations": True}}]
    assert gates_of(value) == {SHARES: True}


def test_a_share_in_a_status_proves_its_gate() -> None:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "x", "shareID": "s"}
    value = claim(
        "c", request("r", "gpu"), status={"allocation": {"devices": {"results": [result]}}}
    )
    assert gates_of(with_uid(value)) == {SHARES: True}


def test_an_option_counts_for_more_than_an_object() -> None:
    assert gates_of(with_uid(slice_with_shares()), **{SHARES: False}) == {SHARES: False}


def test_a_gate_on_by_default_needs_no_proof() -> None:
    assert gates_of(with_uid(slice_with_shares()), release="1.36") == {}


def test_field_kept_by_mistake_proves_no_gate() -> None:
    """The API server of 1.34 does not drop distinctAttribute (it clears a copy)."""
    value = with_uid(claim("c", request("r", "gpu"), constraints=[{"distinctAttribute": "a/b"}]))
    assert gates_of(value) == {}
    assert gates_of(value, release="1.35") == {SHARES: True}


def test_field_needing_two_gates_proves_both() -> None:
    value = with_uid(slice_of("d", "node-1", device("x")))
    value["spec"]["devices"][0]["bindingConditions"] = ["ready"]
    assert gates_of(value)["DRADeviceBindingConditions"] is True


def test_the_schedulers_words_count_for_more_than_objects() -> None:
    message = f"claim c: has subrequests, but the {SHARES} feature is disabled"
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    user = pod("p", status={"phase": "Pending", "conditions": [condition]})
    assert gates_of(with_uid(slice_with_shares()), user) == {SHARES: False}
    assert gates_of(user, release="1.36") == {SHARES: False}


def test_gates_needed_by_objects_are_listed() -> None:
    assert find_gates_in([slice_with_shares()], "1.34") == {SHARES}


def handled_rule(*conditions: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "worn", "uid": "u"},
        "spec": {"deviceSelector": {}, "taint": {"key": "worn", "effect": "NoExecute"}},
        "status": {"conditions": [{"type": name, "status": "True"} for name in conditions]},
    }


def test_rule_that_the_eviction_controller_handled_proves_its_gate() -> None:
    """kubernetes/kubernetes#141422: 1.36 with the gate on; the controller writes the condition."""
    gates = gates_of(handled_rule("EvictionInProgress"), release="1.36")
    assert gates == {"DRADeviceTaintRules": True, "DRADeviceTaints": True}


def test_rule_that_nobody_handled_proves_nothing() -> None:
    """The API server stores rules while the gate is off, too."""
    assert gates_of(handled_rule(), release="1.36") == {}
    assert gates_of(handled_rule("Other"), release="1.36") == {}
    assert gates_of(handled_rule("EvictionInProgress"), release="1.34") == {}
    assert gates_of(handled_rule("EvictionInProgress"), release="1.37") == {}


@pytest.mark.parametrize(
    "status", ["text", {"conditions": "text"}, {"conditions": ["text", {"type": 7}]}]
)
def test_rule_with_a_broken_status_proves_nothing(status: Any) -> None:
    rule = {**handled_rule(), "status": status}
    assert gates_of(rule, release="1.36") == {}
