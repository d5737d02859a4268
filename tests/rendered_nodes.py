"""Fixtures for tests of several rooms: two nodes and their renderings. One node has four PCIe roots
with two GPUs and two NICs each; on the other, roots are not published.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.drivers import Options, Rendering, render
from dractl.model.releases import Target
from tests import sysfs_trees

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

TARGET = Target.of("1.36")
Renderer = Callable[..., Rendering]


@pytest.fixture(scope="session")
def rendered() -> Renderer:
    """Return a function that renders a machine; ``nvidia`` and ``dranet`` are versions of the
    drivers other than the current releases.
    """

    def make(
        machine: Machine, *, nvidia: str | None = None, dranet: str | None = None
    ) -> Rendering:
        named = {"gpu.nvidia.com": nvidia, "dra.net": dranet}
        options = Options("node-1", TARGET, versions={k: v for k, v in named.items() if v})
        return render(machine, options, device_classes=True)

    return make


def _machine(name: str, factory: pytest.TempPathFactory) -> Machine:
    return probes.read(sysfs_trees.build(sysfs_trees.describe(name), factory.mktemp(name)))


@pytest.fixture(scope="session")
def plx(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return _machine("plx-8gpu", tmp_path_factory)


@pytest.fixture(scope="session")
def hyperv(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return _machine("hyper-v", tmp_path_factory)


@pytest.fixture(scope="session")
def mi300x(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return _machine("mi300x", tmp_path_factory)
