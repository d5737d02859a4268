"""The node allocatable resources of a device are malformed.

## What it does

Checks the keys (cpu, memory, hugepages-...), multipliers and overheads of `nodeAllocatableResources`. Kubernetes
1.37, feature gate DRANodeAllocatableResources.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Source

RS-37; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateNodeAllocatableResources
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-37",)
