"""Compares dractl's allocator with upstream's on random cases.

    python tests/conformance/fuzz_allocator.py --release 1.37 --count 5000 --seed 1

Every case is made from its seed alone. Upstream's program is ``allocator-RELEASE`` in ``$DRACTL_ORACLE_DIR``, else in
``~/.cache/dractl-oracle``. Where upstream walks pools in random order, its answer is asked for many times and any of
its outcomes is right. A difference is made smaller while it stays one, and printed as a case.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from replay_allocator import answer

from dractl.allocation import Features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Case = dict[str, Any]

ALL = {
    "1.34": [
        "DRAAdminAccess",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaints",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
    ]
}
ALL["1.35"] = ALL["1.34"]
ALL["1.36"] = [*ALL["1.35"], "DRAListTypeAttributes"]
ALL["1.37"] = [
    *ALL["1.36"],
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAFractionalCapacityRange",
    "DRAOptionalNodeOperations",
]
DEFAULT = {
    "1.34": ["DRAAdminAccess", "DRAPrioritizedList", "DRAResourceClaimDeviceStatus"],
    "1.35": ["DRAAdminAccess", "DRAPrioritizedList", "DRAResourceClaimDeviceStatus"],
    "1.36": ALL["1.34"],
    "1.37": [*ALL["1.34"], "DRAFractionalCapacityRange"],
}
STABLE = ["DRAAdminAccess", "DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList"]

PARTS = (
    "counters",
    "twins",
    "shares",
    "taints",
    "binding",
    "perdevice",
    "selectors",
    "matches",
    "distinct",
    "alternatives",
    "all",
    "admin",
    "lists",
    "derived",
    "groups",
    "operations",
    "generations",
    "incomplete",
    "invalid",
    "othernodes",
    "config",
    "held",
    "errors",
    "nodeselector",
    "claims",
    "policy",
)
ENDS_EARLY = {
    "derived",
    "errors",
    "generations",
    "incomplete",
    "invalid",
    "nodeselector",
    "othernodes",
    "perdevice",
}
NEEDS = {
    "counters": "DRAPartitionableDevices",
    "twins": "DRAPartitionableDevices",
    "perdevice": "DRAPartitionableDevices",
    "shares": "DRAConsumableCapacity",
    "policy": "DRAConsumableCapacity",
    "distinct": "DRAConsumableCapacity",
    "alternatives": "DRAPrioritizedList",
    "admin": "DRAAdminAccess",
    "derived": "DRADerivedAttributes",
    "groups": "DRADeviceCompatibilityGroups",
    "operations": "DRAOptionalNodeOperations",
}
RARE = {
    "errors": 0.1,
    "invalid": 0.15,
    "incomplete": 0.15,
    "operations": 0.15,
    "derived": 0.2,
    "groups": 0.5,
}

DRIVERS = ("gpu.acme.io", "nic.acme.io", "a.io")
SELECTORS = (
    'device.attributes["{d}"].numa == 0',
    'device.attributes["{d}"].numa == 1',
    'device.attributes["{d}"].model == "A"',
    'device.attributes["{d}"].model != "A"',
    'device.attributes["{d}"].?fast.orValue(false)',
    'device.attributes["{d}"].fast',
    '"numa" in device.attributes["{d}"]',
    'device.capacity["{d}"].mem.compareTo(quantity("4")) >= 0',
    "device.allowMultipleAllocations",
    "true",
    "true",
    "false",
    'device.driver == "{d}"',
    'device.attributes["{d}"].version.isGreaterThan(semver("1.0.0"))',
)
BROKEN = ("noSuchVar", 'device.attributes["{d}"].numa', "1")
DERIVED = (
    'device.attributes["{d}"].?numa.orValue(7)',
    'device.attributes["{d}"].?model.orValue("none")',
    '[device.attributes["{d}"].?numa.orValue(7), 0]',
    "device.driver",
    'has(device.attributes["{d}"].fast)',
)
BROKEN_DERIVED = ("device.capacity", 'device.attributes["{d}"].numa', "noSuchVar", "[1u]")
GROUPS = ("g0", "g1", "g2")


def is_ordered(release: str, features: Sequence[str]) -> bool:
    """Whether upstream walks pools in an order that can be foretold."""
    behaviour = Features(release, frozenset(features)).behaviour
    return behaviour is None or behaviour.ordered


class Maker:
    """One random case."""

    def __init__(self, release: str, seed: int, always: Sequence[str] = ()) -> None:
        self.release = release
        self.minor = int(release.split(".")[1])
        self.random = random.Random(f"{release}/{seed}")
        self.seed = seed
        r = self.random
        # Which parts a case uses is drawn first, so that cases with few parts are as frequent as mixed ones.
        self.parts = {part for part in PARTS if r.random() < RARE.get(part, 0.3)}
        # Tight cases have nothing that ends them early: they fail late, and often, in the search.
        self.tight = r.random() < 0.35
        if self.tight:
            self.parts -= ENDS_EARLY
            self.parts |= {"claims"}
        self.parts |= set(always)
        self.features, self.cel = self._features()
        for part, gate in NEEDS.items():
            if gate not in self.features and r.random() < 0.97:
                self.parts.discard(part)

    def case(self) -> Case:
        r = self.random
        drivers = r.sample(DRIVERS, r.choice((1, 1, 2) if self.tight else (1, 1, 2, 3)))
        self.drivers = drivers
        self.classes = self._classes()
        self.devices: list[tuple[str, str, str, dict[str, Any]]] = []
        slices = [s for driver in drivers for s in self._driver(driver)]
        r.shuffle(slices)
        if not is_ordered(self.release, self.features):
            # A small map of Go is walked in the order of insertion from a random place on, so our order, which is
            # sorted, is one of upstream's only if the slices come that way.
            slices.sort(key=lambda s: (s["spec"]["driver"], s["spec"]["pool"]["name"]))
        case: Case = {
            "name": f"fuzz-{self.release}-{self.seed}",
            "features": self.features,
            "node": {
                "metadata": {"name": "node-1", "labels": {"zone": "a", "rack": "r7"}},
                "status": {
                    "declaredFeatures": ["DRAOptionalNodeOperations"] if r.random() < 0.5 else []
                },
            },
            "claims": [
                self._claim(n)
                for n in range(
                    r.choice((2, 3, 4) if self.tight else (1, 2, 2, 3))
                    if "claims" in self.parts
                    else 1
                )
            ],
            "classes": self.classes,
            "slices": slices,
            "timeoutMs": 200,
        }
        if self.cel is not None:
            case["celFeatures"] = self.cel
        self._state(case)
        return case

    def _features(self) -> tuple[list[str], list[str] | None]:
        r = self.random
        choice = r.random()
        known = ALL[self.release]
        if choice < 0.45:
            return list(known), None
        if choice < 0.7:
            return list(DEFAULT[self.release]), None
        if choice < 0.8 and self.minor >= 36:
            return list(STABLE), None
        if choice < 0.85 and self.minor == 36:
            return [f for f in known if f != "DRAListTypeAttributes"], list(known)
        return [f for f in known if r.random() < 0.75], None

    def _classes(self) -> list[Case]:
        r = self.random
        classes = []
        for driver in DRIVERS:
            selectors = (
                []
                if r.random() < 0.05
                else [{"cel": {"expression": f'device.driver == "{driver}"'}}]
            )
            classes.append(self._class(driver, selectors))
        classes.append(self._class("any", []))
        extra = self._selectors(r.choice(self.drivers), 2)
        classes.append(
            self._class(
                "special",
                [{"cel": {"expression": f'device.driver == "{self.drivers[0]}"'}}, *extra],
            )
        )
        return classes

    def _class(self, name: str, selectors: list[Case]) -> Case:
        spec: Case = {"selectors": selectors} if selectors else {}
        if "config" in self.parts and self.random.random() < 0.5:
            spec["config"] = [
                {"opaque": {"driver": "x", "parameters": {"of": name, "n": n}}} for n in range(2)
            ]
        return {"metadata": {"name": name}, "spec": spec}

    # -- slices -------------------------------------------------------------------------------------------------------

    def _driver(self, driver: str) -> Iterator[Case]:
        r = self.random
        for pool in range(r.choice((1, 1, 1, 2))):
            name = r.choice((f"pool-{pool}", "node-1", f"{driver}-{pool}"))
            yield from self._pool(driver, f"{name}-{pool}")

    def _pool(self, driver: str, pool: str) -> Iterator[Case]:
        r = self.random
        generation = r.choice((1, 1, 2)) if "generations" in self.parts else 1
        number = r.choice((1, 1, 2))
        counters = "counters" in self.parts and r.random() < 0.8
        # Up to 1.34 the counter sets stand in the slice of their devices.
        own_counters = counters and self.minor <= 34
        sets = [
            {
                "name": f"set-{n}",
                "counters": {"mem": {"value": r.choice(("2", "4", "8"))}, "cores": {"value": "4"}},
            }
            for n in range(r.choice((1, 2)))
        ]
        twins = counters and "twins" in self.parts
        if twins:
            number, sets = 1, [sets[0] | {"name": f"set-{n}"} for n in range(r.choice((2, 3)))]
        slices: list[Case] = []
        index = 0
        for part in range(number):
            wanted = (
                0 if twins else r.choice((3, 4, 5, 6) if self.tight else (0, 1, 2, 3, 4, 4, 5, 6))
            )
            devices = [
                self._device(driver, pool, index + n, sets if counters else [])
                for n in range(wanted)
            ]
            if twins:
                devices = self._twins(driver, pool, sets)
            index += len(devices)
            spec: Case = {
                "driver": driver,
                "pool": {"name": pool, "generation": generation},
                "devices": devices,
            }
            self._target(spec, devices)
            if own_counters and not (part and r.random() < 0.3):
                spec["sharedCounters"] = sets
            if "operations" in self.parts and r.random() < 0.3:
                spec["skipNodeOperations"] = ["Prepare"]
            slices.append(spec)
        if counters and not own_counters:
            spec = {
                "driver": driver,
                "pool": {"name": pool, "generation": generation},
                "sharedCounters": sets,
            }
            self._target(spec, [])
            spec.pop("perDeviceNodeSelection", None)
            if not any(key in spec for key in ("nodeName", "allNodes", "nodeSelector")):
                spec["allNodes"] = True
            slices.append(spec)
        if "othernodes" in self.parts and r.random() < 0.5:
            devices = [self._device(driver, pool, index, sets if counters else [])]
            slices.append(
                {
                    "driver": driver,
                    "pool": {"name": pool, "generation": generation},
                    "devices": devices,
                    "nodeName": "node-2",
                }
            )
        count = len(slices)
        if "incomplete" in self.parts and r.random() < 0.2:
            count += 1
        if "invalid" in self.parts and r.random() < 0.3:
            self._spoil(slices)
        for number_, spec in enumerate(slices):
            spec["pool"]["resourceSliceCount"] = count
            yield {
                "metadata": {"name": f"{driver}-{pool}-{r.choice('abcxyz')}{number_}"},
                "spec": spec,
            }
        if generation > 1 and r.random() < 0.6:
            old = {
                "driver": driver,
                "pool": {
                    "name": pool,
                    "generation": generation + r.choice((-1, -1, 1)),
                    "resourceSliceCount": 1,
                },
                "devices": [self._device(driver, pool, 0, [])],
            }
            self._target(old, old["devices"])
            yield {"metadata": {"name": f"{driver}-{pool}-other"}, "spec": old}

    def _twins(self, driver: str, pool: str, sets: list[Case]) -> list[Case]:
        """Every counter set has the same devices, one set after the other or by turns; now and then one differs."""
        r = self.random
        known = len(self.devices)
        models = [self._device(driver, pool, n, sets[:1]) for n in range(r.choice((2, 3, 4)))]
        del self.devices[known:]
        pairs = [(counter_set, model) for counter_set in sets for model in models]
        if r.random() < 0.3:
            pairs.sort(key=lambda pair: models.index(pair[1]))
        devices = []
        for index, (counter_set, model) in enumerate(pairs):
            device = copy.deepcopy(model) | {"name": f"dev-{index}"}
            for consumed in device.get("consumesCounters", ()):
                consumed["counterSet"] = counter_set["name"]
            if r.random() < 0.1:
                device["attributes"] = self._attributes()
            self.devices.append((driver, pool, device["name"], device))
            devices.append(device)
        return devices

    def _spoil(self, slices: list[Case]) -> None:
        r = self.random
        with_devices = [s for s in slices if s.get("devices")]
        if not with_devices:
            return
        devices = r.choice(with_devices)["devices"]
        if r.random() < 0.5:
            r.choice(devices)["name"] = r.choice(r.choice(with_devices)["devices"])["name"]
        else:
            r.choice(devices)["consumesCounters"] = [
                {
                    "counterSet": r.choice(("set-0", "nope")),
                    "counters": {r.choice(("mem", "nope")): {"value": "1"}},
                }
            ]

    def _target(self, spec: Case, devices: list[Case]) -> None:
        r = self.random
        choice = r.random()
        if "perdevice" in self.parts and choice < 0.4:
            spec["perDeviceNodeSelection"] = True
            for device in devices:
                self._target_device(device)
        elif "nodeselector" in self.parts and choice < 0.6:
            spec["nodeSelector"] = self._node_selector()
        elif choice < 0.8:
            spec["nodeName"] = "node-1" if r.random() < 0.93 else "node-2"
        else:
            spec["allNodes"] = True

    def _target_device(self, device: Case) -> None:
        r = self.random
        choice = r.random()
        if choice < 0.5:
            device["nodeName"] = r.choice(("node-1", "node-1", "node-2"))
        elif choice < 0.75:
            device["allNodes"] = True
        else:
            device["nodeSelector"] = self._node_selector()

    def _node_selector(self) -> Case:
        r = self.random
        term: Case = {
            "matchExpressions": [
                r.choice(
                    (
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "zone", "operator": "NotIn", "values": ["b"]},
                        {"key": "rack", "operator": "Exists"},
                        {"key": "rack", "operator": "DoesNotExist"},
                        {"key": "zone", "operator": "In", "values": ["b"]},
                    )
                )
            ]
        }
        if r.random() < 0.2:
            term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]
        terms = [term]
        if r.random() < 0.05:
            terms.append({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})
        return {"nodeSelectorTerms": terms}

    def _device(self, driver: str, pool: str, index: int, sets: list[Case]) -> Case:
        r = self.random
        name = f"dev-{index}"
        device: Case = {"name": name, "attributes": self._attributes()}
        if r.random() < 0.6:
            device["capacity"] = self._capacity()
        if "shares" in self.parts and r.random() < 0.6:
            device["allowMultipleAllocations"] = r.random() < 0.9
        if sets and r.random() < 0.85:
            device["consumesCounters"] = [
                self._consumption(counter_set)
                for counter_set in r.sample(sets, r.choice((1, 1, len(sets))))
            ]
        if "taints" in self.parts and r.random() < 0.35:
            device["taints"] = [self._taint() for _ in range(r.choice((1, 1, 2)))]
        if "binding" in self.parts and r.random() < 0.25:
            device["bindingConditions"] = ["ready"]
            device["bindingFailureConditions"] = ["failed"]
            device["bindsToNode"] = r.random() < 0.5
        elif "binding" in self.parts and r.random() < 0.1:
            device["bindsToNode"] = True
        self.devices.append((driver, pool, name, device))
        return device

    def _consumption(self, counter_set: Case) -> Case:
        r = self.random
        counters = {"mem": {"value": r.choice(("1", "2", "2", "4", "500m"))}}
        if r.random() < 0.3:
            counters["cores"] = {"value": r.choice(("1", "2"))}
        found: Case = {"counterSet": counter_set["name"], "counters": counters}
        if "groups" in self.parts and r.random() < 0.7:
            found["compatibilityGroups"] = r.sample(GROUPS, r.choice((1, 1, 2)))
        return found

    def _attributes(self) -> Case:
        r = self.random
        found: Case = {}
        if r.random() < 0.92:
            found["numa"] = {"int": r.choice((0, 0, 1, 2))}
        if r.random() < 0.9:
            found["model"] = {"string": r.choice("AAB")}
        if r.random() < 0.5:
            found["fast"] = {"bool": r.random() < 0.5}
        if r.random() < 0.6:
            found["version"] = {"version": r.choice(("1.0.0", "1.2.3", "2.0.0"))}
        if r.random() < 0.7:
            found["shared.io/root"] = {"string": r.choice(("r0", "r1", "r2"))}
        if "lists" in self.parts and self.minor >= 36:
            kind = r.random()
            if kind < 0.6:
                found["shared.io/tag"] = {
                    "strings": r.sample(("t0", "t1", "t2"), r.choice((1, 2, 2)))
                }
            elif kind < 0.8:
                found["shared.io/tag"] = {"string": r.choice(("t0", "t1"))}
            elif kind < 0.9:
                found["shared.io/tag"] = {"ints": r.sample((0, 1, 2), 2)}
        elif r.random() < 0.3:
            found["shared.io/tag"] = r.choice(({"string": "t0"}, {"int": 0}, {"string": "t1"}))
        if "errors" in self.parts and r.random() < 0.04:
            found["bad"] = {"version": "not-a-version"}
        return found

    def _capacity(self) -> Case:
        r = self.random
        mem: Case = {"value": r.choice(("4", "8", "10"))}
        if "policy" in self.parts and r.random() < 0.7:
            mem["requestPolicy"] = self._policy()
        found: Case = {"mem": mem}
        if r.random() < 0.3:
            found["bw"] = {"value": r.choice(("1G", "10G", "2Gi"))}
        return found

    def _policy(self) -> Case:
        r = self.random
        choice = r.random()
        if choice < 0.2:
            return {"default": r.choice(("1", "2"))}
        if choice < 0.5:
            return {"default": "2", "validValues": ["1", "2", "4"]}
        valid: Case = {"min": "1"}
        if r.random() < 0.6:
            valid["max"] = r.choice(("4", "6"))
        if r.random() < 0.6:
            valid["step"] = r.choice(("1", "2", "500m") if self.minor >= 37 else ("1", "2"))
        return {"default": "1", "validRange": valid}

    def _taint(self) -> Case:
        r = self.random
        effects = ("NoSchedule", "NoSchedule", "NoExecute", "None")
        taint = {"key": r.choice(("bad", "slow")), "effect": r.choice(effects)}
        if r.random() < 0.5:
            taint["value"] = r.choice("xy")
        return taint

    # -- claims -------------------------------------------------------------------------------------------------------

    def _claim(self, number: int) -> Case:
        r = self.random
        requests = [
            self._request(n) for n in range(r.choice((1, 2, 3) if self.tight else (1, 1, 2, 2, 3)))
        ]
        names = [request["name"] for request in requests]
        names += [f"{q['name']}/{a['name']}" for q in requests for a in q.get("firstAvailable", ())]
        devices: Case = {"requests": requests}
        constraints = []
        if "matches" in self.parts:
            constraints += [
                {"matchAttribute": self._attribute()} for _ in range(r.choice((1, 1, 2)))
            ]
            if r.random() < 0.1:
                constraints.append(dict(constraints[0]))
        if "distinct" in self.parts:
            constraints.append({"distinctAttribute": self._attribute()})
        for constraint in constraints:
            if r.random() < 0.4:
                constraint["requests"] = r.sample(names, r.choice((1, min(2, len(names)))))
        if "derived" in self.parts:
            constraints.append({r.choice(("matchAttribute", "distinctAttribute")): "x.io/derived"})
        if constraints:
            r.shuffle(constraints)
            devices["constraints"] = constraints
        if "config" in self.parts:
            devices["config"] = [self._config(names) for _ in range(r.choice((1, 2)))]
        return {
            "metadata": {"name": f"claim-{number}", "namespace": "ns"},
            "spec": {"devices": devices},
        }

    def _attribute(self) -> str:
        r = self.random
        own = f"{r.choice(self.drivers)}/{r.choice(('numa', 'numa', 'model'))}"
        if "lists" in self.parts and r.random() < 0.5:
            return "shared.io/tag"
        return own if r.random() < (0.7 if len(self.drivers) == 1 else 0.2) else "shared.io/root"

    def _config(self, names: list[str]) -> Case:
        r = self.random
        found: Case = {"opaque": {"driver": "y", "parameters": {"p": r.randrange(9)}}}
        if r.random() < 0.7:
            found["requests"] = r.sample(names, r.choice((1, min(2, len(names)))))
        return found

    def _request(self, number: int) -> Case:
        r = self.random
        request: Case = {"name": f"req-{number}"}
        if "alternatives" in self.parts and r.random() < 0.6:
            request["firstAvailable"] = [
                {"name": f"alt-{n}", **self._body(admin=False)}
                for n in range(r.choice((1, 2, 2, 3)))
            ]
        else:
            request["exactly"] = self._body(admin=True)
        return request

    def _body(self, *, admin: bool) -> Case:
        r = self.random
        driver = r.choice(self.drivers)
        body: Case = {
            "deviceClassName": r.choice((driver, driver, driver, driver, "any", "special"))
        }
        if "all" in self.parts and r.random() < 0.35:
            body["allocationMode"] = "All"
        else:
            body |= {"allocationMode": "ExactCount", "count": r.choice((1, 1, 1, 1, 2, 2, 3))}
            if r.random() < 0.01:
                body["count"] = r.choice((20, 31, 33))
        if "selectors" in self.parts and r.random() < 0.6:
            body["selectors"] = self._selectors(driver, r.choice((1, 1, 2)))
        if admin and "admin" in self.parts and r.random() < 0.35:
            body["adminAccess"] = r.random() < 0.9
        if "taints" in self.parts and r.random() < 0.5:
            body["tolerations"] = [self._toleration() for _ in range(r.choice((1, 2)))]
        if ("shares" in self.parts or "policy" in self.parts) and r.random() < 0.6:
            body["capacity"] = {"requests": self._amounts()}
        if "derived" in self.parts and r.random() < 0.8:
            expression = r.choice(BROKEN_DERIVED if r.random() < 0.05 else DERIVED).replace(
                "{d}", driver
            )
            body["derivedAttributes"] = [{"name": "x.io/derived", "expression": expression}]
        return body

    def _amounts(self) -> Case:
        r = self.random
        wanted = {"mem": r.choice(("1", "2", "2", "3", "4", "5", "0", "1500m"))}
        if r.random() < 0.1:
            wanted["bw"] = r.choice(("1G", "1", "3G"))
        if r.random() < 0.04:
            wanted["none"] = "1"
        return wanted

    def _toleration(self) -> Case:
        r = self.random
        toleration: Case = {"operator": r.choice(("Exists", "Equal"))}
        if r.random() < 0.8 or toleration["operator"] == "Equal":
            toleration["key"] = r.choice(("bad", "slow"))
        if toleration["operator"] == "Equal" and r.random() < 0.7:
            toleration["value"] = r.choice("xy")
        if r.random() < 0.5:
            toleration["effect"] = r.choice(("NoSchedule", "NoExecute"))
        return toleration

    def _selectors(self, driver: str, most: int) -> list[Case]:
        r = self.random
        found = []
        for _ in range(r.randrange(most + 1)):
            pool = BROKEN if "errors" in self.parts and r.random() < 0.1 else SELECTORS
            found.append({"cel": {"expression": r.choice(pool).replace("{d}", driver)}})
        return found

    # -- what is held -------------------------------------------------------------------------------------------------

    def _state(self, case: Case) -> None:
        r = self.random
        held, shared, capacity = [], [], {}
        if "held" in self.parts:
            for driver, pool, name, device in self.devices:
                id_ = f"{driver}/{pool}/{name}"
                choice = r.random()
                if choice < 0.2:
                    if id_ not in held:
                        held.append(id_)
                elif choice < 0.5 and device.get("allowMultipleAllocations"):
                    shared.append(f"{id_}/00000000-0000-0000-0000-00000000000{len(shared) % 10}")
                    if device.get("capacity"):
                        capacity[id_] = {
                            key: r.choice(("1", "2", "3")) for key in device["capacity"]
                        }
        case["allocatedDevices"] = held
        case["allocatedSharedDeviceIDs"] = shared
        case["allocatedCapacity"] = capacity


NEEDED = (
    "metadata",
    "name",
    "driver",
    "pool",
    "spec",
    "exactly",
    "firstAvailable",
    "deviceClassName",
    "allocationMode",
)
"""Keys without which a case means something else."""

# -- comparing --------------------------------------------------------------------------------------------------------


def oracle_program(release: str) -> Path:
    """Where upstream's program for a release is; it may be missing."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dractl-oracle"
    return Path(os.environ.get("DRACTL_ORACLE_DIR") or cache) / f"allocator-{release}"


def ask(release: str, cases: Sequence[Case]) -> list[Case]:
    """Upstream's answers."""
    text = "\n".join(json.dumps(case) for case in cases)
    done = subprocess.run(
        [str(oracle_program(release))],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=3600,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def repeat_if_random(case: Case, release: str) -> Case:
    """The case, asked for many times where the order of pools is random."""
    case = {key: value for key, value in case.items() if key != "repeat"}
    pools = {(s["spec"]["driver"], s["spec"]["pool"]["name"]) for s in case["slices"]}
    return (
        {**case, "repeat": 60}
        if len(pools) > 1 and not is_ordered(release, case["features"])
        else case
    )


def _mask_attribute(outcome: Case) -> str:
    """The text; of several attributes that cannot be read, upstream names a random one."""
    return re.sub(
        r"attribute [^ ]+: unsupported", "attribute X: unsupported", outcome.get("error") or ""
    )


def difference(want: Case, got: Case) -> str | None:
    """Return the difference: "verdict", "results", "text"; None where nothing does or upstream gives no answer."""
    if want["verdict"] in ("timeout", "bad-input"):
        return None
    outcomes = want.get("outcomes") if want["verdict"] == "nondeterministic" else [want]
    assert outcomes is not None
    found = "verdict"
    for outcome in outcomes:
        if outcome["verdict"] != got["verdict"]:
            continue
        if (outcome.get("results") or []) != (got.get("results") or []):
            found = "results"
        elif _mask_attribute(outcome) != _mask_attribute(got):
            found = "text" if found != "results" else found
        else:
            return None
    return found


def smaller(case: Case) -> Iterator[Case]:
    """The case with one part left out."""

    def remove_path(path: tuple[Any, ...]) -> Case:
        copy = json.loads(json.dumps(case))
        parent = copy
        for step in path[:-1]:
            parent = parent[step]
        del parent[path[-1]]
        return copy

    def paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if isinstance(value, list):
            for index in range(len(value) - 1, -1, -1):
                yield (*path, index)
                yield from paths(value[index], (*path, index))
        elif isinstance(value, dict):
            for key in list(value):
                if key not in NEEDED:
                    yield (*path, key)
                if key != "node":
                    yield from paths(value[key], (*path, key))

    for key in (
        "claims",
        "slices",
        "classes",
        "allocatedDevices",
        "allocatedSharedDeviceIDs",
        "allocatedCapacity",
    ):
        for path in paths(case.get(key) or [], (key,)):
            yield remove_path(path)


def shrink(case: Case, release: str, kind: str, rounds: int = 400) -> Case:
    """A smaller case with the same kind of difference."""
    improved = True
    while improved and rounds > 0:
        improved = False
        for candidate in smaller(case):
            rounds -= 1
            if rounds <= 0:
                break
            try:
                want = ask(release, [repeat_if_random(candidate, release)])[0]
            except (subprocess.CalledProcessError, ValueError):
                continue
            if difference(want, answer(candidate, release, "")) == kind:
                case, improved = candidate, True
                break
    return case


def run(
    release: str, seeds: Sequence[int], *, always: Sequence[str] = (), show: int, save: Path | None
) -> Counter[str]:
    """Compares the cases of some seeds; prints differences, returns counts."""
    counts: Counter[str] = Counter()
    for start in range(0, len(seeds), 200):
        cases = [
            repeat_if_random(Maker(release, seed, always).case(), release)
            for seed in seeds[start : start + 200]
        ]
        for case, want in zip(cases, ask(release, cases), strict=True):
            got = answer(case, release, "")
            kind = difference(want, got)
            counts["cases"] += 1
            counts[want["verdict"]] += 1
            if kind is not None and want["verdict"] == "nondeterministic":
                kind = difference(ask(release, [{**case, "repeat": 5000}])[0], got)  # rare orders
                if kind in ("results", "text") and got.get("unordered"):
                    # Go walks a small map as a rotation of its insertion order, so upstream may never take ours, the
                    # sorted one: same verdict, said to depend on the order.
                    counts["another order"] += 1
                    continue
            if kind is None:
                continue
            counts[f"DIFFERENT {kind}"] += 1
            if show > 0:
                show -= 1
                small = shrink(case, release, kind)
                answers = (
                    ask(release, [repeat_if_random(small, release)])[0],
                    answer(small, release, ""),
                )
                print(
                    kind,
                    case["name"],
                    json.dumps(small),
                    *map(json.dumps, answers),
                    sep="\n  ",
                    flush=True,
                )
                if save is not None:
                    with save.open("a") as file:
                        file.write(json.dumps({**small, "release": release}) + "\n")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", required=True, choices=list(ALL))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--always", nargs="*", choices=PARTS, default=[], help="parts that every case has"
    )
    parser.add_argument("--show", type=int, default=5, help="differences to make smaller and print")
    parser.add_argument("--save", type=Path, help="append the cases that differ to this file")
    arguments = parser.parse_args()
    if not oracle_program(arguments.release).exists():
        print(f"fuzz_allocator: no {oracle_program(arguments.release)}", file=sys.stderr)
        return 3
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    counts = run(
        arguments.release, seeds, always=arguments.always, show=arguments.show, save=arguments.save
    )
    print(arguments.release, dict(counts))
    return int(any(name.startswith("DIFFERENT") for name in counts))


if __name__ == "__main__":
    sys.exit(main())
