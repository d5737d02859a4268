"""Fixes in what containers ask for: extended resources (the right name, no leftover of a device plug-in, a class that
provides it, less), and amounts that a LimitRange refuses."""

from collections.abc import Iterator

from dractl.allocation import backing_classes
from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import at, map_at, maps_at, text_at
from dractl.explain.fixes.candidates import (
    SUBSTITUTE_EFFECT,
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    fix_for,
    fix_once_for,
)
from dractl.explain.fixes.edits import drop, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.between import PodsNotCreated
from dractl.explain.reasons.scheduling import ExtendedResourceUnmapped
from dractl.views import Pod
from dractl.views.amounts import quantity

_TEMPLATE_CONTAINERS = ("spec", "template", "spec", "containers")
_CLASS_PREFIX = "deviceclass.resource."  # how the implicit name of a class begins


@fix_for(ExtendedResourceUnmapped)
def fix_unmapped_resource(
    problem: FixProblem, cause: ExtendedResourceUnmapped
) -> Iterator[Candidate]:
    """A resource that nothing provides."""
    if cause.nearest:
        yield from _rename_resource(problem, cause.resource, cause.nearest)
    elif problem.claims:
        yield from _remove_resource(problem, cause.resource)
    elif cause.device_class:
        change = {"op": "add", "path": "/spec/extendedResourceName", "value": cause.resource}
        yield Candidate(
            f"set extendedResourceName of class {cause.device_class} to {cause.resource}",
            (Patch(f"DeviceClass/{cause.device_class}", (change,)),),
            FixSlot(Topic.EXTENDED),
            Preference.POLICY,
            effect="for every pod",
        )


def _rename_resource(problem: FixProblem, resource: str, name: str) -> Iterator[Candidate]:
    """The pod with the resource's right name."""
    operations = []
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(maps_at(problem.pod, "spec", kind)):
            for field in ("requests", "limits"):
                amounts = map_at(container, "resources", field)
                if resource in amounts and name not in amounts:
                    path = ("spec", kind, index, "resources", field)
                    operations.append(
                        {
                            "op": "move",
                            "from": pointer(*path, resource),
                            "path": pointer(*path, name),
                        }
                    )
    if operations:
        same = _vendor(resource) == _vendor(name) or resource.startswith(_CLASS_PREFIX)
        yield Candidate(
            f"change extended resource {resource} to {name}",
            (problem.patch(*operations),),
            FixSlot(Topic.NAME, resource),
            Preference.CORRECT if same else Preference.ADAPT,
            effect="" if same else SUBSTITUTE_EFFECT,
            corrects=same,
        )


def _vendor(resource: str) -> str:
    """The domain that a vendor has registered: of gpu.intel.com/i915 and intel.com/gpu it is intel.com."""
    return ".".join(resource.partition("/")[0].split(".")[-2:])


def _remove_resource(problem: FixProblem, resource: str) -> Iterator[Candidate]:
    """The pod without the resource: beside a claim it is what is left of a device plug-in."""
    operations = tuple(
        drop(problem.pod, ("spec", kind, index, "resources", field, resource))
        for kind in ("initContainers", "containers")
        for index, container in enumerate(maps_at(problem.pod, "spec", kind))
        for field in ("limits", "requests")
        if resource in map_at(container, "resources", field)
    )
    if operations:
        yield Candidate(
            f"remove {resource} from the limits of the pod's containers",
            (problem.patch(*operations),),
            FixSlot(Topic.EXTENDED, resource),
            Preference.CORRECT,
            effect="the pod's claims give it its devices",
            corrects=True,
        )


@fix_once_for(Cause)
def lower_amounts(problem: FixProblem) -> Iterator[Candidate]:
    """A smaller amount of what a class provides."""
    if problem.pod is None:
        return
    provided = backing_classes(problem.state.classes, problem.scheduler.features)
    init = len(maps_at(problem.pod, "spec", "initContainers"))
    best = max((len(r.candidates) for _, r in problem.requests()), default=0)
    for resource, containers in Pod(problem.pod).extended_requests.items() if provided else ():
        for asking in containers if resource in provided else ():
            container, amount = asking.container - init, asking.amount
            for left in dict.fromkeys((best, amount - 1, 1)):
                if container < 0 or not 0 < left < amount:
                    continue
                paths = [
                    ("spec", "containers", container, "resources", f, resource)
                    for f in ("requests", "limits")
                ]
                operations = tuple(
                    replace(path, str(left)) for path in paths if at(problem.pod, *path) is not None
                )
                yield Candidate(
                    f"lower {resource} from {amount} to {left}",
                    (problem.patch(*operations),),
                    FixSlot(Topic.AMOUNT, resource),
                    Preference.LESS,
                    degree=amount - left,
                )


@fix_for(PodsNotCreated)
def respect_limit_ranges(problem: FixProblem, cause: PodsNotCreated) -> Iterator[Candidate]:
    """Requests and limits of the containers as the LimitRange lets them be, written where the pods are."""
    kind, key = problem.question.kind, problem.question.key
    value, bound = problem.state.get(kind, key), cause.bound
    if value is None or bound is None or bound.of != "Container":
        return
    operations, told = [], []
    for index, container in enumerate(maps_at(value, *_TEMPLATE_CONTAINERS)):
        for field in ("limits", "requests"):
            amount = map_at(container, "resources", field).get(bound.resource)
            wrong = amount is not None and (
                quantity(amount) < quantity(bound.amount)
                if bound.least
                else quantity(bound.amount) < quantity(amount)
            )
            if wrong:
                path = pointer(*_TEMPLATE_CONTAINERS, index, "resources", field, bound.resource)
                operations.append({"op": "replace", "path": path, "value": bound.amount})
                told.append(
                    f"{field}.{bound.resource} of container {text_at(container, 'name')} from {amount}"
                )
    if operations:
        ranges = " or ".join(_limit_ranges(problem, key[0], bound.resource))
        yield Candidate(
            f"{'raise' if bound.least else 'lower'} {' and '.join(told)} to {bound.amount}",
            (Patch("/".join((kind, *key)), tuple(operations)),),
            FixSlot(Topic.AMOUNT, bound.resource),
            Preference.LESS,
            effect=f"LimitRange {ranges} allows no {'less' if bound.least else 'more'}"
            if ranges
            else "",
        )


def _limit_ranges(problem: FixProblem, namespace: str, resource: str) -> list[str]:
    """The LimitRanges of a namespace that limit a resource of containers."""
    return [
        "/".join(key)
        for key, value in problem.state.objects("LimitRange").items()
        if key[0] == namespace
        and any(
            resource in {**map_at(of, "min"), **map_at(of, "max")}
            for of in maps_at(value, "spec", "limits")
        )
    ]
