"""The API server rejects the object for a reason without its own rule.

## What it does

Reports what the API server says about metadata, status and other parts that are not specific to DRA.

## Why is this bad

The API server rejects the object.

## Source

Various; pkg/apis/resource/validation and pkg/apis/core/validation of kubernetes/kubernetes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ()
