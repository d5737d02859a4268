"""What claims and classes read of devices, and whether a known bug concerns them."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cel import environment
from dractl.cluster.state import ClusterState
from dractl.model import Target
from dractl.scheduler import known_bugs
from dractl.scheduler.groups import attribute_names
from dractl.scheduler.holdings import collect_held_devices

compiled = environment(Target.of("1.37"), "stored").compile


def selecting(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


def test_names_of_selectors_and_of_constraints() -> None:
    constraint = {"constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}
    assert attribute_names(
        compiled, selecting('device.attributes["x.io"].model == "a"'), constraint
    ) == {"model", "pcieRoot"}


def test_a_selector_may_read_any_attribute() -> None:
    assert (
        attribute_names(compiled, selecting('device.attributes["x.io"].all(name, name != "a")'))
        is None
    )


@pytest.mark.parametrize(("selector", "applies"), [(None, True), (object(), False)])
def test_rules_without_a_selector(selector: object, applies: bool) -> None:
    rules = [SimpleNamespace(spec=SimpleNamespace(device_selector=selector))]
    scheduler: Any = SimpleNamespace(state=SimpleNamespace(taint_rules=rules), slices=())
    bug: Any = SimpleNamespace(name="rules-without-selector")
    assert known_bugs._concerns(scheduler, bug, ()) is applies


def claim(name: str, *devices: tuple[str, str], shares: bool = False) -> dict[str, Any]:
    """A claim that holds devices, each by pool and name, or shares of them."""
    shared: dict[str, Any] = (
        {"shareID": name, "consumedCapacity": {"memory": "1Gi"}} if shares else {}
    )
    results = [
        {"request": "r", "driver": "x.io", "pool": pool, "device": device, **shared}
        for pool, device in devices
    ]
    metadata = {"name": name, "namespace": "a"}
    value: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
    }
    allocation = {"status": {"allocation": {"devices": {"results": results}}}} if results else {}
    return {**value, "spec": {"devices": {"requests": []}}, **allocation}


def test_what_claims_hold_after_a_change_is_what_they_hold_read_anew() -> None:
    chance = random.Random(1)
    features = Features.for_release("1.36")
    where = [(pool, device) for pool in ("p", "q", "s") for device in ("0", "1")]
    state = ClusterState({"ResourceClaim": {}})
    for step in range(300):
        name = f"c{chance.randrange(8)}"
        made = claim(
            name,
            *chance.sample(where, chance.randrange(4)),
            shares=step > 200 and chance.random() < 0.3,
        )
        state = state.replace("ResourceClaim", ("a", name), made if chance.random() < 0.7 else None)
        updated = collect_held_devices(state, features)
        computed = collect_held_devices(
            ClusterState({"ResourceClaim": state.objects("ResourceClaim")}), features
        )
        assert (updated.devices, updated.in_use) == (computed.devices, computed.in_use)
