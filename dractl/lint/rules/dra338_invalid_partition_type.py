"""`partitionTypeAttribute` names an attribute that devices with counters lack.

## What it does

Each device of the slice that consumes counters has that attribute, as a string. Kubernetes 1.37, feature gate
DRAPartitionableDevicesType.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Source

RS-38; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceSliceSpec
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-38",)
