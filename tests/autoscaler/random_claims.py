"""Claims made at random from a seed, of every kind that Karpenter's allocator looks at, and many that it does not.

Each has the defaults of the API server, since the allocator takes objects as that returns them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Claim = dict[str, Any]
GPU, EFA = "gpu.nvidia.com", "dra.net"
ROOT = "resource.kubernetes.io/pcieRoot"
CLASSES = {
    "gpu": f"device.driver == '{GPU}'",
    "gpu-typed": f"device.driver == '{GPU}' && device.attributes['{GPU}'].type == 'gpu'",
    "efa": f"device.driver == '{EFA}'",
    "hopper": f"device.driver == '{GPU}' && device.attributes['{GPU}'].architecture == 'Hopper'",
    "unguarded": f"device.attributes['{GPU}'].type == 'gpu'",
    "any": None,
    "mig": f"device.driver == '{GPU}' && device.attributes['{GPU}'].type == 'mig'",
    "broken": "device.driver ==",
}
SELECTORS = {
    "attribute": (
        f"device.attributes['{GPU}'].architecture == 'Ampere'",
        f"device.attributes['{GPU}'].productName.matches('.*(A10G|L40S|H100|T4).*')",
        f"device.attributes['{GPU}'].productName.lowerAscii().contains('b200')",
        f"device.attributes['{GPU}'].brand in ['Nvidia', 'Tesla']",
        f"device.attributes['{GPU}'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))",
        f"device.attributes['{GPU}'].cudaComputeCapability.compareTo(semver('8.9.0')) == 0",
        "device.attributes['resource.kubernetes.io'].pcieRoot.startsWith('pci0000')",
        "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:00'",
    ),
    "capacity": (
        f"device.capacity['{GPU}'].memory.isGreaterThan(quantity('40Gi'))",
        f"device.capacity['{GPU}'].memory.compareTo(quantity('22Gi')) <= 0",
        f"device.capacity['{GPU}'].memory.isLessThan(quantity('141Gi'))",
        f"device.capacity['{GPU}'].multiprocessors.compareTo(quantity('100')) >= 0",
    ),
    "unknown": (
        f"device.attributes['{GPU}'].uuid != ''",
        f"!('uuid' in device.attributes['{GPU}'])",
        f"'uuid' in device.attributes['{GPU}'] && device.attributes['{GPU}'].uuid == 'x'",
        f"device.attributes['{GPU}'].?driverVersion.orValue(semver('0.0.0')).isLessThan(semver('1.0.0'))",
        f"has(device.attributes['{GPU}'].index) || true",
        f"device.attributes['{GPU}'].driverVersion.isGreaterThan(semver('550.0.0'))",
        "device.attributes['example.com'].model == 'x'",
        "has(device.attributes['example.com'].model)",
    ),
    "error": (
        f"device.attributes['{GPU}'].productName > 3",
        f"device.attributes['{GPU}'].productName == 3",
        f"device.attributes['{GPU}'].type.matches('(')",
        f"semver(device.attributes['{GPU}'].productName).isLessThan(semver('1.0.0'))",
        "device.nothing == 'x'",
        "1 / (device.driver.size() - device.driver.size()) == 0",
    ),
    "efa": (
        f"device.attributes['{EFA}'].rdma",
        f"device.attributes['{EFA}'].pciVendor == 'Amazon.com, Inc.'",
        f"device.attributes['{EFA}'].numaNode == 0",
        f"device.attributes['{EFA}'].?numaNode.orValue(1) == 1",
        f"device.attributes['{EFA}'].pciSubsystem in ['efa1', 'efa2']",
    ),
}
MATCHED = (
    ROOT,
    f"{GPU}/productName",
    f"{GPU}/driverVersion",
    f"{GPU}/cudaDriverVersion",
    f"{GPU}/uuid",
    f"{EFA}/numaNode",
    "resource.kubernetes.io/numaNode",
)


class Maker:
    """Makes claims with one source of random numbers."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.kinds: dict[str, Callable[[], list[Claim]]] = {
            "attribute": lambda: [self.claim(self.claim_with_selectors("attribute"))],
            "capacity": lambda: [self.claim(self.claim_with_selectors("capacity"))],
            "unknown": lambda: [self.claim(self.claim_with_selectors("unknown"))],
            "error": lambda: [self.claim(self.claim_with_selectors("error"))],
            "efa": lambda: [
                self.claim(self.exact("a", "efa", self.small(), self.choose_selectors("efa")))
            ],
            "count": lambda: [self.claim(self.exact("a", self.gpu(), self.count()))],
            "too-many": lambda: [self.claim(self.exact("a", "any", source.choice((32, 33, 64))))],
            "all": lambda: [self.claim(self.every("a"))],
            "all-and-more": lambda: [self.claim(self.every("a"), self.exact("b", "any", 1))],
            "alternatives": lambda: [self.claim(self.alternatives("a"))],
            "two-alternatives": lambda: [
                self.claim(self.alternatives("a"), self.alternatives("b"))
            ],
            "match": lambda: [
                self.claim_with_constraint(self.exact("a", self.gpu(), self.small()))
            ],
            "match-pair": lambda: [
                self.claim_with_constraint(
                    self.exact("a", "gpu", self.small()), self.exact("b", "efa", self.small())
                )
            ],
            "match-some": self.match_some,
            "distinct": self.distinct,
            "admin": lambda: [self.claim(self.exact("a", "gpu", 1, adminAccess=True))],
            "admin-beside": lambda: [
                self.claim(
                    self.exact("a", "gpu", 1, adminAccess=True),
                    self.exact("b", "gpu", self.count()),
                )
            ],
            "capacity-request": self.capacity_request,
            "several-requests": lambda: [
                self.claim(*(self.exact(name, self.gpu(), self.small()) for name in "abc"))
            ],
            "several-claims": lambda: [
                self.claim(self.exact("a", self.gpu(), self.small()), name=name)
                for name in ("one", "two")
            ],
            "tolerations": self.tolerations,
            "no-requests": lambda: [self.claim()],
            "missing-class": lambda: [self.claim(self.exact("a", "missing", 1))],
            "broken-class": lambda: [self.claim(self.exact("a", "broken", 1))],
        }

    def gpu(self) -> str:
        return self.source.choice(("gpu", "gpu-typed", "hopper", "unguarded", "mig"))

    def count(self) -> int:
        return self.source.choice((1, 2, 3, 4, 5, 8, 9))

    def small(self) -> int:
        return self.source.choice((1, 1, 2, 3))

    def choose_selectors(self, kind: str) -> list[str]:
        options = SELECTORS[kind]
        return self.source.sample(options, self.source.choice((1, 1, 1, min(2, len(options)))))

    def claim_with_selectors(self, kind: str) -> dict[str, Any]:
        return self.exact(
            "a", self.source.choice(("gpu", "gpu", "any")), 1, self.choose_selectors(kind)
        )

    def exact(
        self,
        name: str,
        device_class: str,
        count: int,
        selectors: list[str] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        exactly: dict[str, Any] = {
            "deviceClassName": device_class,
            "allocationMode": "ExactCount",
            "count": count,
            **more,
        }
        if selectors:
            exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
        return {"name": name, "exactly": exactly}

    def every(self, name: str) -> dict[str, Any]:
        kind = self.source.choice(("attribute", "capacity", "unknown", "error", ""))
        request = self.exact(
            name,
            self.source.choice(("gpu", "efa", "any", "unguarded", "mig")),
            0,
            self.choose_selectors(kind) if kind else None,
            allocationMode="All",
        )
        del request["exactly"]["count"]
        return request

    def alternatives(self, name: str) -> dict[str, Any]:
        parts = []
        for number in range(self.source.choice((2, 3))):
            kind = self.source.choice(("attribute", "capacity", "unknown"))
            exactly = self.exact("", self.source.choice(("gpu", "mig", "efa")), self.count())
            part = {"name": f"x{number}", **exactly["exactly"]}
            if self.source.random() < 0.5:
                part["selectors"] = [
                    {"cel": {"expression": text}} for text in self.choose_selectors(kind)
                ]
            parts.append(part)
        return {"name": name, "firstAvailable": parts}

    def claim_with_constraint(self, *requests: dict[str, Any]) -> Claim:
        attributes = self.source.sample(MATCHED, self.source.choice((1, 1, 2)))
        return self.claim(*requests, constraints=[{"matchAttribute": item} for item in attributes])

    def match_some(self) -> list[Claim]:
        constraint = {
            "matchAttribute": self.source.choice(MATCHED),
            "requests": self.source.choice((["a"], ["b"], ["a", "b"], ["a/x0"])),
        }
        requests = (self.alternatives("a"), self.exact("b", "gpu", self.small()))
        return [self.claim(*requests, constraints=[constraint])]

    def distinct(self) -> list[Claim]:
        attribute = self.source.choice(MATCHED)
        request = self.exact("a", "gpu", self.small())
        return [self.claim(request, constraints=[{"distinctAttribute": attribute}])]

    def capacity_request(self) -> list[Claim]:
        amount = self.source.choice(("1Gi", "40Gi", "300Gi"))
        name = self.source.choice(("memory", "shares", f"{GPU}/memory"))
        capacity = {"requests": {name: amount}}
        return [self.claim(self.exact("a", "gpu", self.small(), capacity=capacity))]

    def tolerations(self) -> list[Claim]:
        tolerations = [{"key": "example.com/bad", "operator": "Equal", "value": "yes"}]
        return [self.claim(self.exact("a", self.gpu(), self.small(), tolerations=tolerations))]

    def claim(self, *requests: dict[str, Any], constraints: Any = None, name: str = "c") -> Claim:
        devices: dict[str, Any] = {"requests": list(requests)}
        if constraints:
            devices["constraints"] = constraints
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"devices": devices},
        }


def device_classes() -> list[dict[str, Any]]:
    """The classes that exist."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": text}}]} if text else {},
        }
        for name, text in CLASSES.items()
    ]


def random_questions(seed: int, count: int) -> list[dict[str, Any]]:
    """Questions to Karpenter's allocator: every kind in turn, each with the claims of one pod."""
    maker = Maker(random.Random(seed))
    kinds = list(maker.kinds)
    return [
        {
            "id": f"{kinds[number % len(kinds)]}-{seed}-{number}",
            "claims": maker.kinds[kinds[number % len(kinds)]](),
            "classes": device_classes(),
        }
        for number in range(count)
    ]
