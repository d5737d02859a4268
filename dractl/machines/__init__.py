"""Machines that the user does not have: turns a name (``p5.48xlarge``), a line (``8xH100,2xnic``)
or a YAML file into a Machine for which slices are rendered.
"""

from collections.abc import Mapping

from msgspec import Struct

from dractl.errors import InputError, UsageError
from dractl.facts.hardware import machine_room
from dractl.machines import build, described
from dractl.machines.build import as_node
from dractl.machines.labels import labels_of_layout, setter
from dractl.machines.layout import Layout
from dractl.machines.spec import is_file, parse
from dractl.model.quantity import PLENTY
from dractl.topology import cpulist
from dractl.topology.machine import Machine

__all__ = ["Description", "as_node", "describe", "labels_of", "machine", "room_of"]

_NATIVE = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "pods")


class Description(Struct, frozen=True):
    """A machine that ``--hardware`` describes, with the facts about its node."""

    machine: Machine
    """The hardware."""
    labels: Mapping[str, str]
    """The labels that the node certainly has."""
    room: Mapping[str, str]
    """``status.allocatable`` of the node: the CPUs and memory of the description, of the labels of
    the instance type or of the maker's documents, and :data:`PLENTY` of every other resource. The
    kubelet's reserve for the system is unknown, and not subtracted. Empty if neither CPUs nor
    memory are known.
    """
    wiring: str | None
    """A sentence on the devices whose place is unknown; None if there are none."""

    @property
    def setters(self) -> dict[str, str]:
        """The component that sets a label, for each label that only some clusters have."""
        return {key: name for key in self.labels if (name := setter(key)) is not None}


def describe(spec: str) -> Description:
    """Return the description of a machine. Raises UsageError, and InputError for errors in a
    file.
    """
    layout = _layout(spec)
    hardware, labels = _build(spec, layout), labels_of_layout(layout)
    room = _room(hardware, _memory_in_documents(spec, labels))
    return Description(hardware, labels, room, build.describe_wiring(layout))


def machine(spec: str) -> Machine:
    """Return the machine that ``--hardware`` describes. Raises UsageError, and InputError for
    errors in a file.
    """
    return _build(spec, _layout(spec))


def _build(spec: str, layout: Layout) -> Machine:
    if not is_file(spec):
        return build.machine(layout)
    try:
        return build.machine(layout)
    except UsageError as error:  # the error concerns the whole machine, so it has no line
        raise InputError(
            error.message.removeprefix("--hardware: "), place=spec, hint=error.hint
        ) from error


def room_of(spec: str) -> Mapping[str, str]:
    """Return the room of a machine's node. Raises UsageError, and InputError."""
    return describe(spec).room


def _room(hardware: Machine, documented: Mapping[str, str]) -> dict[str, str]:
    """Return the room of a node; ``documented`` has CPUs and memory for hardware without them."""
    room = dict(documented)
    online, memory = hardware.cpus.online, hardware.host.memory_bytes
    if online:
        room["cpu"] = str(len(cpulist.parse(online)))
    if memory is not None:
        room["memory"] = str(memory)
    return dict.fromkeys(_NATIVE, PLENTY) | room if room else {}


def _memory_in_documents(spec: str, labels: Mapping[str, str]) -> dict[str, str]:
    """Return CPUs and memory of an instance type of EC2 (karpenter-provider-aws
    pkg/apis/v1/labels.go: instance-memory is in MiB), or of a machine that its maker documents.
    """
    if any(key.startswith(_EC2) for key in labels):
        memory = labels.get(f"{_EC2}memory")
        amounts = {"cpu": labels.get(f"{_EC2}cpu"), "memory": f"{memory}Mi" if memory else None}
    else:
        room = machine_room(spec.partition(",")[0].lower())
        amounts = {"cpu": room.cpu, "memory": room.memory} if room is not None else {}
    return {name: amount for name, amount in amounts.items() if amount}


_EC2 = "karpenter.k8s.aws/instance-"


def labels_of(spec: str) -> dict[str, str]:
    """Return the labels that the node of a described machine certainly has. Raises UsageError, and
    InputError for errors in a file.
    """
    return labels_of_layout(_layout(spec))


def _layout(spec: str) -> Layout:
    return described.read(spec) if is_file(spec) else parse(spec)
