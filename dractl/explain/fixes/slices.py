"""Fixes that only a driver can make: what it would have to publish. No command applies them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dractl.allocation import (
    DanglingCounter,
    DanglingCounterSet,
    DuplicateDevice,
    PoolFault,
    RequestSurvey,
)
from dractl.cel import reading
from dractl.cluster.changes import Create, Delete, Patch, pointer
from dractl.cluster.state import list_at, map_at, text_at
from dractl.explain.fixes.candidates import Candidate, FixProblem, FixSlot, Topic, fix_for
from dractl.explain.fixes.edits import put, remove
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.between import DriverAbsent, UnknownNodes
from dractl.explain.reasons.pools import (
    NoSlicesForDriver,
    NoSlicesOnNode,
    OfPool,
    PoolIncomplete,
    PoolInvalid,
    PoolObsolete,
    PublishedTwice,
)
from dractl.model import Quantity
from dractl.objects import newest, slice_of

_MAX_NAMED_NODES = 5
_DELETED_ANNOTATION = "deleted-duplicates"  # the annotation of a slice that stays
_MAX_CREATED_SLICES = 128
"""The most missing slices that are created to try an allocation. Nothing bounds the count that a slice announces."""


@fix_for(OfPool)
def repair_pool(problem: FixProblem, cause: OfPool) -> Iterator[Candidate]:
    """The missing slices of a pool, its newest generation, or the pool without its fault."""
    pool = cause.pool.removeprefix(f"{cause.driver}/")
    slices = [
        (key, value)
        for key, value in problem.state.objects("ResourceSlice").items()
        if slice_of(value).identity[:2] == (cause.driver, pool)
    ]
    corrects = (
        isinstance(problem.headline_cause, OfPool) and cause.pool == problem.headline_cause.pool
    )
    if isinstance(cause, PoolIncomplete) and slices:
        # Where the counts disagree (kubernetes#141117), those of the whole cluster count.
        missing_count = max(
            int(cause.want or 0) - max(int(cause.have or 0), len(_newest_slices(slices))), 1
        )
        if missing_count <= _MAX_CREATED_SLICES:
            yield replace(
                _publish_missing_slices(cause, pool, slices, missing_count), corrects=corrects
            )
    elif isinstance(cause, PoolObsolete) and slices:
        yield replace(_publish_in_one_generation(cause, slices), corrects=corrects)
    elif isinstance(cause, PoolInvalid):
        for candidate in _remove_fault(cause, _find_fault(problem, cause.driver, pool), slices):
            yield replace(candidate, corrects=corrects)


@fix_for(PublishedTwice)
def delete_stale_slices(problem: FixProblem, cause: PublishedTwice) -> Iterator[Candidate]:
    """The slices that an earlier installation of a driver has left, deleted; those of the newest stay.

    The scheduler tries no pod again when a slice is deleted, only when one is added or updated
    (kubernetes pkg/scheduler/framework/plugins/dynamicresources, EventsToRegister): a slice that stays is annotated.
    """
    newest_name, newest_time = cause.slices[-1]
    newest_slice = problem.state.get("ResourceSlice", ("", newest_name))
    if newest_slice is None or slice_of(newest_slice).announced >= len(cause.slices):
        return
    stale = cause.slices[: -max(slice_of(newest_slice).announced, 1)]
    names = [name for name, _ in stale]
    noun = "ResourceSlices" if len(names) > 1 else "ResourceSlice"
    created_at = stale[-1][1]
    if created_at and created_at == newest_time:
        title = f"delete {noun} {', '.join(names)}, unless {newest_name} is the stale one: both were created at {created_at}"
    else:
        title = f"delete the older {noun} {', '.join(names)}" + (
            f", of {created_at}" if created_at else ""
        )
    deletions = tuple(Delete(f"ResourceSlice/{name}") for name in names)
    annotation = put(
        newest_slice, ("metadata", "annotations", _DELETED_ANNOTATION), ",".join(names)
    )
    yield Candidate(
        title,
        (*deletions, Patch(f"ResourceSlice/{newest_name}", (annotation,))),
        FixSlot(Topic.POOL, cause.pool),
        Preference.RESTORE,
        effect=f"if the driver that published it is gone; {newest_name} is annotated: the scheduler notices an update "
        "at once, a deletion only after up to five minutes",
        consequences=deletions,
        corrects=True,
    )


def _find_fault(problem: FixProblem, driver: str, pool: str) -> PoolFault | None:
    """Faults that make a pool invalid, as the surveys found them."""
    pools = (p for survey in problem.case.refusing.values() for p in survey.pools)
    return next(
        (p.fault for p in pools if (p.driver, p.pool) == (driver, pool) and p.fault is not None),
        None,
    )


def _newest_slices(slices: list[tuple[Any, Mapping[str, Any]]]) -> Sequence[Mapping[str, Any]]:
    (current,) = newest(
        (value for _, value in slices), lambda value: slice_of(value).identity
    ).values()
    return current


def _publish_missing_slices(
    cause: OfPool, pool: str, slices: list[tuple[Any, Mapping[str, Any]]], missing_count: int
) -> Candidate:
    model = _newest_slices(slices)[0]
    announced = int(cause.want or 0)
    creations = []
    for number in range(missing_count):
        spec = {
            k: v for k, v in map_at(model, "spec").items() if k not in ("devices", "sharedCounters")
        }
        creations.append(
            Create(
                {
                    "apiVersion": model.get("apiVersion"),
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"zz-missing-{number + 1}-{pool.replace('/', '-')}"},
                    "spec": {
                        **spec,
                        "pool": {**map_at(spec, "pool"), "resourceSliceCount": announced},
                        "devices": [],
                    },
                }
            )
        )
    plural = "s" if len(creations) > 1 else ""
    return Candidate(
        f"restart driver {cause.driver}, so that it publishes the missing slice{plural} of pool {pool}",
        (),
        FixSlot(Topic.POOL, str(cause.pool)),
        Preference.RESTORE,
        effect="tried with an empty slice in its place",
        consequences=tuple(creations),
    )


def _publish_in_one_generation(
    cause: OfPool, slices: list[tuple[Any, Mapping[str, Any]]]
) -> Candidate:
    newest_generation = max(slice_of(value).generation for _, value in slices)
    changes = []
    for (_, name), value in slices:
        operations: list[Mapping[str, Any]] = []
        if slice_of(value).generation != newest_generation:
            operations.append(
                {"op": "replace", "path": "/spec/pool/generation", "value": newest_generation}
            )
        if slice_of(value).announced != len(slices):
            operations.append(
                {"op": "replace", "path": "/spec/pool/resourceSliceCount", "value": len(slices)}
            )
        if operations:
            changes.append(Patch(f"ResourceSlice/{name}", tuple(operations)))
    title = f"restart driver {cause.driver}, so that it publishes all slices of pool {cause.pool} in generation {newest_generation}"
    return Candidate(
        title,
        (),
        FixSlot(Topic.POOL, str(cause.pool)),
        Preference.RESTORE,
        consequences=tuple(changes),
    )


def _remove_fault(
    cause: OfPool, fault: PoolFault | None, slices: list[tuple[Any, Mapping[str, Any]]]
) -> Iterator[Candidate]:
    """The pool without its fault: with the missing counter, or without the repeated device."""
    if isinstance(fault, DanglingCounter):
        for (_, name), value in slices:
            for i, shared in enumerate(list_at(value, "spec", "sharedCounters")):
                if text_at(shared, "name") == fault.counter_set:
                    path = pointer("spec", "sharedCounters", i, "counters", fault.counter)
                    change = {
                        "op": "add",
                        "path": path,
                        "value": {"value": _total_consumption(slices, fault.counter)},
                    }
                    yield _driver_candidate(cause, f"counter {fault.counter}", name, change)
    elif isinstance(fault, DanglingCounterSet):
        yield from _add_counter_set(cause, slices, fault.counter_set)
        for (_, name), value in slices:
            for i, device in enumerate(list_at(value, "spec", "devices")):
                if any(
                    text_at(c, "counterSet") == fault.counter_set
                    for c in list_at(device, "consumesCounters")
                ):
                    name_ = text_at(device, "name")
                    removed = remove("spec", "devices", i, "consumesCounters")
                    yield _driver_candidate(
                        cause,
                        f"device {name_} without counter set {fault.counter_set}",
                        name,
                        removed,
                    )
    elif isinstance(fault, DuplicateDevice):
        found = [
            (name, i)
            for (_, name), value in slices
            for i, d in enumerate(list_at(value, "spec", "devices"))
            if text_at(d, "name") == fault.device
        ]
        if len(found) > 1:
            name, i = found[-1]
            removed = remove("spec", "devices", i)
            yield _driver_candidate(cause, f"device {fault.device} only once", name, removed)


def _driver_candidate(
    cause: OfPool, correction: str, slice_name: str, change: Mapping[str, Any]
) -> Candidate:
    """Corrections that the driver would have to publish in a slice."""
    return Candidate(
        f"fix driver {cause.driver}, which must publish {correction}",
        (),
        FixSlot(Topic.POOL, str(cause.pool)),
        Preference.RESTORE,
        effect="report it to the driver, or use a version without the fault",
        consequences=(Patch(f"ResourceSlice/{slice_name}", (change,)),),
    )


def _add_counter_set(
    cause: OfPool, slices: list[tuple[Any, Mapping[str, Any]]], name: str
) -> Iterator[Candidate]:
    uses = [
        use
        for _, value in slices
        for device in list_at(value, "spec", "devices")
        for use in list_at(device, "consumesCounters")
        if text_at(use, "counterSet") == name
    ]
    counters = {
        counter: {"value": _total_consumption(slices, counter)}
        for counter in dict.fromkeys(counter for use in uses for counter in map_at(use, "counters"))
    }
    for (_, slice_name), value in slices:
        if counters and list_at(value, "spec", "sharedCounters"):
            change = {
                "op": "add",
                "path": "/spec/sharedCounters/-",
                "value": {"name": name, "counters": counters},
            }
            yield _driver_candidate(cause, f"counter set {name}", slice_name, change)


def _total_consumption(slices: list[tuple[Any, Mapping[str, Any]]], counter: str) -> str:
    """The total consumption of a counter by all devices."""
    total = Quantity.parse("0")
    for _, value in slices:
        for device in list_at(value, "spec", "devices"):
            for use in list_at(device, "consumesCounters"):
                amount = text_at(use, "counters", counter, "value")
                if amount:
                    total = total + Quantity.parse(amount)
    return str(total)


@fix_for(NoSlicesForDriver)
def publish_devices(problem: FixProblem, cause: NoSlicesForDriver) -> Iterator[Candidate]:
    """A driver that publishes nothing in the whole cluster, with devices that match the class and the selectors."""
    request = _find_request(problem, cause)
    node = next(
        (v.name for v in problem.case.attempt.nodes if v.passes_filters and v.name in cause.nodes),
        None,
    )
    if (
        isinstance(problem.headline_cause, NoSlicesForDriver)
        and cause.driver
        and request is not None
        and node is not None
    ):
        yield Candidate(
            f"make driver {cause.driver} publish devices",
            (),
            FixSlot(Topic.POOL, cause.driver),
            Preference.CLUSTER if cause.nearest else Preference.RESTORE,
            superseded_by=(Topic.SELECTOR,),
            effect="is it installed and running? devices were tried on one node, whether or not it has the hardware",
            consequences=(_create_slice(problem, request, cause.driver, node),),
        )


@fix_for(DriverAbsent)
def publish_on_similar_nodes(problem: FixProblem, cause: DriverAbsent) -> Iterator[Candidate]:
    """A driver on nodes that publish nothing, although they look like nodes that do."""
    nodes = [
        verdict.name
        for verdict in problem.case.attempt.nodes
        if verdict.name in cause.nodes and verdict.rejection is None
    ]
    have = "it has" if len(nodes) == 1 else "they have"
    effect = f"like {cause.like[0]} {have} {cause.label}; " if cause.like else ""
    if cause.selector:
        yield from _label_for_daemon_set(problem, cause, nodes)
        return
    yield from _publish_on_nodes(problem, cause.driver, nodes, effect)


def _label_for_daemon_set(
    problem: FixProblem, cause: DriverAbsent, nodes: list[str]
) -> Iterator[Candidate]:
    """The label by which the driver's DaemonSet selects its nodes."""
    key, _, label_value = cause.selector.partition("=")
    patches = []
    for name in nodes:
        node = problem.state.get("Node", ("", name))
        patches.append(
            Patch(f"Node/{name}", (put(node, ("metadata", "labels", key), label_value),))
        )
    for candidate in _publish_on_nodes(problem, cause.driver, nodes, ""):
        yield Candidate(
            f"label {', '.join(nodes[:_MAX_NAMED_NODES])} with {cause.selector}",
            tuple(patches),
            candidate.slot,
            Preference.RESTORE,
            effect=f"{cause.daemon_set} selects its nodes by it, and runs there then",
            degree=-1,
            consequences=(*patches, *candidate.trial),
        )


@fix_for(NoSlicesOnNode)
def publish_on_only_node(problem: FixProblem, cause: NoSlicesOnNode) -> Iterator[Candidate]:
    """A driver on the one node that is asked about."""
    nodes = problem.case.attempt.nodes
    if len(nodes) == 1 and cause.driver:
        yield from _publish_on_nodes(
            problem, cause.driver, [v.name for v in nodes if v.rejection is None], ""
        )


def _publish_on_nodes(
    problem: FixProblem, driver: str, nodes: list[str], effect: str
) -> Iterator[Candidate]:
    causes = (c for c in problem.causes if isinstance(c, NoSlicesOnNode) and c.driver == driver)
    request = next((w for w in (_find_request(problem, c) for c in causes) if w is not None), None)
    misnamed = any(
        isinstance(c, UnknownNodes) and c.driver == driver and c.nearest in nodes
        for c in problem.causes
    )
    if request is None or not nodes or misnamed:
        return
    names = ", ".join(nodes[:_MAX_NAMED_NODES]) + (
        f" +{len(nodes) - _MAX_NAMED_NODES}" if len(nodes) > _MAX_NAMED_NODES else ""
    )
    yield Candidate(
        f"make driver {driver} publish devices on {names}",
        (),
        FixSlot(Topic.POOL, f"{driver} siblings"),
        Preference.RESTORE,
        effect=f"{effect}is the driver's DaemonSet running there?",
        consequences=tuple(_create_slice(problem, request, driver, name) for name in nodes),
    )


@fix_for(UnknownNodes)
def rename_node(problem: FixProblem, cause: UnknownNodes) -> Iterator[Candidate]:
    """Slices for a node of another name than the Node has, such as its fully qualified name."""
    nodes = [name for _, name in problem.state.objects("Node")]
    changes = tuple(
        Patch(
            f"ResourceSlice/{name}",
            ({"op": "replace", "path": "/spec/nodeName", "value": node_name},),
        )
        for (_, name), value in problem.state.objects("ResourceSlice").items()
        if text_at(value, "spec", "driver") == cause.driver
        for slice_node in [text_at(value, "spec", "nodeName")]
        if slice_node in cause.places
        for node_name in [next((n for n in nodes if slice_node.startswith(f"{n}.")), cause.nearest)]
        if node_name is not None
    )
    if changes and cause.nearest is not None:
        yield Candidate(
            f"set NODE_NAME of driver {cause.driver} to the name of its Node",
            (),
            FixSlot(Topic.POOL, f"{cause.driver} names"),
            Preference.CORRECT,
            effect=f"it publishes for {cause.places[0]}, the Node is {cause.nearest}: take it from spec.nodeName "
            "(fieldRef)",
            consequences=changes,
            corrects=True,
        )


def _find_request(
    problem: FixProblem, cause: NoSlicesForDriver | NoSlicesOnNode
) -> RequestSurvey | None:
    return next((r for _, r in problem.requests() if r.ref == cause.request), None)


def _create_slice(problem: FixProblem, request: RequestSurvey, driver: str, node: str) -> Create:
    """A slice with the devices that a request wants."""
    attributes: dict[str, Any] = {}
    for expression in (s.expression or "" for s in request.stages):
        attributes |= _attributes_that_match(expression)
    for selector in list_at(
        problem.state.get("DeviceClass", ("", request.device_class)), "spec", "selectors"
    ):
        attributes |= _attributes_that_match(text_at(selector, "cel", "expression"))
    devices = [
        {"name": f"device-{i}", "attributes": attributes} for i in range(max(request.wanted, 1))
    ]
    return Create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{driver}"},
            "spec": {
                "driver": driver,
                "nodeName": node,
                "pool": {"name": f"{node}-new", "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }
    )


def _attributes_that_match(expression: str) -> dict[str, Any]:
    """The strings that an expression compares attributes with, as attributes that satisfy it."""
    return {
        comparison.lookup.full_name: {"string": literal.value}
        for comparison in reading(expression).comparisons
        if comparison.lookup
        and comparison.lookup.kind == "attributes"
        and comparison.operator == "=="
        and not comparison.negated
        for literal in comparison.literals
        if literal.kind == "string"
    }
