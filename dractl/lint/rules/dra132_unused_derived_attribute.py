"""No constraint uses a derived attribute.

## What it does

Each derived attribute must be named by a `matchAttribute` or `distinctAttribute` that applies to its request.

## Why is this bad

The API server rejects the claim.

## Source

RC-32; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDerivedAttributes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-32",)
