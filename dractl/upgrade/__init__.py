"""The same objects under two releases and two versions of drivers: what differs, at which step."""

from dractl.upgrade.drivers import Described
from dractl.upgrade.finding import Finding, Plan, Step, concerned
from dractl.upgrade.server import Input
from dractl.upgrade.upgrade import Inputs, gates_of, path_of, plan

__all__ = ["Described", "Finding", "Input", "Inputs", "Plan", "Step", "concerned", "gates_of", "path_of", "plan"]
