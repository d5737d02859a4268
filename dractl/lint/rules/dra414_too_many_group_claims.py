"""A pod group has more than 4 claims, or a workload more than 8 groups.

## What it does

Counts `resourceClaims` of a PodGroup and the `podGroupTemplates` of a Workload.

## Why is this bad

The API server rejects the object. Feature gate DRAWorkloadResourceClaims.

## Source

PC-14; kubernetes/kubernetes pkg/apis/scheduling/validation
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-14",)
