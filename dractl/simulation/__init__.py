"""A cluster after a change: what the API server accepts, what the controllers of workloads do, and
which pending pods kube-scheduler then places.
"""

from dractl.simulation.setup import SimulationOptions
from dractl.simulation.simulation import NO_SUBJECT, Simulation, SimulationResult, simulate

__all__ = ["NO_SUBJECT", "Simulation", "SimulationOptions", "SimulationResult", "simulate"]
