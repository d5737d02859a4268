"""``npu.rebellions.ai``: Rebellions NPUs, as ``rbln-smi -j`` lists them.

Source: RBLN-SW/rbln-k8s-dra-driver@dd9af1b cmd/npu-kubelet-plugin/state.go (enumerateNpuDevices); RBLN-SW/rblnlib-go
pkg/device, pkg/rblnsmi.
"""

from __future__ import annotations

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Capacity, Catalogue, device_class
from dractl.drivers.standard import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT

NAME = "npu.rebellions.ai"

CATALOGUE = Catalogue(
    title="Rebellions NPUs",
    source="RBLN-SW/rbln-k8s-dra-driver@dd9af1b cmd/npu-kubelet-plugin/state.go",
    versions=("0.1",),
    released="0.1",
    tags={"0.1": ("v0.1.2",)},
    attributes=(
        Attribute("type", "string", "always npu", values=("npu",)),
        Attribute("productName", "string", "such as RBLN-CA25 or RBLN-CR03"),
        Attribute("sid", "string", "serial number"),
        Attribute("uuid", "string", "UUID"),
        Attribute("pciDeviceID", "string", "PCI device id, such as 0x1220"),
        Attribute("pciLinkSpeed", "string", "such as 16GT/s"),
        Attribute("pciLinkWidth", "string", "such as x16"),
        Attribute("firmwareVersion", "string", "version of the firmware, a string, not a version"),
        Attribute("driverVersion", "string", "version of the kernel driver, a string, not a version"),
        Attribute(PCI_BUS_ID, "string", "PCI address"),
        Attribute(PCIE_ROOT, "string", "address of the root port, which never equals another driver's pcieRoot"),
        Attribute(
            NUMA_NODE, "int", "the PCI function's NUMA node; -1 if it has none", when="where rbln-smi reports a number"
        ),
    ),
    capacities=(Capacity("memory", "total memory in bytes", when="where rbln-smi reports it"),),
    notes=(
        "devices are named rblnN",
        "strings that rbln-smi does not report are published empty",
        "pcieRoot is the address of a PCI function here: matchAttribute with GPUs or NICs never holds",
    ),
)

PROFILE = Agent(
    NAME,
    CATALOGUE,
    (device_class(NAME, f"device.driver == '{NAME}'", extendedResourceName="rebellions.ai/npu"),),
)
