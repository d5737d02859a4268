"""NVIDIA's drivers: gpu.nvidia.com and compute-domain.nvidia.com."""
