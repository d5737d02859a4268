"""Groups of GPUs and NICs of a node that claims can ask for on one PCIe root or NUMA node."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

from msgspec import Struct

from dractl.drivers.publication import Published
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.model.device_phrases import PLACES

_DOMAIN_NAMES = {name: PLACES[name.rpartition("/")[2]] for name in (PCIE_ROOT, NUMA_NODE)}
_GPU_COUNTS = (1, 2, 4, 8)

Domain = str | int | None
"""A PCIe root or NUMA node, which is the value of a standard attribute; None if it is not
published.
"""


class AlignedGroup(Struct, frozen=True):
    """GPUs and NICs that a claim can request with one value of an attribute."""

    attribute: str
    """The attribute for a PCIe root or a NUMA node."""

    gpus: int
    """The number of GPUs in one group."""

    nics: int
    """The number of NICs in one group."""

    max_groups: int
    """The number of groups for which the node has devices at the same time."""

    combinations: int
    """The number of possible choices of devices for one group."""

    domains: int
    """The number of PCIe roots or NUMA nodes that have at least one group."""

    @property
    def text(self) -> str:
        """The group in words: ``2 GPUs + 1 NIC on one PCIe root: up to 4 at once ...``."""
        counts = ((self.gpus, "GPU"), (self.nics, "NIC"))
        devices = " + ".join(_format_count(number, word) for number, word in counts if number)
        domain = _DOMAIN_NAMES[self.attribute]
        combinations = _format_count(self.combinations, "combination")
        text = f"{devices} on one {domain}: up to {self.max_groups} at once ({combinations})"
        return text + (f", on {self.domains} {domain}s" if self.domains > 1 else "")


def _format_count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def list_aligned_groups(devices: Sequence[Published]) -> tuple[AlignedGroup, ...]:
    """Return the groups of 1, 2, 4 or 8 GPUs: without a NIC, with one NIC, and with a NIC for each
    GPU.
    """
    groups: list[AlignedGroup] = []
    for attribute in _DOMAIN_NAMES:
        gpus = _count_by_domain(devices, "gpu", attribute)
        nics = _count_by_domain(devices, "nic", attribute)
        for gpu_count in _GPU_COUNTS:
            for nic_count in dict.fromkeys((0, 1, gpu_count)):
                group = _count_groups(attribute, gpus, nics, gpu_count, nic_count)
                if group.max_groups and gpu_count + nic_count > 1:
                    groups.append(group)
    return tuple(groups)


def _count_by_domain(devices: Sequence[Published], kind: str, attribute: str) -> Counter[Domain]:
    domains = (device.place(attribute) for device in devices if device.kind == kind)
    return Counter(domain for domain in domains if domain is not None)


def _count_groups(
    attribute: str, gpus: Counter[Domain], nics: Counter[Domain], gpu_count: int, nic_count: int
) -> AlignedGroup:
    """Return a group with its counts; ``max_groups`` is 0 if the group fits nowhere."""
    max_groups = [
        min(gpus[domain] // gpu_count, nics[domain] // nic_count if nic_count else gpus[domain])
        for domain in gpus
    ]
    return AlignedGroup(
        attribute,
        gpus=gpu_count,
        nics=nic_count,
        max_groups=sum(max_groups),
        combinations=sum(comb(gpus[d], gpu_count) * comb(nics[d], nic_count) for d in gpus),
        domains=sum(map(bool, max_groups)),
    )


def list_obstacles(devices: Sequence[Published]) -> tuple[str, ...]:
    """Return the obstacles to aligning the node's GPUs with its NICs through claims."""
    gpus = [device for device in devices if device.kind == "gpu"]
    nics = [device for device in devices if device.kind == "nic"]
    return tuple(_describe_obstacles(gpus, nics)) if gpus and nics else ()


def _describe_obstacles(gpus: Sequence[Published], nics: Sequence[Published]) -> Iterator[str]:
    for attribute, domain in _DOMAIN_NAMES.items():
        silent_drivers = _list_drivers_without((*gpus, *nics), attribute)
        gpu_domains = {gpu.place(attribute) for gpu in gpus}
        nic_domains = {nic.place(attribute) for nic in nics}
        if silent_drivers:
            drivers = " and ".join(silent_drivers)
            verb = "does" if len(silent_drivers) == 1 else "do"
            yield f"claims cannot match {attribute}: {drivers} {verb} not publish it on this node"
        elif not gpu_domains & nic_domains - {None}:
            yield f"no {domain} has both a GPU and a NIC"


def _list_drivers_without(devices: Sequence[Published], attribute: str) -> list[str]:
    """Return the drivers none of whose devices have an attribute."""
    publishing = {device.driver for device in devices if device.place(attribute) is not None}
    return sorted({device.driver for device in devices} - publishing)
