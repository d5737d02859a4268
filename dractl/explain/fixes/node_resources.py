"""Free ports and resources of a node: lower the pod's requests, or end other pods."""

from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from dractl.cluster.state import at
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import Path, drop, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.cross_object import AddedByAdmission
from dractl.model import Quantity
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views.amounts import init_container_request, pod_requests, quantity

_MAX_ENDED_PODS = 6  # the maximum number of pods that are ended one by one


def free_host_ports(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Remove the pod's host ports, or end the pods that use them."""
    operations = [
        drop(problem.question.value, ("spec", "containers", c, "ports", p, "hostPort"))
        for c, container in enumerate(problem.question.pod.containers_in("containers"))
        for p, port in enumerate(container.ports)
        if port.get("hostPort")
    ]
    if problem.pod is not None and operations and not problem.question.pod.uses_host_network:
        yield Candidate(
            "remove hostPort from the pod's containers",
            (problem.patch(*operations),),
            FixSlot(Topic.PORT),
            Preference.ADAPT,
            effect="reach the pod through a Service",
        )
    yield from end_pods(problem, verdict, rejection.pods)


def end_pods(
    problem: FixProblem, verdict: NodeVerdict, pods: tuple[str, ...]
) -> Iterator[Candidate]:
    """End one of the pods that keep the pod from a node."""
    for position, pod in enumerate(pods[:_MAX_ENDED_PODS]):
        yield from _end_together(problem, verdict, (pod,), position)


def _end_together(
    problem: FixProblem, verdict: NodeVerdict, pods: tuple[str, ...], degree: int
) -> Iterator[Candidate]:
    ending = problem.owners.plan_ending(pods)
    if ending is not None:
        yield Candidate(
            ending.title,
            ending.changes,
            FixSlot(Topic.ENDING, ending.owner or f"on {verdict.name}"),
            ending.preference if ending.changes else Preference.RESTORE,
            effect=ending.effect,
            degree=degree,
            consequences=ending.deletions,
        )


def free_resource(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Lower the pod's request, or end pods on the node: the largest user, or as many as needed."""
    resource = rejection.resource or ""
    if resource != "pods":
        yield from _lower_request(problem, verdict, rejection)
    amounts = {
        pod.full_name: 1000 if resource == "pods" else requests[resource].milli_value()
        for pod in problem.state.pods.values()
        if pod.node_name == verdict.name and pod.raw is not problem.question.value
        if resource in (requests := pod_requests(pod.spec)) or resource == "pods"
    }
    largest_first = sorted(amounts, key=lambda name: -amounts[name])
    yield from end_pods(problem, verdict, tuple(largest_first))
    excess = (
        quantity(rejection.want or 0).milli_value() - quantity(rejection.free or 0).milli_value()
    )
    freed = accumulate(amounts[name] for name in largest_first)
    needed = 1 + sum(1 for amount in freed if amount < excess)
    if 1 < needed <= min(len(amounts), _MAX_ENDED_PODS):
        yield from _end_together(problem, verdict, tuple(largest_first[:needed]), _MAX_ENDED_PODS)


def _remove_absent_resource(
    problem: FixProblem, verdict: NodeVerdict, resource: str
) -> Iterator[Candidate]:
    """Remove huge pages, which no pod needs to run, or a resource that no node offers."""
    allocatable = verdict.node.allocatable.get(resource)
    if allocatable is not None and allocatable.sign():
        return
    if resource.startswith("hugepages-"):
        preference = Preference.RELAX
        effect = "or set huge pages aside on the node, by the kernel parameter hugepages"
    elif "/" in resource and problem.claims:
        if any(resource in node.allocatable for node in problem.scheduler.nodes.values()):
            return
        preference = Preference.DROP
        effect = "if a claim of the pod provides the device, or the pod can do without it"
    else:
        return
    operations = (
        drop(problem.question.value, ("spec", "containers", c, "resources", field, resource))
        for c, container in enumerate(problem.question.pod.containers_in("containers"))
        for field in ("limits", "requests")
        if resource in container.amounts(field)
    )
    yield Candidate(
        f"remove {resource} from the pod's containers",
        (problem.patch(*operations),),
        FixSlot(Topic.AMOUNT, resource),
        preference,
        effect=effect,
    )


def _lower_request(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Lower the largest request of a container to the free amount of the node."""
    resource = rejection.resource or ""
    request = _find_deciding_request(problem, resource)
    if problem.pod is None or rejection.free is None or rejection.want is None or request is None:
        return
    try:
        excess = quantity(rejection.want) - quantity(rejection.free)
        remaining = request.amount - excess
    except OverflowError:  # amounts too far apart for one number, 1e9999 and 1n
        return
    yield from _remove_absent_resource(problem, verdict, resource)
    if remaining.sign() <= 0:
        return
    fields = ["requests"]
    if at(problem.question.value, *request.path, "limits", resource) is not None:
        fields += ["limits"] if "/" in resource else []
    operations = (replace((*request.path, f, resource), str(remaining)) for f in fields)
    is_default = any(
        isinstance(cause, AddedByAdmission) and cause.addition.startswith(f"{resource} ")
        for cause in problem.causes
    )
    title = f"lower {request.owner} for {resource} from {request.amount} to {remaining}"
    yield Candidate(
        f"set the pod's request for {resource} to {remaining}" if is_default else title,
        (problem.patch(*operations),),
        FixSlot(Topic.AMOUNT, resource),
        Preference.LESS,
        effect=(
            f"it names none, and a LimitRange makes that {request.container_amount}"
            if is_default
            else ""
        ),
    )


class _DecidingRequest(Struct, frozen=True):
    """The request that decides how much of a resource a pod needs."""

    owner: str
    """The words for the container or pod with the request."""
    path: Path
    """The path of the ``resources`` that contain the request."""
    amount: Quantity
    """The requested amount."""
    container_amount: Quantity
    """The largest amount of a container."""


def _find_deciding_request(problem: FixProblem, resource: str) -> _DecidingRequest | None:
    """Return the request of the pod, of an init container, or of its most demanding container.

    A request of the pod as a whole takes precedence over the requests of its containers.
    """
    pod = problem.question.pod
    init_container = init_container_request(pod.spec, resource)
    kind = "containers" if init_container is None else "initContainers"
    containers = pod.containers_in(kind)
    amounts = [quantity(container.requests.get(resource) or 0) for container in containers]
    if not amounts:
        return None
    index = max(range(len(amounts)), key=lambda i: amounts[i].milli_value())
    pod_amount = pod.pod_level_requests.get(resource)
    if pod_amount is not None:
        path: Path = ("spec", "resources")
        return _DecidingRequest("the pod's request", path, quantity(pod_amount), amounts[index])
    owner = "the pod's request"
    if init_container is not None:
        owner = f"the request of init container {init_container[0]}"
    path = ("spec", kind, index, "resources")
    return _DecidingRequest(owner, path, amounts[index], amounts[index])
