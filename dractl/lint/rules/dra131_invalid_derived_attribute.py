"""A derived attribute is not well-formed.

## What it does

At most 32 for a request, each with a fully qualified name of its own and an expression that gives a scalar or a list
of scalars. Kubernetes 1.37, feature gate DRADerivedAttributes.

## Why is this bad

The API server rejects the claim.

## Source

RC-31; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDerivedAttributes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-31",)
