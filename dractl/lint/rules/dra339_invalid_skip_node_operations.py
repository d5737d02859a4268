"""`skipNodeOperations` is malformed.

## What it does

`NodePrepareResources` is skipped only together with `NodeUnprepareResources`. Kubernetes 1.37, feature gate
DRAOptionalNodeOperations.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Source

RS-39; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceSliceSpec
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-39",)
