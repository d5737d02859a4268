"""Known faults are named where the version that runs has them and the words show them."""

import re
from typing import Any

import pytest

from dractl.explain.diagnosis.known_faults import find_faults_of_driver, find_faults_of_node
from dractl.facts.drivers import driver, names
from dractl.facts.known import Breakage, breakages
from tests.explain.cluster import state_of

MENDED = [row for row in breakages() if row.fixed and row.of != "library"]
SHOWN = [row for row in MENDED if row.words and (row.of != "driver" or driver(row.name).images)]
"""Faults with words, of components whose version the input can show."""


def name_of(row: Breakage) -> str:
    return f"{row.name or row.of}-{row.fixed}"


def version_before(row: Breakage) -> str:
    """Return the newest version that the pack has before the one that mends a fault."""
    if row.of != "driver" or row.name not in names():
        return row.since or decrement(row.fixed)
    tags = [tag for release in driver(row.name).releases for tag in release.tags]
    versions = [tag for tag in tags if row.concerns(tag)]
    return versions[-1] if versions else "v0.0.1"


def decrement(version: str) -> str:
    """Return a version before another one."""
    parts = [int(part) for part in version.split(".")]
    last = max(index for index, part in enumerate(parts) if part)
    return ".".join(map(str, (*parts[:last], parts[last] - 1, *[9] * (len(parts) - last - 1))))


def plugin(name: str, version: str) -> dict[str, Any]:
    image = next(iter(driver(name).images), name)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "dra"},
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "c", "image": f"r.example/{image}:{version}"}]}
            }
        },
    }


def node(row: Breakage, version: str) -> dict[str, Any]:
    info = {"kubeletVersion": "v1.99.0", "kernelVersion": "99.1", "containerRuntimeVersion": ""}
    if row.of == "runtime":
        info["containerRuntimeVersion"] = f"{row.name}://{version}"
    else:
        info["kubeletVersion" if row.of == "kubelet" else "kernelVersion"] = f"v{version}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"nodeInfo": info},
    }


def example_of(pattern: str) -> str:
    r"""Return words that a pattern of a known fault matches.

    It knows patterns of words with ``.*``, ``\d+``, ``(?:a|b)`` and ``(?:a)?``.
    """
    text = re.sub(r"\(\?:([^()|]*)(?:\|[^()]*)?\)\??", r"\1", pattern)
    return re.sub(r"\\d\+", "7", text).replace(".*", "").replace("\\", "").replace("?", "")


def find(row: Breakage, version: str, words: str) -> list[str]:
    if row.of == "driver":
        faults = find_faults_of_driver(words, state_of(plugin(row.name, version)), row.name)
    else:
        faults = find_faults_of_node(words, state_of(node(row, version)), "n1")
    return [fault.breakage.what for fault in faults]


def test_sixty_faults_have_a_fixed_release() -> None:
    assert len(MENDED) >= 60
    assert all(row.source and row.read for row in breakages())


@pytest.mark.parametrize("row", MENDED, ids=name_of)
def test_fault_is_in_the_version_before_its_fix(row: Breakage) -> None:
    assert row.concerns(version_before(row))
    assert not row.concerns(row.fixed)
    assert not row.concerns("99.1.0") or row.of == "driver"


@pytest.mark.parametrize("row", SHOWN, ids=name_of)
def test_words_name_a_fault_only_before_its_fixed_release(row: Breakage) -> None:
    for pattern in row.words:
        words = f"NodePrepareResources failed: {example_of(pattern)} (7)"
        assert row.has_words(words), f"{pattern}: example_of cannot make an example of it"
        assert row.what in find(row, version_before(row), words), pattern
        assert row.what not in find(row, row.fixed, words)
    assert row.what not in find(row, version_before(row), "something else")


def test_unseen_version_has_no_known_fault() -> None:
    words = "MPS control daemon is not yet ready"
    assert find_faults_of_driver(words, state_of(), "gpu.nvidia.com") == ()
    assert find_faults_of_driver(words, state_of(), "acc.example.com") == ()
    latest = state_of(plugin("gpu.nvidia.com", "latest"))
    assert find_faults_of_driver(words, latest, "gpu.nvidia.com") == ()


def test_the_years_of_old_releases_come_before_the_numbers_of_new_ones() -> None:
    row = next(row for row in MENDED if row.name == "gpu.nvidia.com" and row.fixed == "25.12.0")
    assert row.concerns("v25.8.1")
    assert not row.concerns("v0.4.1")
    row = next(row for row in MENDED if row.name == "gpu.nvidia.com" and row.fixed == "0.4.1")
    assert row.concerns("v0.4.0")
    assert row.concerns("v25.12.0")


def test_the_sentence_names_version_remedy_and_source() -> None:
    words = "error applying config: MPS control daemon is not yet ready"
    state = state_of(plugin("gpu.nvidia.com", "v0.4.0"))
    (fault,) = find_faults_of_driver(words, state, "gpu.nvidia.com")
    assert fault.sentence.startswith("gpu.nvidia.com v0.4.0 has a known fault with this message: ")
    assert "0.4.1" in fault.sentence
    assert "#1212" in fault.sentence
