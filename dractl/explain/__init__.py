"""Explains the scheduler's verdict by reasons, per node and per device. It also finds fixes, and
proves each one by a simulation.

from dractl.cluster import ClusterState
from dractl.explain import Explainer, find_subjects
state = ClusterState.from_documents(load(["dump.yaml"]).documents)
Explainer(state, Features.for_release("1.36")).explain(find_subjects(state, "pod/train-0", None)[0])
"""

from dractl.explain.answer import Explanation, Fix, NodeAnswer, Reason
from dractl.explain.ask import Question, find_all_waiting, find_by_labels, find_subjects
from dractl.explain.explain import Explainer, Options
from dractl.explain.fleet.batch import explain_each, sort_by_severity
from dractl.explain.reasons.base import ReasonPage
from dractl.explain.reasons.registry import REASONS

__all__ = [
    "REASONS",
    "Explainer",
    "Explanation",
    "Fix",
    "NodeAnswer",
    "Options",
    "Question",
    "Reason",
    "ReasonPage",
    "explain_each",
    "find_all_waiting",
    "find_by_labels",
    "find_subjects",
    "sort_by_severity",
]
