"""Stuck pods of a node: pods that cannot start, run or end, and the condition of the node
itself.
"""

from collections.abc import Iterator
from operator import itemgetter

from dractl.cluster import kubelet
from dractl.cluster.state import ClusterState
from dractl.explain import not_pending
from dractl.explain.answer import FITS, Hanging
from dractl.explain.ask import Question
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.phrases import Names
from dractl.explain.reasons.running import NodeSilent, NodeUnready
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.pre_enqueue import pre_enqueue


def find_stuck_pods(scheduler: Scheduler, node: str) -> Iterator[Hanging]:
    """Yield the pods of a node that are stuck for a reason other than the node's own condition.

    Pods that have ended are left out, since they hold no devices any more.
    """
    for key, pod in sorted(scheduler.state.pods.items(), key=itemgetter(0)):
        if pod.node_name == node and not pod.has_ended:
            claims = pre_enqueue(scheduler.state, pod.raw).claims
            question = Question("Pod", key, pod.raw)
            conclusion, _ = not_pending.conclude_placed_pod(scheduler, question, claims)
            node_itself = (
                isinstance(conclusion.causes[0], (NodeSilent, NodeUnready))
                if conclusion.causes
                else False
            )
            if conclusion.verdict not in FITS and not node_itself:
                yield Hanging("/".join(key), conclusion.headline.text(Names()))


def node_condition(state: ClusterState, node: str) -> Cause | None:
    """Return the cause if a node does not answer, or its kubelet says that it is not ready."""
    silent = kubelet.node_silence(state, node)
    if silent is not None:
        return NodeSilent(nodes=(node,), why=silent.message, since=silent.since)
    why = kubelet.unready_reason(state, node)
    return NodeUnready(nodes=(node,), why=why) if why else None
