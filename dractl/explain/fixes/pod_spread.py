"""Relax the rules of a pod about other pods: affinity, anti-affinity and spread."""

from collections.abc import Iterator, Mapping

from dractl.cluster.state import text_at
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import append, drop, remove, replace
from dractl.explain.fixes.node_resources import end_pods
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.objects import Raw
from dractl.scheduler.rejection import PodAffinityMismatch, Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod

_SPREAD_CONSTRAINTS = ("spec", "topologySpreadConstraints")


def relax_pod_affinity(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Correct or remove the pod's affinity to other pods, or end the pods that it avoids."""
    affinity = Pod(problem.demanding_pod).affinity
    strangers = {
        unmet.match_in_other_namespace
        for unmet in rejection.unmet
        if isinstance(unmet, PodAffinityMismatch)
    } - {None}
    if problem.pod is not None and strangers:
        yield from _add_namespaces(problem, {str(name).partition("/")[0] for name in strangers})
    for kind in ("podAntiAffinity", "podAffinity"):
        if problem.pod is not None and kind in affinity:
            removal = drop(problem.question.value, ("spec", "affinity", kind))
            yield Candidate(
                f"remove {kind} from the pod",
                (problem.patch(removal),),
                FixSlot(Topic.AFFINITY, "pods"),
                Preference.RELAX,
                effect="or prefer it instead of requiring it",
            )
    yield from end_pods(problem, verdict, rejection.pods)


def _add_namespaces(problem: FixProblem, namespaces: set[str]) -> Iterator[Candidate]:
    """Add the namespaces of the pods with the wanted labels to a required pod affinity."""
    path = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for index, term in enumerate(problem.question.pod.pod_affinity):
        missing = sorted(namespaces - set(term.namespaces))
        operations = append(problem.question.value, (*path, index, "namespaces"), missing)
        yield Candidate(
            f"add namespace {', '.join(missing)} to the pod's podAffinity",
            (problem.patch(*operations),),
            FixSlot(Topic.AFFINITY, "namespaces"),
            Preference.CORRECT,
            effect="a term without namespaces is about pods in the namespace of this pod",
            degree=index,
            corrects=True,
        )


def relax_spread(problem: FixProblem, _verdict: NodeVerdict, _: Rejection) -> Iterator[Candidate]:
    """Lower minDomains of the pod's topologySpreadConstraints, or make them preferences."""
    if problem.pod is None:
        return
    constraints = {
        index: constraint
        for index, constraint in enumerate(problem.question.pod.topology_spread)
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    }
    with_minimum = {
        index: constraint
        for index, constraint in constraints.items()
        if isinstance(constraint.get("minDomains"), int)
    }
    yield from _lower_min_domains(problem, with_minimum)
    if constraints:
        operations = [
            replace((*_SPREAD_CONSTRAINTS, index, "whenUnsatisfiable"), "ScheduleAnyway")
            for index in constraints
        ]
        # The API server accepts minDomains only with DoNotSchedule.
        operations += [
            remove((*_SPREAD_CONSTRAINTS, index, "minDomains")) for index in with_minimum
        ]
        yield Candidate(
            "set whenUnsatisfiable of the pod's topologySpreadConstraints to ScheduleAnyway",
            (problem.patch(*operations),),
            FixSlot(Topic.SPREAD),
            Preference.RELAX,
        )


def _lower_min_domains(problem: FixProblem, constraints: Mapping[int, Raw]) -> Iterator[Candidate]:
    """Lower ``minDomains`` to the number of domains that exist."""
    for index, constraint in constraints.items():
        key, wanted = text_at(constraint, "topologyKey"), constraint["minDomains"]
        domains = {node.labels.get(key) for node in problem.state.nodes.values()} - {None}
        for count in range(min(wanted - 1, len(domains)), 0, -1):
            yield Candidate(
                f"lower minDomains of the pod's topologySpreadConstraint over {key} "
                f"from {wanted} to {count}",
                (problem.patch(replace((*_SPREAD_CONSTRAINTS, index, "minDomains"), count)),),
                FixSlot(Topic.SPREAD),
                Preference.LESS,
                degree=wanted - count,
            )
