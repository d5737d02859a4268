"""The pages of all reason codes, and how far a pod gets with each; they stand beside the causes."""

from __future__ import annotations

from dractl.explain.causes import (
    APART,
    HIDDEN,
    NOTHING,
    OTHER,
    OUTSIDE,
    REASONS,
    STOPPED,
    TAKEN,
    ReasonPage,
)

__all__ = ["APART", "HIDDEN", "NOTHING", "OTHER", "OUTSIDE", "REASONS", "STOPPED", "TAKEN", "ReasonPage"]
