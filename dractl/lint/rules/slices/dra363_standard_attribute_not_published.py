"""A device shows its PCI address or NUMA node only under a name of the driver's own.

## What it does

Finds devices with an attribute whose value is a PCI address, but without
`resource.kubernetes.io/pciBusID`, and devices with a NUMA node under another name, but without
`resource.kubernetes.io/numaNode`.

## Why is this bad

A constraint over devices of several drivers compares attributes with one common name. Devices
without the standard name can never be placed together with those of other drivers.

## How to fix

Publish the standard attribute beside the present one, with the helpers of
k8s.io/dynamic-resource-allocation/deviceattribute: `GetPCIBusIDAttribute`,
`GetPCIeRootAttributeByPCIBusID`, `GetNUMANodeAttributeByPCIBusID`. Leave out an attribute whose
value the node does not know.

## Seen in

dra.net 1.4 has `dra.net/pciAddress` and `dra.net/numaNode` alone; dra.cpu 0.1 and 0.2
`dra.cpu/numaNodeID`; gpu.nvidia.com up to 25.8 `pcieBusID`; gpu.amd.com `pciAddr`, and `numaNode`
without the domain (ROCm/k8s-gpu-dra-driver#92); spyre.ibm.com `pciAddress`.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-nic}
 spec:
   driver: nic.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: nic-0
     attributes:
       pciAddress: {string: "0000:3b:00.0"}
+      resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}
```

## Source

KEP-4381 and KEP-6072; k8s.io/dynamic-resource-allocation/deviceattribute
"""

import re
from functools import lru_cache

from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.standard import STANDARD_DOMAIN
from dractl.objects import Device, mapping

SEVERITY = "info"
KINDS = ("ResourceSlice",)

_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
# The address belongs to a parent device, such as the PF of a VF, and not to the device itself.
_OF_ANOTHER = re.compile(r"parent|^pf|physfn", re.IGNORECASE)
_NUMA = re.compile(r"numa(?:[_-]?(?:node|id|nodeid|info))?", re.IGNORECASE)


def check(run: Run) -> Found:
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        for device in subject.devices:
            for standard, find in (("pciBusID", _find_address), ("numaNode", _find_numa_node)):
                key = (subject.slice.driver, standard)
                # Reported once for each driver, since the same code makes all of its devices.
                if key in reported or f"{STANDARD_DOMAIN}/{standard}" in device.attributes:
                    continue
                if name := find(device):
                    reported.add(key)
                    yield _advise(subject, device, name, standard)


def _advise(subject: Manifest, device: Device, name: str, standard: str) -> Advice:
    return Advice(
        subject,
        (*device.path, "attributes", name),
        f"{device.name} has {name}, but not {STANDARD_DOMAIN}/{standard}",
        help="constraints over several drivers compare the standard name; publish it, too",
        key=True,
    )


def _find_address(device: Device) -> str:
    """Return the attribute with the device's PCI address; "" if there is none."""
    for name, value in device.attributes.items():
        address = mapping(value).get("string")
        is_of_device = not _OF_ANOTHER.search(name.rpartition("/")[2])
        if is_of_device and isinstance(address, str) and _ADDRESS.fullmatch(address):
            return name
    return ""


def _find_numa_node(device: Device) -> str:
    """Return the attribute with the device's NUMA node; "" if there is none or the node is
    unknown.
    """
    for name, value in device.attributes.items():
        if not _names_numa_node(name):
            continue
        node = mapping(value).get("int", mapping(value).get("string"))
        if str(node).isdecimal():
            return name
    return ""


@lru_cache(maxsize=4096)
def _names_numa_node(name: str) -> bool:
    return _NUMA.fullmatch(name.rpartition("/")[2]) is not None
