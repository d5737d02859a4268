"""Device-plugin requests in manifests, turned into ResourceClaimTemplates or kept through
DeviceClasses.
"""

from dractl.migration.classes import classes_for
from dractl.migration.migrate import MigratedFile, Migration
from dractl.migration.plan import Remark

__all__ = ["MigratedFile", "Migration", "Remark", "classes_for"]
