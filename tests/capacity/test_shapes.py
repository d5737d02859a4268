"""Copies of a shape and the alignment of their devices, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.capacity import max_copies
from dractl.capacity.shapes import place_closest, shape_copies
from dractl.capacity.suggest import suggest
from dractl.cluster import ClusterState
from dractl.drivers import Options, render
from dractl.errors import InputError
from dractl.machines import machine
from dractl.machines.names import every
from dractl.model import Target
from dractl.model.shapes import parse
from tests.alignment.machines import allocated_claim, cluster
from tests.capacity.test_placing import GPU, NIC, gpus, nics
from tests.explain.cluster import device, device_class, node, slice_of, state_of

FEATURES = Features.for_release("1.37")
TARGET = Target.of("1.37")
ALL_ON_ONE_ROOT = "all on one PCIe root"
PAIR_AND_NEIGHBOUR = "1 GPU + 1 NIC on one PCIe root, the other GPU on the same NUMA node"


def place_shape(state: ClusterState, shape: str) -> dict[str, dict[str, int]]:
    """Copies by node and alignment."""
    fit = place_closest(shape_copies(state, FEATURES, shape, "ml"), FEATURES)
    counts = {
        one.name: {group.alignment: group.copies for group in one.alignments} for one in fit.nodes
    }
    assert fit.fits == sum(one.fits for one in fit.nodes)
    return counts


@pytest.mark.parametrize(
    ("hardware", "shape", "copies"),
    [
        # One root a GPU and its NIC, four of them on each socket.
        ("dgx-h100", "gpu=1,nic=1", {ALL_ON_ONE_ROOT: 8}),
        ("dgx-h100", "gpu=2,nic=1", {PAIR_AND_NEIGHBOUR: 4}),
        ("dgx-h100", "gpu=8,nic=8", {"1 GPU + 1 NIC on one PCIe root, 8 times": 1}),
        ("dgx-h100", "gpu=3", {"all on one NUMA node": 2}),
        ("dgx-h100", "gpu=5", {"not aligned": 1}),
        ("dgx-h100", "gpu=2,nic=1@pcieRoot", {}),
        ("dgx-h100", "gpu=1,nic=1@pcieRoot", {ALL_ON_ONE_ROOT: 8}),
        ("dgx-h100", "gpu=4@numaNode", {"all on one NUMA node": 2}),
        # dra.net publishes no numaNode (render's catalogue: since main only).
        ("dgx-h100", "gpu=1,nic=1@numaNode", {}),
        # Two GPUs and two NICs on each of four roots.
        ("p4d.24xlarge", "gpu=2,nic=1", {ALL_ON_ONE_ROOT: 4}),
        ("p4d.24xlarge", "gpu=2,nic=1@pcieRoot", {ALL_ON_ONE_ROOT: 4}),
    ],
)
def test_copies_take_the_closest_alignment_or_the_demanded_one(
    hardware: str, shape: str, copies: dict[str, int]
) -> None:
    assert place_shape(cluster(hardware), shape) == {"n": copies}


def test_a_shape_without_a_preference_has_no_alignment() -> None:
    state = cluster("dgx-h100")
    fit = place_closest(shape_copies(state, FEATURES, "gpu=2,nic=1@none", "ml"), FEATURES)
    assert (fit.fits, fit.nodes[0].alignments) == (4, ())
    (template,) = shape_copies(state, FEATURES, "gpu=2,nic=1@none", "ml")
    ((_, claim),) = template.state.objects("ResourceClaimTemplate").items()
    assert "constraints" not in claim["spec"]["spec"]["devices"]


def test_each_node_has_an_alignment_of_its_own() -> None:
    """Two GPUs and a NIC share a root on node a, on node b they do not."""
    state = state_of(
        GPU,
        NIC,
        *(node("a"), gpus("a", "r1", "r1"), nics("a", "r1")),
        *(node("b"), gpus("b", "r1", "r2"), nics("b", "r3")),
    )
    assert place_shape(state, "gpu=2,nic=1") == {"a": {ALL_ON_ONE_ROOT: 1}, "b": {"not aligned": 1}}
    assert place_shape(state, "gpu=2,nic=1@pcieRoot") == {"a": {ALL_ON_ONE_ROOT: 1}, "b": {}}


def test_devices_of_other_claims_are_not_taken() -> None:
    """The NICs of the first socket are in use, so pairs of one root are those of the other."""
    first = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e")]
    state = cluster("dgx-h100", allocated_claim("c", "n", nic=first))
    assert place_shape(state, "gpu=1,nic=1") == {"n": {ALL_ON_ONE_ROOT: 4}}
    # Two on the second socket; then GPUs of the first, to whose NICs nothing is left.
    assert place_shape(state, "gpu=2,nic=1") == {"n": {PAIR_AND_NEIGHBOUR: 2, "not aligned": 2}}


def test_a_quota_counts_the_copies_of_all_alignments() -> None:
    """Three claims are allowed: one copy is on a root, and two of three others have room."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "claims", "namespace": "ml"},
        "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "3"}},
    }
    roots = ("r1", "r2", "r3", "r4")
    state = state_of(
        GPU, NIC, quota, node("a"), gpus("a", *roots), nics("a", "r1", "r5", "r6", "r7")
    )
    assert place_shape(state, "gpu=1,nic=1") == {"a": {ALL_ON_ONE_ROOT: 1, "not aligned": 2}}


def test_the_maximum_is_counted_without_a_constraint() -> None:
    fit = place_closest(shape_copies(cluster("dgx-h100"), FEATURES, "gpu=3,nic=1", "ml"), FEATURES)
    packed = max_copies(fit, FEATURES)
    assert (fit.fits, packed.fits, packed.proven) == (2, 2, True)


def interface(name: str, **attributes: Any) -> dict[str, Any]:
    return device(name, **{f"dra.net/{key}": value for key, value in attributes.items()})


def test_interfaces_without_hardware_are_no_nics() -> None:
    """dranet publishes bridges and bonds, too: a claim for a NIC must not get one."""
    interfaces = slice_of(
        "dra.net",
        "a",
        interface("docker0", virtual=True, rdma=False),
        interface("eth1", virtual=False, rdma=True),
        interface("eth2", rdma=False),
    )
    dranet = device_class("dranet", "device.driver == 'dra.net'")
    state = state_of(dranet, node("a"), interfaces)
    fit = place_closest(shape_copies(state, FEATURES, "nic=1", "ml"), FEATURES)
    assert fit.nodes[0].devices == ("dra.net/a/eth1", "dra.net/a/eth2")
    fit = place_closest(shape_copies(state, FEATURES, "rdma=1", "ml"), FEATURES)
    assert fit.nodes[0].devices == ("dra.net/a/eth1",)


MACHINES = [name for name in every() if name.lower().startswith(("dgx", "p", "a3", "bm.gpu"))]
SHAPES = ("gpu=1,nic=1", "gpu=2,nic=1", "gpu=4,nic=4", "gpu=3", "gpu=8", "gpu=2,nic=1@pcieRoot")


@pytest.mark.parametrize("hardware", MACHINES[::4])
def test_fit_and_suggest_count_the_same(hardware: str) -> None:
    """Both ask for the copies of a shape on a free node."""
    rendering = render(machine(hardware), Options("n", TARGET), device_classes=True)
    state = cluster(hardware)
    for text in SHAPES:
        try:
            suggestion = suggest(parse(text), rendering, TARGET)
        except InputError:  # no driver publishes a NIC there
            with pytest.raises(InputError):
                shape_copies(state, FEATURES, text, "ml")
            continue
        expected: dict[str, int] = {}
        if suggestion is not None:
            expected[suggestion.alignment] = suggestion.copies
            for group in suggestion.further:
                expected[group.alignment] = expected.get(group.alignment, 0) + group.copies
        assert place_shape(state, text) == {"n": expected}, text
