"""A cluster that answers with an empty list of nodes has none, although slices name nodes.

kube-scheduler of 1.37, asked with a ResourceSlice of node-1 and without Nodes, said "no nodes
available to schedule pods". An input that does not show Nodes is something else: there the nodes
are those of the slices.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.cluster import live
from dractl.scheduler.cache import nodes_by_name
from tests.cluster.test_live import FORBIDDEN, Kubectl, listed
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

if TYPE_CHECKING:
    from pathlib import Path

SLICE = slice_of("d", "node-1", device("gpu-0"), device("gpu-1"))
CLASS = device_class("c", "true")
CLAIM = claim("held", request("r", "c"))
POD = pod("train-0", {"name": "g", "resourceClaimName": "held"})
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "ml"},
    "spec": {"spec": CLAIM["spec"]},
}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    program = Kubectl(tmp_path, monkeypatch)
    program.answers(
        nodes=listed(),
        resourceslices=listed(SLICE),
        deviceclasses=listed(CLASS),
        resourceclaims=listed(CLAIM),
        resourceclaimtemplates=listed(TEMPLATE),
        pods=listed(POD),
    )
    return program


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main([*words, "--isolated"])
    output = capsys.readouterr()
    return re.sub(r"\s+", " ", output.out + output.err)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["explain", "pod/train-0", "-n", "ml"], "the cluster has no node on which the pod"),
        (["explain", "pod/train-0", "-n", "ml"], "the node of the slices does not exist"),
        (["fit", "template/one", "-n", "ml"], "no copies fit"),
        (["fit", "template/one", "-n", "ml"], "the cluster has no node on which the pod"),
        (["plan", "pod/train-0", "-n", "ml"], "the cluster has no node on which the pod"),
        (["devices"], "pool d/node-1 belongs to node node-1, which does not exist"),
    ],
)
@pytest.mark.usefixtures("kubectl")
def test_nothing_fits_on_the_node_of_a_slice(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in run(words, capsys)


@pytest.mark.usefixtures("kubectl")
def test_the_scheduler_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "pod/train-0", "-n", "ml", "--isolated", "-o", "json"])
    assert "no nodes available to schedule pods" in capsys.readouterr().out


def test_nodes_that_the_user_may_not_read_are_those_of_the_slices(kubectl: Kubectl) -> None:
    kubectl.answers(
        nodes={"err": FORBIDDEN.format("nodes"), "code": 1}, resourceslices=listed(SLICE)
    )
    assert list(nodes_by_name(live.read(live.Login(), partly=True).state)) == ["node-1"]


def test_a_dump_without_nodes_shows_those_of_the_slices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [SLICE, CLASS, CLAIM, POD, TEMPLATE]
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": objects}))
    words = ["fit", "template/one", "-n", "ml", "-f", str(tmp_path / "dump.json")]
    assert "2 copies fit" in run(words, capsys)


def test_the_last_node_can_be_removed() -> None:
    """The nodes of slices do not come back when the only Node is deleted."""
    state = state_of(node("node-1"), SLICE)
    assert list(nodes_by_name(state)) == ["node-1"]
    assert not nodes_by_name(state.replace("Node", ("", "node-1"), None))
