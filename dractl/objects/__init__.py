"""Lenient views of objects as users wrote them: they never fail, and they know their paths.

A missing value, or a value of the wrong type, reads as empty. The views are the same for all
versions of the API, but their paths are paths in the object as written. Verdicts use
:mod:`dractl.model`, whose objects are complete and typed; :mod:`dractl.views` reads objects of a
cluster.
"""

from dractl.objects.claims import CLAIMS, Claim, Constraint, Expression, Request, selectors_of
from dractl.objects.pods import IMPLICIT_PREFIX, PodSpec
from dractl.objects.slices import Device, PoolName, Slice, identity, newest, slice_of
from dractl.objects.values import Path, Raw, encode_json, items, mapping, number, quantity, text

__all__ = [
    "CLAIMS",
    "IMPLICIT_PREFIX",
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
    "encode_json",
    "identity",
    "items",
    "mapping",
    "newest",
    "number",
    "quantity",
    "selectors_of",
    "slice_of",
    "text",
]
