"""Obstacles: things that have to change before a subject fits, computed by asking the scheduler.

A *demand* is one thing that the subject asks of the cluster, with a way to lift it. The obstacles
on a node are a minimal set of demands: without them, the scheduler places the subject there.
"""

from dractl.explain.obstacles.demands import Demand
from dractl.explain.obstacles.search import NodeObstacles, Obstacles, find_obstacles
from dractl.explain.obstacles.trial import Oracle, Trial, recreate_subject

__all__ = [
    "Demand",
    "NodeObstacles",
    "Obstacles",
    "Oracle",
    "Trial",
    "find_obstacles",
    "recreate_subject",
]
