"""Karpenter's verdicts, each as its code says or as its allocator answered."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.autoscaler import Judgement, judge, search
from dractl.autoscaler.requirements import Requirement
from dractl.errors import UsageError
from dractl.facts.autoscalers import choose_autoscaler, device_tables
from dractl.model import DeviceClass, ResourceClaim, decode

TABLES = device_tables()["karpenter"]
GPU = 'device.driver == "gpu.nvidia.com"'
SELECTORS = {"gpu": (GPU,), "nic": ('device.driver == "dra.net"',), "any": ()}


def make_class(name: str) -> DeviceClass:
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in SELECTORS[name]]},
    }
    decoded = decode(value)
    assert isinstance(decoded, DeviceClass)
    return decoded


CLASSES = {name: make_class(name) for name in SELECTORS}


def exact(name: str = "gpu", device_class: str = "gpu", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


def make_claim(*requests: dict[str, Any], **devices: Any) -> ResourceClaim:
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ml"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }
    decoded = decode(value)
    assert isinstance(decoded, ResourceClaim)
    return decoded


def ask(*claims: ResourceClaim, on: str = "p5.48xlarge", version: str | None = None) -> Judgement:
    return judge(claims, CLASSES, on, TABLES, version)


def test_capacity_of_unshared_devices_is_not_compared() -> None:
    """checkCapacity in consumable_capacity.go returns at once unless a device allows several allocations."""
    claim = make_claim(exact(capacity={"requests": {"memory": "300Gi"}}))
    assert ask(claim, on="g4dn.xlarge").verdict == "serves"


def test_selector_compares_the_capacity_declared_by_the_provider() -> None:
    """The provider declares 81152Mi for the GPUs of a p5, the driver publishes 81559Mi."""
    text = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("81500Mi")) >= 0'
    claim = make_claim(exact(selectors=[{"cel": {"expression": text}}]))
    assert ask(claim).verdict == "never"
    assert "81152Mi" in ask(claim).reason


def test_an_attribute_without_a_value_matches_if_it_is_declared_equal() -> None:
    """MatchAttributeConstraint.Add in constraint.go falls back to the attribute bindings."""
    versions = [{"matchAttribute": "gpu.nvidia.com/driverVersion"}]
    numa = [{"matchAttribute": "resource.kubernetes.io/numaNode"}]
    assert ask(make_claim(exact(count=2), constraints=versions)).verdict == "serves"
    judgement = ask(make_claim(exact(count=2), constraints=numa))
    assert judgement.verdict == "never"
    assert "resource.kubernetes.io/numaNode" in judgement.reason


def test_a_binding_of_one_device_is_ignored() -> None:
    """BuildAttributeBindings skips bindings with fewer than two devices."""
    versions = [{"matchAttribute": "gpu.nvidia.com/driverVersion"}]
    assert ask(make_claim(exact(), constraints=versions), on="g5.xlarge").verdict == "never"
    assert ask(make_claim(exact(), constraints=versions), on="g5.48xlarge").verdict == "serves"


def test_devices_with_and_without_a_value_never_match() -> None:
    versions = [{"matchAttribute": "gpu.nvidia.com/driverVersion"}]
    claim = make_claim(exact(), exact("nic", "nic"), constraints=versions)
    assert ask(claim).verdict == "never"


def test_a_guarded_attribute_is_absent() -> None:
    guarded = '!("uuid" in device.attributes["gpu.nvidia.com"])'
    plain = 'device.attributes["gpu.nvidia.com"].uuid != "x"'
    assert ask(make_claim(exact(selectors=[{"cel": {"expression": guarded}}]))).verdict == "serves"
    judgement = ask(make_claim(exact(selectors=[{"cel": {"expression": plain}}])))
    assert judgement.verdict == "never"
    assert "gpu.nvidia.com/uuid" in judgement.reason


def select(text: str, device_class: str = "gpu") -> ResourceClaim:
    return make_claim(exact("r", device_class, selectors=[{"cel": {"expression": text}}]))


def test_a_selector_that_does_not_compile_refuses_every_type() -> None:
    judgement = ask(select("device.drivr == 'gpu.nvidia.com'"))
    assert (judgement.verdict, judgement.refuses_all_types) == ("never", True)
    assert "a selector of request r does not compile" in judgement.reason
    assert "drivr" in judgement.reason
    assert "\n" not in judgement.reason


def test_selectors_may_read_allow_multiple_allocations() -> None:
    """NewAllocator in allocator.go compiles with EnableConsumableCapacity."""
    assert ask(select("!device.allowMultipleAllocations")).verdict == "serves"


def test_the_reason_is_about_the_devices_that_come_nearest() -> None:
    """Most devices of a p5 are network adapters, of which the selector reads the driver only."""
    text = f'{GPU} && device.attributes["gpu.nvidia.com"].architecture == "Ampere"'
    judgement = ask(select(text, "any"))
    assert judgement.verdict == "never"
    assert 'where gpu.nvidia.com/architecture is "Hopper"' in judgement.reason


def test_a_failing_selector_refuses_a_request_for_all_devices() -> None:
    """collectAllModeFromDevices returns the error; tryDevice only passes the device over."""
    text = 'device.attributes["gpu.nvidia.com"].type == "gpu"'
    selectors = [{"cel": {"expression": text}}]
    counted = make_claim(exact(device_class="any", selectors=selectors))
    every = make_claim(exact(device_class="any", selectors=selectors, allocationMode="All"))
    assert ask(counted).verdict == "serves"
    assert ask(every).verdict == "never"
    assert ask(every, on="g5.xlarge").verdict == "serves"


def test_admin_access_takes_devices() -> None:
    """deviceRequestAccessor in request.go has no adminAccess."""
    watcher = make_claim(exact(adminAccess=True))
    user = make_claim(exact(count=8))
    assert ask(user).verdict == "serves"
    assert ask(watcher, user).verdict == "never"


def test_claims_of_one_pod_share_the_devices() -> None:
    claim = make_claim(exact(count=4))
    assert ask(claim, claim).verdict == "serves"
    assert ask(claim, claim, claim).verdict == "never"


def test_distinct_attribute_is_refused() -> None:
    claim = make_claim(
        exact(count=2), constraints=[{"distinctAttribute": "gpu.nvidia.com/productName"}]
    )
    assert ask(claim).verdict == "never"
    assert "distinctAttribute" in ask(claim).reason


def test_a_claim_with_more_than_32_devices_is_refused() -> None:
    assert ask(make_claim(exact("nic", "any", count=33))).verdict == "never"
    assert ask(make_claim(exact("nic", "any", allocationMode="All"))).verdict == "never"
    assert ask(make_claim(exact("nic", "nic", allocationMode="All"))).verdict == "serves"


def test_fitting_alternative_is_found_after_one_without_room() -> None:
    alternatives = [
        {"name": "many", "deviceClassName": "gpu", "count": 16},
        {"name": "few", "deviceClassName": "gpu", "count": 8},
    ]
    claim = make_claim({"name": "gpu", "firstAvailable": alternatives})
    assert ask(claim).verdict == "serves"
    assert ask(claim, on="g5.12xlarge").verdict == "never"
    claim = make_claim({"name": "gpu", "firstAvailable": alternatives[::-1]})
    assert ask(claim).verdict == "serves"


def test_the_reason_tells_a_value_that_differs_from_one_that_is_not_known() -> None:
    """Supported Attributes by Driver (website of karpenter-provider-aws): pcieRoot is declared, numaNode is not."""
    (differing, unknown) = (
        ask(make_claim(exact(count=8), constraints=[{"matchAttribute": name}])).reason
        for name in ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode")
    )
    assert differing.startswith("too few devices")
    assert "does not know its value" in unknown


def test_the_reason_names_the_drivers_of_the_devices() -> None:
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    reason = ask(make_claim(exact(device_class="any", selectors=[selector]))).reason
    assert "Karpenter knows only of devices of gpu.nvidia.com and dra.net" in reason


def test_bounds_that_exclude_each_other_allow_no_value() -> None:
    """Requirement.Intersection in pkg/scheduling/requirement.go: no value is left, so the operator is DoesNotExist."""
    more, less = Requirement(excludes=True, lowest=5), Requirement(excludes=True, highest=3)
    assert not more.intersect(less).allows("4")
    assert not more.intersect(less).needs_label


def test_too_long_search_launches_nothing() -> None:
    """Recorded with Karpenter 1.15.0: 20 of 16 EFA interfaces of a p5en do not end within five seconds."""
    judgement = ask(make_claim(exact("nic", "nic", count=20)), on="p5en.48xlarge")
    assert judgement.verdict == "never"
    assert "after 5 seconds" in judgement.reason


def test_search_with_too_many_states_launches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_STATES", 0)
    judgement = ask(make_claim(exact()))
    assert judgement.verdict == "never"
    assert "after 5 seconds" in judgement.reason


def test_the_search_gives_up_where_an_early_request_hides_a_late_one() -> None:
    """Recorded with Karpenter 1.15.0, as before."""
    judgement = ask(make_claim(exact("nic", "nic", count=16), exact("gpus", "gpu", count=9)))
    assert judgement.verdict == "never"
    assert "after 5 seconds" in judgement.reason


def test_the_provider_declares_nothing_before_1_15() -> None:
    """pkg/providers/nvidiadra and efadra are not in karpenter-provider-aws v1.14.3."""
    assert ask(make_claim(exact()), version="1.14").verdict == "never"


@pytest.mark.parametrize(
    ("machine", "verdict"),
    [("dgx-h100", "unknown"), ("trn1.2xlarge", "never"), ("t3.micro", "never")],
)
def test_only_instance_types_are_judged(machine: str, verdict: str) -> None:
    assert ask(make_claim(exact()), on=machine).verdict == verdict


def test_a_missing_class_is_refused() -> None:
    judgement = ask(make_claim(exact(device_class="missing")))
    assert (judgement.verdict, "missing" in judgement.reason) == ("never", True)


@pytest.mark.parametrize("text", ["karpenter=9", "karpenter=1.13", "kueue", "carpenter"])
def test_other_autoscalers_and_versions_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        choose_autoscaler(text)
