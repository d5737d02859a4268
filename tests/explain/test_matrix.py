"""The cells of a matrix: the verdict and the first reason that a single answer has."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cli.options.device_sources import render_machine
from dractl.cluster import ClusterState
from dractl.cluster.described_nodes import list_known_classes
from dractl.cluster.sources import from_objects
from dractl.explain import Options, Question
from dractl.explain.ask import find_subjects
from dractl.explain.fleet.equality import SelectorResults, equality_key
from dractl.explain.fleet.machines import DescribedMachine, compare, find_questions, make_clusters
from dractl.explain.fleet.matrix import Matrix, make_matrix
from dractl.machines import describe as describe_spec
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.validation.previews import PREVIEWS

TARGET = Target.of("1.37", {})
MACHINES = ("p5.48xlarge", "p4d.24xlarge", "g6.xlarge", "trn2.48xlarge", "dgx-h100", "2xMI300X")
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'


def request(device_class: str = "gpu.nvidia.com", **fields: Any) -> dict[str, Any]:
    return {"name": "gpu", "exactly": {"deviceClassName": device_class, **fields}}


def selector(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


def memory_of(amount: str) -> str:
    return f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{amount}')) >= 0"


def make_spec(*requests: dict[str, Any], attribute: str) -> dict[str, Any]:
    constraint = {"matchAttribute": f"resource.kubernetes.io/{attribute}"}
    return {"requests": list(requests), "constraints": [constraint]}


NIC = {"name": "nic", "exactly": {"deviceClassName": "dranet"}}
SPECS: dict[str, dict[str, Any]] = {
    "one": {"requests": [request()]},
    "one-more": {"requests": [request()]},
    "sixteen": {"requests": [request(count=16)]},
    "hopper": {"requests": [request(selectors=selector(HOPPER))]},
    "large": {"requests": [request(count=4, selectors=selector(memory_of("30Gi")))]},
    "larger": {"requests": [request(count=4, selectors=selector(memory_of("60Gi")))]},
    "two-large": {"requests": [request(count=2, selectors=selector(memory_of("30Gi")))]},
    "error": {"requests": [request(selectors=selector('device.attributes["a.b"].c == 1'))]},
    "root": make_spec(request(count=2), attribute="pcieRoot"),
    "numa": make_spec(request(count=5), attribute="numaNode"),
    "gpu-and-nic": make_spec(request(), NIC, attribute="pcieRoot"),
    "no-class": {"requests": [request("missing.example.com")]},
    "neuron": {"requests": [request("neuron.aws.com")]},
    "amd": {"requests": [request("gpu.amd.com")]},
    "all": {"requests": [request(allocationMode="All")]},
    "either": {
        "requests": [
            {
                "name": "gpu",
                "firstAvailable": [
                    {"name": "h", "deviceClassName": "gpu.nvidia.com", "count": 16},
                    {"name": "a", "deviceClassName": "gpu.amd.com"},
                ],
            }
        ]
    },
}


def claim(name: str, spec: dict[str, Any], namespace: str = "ml") -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": spec},
    }


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    value = claim(name, spec)
    return {**value, "kind": "ResourceClaimTemplate", "spec": {"spec": value["spec"]}}


def pod(name: str, template_name: str, **spec: Any) -> dict[str, Any]:
    claims = [{"name": "gpu", "resourceClaimTemplateName": template_name}]
    container = {"name": "main", "image": "train", "resources": {"claims": [{"name": "gpu"}]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"containers": [container], "resourceClaims": claims, **spec},
    }


def describe(spec: str) -> DescribedMachine:
    published = render_machine(spec, TARGET, DriverChoice(), lambda _: None, lambda _: None)
    return DescribedMachine(list_known_classes(TARGET).merge(published), describe_spec(spec))


@pytest.fixture(scope="module")
def machines() -> dict[str, DescribedMachine]:
    return {spec: describe(spec) for spec in MACHINES}


def questions(state: ClusterState) -> list[Question]:
    return find_questions(state, (), None, {})


OBJECTS = [
    *(claim(name, spec) for name, spec in SPECS.items()),
    template("one", SPECS["one"]),
    template("hopper", SPECS["hopper"]),
    pod("plain", "one"),
    pod("same", "one"),
    pod("h100", "hopper", nodeSelector={"node.kubernetes.io/instance-type": "p5.48xlarge"}),
    pod("team", "one", nodeSelector={"team": "ml"}),
]


@pytest.mark.parametrize("release", ["1.34", "1.37"])
def test_cells_are_the_single_answers(release: str, machines: dict[str, DescribedMachine]) -> None:
    state, features = from_objects(OBJECTS), Features.for_release(release)
    matrix = make_matrix(make_clusters(state, machines, questions, features, Options()), questions)
    answers = compare(make_clusters(state, machines, questions, features, Options()), questions)
    assert [subject.address for subject in matrix.subjects] == [
        each.answers[0].explanation.subject.address for each in answers
    ]
    for row in matrix.rows:
        column = list(machines).index(row.machine)
        singles = [each.answers[column] for each in answers]
        expected = [
            ("fits" if a.explanation.fits else a.explanation.reasons[0].code, a.serves)
            for a in singles
        ]
        assert [(cell.code, cell.serves) for cell in row.cells] == expected
        conditions = [bool(a.needs or a.set_by or a.unjudged) for a in singles]
        assert [cell.is_conditional for cell in row.cells] == conditions


def test_devices_in_use_give_way_to_lasting_causes(machines: dict[str, DescribedMachine]) -> None:
    """Network devices that a claim holds are the first reason only where freeing them would do."""
    device = {"name": "nic-0", "attributes": {"model": {"string": "a"}}}
    fabric = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "fabric"},
        "spec": {
            "driver": "fabric.example.com",
            "allNodes": True,
            "pool": {"name": "fabric", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "fabric"},
        "spec": {"selectors": selector('device.driver == "fabric.example.com"')},
    }
    result = {"request": "gpu", "driver": "fabric.example.com", "pool": "fabric", "device": "nic-0"}
    holder = claim("holder", {"requests": [request("fabric")]})
    holder["status"] = {"allocation": {"devices": {"results": [result]}}}
    wanted = [
        claim("held", {"requests": [request("fabric")]}),
        claim("model", {"requests": [request("fabric", selectors=selector("false"))]}),
        claim("both", {"requests": [request("fabric"), {**request(count=99), "name": "many"}]}),
    ]
    state = from_objects([fabric, device_class, holder, *wanted])

    def ask(other: ClusterState) -> list[Question]:
        names = ("held", "model", "both")
        return [q for name in names for q in find_subjects(other, f"claim/{name}", "ml")]

    features = Features.for_release("1.37")
    few = {name: machines[name] for name in ("p5.48xlarge", "g6.xlarge")}
    matrix = make_matrix(make_clusters(state, few, ask, features, Options()), ask)
    answers = compare(make_clusters(state, few, ask, features, Options()), ask)
    by_machine = {row.machine: [cell.code for cell in row.cells] for row in matrix.rows}
    assert by_machine == {
        name: [each.answers[number].explanation.reasons[0].code for each in answers]
        for number, name in enumerate(few)
    }
    assert by_machine["p5.48xlarge"][0] == "device-in-use"


def keys(*objects: dict[str, Any]) -> list[object]:
    state = from_objects(objects)
    return [equality_key(state, question) for question in questions(state)]


def test_equal_subjects() -> None:
    one, more = keys(claim("a", SPECS["one"]), claim("b", SPECS["one"]))
    assert one == more
    one, more = keys(claim("a", SPECS["one"]), claim("a", SPECS["one"], "other"))
    assert one != more  # a quota and adminAccess are about a namespace
    one, more = keys(claim("a", SPECS["one"]), claim("b", SPECS["sixteen"]))
    assert one != more


def keys_with_results(
    machine: DescribedMachine, release: str, *specs: dict[str, Any]
) -> list[object]:
    features = Features.for_release(release)
    state = from_objects([claim(f"c{number}", spec) for number, spec in enumerate(specs)])
    (cluster,) = make_clusters(state, {"m": machine}, questions, features, Options())
    results = SelectorResults(cluster.state, features)
    return [equality_key(cluster.state, each, results) for each in questions(cluster.state)]


def test_claims_whose_selectors_have_equal_results(machines: dict[str, DescribedMachine]) -> None:
    hopper, large, larger, none, failing = (
        {"requests": [request(selectors=selector(text))]}
        for text in (
            HOPPER,
            memory_of("30Gi"),
            memory_of("60Gi"),
            memory_of("300Gi"),
            'device.attributes["a.b"].c == 1',
        )
    )
    specs = hopper, large, larger, none, failing
    on_p5 = keys_with_results(machines["p5.48xlarge"], "1.37", *specs)
    assert on_p5[0] == on_p5[1] == on_p5[2]
    assert len(set(on_p5)) == 3  # the text of a failing selector is part of the key
    on_g6 = keys_with_results(machines["g6.xlarge"], "1.37", *specs)
    assert on_g6[0] == on_g6[2] == on_g6[3]
    more = {"requests": [request(selectors=selector(HOPPER), count=2)]}
    one, other = keys_with_results(machines["p5.48xlarge"], "1.37", hopper, more)
    assert one != other


def test_texts_of_selectors_on_unknown_values_count() -> None:
    root, other_root = (
        {"requests": [request(selectors=selector(f'{root} != "{name}"'))]}
        for root in ('device.attributes["resource.kubernetes.io"].?pcieRoot.orValue("")',)
        for name in ("pci0000:00", "pci0000:80")
    )
    machine = "BM.GPU.A10.4"  # no source shows its PCIe roots
    one, other = keys_with_results(describe(machine), "1.37", root, other_root)
    assert one != other


def test_texts_count_in_a_preview(machines: dict[str, DescribedMachine]) -> None:
    """A preview may know names that dractl does not know."""
    specs = SPECS["large"], SPECS["larger"]
    one, other = keys_with_results(machines["p5.48xlarge"], "1.37", *specs)
    assert one == other
    one, other = keys_with_results(machines["p5.48xlarge"], next(iter(PREVIEWS)), *specs)
    assert one != other


def test_equal_pods_have_equal_templates() -> None:
    templates = [template("a", SPECS["one"]), template("b", SPECS["one"])]
    one, more = keys(*templates, pod("x", "a"), pod("y", "b"))
    assert one == more
    templates = [template("a", SPECS["one"]), template("b", SPECS["sixteen"])]
    one, more = keys(*templates, pod("x", "a"), pod("y", "b"))
    assert one != more
    one, more = keys(template("a", SPECS["one"]), pod("x", "a"), pod("y", "missing"))
    assert one != more


def test_matrix_sums_up_machines_and_claims(machines: dict[str, DescribedMachine]) -> None:
    objects = [claim("one", SPECS["one"]), claim("no", SPECS["no-class"])]
    few = {name: machines[name] for name in ("trn2.48xlarge", "p5.48xlarge")}
    features = Features.for_release("1.37")
    clusters = make_clusters(from_objects(objects), few, questions, features, Options())
    matrix: Matrix = make_matrix(clusters, questions)
    assert [row.machine for row in matrix.rows] == ["p5.48xlarge", "trn2.48xlarge"]
    assert [subject.name for subject in matrix.unserved] == ["no"]
    assert (matrix.universal, matrix.fits, matrix.codes[0]) == (0, False, "class-missing")
