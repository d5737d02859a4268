"""What ``gpu.amd.com`` publishes of partitions and of GPUs for virtual machines, as data: dractl does not render them.

Source: ROCm/k8s-gpu-dra-driver docs/driver-attributes.md, cmd/gpu-kubeletplugin/deviceinfo.go (2025.10: parents of
partitions).
"""

from __future__ import annotations

from dractl.drivers.profile import Attribute, Capacity, Taint

_PARTITION, _VFIO = "amdgpu-partition", "vfio"
_AUTO = "with the gate AutoPartition, of GPUs that can be partitioned"

ATTRIBUTES = (
    Attribute("parentPciAddr", "string", "PCI address of the GPU", removed="2026.8", devices=(_PARTITION,)),
    Attribute("parentDeviceID", "string", "unique id of the GPU", removed="2026.8", devices=(_PARTITION,)),
    Attribute("computePartition", "string", "compute mode", "2026.8", when=_AUTO, values=("spx", "dpx", "qpx", "cpx")),
    Attribute("memoryPartition", "string", "memory mode", "2026.8", when=_AUTO, values=("nps1", "nps2", "nps4")),
    Attribute("gpuIndex", "int", "number of the GPU in the order of PCI addresses", "2026.8", when=_AUTO),
    Attribute("iommuGroup", "string", "number of the IOMMU group", "2026.8", devices=(_VFIO,)),
    Attribute("isVF", "bool", "true for virtual functions, false for whole GPUs", "2026.8", devices=(_VFIO,)),
    Attribute("vendorID", "string", "PCI vendor id, 0x1002", "2026.8", when="where it is known", devices=(_VFIO,)),
)

CAPACITIES = (
    Capacity("partitions", "how many partitions the mode makes: 1, 2 or 8; a request takes 1", "2026.8", when=_AUTO),
)

TAINTS = (
    Taint(
        "gpu.amd.com/memory-partition-conflict",
        ("NoExecute",),
        "a claim that is in use on the node has set another memory mode",
        since="2026.8",
        when="with the gate AutoPartition",
    ),
)

NOTES = (
    "partitions that exist have the pciBusID of their GPU: matchAttribute on it gives several of one GPU",
    "with the gate AutoPartition a GPU is a device for each mode, such as gpu-0-cpx-nps4, and one of them is in use",
    "with the gate VFIOPassthrough a GPU is also a device of type vfio, and one of both is in use",
    "partitions and vfio devices are not rendered",
)
