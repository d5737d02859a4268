"""The objects of resource.k8s.io/v1 and the parts of core/v1 that claims need; quantities, versions, releases."""

from __future__ import annotations

from dractl.model.names import QualifiedName, qualified_name
from dractl.model.quantity import Quantity
from dractl.model.releases import GATES, NEWEST, RELEASES, Target, served_versions
from dractl.model.version import Version

__all__ = [
    "GATES",
    "NEWEST",
    "RELEASES",
    "QualifiedName",
    "Quantity",
    "Target",
    "Version",
    "qualified_name",
    "served_versions",
]
