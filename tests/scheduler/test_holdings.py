"""The devices that the claims of a cluster hold, after changes."""

from __future__ import annotations

import random
from typing import Any

from dractl.allocation import Features
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
