"""AMD's driver: gpu.amd.com."""
