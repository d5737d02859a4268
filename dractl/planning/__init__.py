"""Finds running pods to move so that waiting pods fit.

The steps of a plan are proven one after the other, each in the cluster after the earlier steps.
"""

from dractl.planning.plan import Plan, Step
from dractl.planning.planner import PlanOptions, find_plan
from dractl.planning.subject import Subject, subject_of_copies, subject_of_pods

__all__ = [
    "Plan",
    "PlanOptions",
    "Step",
    "Subject",
    "find_plan",
    "subject_of_copies",
    "subject_of_pods",
]
