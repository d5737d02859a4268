"""Documents made up to break the rules of validation, and what a running API server says to them.

Needs the programs of ``$DRACTL_SHARED/oracle`` (``kube-<release>``) and skips where they are missing. ``DRACTL_FUZZ``
sets how many documents each release is asked about, ``DRACTL_SEED`` which."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from dractl.model import Target
from dractl.model.releases import COMPARED, parse_gates, served_versions
from dractl.validation.validate import validate
from tests.oracle import control_plane, create
from tests.validation.rule_table import ALL, ROWS, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.conformance, pytest.mark.oracle, pytest.mark.live]

NAMES = ["a", "b", "c", "a", "b", "", "A", "a.b", "a_b", "-a", "a/b", "x" * 63, "x" * 64, "é", None]
SUBDOMAINS = [
    "gpu.example.com",
    "a",
    "",
    "A",
    "a..b",
    "a_b",
    "x" * 63,
    "x" * 64,
    ".".join(["y" * 63] * 4),
    None,
]
DRIVERS = [*SUBDOMAINS, "GPU.example.com", "é.com", "a/b", "İ.com"]
POOLS = [*SUBDOMAINS, "a/b", "a//b", "/a", "a/", "/".join(["y" * 60] * 5), "A/b"]
KEYS = [
    "a",
    "b",
    "gpu.example.com/a",
    "A_b",
    "a-b",
    "",
    "/",
    "a/",
    "/b",
    "a/b/c",
    "Up.com/x",
    "z" * 33,
    "1a",
    "é",
    "x y",
    "d" * 64 + "/a",
    "d" * 64 + "/" + "z" * 33,
    "a.b/" + "z" * 32,
    "other.com/b",
    "a/b-c",
]
LABEL_KEYS = [
    "a",
    "a/b",
    "",
    "/a",
    "a/",
    "a/b/c",
    "A/b",
    "x" * 63,
    "x" * 64,
    "a b",
    "-a",
    "é",
    "a_b.c",
    None,
]
LABEL_VALUES = ["", "v", "x" * 63, "x" * 64, "a b", "-", "é", "a.b_c-d", None]
EFFECTS = ["NoSchedule", "NoExecute", "None", "", "PreferNoSchedule", "noexecute", None]
QUANTITIES = [
    "1",
    "2",
    "1Gi",
    "2Gi",
    "4Gi",
    "512Mi",
    "0",
    "-1",
    "-1Gi",
    "1.5",
    "500m",
    "1m",
    "1u",
    "1e3",
    "3",
    "1.0",
    "1000m",
    "9223372036854775807",
    "9223372036854775808",
    "1e19",
    "16Ei",
    "8Ei",
    "100P",
    "10",
    "1Ki",
    "1024",
    "-500m",
    None,
]
EXPRESSIONS = [
    "true",
    "1",
    "",
    "(",
    'device.driver == "a"',
    "device.attributes",
    'device.attributes["a"].b',
    "x" * 10241,
    "[1,2,3].all(a, [1,2,3,4].all(b, [1,2].all(c, a < b)))",
    'device.name == "x"',
    '"a"',
    "int('x') == 1",
    "device.allowMultipleAllocations",
    'device.attributes["a"].b.includes("c")',
    "1u",
    "1.5",
    "[1]",
    "{}",
]
OBJECTS = [
    {},
    {"a": 1},
    [],
    "x",
    1,
    None,
    True,
    {"a": "x" * 10250},
    {"a": "<" * 2000},
    {"é": "é" * 5112},
]
FLAGS = [True, False, None]


class Maker:
    """Makes documents of which each part is mostly in order."""

    def __init__(self, release: str, seed: int) -> None:
        self.random = random.Random(f"{release} {seed}")
        self.release = release
        self.odd = 0.05

    def pick(self, values: list[Any], plain: Any = None) -> Any:
        """A value of the list, mostly its first (or ``plain``)."""
        if self.random.random() < self.odd:
            return self.random.choice(values)
        return values[0] if plain is None else plain

    def make_list(self, make: Callable[[int], Any], usual: int, most: int) -> Any:
        """A list of about ``usual`` items, now and then of too many, or none."""
        if self.random.random() < self.odd / 2:
            return self.random.choice([None, []])
        number = most + 1 if self.random.random() < self.odd / 4 else self.random.randint(0, usual)
        return [make(index) for index in range(number)]

    def fields(self, **makers: tuple[float, Callable[[], Any]]) -> dict[str, Any]:
        """Each field with its probability."""
        found = {}
        for name, (likely, make) in makers.items():
            wanted = self.random.random() < likely
            if wanted != (self.random.random() < self.odd / 3):
                found[name] = make()
        return found

    def label(self, index: int) -> Any:
        return self.pick(NAMES, f"n{index}")

    def selector(self, _: int) -> Any:
        return self.pick([{"cel": {"expression": "true"}}, {}, None, {"cel": None}], self.cel())

    def cel(self) -> Any:
        return {"cel": {"expression": self.pick(EXPRESSIONS)}}

    def toleration(self, _: int) -> Any:
        return self.fields(
            key=(0.8, lambda: self.pick(LABEL_KEYS)),
            operator=(0.7, lambda: self.pick(["Exists", "Equal", "", "In", None])),
            value=(0.2, lambda: self.pick(LABEL_VALUES)),
            effect=(0.5, lambda: self.pick(EFFECTS)),
            tolerationSeconds=(0.1, lambda: self.pick([0, -1, 5])),
        )

    def body(self) -> dict[str, Any]:
        return self.fields(
            deviceClassName=(0.98, lambda: self.pick(SUBDOMAINS)),
            selectors=(0.3, lambda: self.make_list(self.selector, 2, 32)),
            allocationMode=(0.4, lambda: self.pick(["ExactCount", "All", "", "all", None])),
            count=(0.3, lambda: self.pick([1, 0, -1, 2, 5.0, None, 33])),
            tolerations=(0.3, lambda: self.make_list(self.toleration, 2, 16)),
            capacity=(
                0.2,
                lambda: self.pick([{"requests": {"a": "1"}}, {}, {"requests": {"": "-1"}}, None]),
            ),
            derivedAttributes=(
                0.2 if self.release >= "1.37" else 0,
                lambda: self.make_list(self.derived_attribute, 2, 32),
            ),
        )

    def derived_attribute(self, _: int) -> Any:
        return self.fields(
            name=(0.98, lambda: self.pick([*KEYS, None], "gpu.example.com/a")),
            expression=(0.98, lambda: self.pick(EXPRESSIONS)),
        )

    def request(self, index: int) -> Any:
        flat = self.version == "v1beta1"
        name = {"name": self.label(index)}
        if self.random.random() < 0.05 * self.odd:
            return None
        choice = self.random.random()
        found = dict(name)
        if choice < 0.25 or self.random.random() < self.odd / 3:
            found["firstAvailable"] = self.make_list(
                lambda i: {"name": self.label(i), **self.body()}, 3, 8
            )
        if choice >= 0.25 or self.random.random() < self.odd / 3:
            body = self.body()
            if self.random.random() < 0.1:
                body["adminAccess"] = False
            found |= body if flat else {"exactly": self.pick([{}, None, {}], body)}
        return found

    def references(self) -> Any:
        return self.make_list(
            lambda i: self.pick(
                ["n0", "n1", "n0/n0", "n0/n1", "", "a/b/c", "N", "x" * 64, None], f"n{i}"
            ),
            2,
            32,
        )

    def constraint(self, _: int) -> Any:
        return self.fields(
            requests=(0.5, self.references),
            matchAttribute=(0.8, lambda: self.pick([*KEYS, None], "gpu.example.com/a")),
            distinctAttribute=(0.2, lambda: self.pick([*KEYS, None], "gpu.example.com/a")),
        )

    def opaque(self) -> Any:
        return self.pick(
            [{}, None],
            self.fields(
                driver=(0.98, lambda: self.pick(DRIVERS)),
                parameters=(0.98, lambda: self.pick(OBJECTS)),
            ),
        )

    def config(self, _: int) -> Any:
        return self.fields(requests=(0.4, self.references), opaque=(0.98, self.opaque))

    def claim_spec(self) -> Any:
        return {
            "devices": self.fields(
                requests=(0.99, lambda: self.make_list(self.request, 3, 32)),
                constraints=(0.5, lambda: self.make_list(self.constraint, 2, 32)),
                config=(0.4, lambda: self.make_list(self.config, 2, 32)),
            )
        }

    def class_spec(self) -> Any:
        return self.fields(
            selectors=(0.7, lambda: self.make_list(self.selector, 3, 32)),
            config=(0.5, lambda: self.make_list(lambda _: {"opaque": self.opaque()}, 2, 32)),
            extendedResourceName=(
                0.4 if self.release >= "1.34" else 0,
                lambda: self.pick(
                    [
                        *KEYS,
                        "example.com/gpu",
                        "kubernetes.io/x",
                        "requests.a/b",
                        "a.com/" + "x" * 64,
                        "y" * 245 + "/a",
                    ],
                    "a.com/b",
                ),
            ),
        )

    def node_selector(self) -> Any:
        def requirement(fields: bool) -> Any:
            return {
                "key": self.pick(
                    [*LABEL_KEYS, "metadata.name"], "metadata.name" if fields else "zone"
                ),
                "operator": self.pick(
                    ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "X"]
                ),
                "values": self.pick([["a"], [], ["a", "b"], ["1"], ["a b"], ["A"], None]),
            }

        def term(_: int) -> Any:
            return self.fields(
                matchExpressions=(0.9, lambda: self.make_list(lambda _: requirement(False), 2, 5)),
                matchFields=(0.2, lambda: self.make_list(lambda _: requirement(True), 2, 5)),
            )

        number = self.pick([1, 0, 2])
        return self.pick(
            [{}, {"nodeSelectorTerms": None}],
            {"nodeSelectorTerms": [term(0) for _ in range(number)]},
        )

    def attribute(self) -> Any:
        lists = self.release >= "1.36"
        kinds = [
            "int",
            "bool",
            "string",
            "version",
            *(["ints", "bools", "strings", "versions"] if lists else []),
        ]
        values = {
            "int": [1, 0, -5, None, 2**63 - 1],
            "bool": FLAGS,
            "string": ["x", "", "x" * 64, "x" * 65, "é" * 33, None],
            "version": [
                "1.2.3",
                "1.2",
                "v1.2.3",
                "01.2.3",
                "1.2.3-a+b",
                "",
                "1.2.3+" + "x" * 64,
                None,
            ],
            "ints": [[1], [], [1, 2], None, list(range(49))],
            "bools": [[True], [], None],
            "strings": [["x"], [], ["x" * 65], [None], None],
            "versions": [["1.2.3"], [], ["1"], [None], None],
        }
        number = self.pick([1, 0, 2])
        return self.pick(
            [{}, None],
            {kind: self.pick(values[kind]) for kind in self.random.sample(kinds, number)},
        )

    def policy(self) -> Any:
        odd, self.odd = self.odd, max(self.odd, 0.25)
        try:
            bounds = self.fields(
                min=(0.95, lambda: self.pick(QUANTITIES, "1")),
                max=(0.7, lambda: self.pick(QUANTITIES, "4Gi")),
                step=(0.6, lambda: self.pick(QUANTITIES, "1")),
            )
            if self.release < "1.37" and bounds.get("step") == "0":
                del bounds["step"]  # it makes the server panic
            if self.release < "1.37" and bounds.get("step") in (
                "16Ei",
                "1e19",
                "9223372036854775808",
                "100P",
            ):
                del bounds["step"]
            return self.pick(
                [{}, None],
                self.fields(
                    default=(0.9, lambda: self.pick(QUANTITIES, "1")),
                    validValues=(
                        0.4,
                        lambda: self.make_list(lambda i: self.pick(QUANTITIES, str(i + 1)), 4, 10),
                    ),
                    validRange=(0.5, lambda: bounds),
                ),
            )
        finally:
            self.odd = odd

    def counters(self) -> Any:
        number = (
            33
            if self.random.random() < self.odd / 4
            else self.random.randint(0 if self.odd > 0.1 else 1, 3)
        )
        return {
            self.pick(NAMES[:-1], f"c{i}"): self.pick([{"value": "1"}, {}, None])
            for i in range(number)
        }

    def allocatable(self) -> Any:
        if self.release >= "1.37":
            return self.fields(
                mapping=(
                    0.8,
                    lambda: self.fields(
                        capacityKey=(0.6, lambda: self.pick(["a", "", "none", None])),
                        capacityMultiplier=(0.6, lambda: self.pick(QUANTITIES)),
                        deviceMultiplier=(0.3, lambda: self.pick(QUANTITIES)),
                    ),
                ),
                overhead=(
                    0.4,
                    lambda: self.fields(
                        perPod=(0.6, lambda: self.pick(QUANTITIES)),
                        perContainer=(0.6, lambda: self.pick(QUANTITIES)),
                    ),
                ),
            )
        return self.fields(
            allocationMultiplier=(0.5, lambda: self.pick(QUANTITIES)),
            capacityKey=(0.5, lambda: self.pick(["a", "", "none"])),
        )

    def device(self, index: int) -> Any:
        def make_map(make: Callable[[], Any]) -> dict[str, Any]:
            number = 33 if self.random.random() < self.odd / 6 else self.random.randint(0, 4)
            return {self.pick(KEYS, f"k{i}" if i else "a"): make() for i in range(number)}

        conditions = [None, [], ["a"], ["a", "a"], ["a", "b", "c", "d", "e"], ["a b"], ["b"], [""]]
        since_36, since_37 = self.release >= "1.36", self.release >= "1.37"
        allocatable = "nodeAllocatableResources" if since_37 else "nodeAllocatableResourceMappings"
        consumption = {
            "compatibilityGroups": (
                0.2 if since_37 else 0,
                lambda: self.pick([["a"], ["a", "a"], ["A"], ["a", "b", "c"], [], None]),
            )
        }
        basic = self.fields(
            attributes=(0.8, lambda: make_map(self.attribute)),
            capacity=(
                0.6,
                lambda: make_map(
                    lambda: self.pick(
                        [{}, None],
                        {"value": self.pick(QUANTITIES, "4Gi")}
                        | ({"requestPolicy": self.policy()} if self.random.random() < 0.5 else {}),
                    )
                ),
            ),
            allowMultipleAllocations=(0.5, lambda: self.pick(FLAGS)),
            taints=(
                0.3,
                lambda: self.make_list(
                    lambda _: self.fields(
                        key=(0.98, lambda: self.pick(LABEL_KEYS)),
                        value=(0.5, lambda: self.pick(LABEL_VALUES)),
                        effect=(0.98, lambda: self.pick(EFFECTS)),
                    ),
                    2,
                    16,
                ),
            ),
            consumesCounters=(
                0.4 * self.counting,
                lambda: self.make_list(
                    lambda i: self.fields(
                        counterSet=(0.98, lambda: self.pick(NAMES, f"s{i}")),
                        counters=(0.98, self.counters),
                        **consumption,
                    ),
                    2,
                    2,
                ),
            ),
            nodeName=(0.3 * self.per_device, lambda: self.pick(["node-1", "", "A", None])),
            nodeSelector=(0.3 * self.per_device, self.node_selector),
            allNodes=(0.4 * self.per_device, lambda: self.pick(FLAGS)),
            bindsToNode=(0.2, lambda: self.pick(FLAGS)),
            bindingConditions=(0.2, lambda: self.pick(conditions, ["a"])),
            bindingFailureConditions=(0.2, lambda: self.pick(conditions, ["f"])),
            **{
                allocatable: (
                    0.2 if since_36 else 0,
                    lambda: {
                        self.pick(
                            [
                                "cpu",
                                "memory",
                                "gpu",
                                "a/b",
                                "hugepages-2Mi",
                                "ephemeral-storage",
                                "",
                            ]
                        ): self.allocatable()
                    },
                )
            },
        )
        name = {"name": self.label(index)}
        if self.version == "v1beta1":
            return name | {"basic": self.pick([None], basic)}
        return name | basic

    def slice_spec(self) -> Any:
        whole = self.random.random() < 0.2
        self.counting = self.random.random() < 0.4
        self.per_device = self.random.random() < 0.2
        since_37 = self.release >= "1.37"
        where = self.random.choice(["nodeName", "nodeSelector", "allNodes"])
        return self.fields(
            driver=(0.99, lambda: self.pick(DRIVERS)),
            pool=(
                0.99,
                lambda: self.fields(
                    name=(0.98, lambda: self.pick(POOLS)),
                    generation=(0.9, lambda: self.pick([1, 0, -1, None])),
                    resourceSliceCount=(0.98, lambda: self.pick([1, 0, -1, None, 2])),
                ),
            ),
            nodeName=(
                float(where == "nodeName" and not self.per_device),
                lambda: self.pick(["node-1", "", "A", None]),
            ),
            nodeSelector=(
                float(where == "nodeSelector" and not self.per_device),
                self.node_selector,
            ),
            allNodes=(float(where == "allNodes" and not self.per_device), lambda: self.pick(FLAGS)),
            perDeviceNodeSelection=(float(self.per_device), lambda: self.pick(FLAGS)),
            devices=(0.0 if whole else 1.0, lambda: self.make_list(self.device, 3, 128)),
            sharedCounters=(
                float(whole),
                lambda: self.make_list(
                    lambda i: self.fields(
                        name=(0.98, lambda: self.pick(NAMES, f"s{i}")),
                        counters=(0.98, self.counters),
                    ),
                    3,
                    8,
                ),
            ),
            partitionTypeAttribute=(
                0.2 if since_37 and self.counting else 0,
                lambda: self.pick([*KEYS, None], "gpu.example.com/a"),
            ),
            skipNodeOperations=(
                0.1 if since_37 else 0,
                lambda: self.pick(
                    [
                        ["*"],
                        ["NodePrepareResources"],
                        ["*", "*"],
                        ["x"],
                        [""],
                        [],
                        ["NodePrepareResources", "NodeUnprepareResources"],
                        None,
                    ]
                ),
            ),
        )

    def taint_rule_spec(self) -> Any:
        return self.fields(
            deviceSelector=(
                0.8,
                lambda: self.pick(
                    [{}, None],
                    self.fields(
                        driver=(0.6, lambda: self.pick(DRIVERS)),
                        pool=(0.5, lambda: self.pick(POOLS)),
                        device=(0.5, lambda: self.pick(NAMES)),
                    ),
                ),
            ),
            taint=(
                0.98,
                lambda: self.fields(
                    key=(0.98, lambda: self.pick(LABEL_KEYS)),
                    value=(0.6, lambda: self.pick(LABEL_VALUES)),
                    effect=(0.98, lambda: self.pick(EFFECTS)),
                ),
            ),
        )

    def pod_spec(self) -> Any:
        def container(_: int) -> Any:
            return {
                "name": f"c{self.random.randrange(10**9)}",
                "image": "i",
                "resources": self.fields(
                    claims=(
                        0.7,
                        lambda: self.make_list(
                            lambda i: self.fields(
                                name=(0.98, lambda: self.pick(NAMES, f"n{i}")),
                                request=(0.4, lambda: self.pick(NAMES, "r")),
                            ),
                            3,
                            6,
                        ),
                    ),
                    requests=(
                        0.3,
                        lambda: {
                            self.pick(
                                ["a.com/b", "deviceclass.resource.kubernetes.io/x"]
                            ): self.pick(["1", "2", "500m", "-1", "0"])
                        },
                    ),
                    limits=(
                        0.3,
                        lambda: {
                            self.pick(
                                ["a.com/b", "deviceclass.resource.kubernetes.io/x"]
                            ): self.pick(["1", "2", "500m", "-1", "0"])
                        },
                    ),
                ),
            }

        return {
            "containers": [container(0), *([container(1)] if self.random.random() < 0.3 else [])],
            "restartPolicy": "Always",
        } | self.fields(
            initContainers=(0.2, lambda: [container(2)]),
            resourceClaims=(
                0.95,
                lambda: self.make_list(
                    lambda i: self.fields(
                        name=(0.98, lambda: self.pick(NAMES, f"n{i}")),
                        resourceClaimName=(0.5, lambda: self.pick(SUBDOMAINS)),
                        resourceClaimTemplateName=(0.5, lambda: self.pick(SUBDOMAINS)),
                    ),
                    4,
                    6,
                ),
            ),
        )

    def metadata(self) -> Any:
        return self.fields(
            name=(1.0, lambda: self.pick(SUBDOMAINS)),
            generateName=(0.1, lambda: self.pick(["a-", "A", "a.", "x" * 300, ""])),
            labels=(
                0.2,
                lambda: {
                    self.pick([k for k in LABEL_KEYS if k is not None]): self.pick(LABEL_VALUES)
                },
            ),
            annotations=(0.2, lambda: {self.pick([k for k in LABEL_KEYS if k is not None]): "x"}),
            finalizers=(
                0.1,
                lambda: self.pick(
                    [["a.com/b"], ["a"], ["a b"], ["orphan", "foregroundDeletion"], [""]]
                ),
            ),
            generation=(0.05, lambda: self.pick([1, -1])),
            ownerReferences=(
                0.1,
                lambda: [
                    self.fields(
                        apiVersion=(0.95, lambda: self.pick(["v1", "a/b", "a/b/c", "/", "a/", ""])),
                        kind=(0.95, lambda: self.pick(["Pod", "Event", ""])),
                        name=(0.95, lambda: "x"),
                        uid=(0.95, lambda: "y"),
                        controller=(0.4, lambda: self.pick(FLAGS)),
                    )
                    for _ in range(2)
                ],
            ),
        )

    def document(self) -> dict[str, Any]:
        kinds: dict[str, Callable[[], Any]] = {
            "ResourceClaim": self.claim_spec,
            "ResourceClaimTemplate": self.template_spec,
            "DeviceClass": self.class_spec,
            "ResourceSlice": self.slice_spec,
            "DeviceTaintRule": self.taint_rule_spec,
            "Pod": self.pod_spec,
            "Deployment": self.deployment_spec,
        }
        kind = self.random.choices(list(kinds), [6, 2, 2, 8, 1, 2, 1])[0]
        versions = served_versions(kind, self.release)
        if not versions:
            return self.document()
        api_version = self.random.choice(versions)
        self.version = api_version.rpartition("/")[2]
        self.odd = self.random.choice([0.01, 0.05, 0.15, 0.3])
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": self.metadata(),
            "spec": kinds[kind](),
        }

    def template_spec(self) -> Any:
        return self.fields(
            metadata=(
                0.3,
                lambda: self.pick(
                    [None, {}],
                    self.fields(
                        labels=(0.5, lambda: {"a": self.pick(LABEL_VALUES)}),
                        name=(0.1, lambda: "x"),
                        uid=(0.1, lambda: "x"),
                        finalizers=(0.1, lambda: self.pick([["a"], []])),
                        creationTimestamp=(0.1, lambda: None),
                    ),
                ),
            ),
            spec=(1.0, self.claim_spec),
        )

    def deployment_spec(self) -> Any:
        labels = {"app": "x"}
        return {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": self.pod_spec()},
        }


@pytest.fixture(
    params=[(release, gates) for release in COMPARED for gates in ("default", "all")], ids="-".join
)
def cluster(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Iterator[Any]:
    release, gates = request.param
    switches = all_gates(whole, release) if gates == "all" else ""
    with control_plane(whole, release, tmp_path, switches) as running:
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "node-1"},
            "status": {
                "declaredFeatures": ["DRANodeAllocatableResources", "DRAOptionalNodeOperations"]
            },
        }
        running.request("POST", "/api/v1/nodes", json.dumps(node))
        yield running, Target.of(release, parse_gates(switches))


def all_gates(whole: Path, release: str) -> str:
    gates: str = json.loads((whole / "conformance" / "validation" / "gates.json").read_bytes())[
        release
    ]
    return gates


def difference(cluster: Any, target: Target, document: dict[str, Any]) -> str | None:
    found = {(v.type, v.field) for v in validate(document, target) if v.type}
    try:
        status, causes, message = create(cluster, document)
    except OSError:
        return None if found else "the server closed the connection"
    if status == 422:
        return (
            None
            if found == causes
            else f"missing {causes - found}, too much {found - causes}: {message[:1500]}"
        )
    if status in (200, 201):
        return f"accepted, but {found}" if found else None
    return (
        None
        if {type_ for type_, _ in found} == {"BadRequest"}
        else f"{status} {message[:500]}, we say {found}"
    )


def test_running_server_agrees_with_the_rule_table(cluster: Any, record_property: Any) -> None:
    running, target = cluster
    wrong = {}
    rows = [row for row in ROWS if row.release == target.release and gates_of(row) <= target.gates]
    for row in [
        row for row in rows if (row.gates == "default") == (target == Target.of(target.release))
    ]:
        status, causes, message = create(running, row.document)
        if status != (422 if row.causes else 201) or causes != {
            (type_, field) for _, type_, field in row.causes
        }:
            wrong[json.dumps(row.document)] = (
                f"the table has {set(row.causes)}, the server says {status} {message}"
            )
    record_property("cases", len(rows))
    assert not wrong


def gates_of(row: Row) -> frozenset[str]:
    return Target.of(row.release, dict.fromkeys(ALL[row.release].split(), row.gates == "all")).gates


def test_a_running_server_says_the_same(cluster: Any, record_property: Any) -> None:
    running, target = cluster
    maker = Maker(target.release, int(os.environ.get("DRACTL_SEED", "1")))
    number = int(os.environ.get("DRACTL_FUZZ", "300"))
    wrong = {}
    for _ in range(number):
        document = maker.document()
        if found := difference(running, target, document):
            wrong[json.dumps(document, ensure_ascii=False)] = found
    record_property("cases", number)
    assert not wrong
