"""Uncordon nodes, tolerate or remove their taints, or wait for the nodes."""

from collections.abc import Iterator, Sequence

from dractl.cluster.changes import Patch
from dractl.explain.diagnosis.requests import drivers_of_vendor
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, combine
from dractl.explain.fixes.edits import Operation, append, remove, replace
from dractl.explain.fixes.node_labels import ARCH_LABEL, IMAGE_EFFECT, name_nodes
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.fixes.tolerations import (
    correct_toleration,
    format_toleration,
    is_near_miss,
    narrowest_toleration,
)
from dractl.explain.reasons.controller_taints import find_taint_controller
from dractl.explain.reasons.phrases import join_clauses
from dractl.model import Taint
from dractl.model.taints import format_taint
from dractl.scheduler.rejection import Rejection, UntoleratedTaint
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Node

_MAX_NAMED_NODES = 3  # maximum number of nodes that an effect names
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_NOT_READY_TAINTS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")


def uncordon(problem: FixProblem, verdict: NodeVerdict, _: Rejection) -> Iterator[Candidate]:
    """Uncordon a node, and remove the taint of its cordon."""
    operations = [remove(("spec", "unschedulable"))]
    cordon = [taint for taint in verdict.node.taints if taint.key == _CORDON_TAINT]
    if cordon:
        operations.append(_remove_from_node(verdict, cordon))
    yield Candidate(
        f"uncordon {verdict.name}",
        (Patch(f"Node/{verdict.name}", tuple(operations)),),
        FixSlot(Topic.NODE, "uncordon"),
        Preference.RESTORE,
        effect=join_clauses("if its maintenance is over", _name_similar_nodes(problem, verdict)),
    )


def _name_similar_nodes(problem: FixProblem, verdict: NodeVerdict) -> str:
    """Name the other nodes with fitting devices that the same filter rejects in the same words."""
    similar_nodes = [
        other.name
        for other in problem.case.attempt.nodes
        if other is not verdict
        and other.allocates
        and not other.unusable_claims
        and other.rejection is not None
        and verdict.rejection is not None
        and (other.rejection.plugin, other.rejection.texts)
        == (verdict.rejection.plugin, verdict.rejection.texts)
    ]
    return f"or {name_nodes(similar_nodes, _MAX_NAMED_NODES)}" if similar_nodes else ""


def _remove_from_node(verdict: NodeVerdict, taints: Sequence[Taint]) -> Operation:
    """Return the operation that removes some taints from a node."""
    pairs = zip(verdict.node.taint_entries, verdict.node.taints, strict=True)
    remaining = [raw for raw, taint in pairs if taint not in taints]
    return replace(("spec", "taints"), remaining) if remaining else remove(("spec", "taints"))


def untaint(problem: FixProblem, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    """Tolerate or remove the taints of a node, or wait for the controller that removes them."""
    taints = [unmet.taint for unmet in rejection.unmet if isinstance(unmet, UntoleratedTaint)]
    controllers = [find_taint_controller(taint.key) for taint in taints]
    if any(controller is not None and controller.removes_node for controller in controllers):
        return  # the node is being removed
    passing = [t for t, controller in zip(taints, controllers, strict=True) if controller]
    lasting = [taint for taint in taints if taint not in passing]
    tolerations: list[Candidate] = []
    if problem.pod is not None and lasting:
        tolerations += _tolerate_node_taints(problem, verdict, lasting)
    if passing:
        wait = _await_node(problem, verdict, passing)
        yield from (combine([each, wait]) for each in tolerations) if lasting else [wait]
        return
    yield from tolerations
    # A taint may protect the node from images for other architectures.
    if not (tolerations and _is_for_other_architecture(verdict, lasting)):
        yield _remove_taints(problem, verdict, lasting)


def _is_for_other_architecture(verdict: NodeVerdict, taints: Sequence[Taint]) -> bool:
    """Return whether one of the taints keeps away pods with images for other architectures."""
    return verdict.node.labels.get(ARCH_LABEL) is not None and any(
        taint.key == ARCH_LABEL for taint in taints
    )


def _tolerate_node_taints(
    problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Taint]
) -> Iterator[Candidate]:
    """Correct the pod's toleration that was meant for the only taint, or tolerate all taints."""
    names = ", ".join(map(format_taint, taints))
    slot = FixSlot(Topic.TOLERATION, ", ".join(taint.key for taint in taints))
    tolerations = problem.question.pod.toleration_entries
    for index, toleration in enumerate(tolerations if len(taints) == 1 else ()):
        (taint,) = taints
        if is_near_miss(toleration, taint):
            corrected = correct_toleration(toleration, taint)
            yield Candidate(
                f"change the pod's toleration of {format_toleration(toleration)} to {names}",
                (problem.patch(replace(("spec", "tolerations", index), corrected)),),
                slot,
                Preference.CORRECT,
            )
    operations = append(
        problem.question.value, ("spec", "tolerations"), list(map(narrowest_toleration, taints))
    )
    title, effect = f"add a toleration for {names} to the pod", _name_reserved(problem, taints)
    preference = Preference.RESERVED if effect else Preference.ADMIT
    if _is_for_other_architecture(verdict, taints):
        title, preference = f"tolerate taint {names}", Preference.CLUSTER
        effect = IMAGE_EFFECT.format(verdict.node.labels[ARCH_LABEL])
    yield Candidate(title, (problem.patch(*operations),), slot, preference, effect)


def _name_reserved(problem: FixProblem, taints: Sequence[Taint]) -> str:
    """Return when a pod may use tainted nodes; "" if the taints only name their devices' vendor."""
    drivers = {each.spec.driver for each in problem.scheduler.slices}
    reserving = (format_taint(t) for t in taints if not drivers_of_vendor(t.key, drivers))
    names = ", ".join(text.rpartition(":")[0] for text in reserving)
    return f"if you may use the nodes of {names}" if names else ""


def _untaint_node(verdict: NodeVerdict, taints: Sequence[Taint]) -> tuple[Patch, ...]:
    return (Patch(f"Node/{verdict.name}", (_remove_from_node(verdict, taints),)),)


def _remove_taints(problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Taint]) -> Candidate:
    """Remove taints from a node, for all pods."""
    names = ", ".join(map(format_taint, taints))
    return Candidate(
        f"remove taint {names} from {verdict.name}",
        _untaint_node(verdict, taints),
        FixSlot(Topic.NODE, f"taint {names}"),
        Preference.POLICY,
        effect=join_clauses("for every pod", _name_similar_nodes(problem, verdict)),
    )


def _await_node(problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Taint]) -> Candidate:
    """Wait for a node whose taints a controller removes when their cause is gone."""
    names = ", ".join(map(format_taint, taints))
    is_dead = any(taint.key in _NOT_READY_TAINTS for taint in taints)
    hint = f"see kubectl describe node {verdict.name}, and its kubelet"
    message = _kubelet_message(verdict.node)
    if message:
        hint += f", which says: {message}"
    return Candidate(
        f"wait until {verdict.name} is {'back' if is_dead else 'ready'}: {names} goes away",
        (),
        FixSlot(Topic.NODE, f"taint {names}"),
        Preference.RESTORE,
        effect=join_clauses(hint, _name_similar_nodes(problem, verdict)),
        consequences=_untaint_node(verdict, taints),
    )


def _kubelet_message(node: Node) -> str:
    """Return the message of a node that is not ready; empty if it is ready, or says nothing."""
    ready = node.condition("Ready")
    return ready.message if ready.status == "False" else ""
