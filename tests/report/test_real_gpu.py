"""An H100 in a virtual machine, as discover saved it there (tests/data/machines/h100-vm.json), beside what NVIDIA's own
tools said on that machine."""

from dractl.report import machine_text
from dractl.topology import snapshot
from dractl.topology.machine import Machine
from tests.machines import DESCRIPTIONS

MACHINE = snapshot.load(DESCRIPTIONS / "h100-vm.json")
assert isinstance(MACHINE, Machine)


def test_as_many_instances_of_each_mig_profile_as_nvidia_smi_counts() -> None:
    # nvidia-smi mig -lgip, column Total, driver 580.159.04
    total = {"1g.10gb": 7, "1g.10gb+me": 1, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}
    said = machine_text.profiles(MACHINE.gpus[0]).removeprefix("MIG profiles: ")
    assert said.split(", ") == [f"{name} ×{count}" for name, count in total.items()]
