"""The devices that the claims of a cluster hold, after changes."""

from __future__ import annotations

import random
from typing import Any

from dractl.allocation import DeviceID, Features
from dractl.cluster.state import ClusterState
from dractl.scheduler.holdings import collect_held_devices

FEATURES = Features.for_release("1.36")


def claim(name: str, *devices: tuple[str, str], shares: bool = False) -> dict[str, Any]:
    """Return a claim that holds devices, each by pool and name, or shares of them."""
    share = {"shareID": name, "consumedCapacity": {"memory": "1Gi"}} if shares else {}
    results = [
        {"request": "r", "driver": "x.io", "pool": pool, "device": device, **share}
        for pool, device in devices
    ]
    value: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "a"},
        "spec": {"devices": {"requests": []}},
    }
    if results:
        value["status"] = {"allocation": {"devices": {"results": results}}}
    return value


def test_held_devices_after_a_change_equal_those_of_a_new_cluster() -> None:
    chance = random.Random(1)
    devices = [(pool, device) for pool in ("p", "q", "s") for device in ("0", "1")]
    state = ClusterState({"ResourceClaim": {}})
    for step in range(300):
        name = f"c{chance.randrange(8)}"
        shares = step > 200 and chance.random() < 0.3
        held = claim(name, *chance.sample(devices, chance.randrange(4)), shares=shares)
        value = held if chance.random() < 0.7 else None
        state = state.replace("ResourceClaim", ("a", name), value)
        updated = collect_held_devices(state, FEATURES)
        unrelated = ClusterState({"ResourceClaim": state.objects("ResourceClaim")})
        computed = collect_held_devices(unrelated, FEATURES)
        assert (updated.devices, updated.in_use) == (computed.devices, computed.in_use)


def test_exclusive_devices_are_those_that_a_claim_holds_whole() -> None:
    objects = {
        ("a", name): value
        for name, value in (
            ("whole", claim("whole", ("p", "0"), ("q", "1"))),
            ("shared", claim("shared", ("p", "1"), shares=True)),
            ("free", claim("free")),
        )
    }
    devices = collect_held_devices(ClusterState({"ResourceClaim": objects}), FEATURES).devices
    whole = {DeviceID("x.io", "p", "0"), DeviceID("x.io", "q", "1")}
    assert devices.devices == whole
    assert devices.devices
    assert len(devices.devices) == 2
    assert DeviceID("x.io", "p", "1") not in devices.devices
    assert devices.devices | {DeviceID("x.io", "p", "1")} == {*whole, DeviceID("x.io", "p", "1")}
    assert not collect_held_devices(ClusterState({}), FEATURES).devices.devices
