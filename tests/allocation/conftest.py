"""Small clusters, written as a user would write them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Allocator, Features
from dractl.model import decode

API = "resource.k8s.io/v1"


class Cluster:
    """Builds the objects of a question about one node."""

    def __init__(self) -> None:
        self.slices: list[dict[str, Any]] = []
        self.classes: list[dict[str, Any]] = []

    def device_class(self, name: str, *selectors: str) -> Cluster:
        spec = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
        self.classes.append(
            {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}
        )
        return self

    def pool(
        self, driver: str, devices: list[dict[str, Any]], name: str = "node-1", **spec: Any
    ) -> Cluster:
        """A pool of one slice on node-1, and the class of its driver."""
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
        where = spec.pop("where", {"nodeName": "node-1"})
        self.slices.append(
            {
                "apiVersion": API,
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-{driver}-{len(self.slices)}"},
                "spec": {"driver": driver, "pool": pool, "devices": devices, **where, **spec},
            }
        )
        if not any(found["metadata"]["name"] == driver for found in self.classes):
            self.device_class(driver, f'device.driver == "{driver}"')
        return self

    def allocator(
        self, release: str = "1.37", *, upstream_bugs: bool = True, state: Any = None, **gates: bool
    ) -> Allocator:
        features = Features.for_release(release, gates, upstream_bugs=upstream_bugs)
        slices = [decode(found) for found in self.slices]
        return Allocator(
            slices, [decode(found) for found in self.classes], state=state, features=features
        )  # type: ignore[arg-type]


def node(name: str = "node-1", **labels: str) -> Any:
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


def claim(
    *requests: dict[str, Any],
    name: str = "c",
    constraints: Any = (),
    config: Any = (),
    status: Any = None,
) -> Any:
    devices = {"requests": list(requests), "constraints": list(constraints), "config": list(config)}
    value = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"devices": devices},
    }
    return decode(value if status is None else {**value, "status": status})


def want(
    name: str, device_class: str, count: int = 1, *selectors: str, **exactly: Any
) -> dict[str, Any]:
    """A request for an exact count."""
    chosen = [{"cel": {"expression": text}} for text in selectors]
    return {
        "name": name,
        "exactly": {
            "deviceClassName": device_class,
            "count": count,
            "selectors": chosen,
            **exactly,
        },
    }


def taken(verdict: Any) -> list[str]:
    """``request=device`` of every result, in order."""
    return [
        f"{found.request}={found.device}"
        for result in verdict.results
        for found in result.devices.results
    ]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()
