"""Change the demands of containers: extended resources, and amounts that a LimitRange refuses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dractl.allocation import backing_classes
from dractl.cluster.changes import Patch, pointer
from dractl.explain.fixes.candidates import SUBSTITUTE_EFFECT, Candidate, FixSlot, Topic, correct
from dractl.explain.fixes.edits import Path, drop, replace
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.cross_object import Bound, PodsNotCreated
from dractl.explain.reasons.scheduling import ExtendedResourceUnmapped
from dractl.views import Pod, Workload
from dractl.views.amounts import quantity
from dractl.views.quota import LimitRange

_TEMPLATE_CONTAINERS = ("spec", "template", "spec", "containers")
_CLASS_PREFIX = "deviceclass.resource."  # how the implicit name of a class begins


@fix_for(ExtendedResourceUnmapped)
def fix_unmapped_resource(
    problem: FixProblem, cause: ExtendedResourceUnmapped
) -> Iterator[Candidate]:
    """Rename or remove a resource that nothing provides, or let a class provide it."""
    if cause.nearest:
        yield from _rename_resource(problem, cause.resource, cause.nearest)
    elif problem.claims:
        yield from _remove_resource(problem, cause.resource)
    elif cause.device_class and not cause.is_mapped:
        change = {"op": "add", "path": "/spec/extendedResourceName", "value": cause.resource}
        yield Candidate(
            f"set extendedResourceName of class {cause.device_class} to {cause.resource}",
            (Patch(f"DeviceClass/{cause.device_class}", (change,)),),
            FixSlot(Topic.EXTENDED),
            Preference.POLICY,
            effect="for every pod",
        )


def _container_amounts(
    problem: FixProblem, fields: Sequence[str]
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the amounts of the pod's containers, each with its path."""
    pod = Pod(problem.pod)
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod.containers_in(kind)):
            for field in fields:
                yield ("spec", kind, index, "resources", field), container.amounts(field)


def _rename_resource(problem: FixProblem, resource: str, name: str) -> Iterator[Candidate]:
    """Correct the name of a resource, or ask for the resource of another vendor."""
    operations = tuple(
        {"op": "move", "from": pointer(*path, resource), "path": pointer(*path, name)}
        for path, amounts in _container_amounts(problem, ("requests", "limits"))
        if resource in amounts and name not in amounts
    )
    if operations:
        corrects = _vendor(resource) == _vendor(name) or resource.startswith(_CLASS_PREFIX)
        yield Candidate(
            f"change extended resource {resource} to {name}",
            (problem.patch(*operations),),
            FixSlot(Topic.NAME, resource),
            Preference.CORRECT if corrects else Preference.ADAPT,
            effect="" if corrects else SUBSTITUTE_EFFECT,
            corrects=corrects,
        )


def _vendor(resource: str) -> str:
    """Return the vendor's domain in the name of a resource: intel.com for gpu.intel.com/i915."""
    return ".".join(resource.partition("/")[0].split(".")[-2:])


def _remove_resource(problem: FixProblem, resource: str) -> Iterator[Candidate]:
    """Remove an extended resource that is left over from a device plugin, beside a claim."""
    operations = tuple(
        drop(problem.pod, (*path, resource))
        for path, amounts in _container_amounts(problem, ("limits", "requests"))
        if resource in amounts
    )
    if operations:
        title = f"remove {resource} from the limits of the pod's containers"
        slot, effect = FixSlot(Topic.EXTENDED, resource), "the pod's claims give it its devices"
        yield correct(title, problem.patch(*operations), slot, effect)


@fix_once_for(Cause)
def lower_amounts(problem: FixProblem) -> Iterator[Candidate]:
    """Lower the requested amount of a resource that a class provides."""
    if problem.pod is None:
        return
    backed_resources = backing_classes(problem.state.classes, problem.scheduler.features)
    init_containers = len(Pod(problem.pod).containers_in("initContainers"))
    free = max((len(survey.candidates) for _, survey in problem.requests()), default=0)
    for resource, requests in Pod(problem.pod).extended_requests.items():
        for request in requests if resource in backed_resources else ():
            container = request.container - init_containers
            if container >= 0:
                yield from _lower_amount(problem, resource, container, request.amount, free)


def _lower_amount(
    problem: FixProblem, resource: str, container: int, amount: int, free: int
) -> Iterator[Candidate]:
    """Lower the amount of a container to the number of free devices, by one, or to one."""
    view = Pod(problem.pod).containers_in("containers")[container]
    paths: list[Path] = [
        ("spec", "containers", container, "resources", field, resource)
        for field in ("requests", "limits")
        if view.amounts(field).get(resource) is not None
    ]
    for new_amount in dict.fromkeys((free, amount - 1, 1)):
        if 0 < new_amount < amount:
            operations = (replace(path, str(new_amount)) for path in paths)
            yield Candidate(
                f"lower {resource} from {amount} to {new_amount}",
                (problem.patch(*operations),),
                FixSlot(Topic.AMOUNT, resource),
                Preference.LESS,
                degree=amount - new_amount,
            )


@fix_for(PodsNotCreated)
def respect_limit_ranges(problem: FixProblem, cause: PodsNotCreated) -> Iterator[Candidate]:
    """Set requests and limits in a pod template to amounts that the LimitRange allows."""
    kind, key = problem.question.kind, problem.question.key
    value, bound = problem.state.get(kind, key), cause.bound
    if value is None or bound is None or bound.of != "Container":
        return
    operations, descriptions = [], []
    containers = Workload(value).template_pod.containers_in("containers")
    for index, container in enumerate(containers):
        for field in ("limits", "requests"):
            amount = container.amounts(field).get(bound.resource)
            if amount is None or _is_allowed(bound, amount):
                continue
            path = (*_TEMPLATE_CONTAINERS, index, "resources", field, bound.resource)
            operations.append(replace(path, bound.amount))
            descriptions.append(
                f"{field}.{bound.resource} of container {container.name} from {amount}"
            )
    if operations:
        verb, comparison = ("raise", "less") if bound.is_minimum else ("lower", "more")
        ranges = " or ".join(_limit_ranges(problem, key[0], bound.resource))
        yield Candidate(
            f"{verb} {' and '.join(descriptions)} to {bound.amount}",
            (Patch("/".join((kind, *key)), tuple(operations)),),
            FixSlot(Topic.AMOUNT, bound.resource),
            Preference.LESS,
            effect=f"LimitRange {ranges} allows no {comparison}" if ranges else "",
        )


def _is_allowed(bound: Bound, amount: object) -> bool:
    """Return whether an amount is within the bound of a LimitRange."""
    if bound.is_minimum:
        return quantity(bound.amount) <= quantity(amount)
    return quantity(amount) <= quantity(bound.amount)


def _limit_ranges(problem: FixProblem, namespace: str, resource: str) -> list[str]:
    """Return the LimitRanges of a namespace that limit a resource of containers."""
    return [
        "/".join(key)
        for key, value in problem.state.objects("LimitRange").items()
        if key[0] == namespace
        and any(
            resource in {**limit.minimum, **limit.maximum}
            for limit in LimitRange(value).container_limits
        )
    ]
