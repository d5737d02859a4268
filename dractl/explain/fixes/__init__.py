"""Changes after which a subject fits: made from its causes, each verified by allocating again.

:mod:`registry` says which makers are for which causes; importing the modules below registers them.
"""

from dractl.explain.fixes import (
    constraints,
    expressions,
    extended,
    gangs,
    holders,
    limits,
    nodes,
    objects,
    replicas,
    requests,
    rollouts,
    settings,
    slices,
    taints,
)
from dractl.explain.fixes.candidates import Candidate, Problem
from dractl.explain.fixes.search import Found, corrections, find_fixes

MAKERS = (
    constraints,
    expressions,
    extended,
    gangs,
    holders,
    limits,
    nodes,
    objects,
    replicas,
    requests,
    rollouts,
    settings,
    slices,
    taints,
)

__all__ = ["MAKERS", "Candidate", "Found", "Problem", "corrections", "find_fixes"]
