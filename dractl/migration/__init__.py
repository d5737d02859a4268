"""Turns device-plugin requests in manifests into ResourceClaimTemplates, or keeps them through
DeviceClasses.
"""

from dractl.migration.classes import classes_for
from dractl.migration.migrate import MigratedFile, Migration
from dractl.migration.plan import Remark

__all__ = ["MigratedFile", "Migration", "Remark", "classes_for"]
