"""Lenient views of what people wrote: they never fail, and they know their paths.

A missing value, or one of the wrong type, reads as empty; all versions of the API have one
structure; paths are those of the object as written. Verdicts use :mod:`dractl.model`, whose objects
are complete and typed.
"""

from dractl.objects.claims import CLAIMS, Claim, Constraint, Expression, Request, selectors_of
from dractl.objects.pods import PodSpec
from dractl.objects.slices import Device, PoolName, Slice, identity, newest, slice_of
from dractl.objects.values import Path, Raw, items, mapping, number, quantity, text, written

__all__ = [
    "CLAIMS",
    "Claim",
    "Constraint",
    "Device",
    "Expression",
    "Path",
    "PodSpec",
    "PoolName",
    "Raw",
    "Request",
    "Slice",
    "identity",
    "items",
    "mapping",
    "newest",
    "number",
    "quantity",
    "selectors_of",
    "slice_of",
    "text",
    "written",
]
