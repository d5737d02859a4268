"""Attributes that dranet adds on cloud machines, from metadata services; here, from a machine file or options.

Source: kubernetes-sigs/dranet@f258477 pkg/cloudprovider/{gce,aws,azure,oke,alibaba}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.drivers import neuron_groups
from dractl.drivers.profile import Attribute, Options, Setting, device_class
from dractl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.topology.machine import Machine

CLOUDS = ("aws", "azure", "gce", "oke", "alibaba")
_DRIVER = "dra.net"
_MAX_TEXT = 64

_GCE, _AZURE, _OKE, _ALIBABA = "on Google Cloud", "on Azure", "on Oracle Cloud", "on Alibaba Cloud"
_NEURON = "of EFA functions on AWS Trainium and Inferentia"
_PLACED = ", where its metadata has the placement"

ATTRIBUTES = (
    Attribute("gce.dra.net/machineType", "string", "such as a3-highgpu-8g", when=_GCE),
    Attribute("gce.dra.net/block", "string", "first part of the host's place", when=_GCE + _PLACED),
    Attribute("gce.dra.net/subBlock", "string", "second part of the host's place", when=_GCE + _PLACED),
    Attribute("gce.dra.net/host", "string", "third part of the host's place", when=_GCE + _PLACED),
    Attribute("gce.dra.net/networkName", "string", "VPC network of the interface", when=_GCE + ", of its own NICs"),
    Attribute("gce.dra.net/networkProjectNumber", "int", "project of that network", when=_GCE + ", of its own NICs"),
    Attribute("gce.dra.net/ipAliases", "string", "alias ranges", when=_GCE + ", where the interface has some"),
    Attribute("azure.dra.net/vmSize", "string", "such as Standard_ND96isr_H100_v5", "1.1", when=_AZURE),
    Attribute("azure.dra.net/placementGroupId", "string", "placement group", "1.1", when=_AZURE + _PLACED),
    Attribute("azure.dra.net/interconnectGroupId", "string", "NVLink or InfiniBand", "1.4", when=_AZURE + _PLACED),
    Attribute("azure.dra.net/interconnectSubgroupId", "string", "part of the group", "1.4", when=_AZURE + _PLACED),
    *(
        Attribute(
            f"{neuron_groups.PREFIX}{size}_id",
            "string",
            "PCI address of the adapter" if size == 1 else f"same for {size} Neuron devices and their adapters",
            "1.2",
            when=_NEURON,
        )
        for size in neuron_groups.SIZES
    ),
    Attribute("oke.dra.net/hpcIslandId", "string", "HPC island", "1.2", when=_OKE + _PLACED),
    Attribute("oke.dra.net/networkBlockId", "string", "network block", "1.2", when=_OKE + _PLACED),
    Attribute("oke.dra.net/localBlockId", "string", "local block", "1.2", when=_OKE + _PLACED),
    Attribute("oke.dra.net/rackId", "string", "rack", "1.2", when=_OKE + _PLACED),
    Attribute("oke.dra.net/gpuMemoryFabricId", "string", "NVLink fabric", "1.2", when=_OKE + ", of GB200 and GB300"),
    Attribute("alibaba.dra.net/instanceType", "string", "such as ecs.ebmgn8v.48xlarge", "1.4", when=_ALIBABA),
    Attribute("alibaba.dra.net/erdma", "bool", "always true", "1.4", when=_ALIBABA + ", of eRDMA", values=(True,)),
)

# Provider -> the attributes that all devices have, by the part of the name after the provider's domain.
_PLACES = {
    "gce": ("block", "subBlock", "host"),
    "azure": ("placementGroupId", "interconnectGroupId", "interconnectSubgroupId"),
    "oke": ("hpcIslandId", "networkBlockId", "localBlockId", "rackId", "gpuMemoryFabricId"),
}
_TYPES = {"gce": "machineType", "azure": "vmSize", "alibaba": "instanceType"}

SETTINGS = (
    Setting("cloud", "|".join(CLOUDS), "the provider whose metadata service dranet finds (default: the machine's)"),
    Setting("instanceType", "TEXT", "the provider's name for the machine type (default: the machine's)"),
    *(
        Setting(name, "TEXT", f"the attribute {cloud}.dra.net/{name}")
        for cloud, names in _PLACES.items()
        for name in names
    ),
)

# The class of AWS's chart (aws/eks-charts stable/aws-dranet).
EFA_CLASS = device_class(
    "efa.networking.k8s.aws",
    'device.driver == "dra.net" && "pciDevice" in device.attributes["dra.net"] && '
    'device.attributes["dra.net"].pciDevice == "Elastic Fabric Adapter (EFA)"',
)


def attributes(machine: Machine, options: Options, since: Callable[[str], bool]) -> Callable[[str], dict[str, Any]]:
    """A function that gives the attributes of a device, by its PCI address (empty: it has none)."""
    cloud = options.setting(_DRIVER, "cloud") or machine.host.cloud or _by_dmi(machine)
    if cloud is not None and cloud not in CLOUDS:
        raise UsageError(f"{_DRIVER}: cloud must be {', '.join(CLOUDS[:-1])} or {CLOUDS[-1]}, not {cloud!r}")
    _refuse_other(cloud, options)
    dmi = machine.host.product if cloud == "aws" else None
    kind = options.setting(_DRIVER, "instanceType") or machine.host.instance_type or dmi
    known = {row.name for row in ATTRIBUTES if row.since is None or since(row.since)}
    common = {f"{cloud}.dra.net/{name}": options.setting(_DRIVER, name) for name in _PLACES.get(cloud or "", ())}
    if cloud in _TYPES:
        common[f"{cloud}.dra.net/{_TYPES[cloud]}"] = kind
    drivers = {pci.bdf: pci.driver for pci in machine.pci_devices}
    erdma = {device.bdf for device in machine.rdma_devices if device.name.startswith("erdma")}

    def of_device(bdf: str) -> dict[str, Any]:
        found: dict[str, Any] = dict(common)
        if cloud == "aws" and drivers.get(bdf) == "efa" and (kind or "").startswith(("trn", "inf")):
            found |= neuron_groups.of_adapter(kind, bdf)
        if cloud == "alibaba" and bdf in erdma:
            found["alibaba.dra.net/erdma"] = True
        return {name: value for name, value in found.items() if value is not None and name in known}

    return of_device


def _by_dmi(machine: Machine) -> str | None:
    """EC2 alone has the instance type in DMI too: nothing else is known without the metadata service."""
    return "aws" if machine.host.vendor == "Amazon EC2" else None


def _refuse_other(cloud: str | None, options: Options) -> None:
    for owner, names in _PLACES.items():
        for name in names:
            value = options.setting(_DRIVER, name)
            if value is not None and owner != cloud:
                found = f"the machine is on {cloud}" if cloud else "the machine is on no known cloud"
                raise UsageError(f"{_DRIVER}: {name} is an attribute on {owner}, and {found}", hint=f"cloud={owner}")
            if value is not None and len(value) > _MAX_TEXT:
                raise UsageError(f"{_DRIVER}: {name} has {len(value)} characters; at most {_MAX_TEXT} are allowed")
