"""The differences between releases, and between versions of drivers, for the same objects."""

from dractl.cluster.platform_objects import PlatformObjects
from dractl.upgrade.finding import Finding, Plan, Step, list_affected
from dractl.upgrade.flags import (
    RuntimeConfig,
    runtime_config_of_documents,
    runtime_config_of_objects,
)
from dractl.upgrade.gates import GateSetting, settings_of_documents, settings_of_objects
from dractl.upgrade.placing import Outcome
from dractl.upgrade.server import Input
from dractl.upgrade.upgrade import UpgradeInput, gates_of, path_of, plan, refuse_unknown_gates

__all__ = [
    "Finding",
    "GateSetting",
    "Input",
    "Outcome",
    "Plan",
    "PlatformObjects",
    "RuntimeConfig",
    "Step",
    "UpgradeInput",
    "gates_of",
    "list_affected",
    "path_of",
    "plan",
    "refuse_unknown_gates",
    "runtime_config_of_documents",
    "runtime_config_of_objects",
    "settings_of_documents",
    "settings_of_objects",
]
