"""The API server rejects the object for a reason that has no rule of its own.

## What it does

Reports what the API server says about metadata, status and other parts that are not particular to DRA.

## Why is this bad

The API server rejects the object.

## Source

Various; pkg/apis/resource/validation and pkg/apis/core/validation of kubernetes/kubernetes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ()
