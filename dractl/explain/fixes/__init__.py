"""Changes after which a subject fits: made from its causes, each proven in the changed cluster.

:mod:`makers` is the registry of functions that make candidates; the imports below fill it.
"""

from dractl.explain.fixes import (  # noqa: F401
    constraints,
    expressions,
    extended,
    gangs,
    holders,
    nodes,
    objects,
    replicas,
    requests,
    rollouts,
    settings,
    slices,
    taints,
)
from dractl.explain.fixes.candidates import Candidate
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.search import corrections, find_fixes

__all__ = ["Candidate", "FixProblem", "corrections", "find_fixes"]
