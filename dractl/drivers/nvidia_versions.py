"""Versions of NVIDIA's driver, which publishes GPUs and compute domains.

Source: the tags of kubernetes-sigs/dra-driver-nvidia-gpu. Releases were counted by calendar up to v25.12.0 (9c2e721b);
main was v26.4.0-dev (0d50e3fd) until releases became semantic with v0.4.0 (16222a51). cmd/gpu-kubelet-plugin sets the
same attributes in every tag of a version.
"""

from __future__ import annotations

VERSIONS = ("25.3", "25.8", "25.12", "0.4", "0.5")
RELEASED = "0.4"
TAGS = {
    "25.3": ("v25.3.0", "v25.3.1", "v25.3.2"),
    "25.8": ("v25.8.0", "v25.8.1"),
    "25.12": ("v25.12.0",),
    "0.4": ("v0.4.0", "v0.4.1"),
}
# 0.1 to 0.3 are dractl's own names of the first three, from before it used those of the releases.
ALIASES = {"0.1": "25.3", "0.2": "25.8", "0.3": "25.12", "26.4": "0.4"}
