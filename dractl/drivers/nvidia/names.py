"""Names that the modules of ``gpu.nvidia.com`` share."""

NAME = "gpu.nvidia.com"
VENDOR = "0x10de"
LIST_ATTRIBUTES, FABRIC_MANAGER = "DRAListTypeAttributes", "FabricManagerPartitioning"
