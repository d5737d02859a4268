"""An H100 in a virtual machine, as discover saved it there (tests/data/machines/h100-vm.json), beside what others said
on that machine: nvidia-smi, and the enumeration of the released drivers (gpu.nvidia.com 0.4.1 on NVML 580.159.04,
dra.net 1.4.0; without MAC addresses, as a snapshot is), in h100-vm-published.json."""

import json

import pytest

from dractl.drivers import Options, render
from dractl.model import Target
from dractl.report.machine import text as machine_text
from dractl.topology import snapshot
from dractl.topology.machine import Machine
from tests.sysfs_trees import DESCRIPTIONS

MACHINE = snapshot.load(DESCRIPTIONS / "h100-vm.json")
assert isinstance(MACHINE, Machine)
PUBLISHED = json.loads((DESCRIPTIONS / "h100-vm-published.json").read_text())


def test_as_many_instances_of_each_mig_profile_as_nvidia_smi_counts() -> None:
    # nvidia-smi mig -lgip, column Total
    total = {
        "1g.10gb": 7,
        "1g.10gb+me": 1,
        "1g.20gb": 4,
        "2g.20gb": 3,
        "3g.40gb": 2,
        "4g.40gb": 1,
        "7g.80gb": 1,
    }
    said = machine_text.profiles(MACHINE.gpus[0]).removeprefix("MIG profiles: ")
    assert said.split(", ") == [f"{name} ×{count}" for name, count in total.items()]


@pytest.mark.parametrize(
    ("driver", "version", "option"),
    [
        ("gpu.nvidia.com", "0.4", ""),
        ("gpu.nvidia.com", "0.4", "dynamicMIG=true"),
        ("dra.net", "1.4", ""),
    ],
)
def test_the_drivers_own_code_publishes_the_same(driver: str, version: str, option: str) -> None:
    settings = {driver: dict([option.split("=")])} if option else {}
    options = Options("node-1", Target.of("1.37"), versions={driver: version}, settings=settings)
    slices = render(MACHINE, options, [driver]).slices
    ours = [
        {"devices": one["spec"].get("devices"), "sharedCounters": one["spec"].get("sharedCounters")}
        for one in slices
    ]
    theirs = PUBLISHED[f"{driver}:{option}" if option else driver]
    assert ours == [{"sharedCounters": None, **one} for one in theirs]
