"""A derived attribute is not well-formed.

## What it does

A request has at most 32 derived attributes, each with its own fully qualified name and an expression that returns a
scalar or a list of scalars. Kubernetes 1.37, feature gate DRADerivedAttributes.

## Why is this bad

The API server rejects the claim.

## Source

RC-31; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDerivedAttributes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-31",)
