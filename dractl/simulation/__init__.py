"""A cluster after a change: what the API server takes, what deletions meet, what controllers make of it, and which of
the pending pods then run, in the order of kube-scheduler's queue."""

from dractl.simulation.after import World, after

__all__ = ["World", "after"]
