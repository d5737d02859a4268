"""Machines that the user does not have: turns a name (``p5.48xlarge``), a line (``8xH100,2xnic``)
or a YAML file into a Machine for which slices are rendered.
"""

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

__all__ = ["as_node", "describe_wiring", "labels_of", "machine", "room_of", "setter"]


def machine(spec: str) -> Machine:
    """Return the machine that ``--hardware`` describes. Raises UsageError, and InputError for
    errors in a file.
    """
    if not is_file(spec):
        return build.machine(parse(spec))
    layout = described.read(spec)
    try:
        return build.machine(layout)
    except UsageError as error:  # the error concerns the whole machine, so it has no line
        raise InputError(
            error.message.removeprefix("--hardware: "), place=spec, hint=error.hint
        ) from error


_NATIVE = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "pods")


def room_of(spec: str) -> dict[str, str]:
    """Return ``status.allocatable`` of the node of such a machine: CPUs and memory according to its
    description, the labels of its instance type or the documents of its maker (the kubelet's
    reserve for the system is not known, and not subtracted), and :data:`PLENTY` of every other
    resource; empty if neither is known. Raises UsageError, and InputError.
    """
    hardware, room = machine(spec), _memory_in_documents(spec)
    online, memory = hardware.cpus.online, hardware.host.memory_bytes
    if online:
        room["cpu"] = str(len(cpulist.parse(online)))
    if memory is not None:
        room["memory"] = str(memory)
    return dict.fromkeys(_NATIVE, PLENTY) | room if room else {}


def _memory_in_documents(spec: str) -> dict[str, str]:
    """Return CPUs and memory of an instance type of EC2 (karpenter-provider-aws
    pkg/apis/v1/labels.go: instance-memory is in MiB), or of a machine that its maker documents.
    """
    labels = {key: value for key, value in labels_of(spec).items() if key.startswith(_EC2)}
    if labels:
        memory = labels.get(f"{_EC2}memory")
        amounts = {"cpu": labels.get(f"{_EC2}cpu"), "memory": f"{memory}Mi" if memory else None}
    else:
        room = machine_room(spec.partition(",")[0].lower())
        amounts = {"cpu": room.cpu, "memory": room.memory} if room is not None else {}
    return {name: amount for name, amount in amounts.items() if amount}


_EC2 = "karpenter.k8s.aws/instance-"


def labels_of(spec: str) -> dict[str, str]:
    """Return the labels that the node of such a machine certainly has. Raises UsageError, and
    InputError for errors in a file.
    """
    return labels_of_layout(_layout(spec))


def describe_wiring(spec: str) -> str | None:
    """Return a sentence on the devices of a machine whose place is unknown; None if there are none.
    Raises UsageError, and InputError for errors in a file.
    """
    return build.describe_wiring(_layout(spec))


def _layout(spec: str) -> Layout:
    return described.read(spec) if is_file(spec) else parse(spec)
