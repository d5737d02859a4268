"""The same objects under two releases and two versions of drivers: what differs, at which step."""

from dractl.cluster.described_nodes import DescribedNode
from dractl.upgrade.finding import Finding, Plan, Step, concerned
from dractl.upgrade.gates import GateSetting, settings_of_documents, settings_of_objects
from dractl.upgrade.server import Input
from dractl.upgrade.upgrade import Compared, gates_of, path_of, plan, refuse_unknown_gates

__all__ = [
    "Compared",
    "DescribedNode",
    "Finding",
    "GateSetting",
    "Input",
    "Plan",
    "Step",
    "concerned",
    "gates_of",
    "path_of",
    "plan",
    "refuse_unknown_gates",
    "settings_of_documents",
    "settings_of_objects",
]
