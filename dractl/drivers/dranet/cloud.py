"""Attributes that dranet adds on cloud machines from metadata services; dractl takes them from a
machine file or options.

Source: kubernetes-sigs/dranet@f258477 pkg/cloudprovider/{gce,aws,azure,oke,alibaba}, @9174644d
pkg/cloudprovider/coreweave.
"""

from collections.abc import Callable
from typing import Any

from dractl.drivers.neuron import groups as neuron_groups
from dractl.drivers.profile import Options
from dractl.errors import UsageError
from dractl.facts import driver
from dractl.topology.machine import Machine

CLOUDS = ("aws", "azure", "gce", "oke", "alibaba", "coreweave")
_DRIVER = "dra.net"
_MAX_TEXT = 64

_TYPES = {
    "gce": "machineType",
    "azure": "vmSize",
    "alibaba": "instanceType",
    "oke": "shape",
    "coreweave": "instanceType",
}


def _places(cloud: str | None) -> tuple[str, ...]:
    """Return the attributes that all devices of a provider have and that only this provider sets,
    without the provider's domain.
    """
    dranet = driver(_DRIVER)
    published = {row.name for row in dranet.attributes}
    return tuple(
        row.name
        for row in dranet.settings
        if row.name != "instanceType" and f"{cloud}.dra.net/{row.name}" in published
    )


def attributes(machine: Machine, options: Options) -> Callable[[str], dict[str, Any]]:
    """Return a function from a device's PCI address (empty if it has none) to its attributes."""
    # Only EC2 also has the instance type in DMI
    by_dmi = "aws" if machine.host.vendor == "Amazon EC2" else None
    cloud = options.setting(_DRIVER, "cloud") or machine.host.cloud or by_dmi
    if cloud is not None and cloud not in CLOUDS:
        raise UsageError(
            f"{_DRIVER}: cloud must be {', '.join(CLOUDS[:-1])} or {CLOUDS[-1]}, not {cloud!r}"
        )
    _refuse_other(cloud, options)
    dmi = machine.host.product if cloud == "aws" else None
    kind = options.setting(_DRIVER, "instanceType") or machine.host.instance_type or dmi
    common = {f"{cloud}.dra.net/{name}": options.setting(_DRIVER, name) for name in _places(cloud)}
    if cloud in _TYPES:
        common[f"{cloud}.dra.net/{_TYPES[cloud]}"] = kind
    drivers = {pci.bdf: pci.driver for pci in machine.pci_devices}
    erdma = {device.bdf for device in machine.rdma_devices if device.name.startswith("erdma")}

    def attributes_of(bdf: str) -> dict[str, Any]:
        values: dict[str, Any] = dict(common)
        if cloud == "aws" and drivers.get(bdf) == "efa" and (kind or "").startswith(("trn", "inf")):
            values |= neuron_groups.groups_of_adapter(kind, bdf)
        if cloud == "alibaba" and bdf in erdma:
            values["alibaba.dra.net/erdma"] = True
        return {name: value for name, value in values.items() if value is not None}

    return attributes_of


def _refuse_other(cloud: str | None, options: Options) -> None:
    for owner in CLOUDS:
        for name in _places(owner):
            value = options.setting(_DRIVER, name)
            if value is not None and owner != cloud:
                place = (
                    f"the machine is on {cloud}" if cloud else "the machine is on no known cloud"
                )
                raise UsageError(
                    f"{_DRIVER}: {name} is an attribute on {owner}, and {place}",
                    hint=f"cloud={owner}",
                )
            if value is not None and len(value) > _MAX_TEXT:
                raise UsageError(
                    f"{_DRIVER}: {name} has {len(value)} characters; at most {_MAX_TEXT} are"
                    " allowed"
                )
