"""A cluster after a change: the changes that the API server accepts, the reactions of workload
controllers, and the pending pods that kube-scheduler then places.
"""

from dractl.simulation.setup import SimulationOptions
from dractl.simulation.simulation import NO_SUBJECT, Simulation, SimulationResult, simulate

__all__ = ["NO_SUBJECT", "Simulation", "SimulationOptions", "SimulationResult", "simulate"]
