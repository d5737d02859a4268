"""Names that the modules of ``gpu.amd.com`` share."""

NAME = "gpu.amd.com"
VENDOR = "0x1002"
GPU, PARTITION, VFIO = "amdgpu", "amdgpu-partition", "vfio"
