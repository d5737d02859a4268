"""Kinds of PCI functions by class code and vendor: the tables, and the function that evaluates
them.

Class codes are PCI-SIG's (base class, subclass, programming interface); vendor ids are as in
pci.ids.
"""

from dractl.topology.machine import Kind

NVIDIA, AMD, INTEL = "0x10de", "0x1002", "0x8086"

# Display controllers of other vendors (ASPEED, Matrox, Cirrus, QXL ...) are for consoles, not for
# workloads.
GPU_VENDORS = frozenset({NVIDIA, AMD, INTEL, "0x1ed5"})  # the last: Moore Threads

# Accelerators whose class code is not specific enough, by (vendor, device). Sources:
# dra-driver-google-tpu pkg/tpu, pci.ids.
ACCELERATORS = frozenset(
    {
        ("0x1ae0", "0x0027"),  # Google TPU v3
        ("0x1ae0", "0x005e"),  # TPU v4
        ("0x1ae0", "0x0062"),  # TPU v5p
        ("0x1ae0", "0x0063"),  # TPU v5e
        ("0x1ae0", "0x006f"),  # TPU v6e
        ("0x1d0f", "0x7064"),  # AWS Inferentia
        ("0x1d0f", "0x7164"),  # AWS Trainium
        ("0x1d0f", "0x7264"),  # AWS Inferentia2
    }
)

# Vendors that make only accelerators, or whose accelerators have an unassigned class. Sources:
# pci.ids; for Tenstorrent, enumerate.h of tt-kmd.
ACCELERATOR_VENDORS = {
    "0x1da3": "Habana Labs",
    "0x1e52": "Tenstorrent",
    "0x1ed2": "FuriosaAI",
    "0x1d95": "Graphcore",
}


def kind(class_code: str | None, vendor: str | None, device: str | None) -> Kind:
    """Return the kind of a function, judged by its ids alone. A function with an RDMA device but no
    network interface becomes ``rdma`` later.
    """
    code = int(class_code, 16) if class_code else 0
    base, sub = code >> 16, code >> 8 & 0xFF
    if (vendor, device) in ACCELERATORS:
        return "accelerator"
    if base == 0x06:
        return "other" if sub == 0x80 else "bridge"  # NVSwitches have 0x0680
    if base == 0x03 and vendor in GPU_VENDORS:
        return "gpu"
    if base == 0x12 and vendor == AMD:
        return "gpu"  # Instinct without display
    if (base, sub) == (0x0C, 0x06):
        return "rdma"  # the first InfiniBand adapters had the class of a serial bus
    if base == 0x02:
        return "rdma" if sub in (0x06, 0x07) else "nic"
    if base == 0x01 and sub == 0x08:
        return "nvme"
    if (
        base == 0x12
        or (base, sub) == (0x0B, 0x40)
        or (vendor in ACCELERATOR_VENDORS and base not in (0x05, 0x08))
    ):
        return "accelerator"
    return "other"
