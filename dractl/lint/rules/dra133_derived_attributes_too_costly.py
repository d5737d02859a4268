"""The derived attributes of a claim may cost more than the API server allows.

## What it does

Each expression may cost at most 1,000,000, and so may all expressions of a claim together.

## Why is this bad

The API server rejects the claim.

## Source

RC-33; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDerivedAttributes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-33",)
