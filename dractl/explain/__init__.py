"""From the scheduler's verdict to reasons, per node and per device, and to fixes that are proven by allocating again.

    from dractl.cluster import ClusterState
    from dractl.explain import Explainer, find
    state = ClusterState.from_documents(load(["dump.yaml"]).documents)
    Explainer(state, Features.for_release("1.36")).explain(find(state, "pod/train-0", None)[0])

The names below are imported when they are first used: the pages of the reasons need nothing of the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.explain.answer import Explanation, Fix, NodeAnswer, Reason
    from dractl.explain.ask import Question, everything, find, labelled
    from dractl.explain.each import explain_each, worst_first
    from dractl.explain.explain import Explainer, Options
    from dractl.reasons.base import ReasonPage
    from dractl.reasons.registry import REASONS

_HOMES = {
    "answer": "Explanation Fix NodeAnswer Reason",
    "each": "explain_each worst_first",
    "explain": "Explainer Options",
    "reasons": "REASONS ReasonPage",
    "ask": "Question everything find labelled",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

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
    "everything",
    "explain_each",
    "find",
    "labelled",
    "worst_first",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"dractl.explain.{_HOME[name]}"), name)
    return value
