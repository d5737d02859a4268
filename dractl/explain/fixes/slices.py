"""Fixes that only a driver can make, by publishing other slices. No command applies them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from dractl.allocation import PoolFault, RequestSurvey
from dractl.cel import reading
from dractl.cluster.changes import Change, Create, Delete, Patch
from dractl.cluster.driver_workloads import is_equipped, lacks_hardware
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import put, replace as replace_field
from dractl.explain.fixes.makers import fix_for
from dractl.explain.fixes.node_labels import label_node, name_nodes
from dractl.explain.fixes.pool_repairs import (
    Pool,
    publish_in_one_generation,
    publish_missing_slices,
    remove_fault,
)
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.cross_object import DriverAbsent, UnknownNodes, is_same_host
from dractl.explain.reasons.drivers import PluginFault, PluginNotWanted
from dractl.explain.reasons.pools import (
    NoSlicesForDriver,
    NoSlicesOnNode,
    PoolCause,
    PoolIncomplete,
    PoolInvalid,
    PoolObsolete,
    PublishedTwice,
)
from dractl.objects import selectors_of, slice_of
from dractl.scheduler.verdict import NodeVerdict

_MAX_NAMED_NODES = 5  # maximum number of nodes that a title names
# The annotation that a fix adds to the slice that it keeps: the scheduler retries pods after this
# update, but not after the deletion of the other slices
_DELETED_ANNOTATION = "deleted-duplicates"
# A slice can announce any number of slices, so a trial creates at most this many.
_MAX_CREATED_SLICES = 128


@fix_for(PoolCause)
def repair_pool(problem: FixProblem, cause: PoolCause) -> Iterator[Candidate]:
    """Repair a pool: publish its missing slices, publish all slices in one generation, or correct
    the fault in them.
    """
    name = cause.pool.removeprefix(f"{cause.driver}/")
    slices = {
        slice_name: value
        for (_, slice_name), value in problem.state.objects("ResourceSlice").items()
        if slice_of(value).identity[:2] == (cause.driver, name)
    }
    headline = problem.headline_cause
    corrects = isinstance(headline, PoolCause) and cause.pool == headline.pool
    for candidate in _repairs(problem, Pool(cause, name, slices)):
        yield replace(candidate, corrects=corrects)


def _repairs(problem: FixProblem, pool: Pool) -> Iterator[Candidate]:
    """Yield the repairs for the cause of a pool."""
    cause = pool.cause
    if isinstance(cause, PoolIncomplete) and pool.slices:
        # The scheduler's count of slices may differ from the cluster's (kubernetes#141117), so the
        # larger one is used.
        published = max(int(cause.have or 0), len(pool.newest_slices))
        missing_count = max(int(cause.want or 0) - published, 1)
        if missing_count <= _MAX_CREATED_SLICES:
            yield publish_missing_slices(pool, missing_count)
    elif isinstance(cause, PoolObsolete) and pool.slices:
        yield publish_in_one_generation(pool)
    elif isinstance(cause, PoolInvalid):
        yield from remove_fault(pool, _find_fault(problem, cause.driver, pool.name))


@fix_for(PublishedTwice)
def delete_stale_slices(problem: FixProblem, cause: PublishedTwice) -> Iterator[Candidate]:
    """Delete the slices that an earlier installation of a driver has left, and keep the newest.

    The scheduler retries pods when a slice is added or updated, but not when one is deleted
    (kubernetes pkg/scheduler/framework/plugins/dynamicresources, EventsToRegister). So a slice that
    is kept gets an annotation.
    """
    newest_name, newest_time = cause.slices[-1]
    newest_slice = problem.state.get("ResourceSlice", ("", newest_name))
    if newest_slice is None or slice_of(newest_slice).announced >= len(cause.slices):
        return
    stale_slices = cause.slices[: -max(slice_of(newest_slice).announced, 1)]
    names = [name for name, _ in stale_slices]
    noun = "ResourceSlices" if len(names) > 1 else "ResourceSlice"
    created_at = stale_slices[-1][1]
    title = f"delete the older {noun} {', '.join(names)}"
    if created_at and created_at == newest_time:
        title = (
            f"delete {noun} {', '.join(names)}, unless {newest_name} is the stale one: "
            f"both were created at {created_at}"
        )
    elif created_at:
        title += f", of {created_at}"
    deletions = tuple(Delete(f"ResourceSlice/{name}") for name in names)
    path = ("metadata", "annotations", _DELETED_ANNOTATION)
    annotation = put(newest_slice, path, ",".join(names))
    yield Candidate(
        title,
        (*deletions, Patch(f"ResourceSlice/{newest_name}", (annotation,))),
        FixSlot(Topic.POOL, cause.pool),
        Preference.RESTORE,
        effect=(
            f"if the driver that published it is gone; {newest_name} is annotated: "
            "the scheduler notices an update at once, a deletion only after up to five minutes"
        ),
        consequences=deletions,
        corrects=True,
    )


def _find_fault(problem: FixProblem, driver: str, name: str) -> PoolFault | None:
    """Return the fault that makes a pool invalid, as the surveys found it."""
    pools = (pool for survey in problem.case.refusing.values() for pool in survey.pools)
    faults = (pool.fault for pool in pools if (pool.driver, pool.pool) == (driver, name))
    return next((fault for fault in faults if fault is not None), None)


@fix_for(NoSlicesForDriver)
def publish_devices(problem: FixProblem, cause: NoSlicesForDriver) -> Iterator[Candidate]:
    """Let a driver that publishes nothing publish devices that match class and selectors."""
    driver = cause.driver or ""
    request = _find_request(problem, [cause], driver)
    nodes = [
        verdict.name
        for verdict in problem.case.attempt.nodes
        if verdict.passes_filters
        and verdict.name in cause.nodes
        and not lacks_hardware(problem.state.node(verdict.name), driver)
    ]
    equipped = (name for name in nodes if is_equipped(problem.state.node(name), driver))
    node = next(equipped, next(iter(nodes), None))
    is_headline = isinstance(problem.headline_cause, NoSlicesForDriver)
    if _is_explained(problem, driver) or not driver or not is_headline:
        return
    if request is not None and node is not None:
        yield Candidate(
            f"make driver {driver} publish devices",
            (),
            FixSlot(Topic.POOL, driver),
            Preference.CLUSTER if cause.nearest else Preference.RESTORE,
            superseded_by=(Topic.SELECTOR,),
            effect=(
                "is it installed and running? devices were tried on one node, "
                "whether or not it has the hardware"
            ),
            consequences=_create_slices(problem, request, driver, [node]),
        )


def _is_explained(problem: FixProblem, driver: str | None) -> bool:
    """Return whether the state of a driver's plug-in explains why it publishes nothing."""
    return any(isinstance(c, PluginFault) and c.driver == driver for c in problem.causes)


@fix_for(PluginFault)
def label_for_plugin(problem: FixProblem, cause: PluginFault) -> Iterator[Candidate]:
    """Set the label with which the DaemonSet of a driver selects nodes that have the hardware."""
    state = next((plugin for plugin in cause.plugins if isinstance(plugin, PluginNotWanted)), None)
    nodes = _list_accepting_nodes(problem, cause)
    request = _find_request(problem, problem.causes, cause.driver)
    if state is not None and state.label and nodes and request is not None:
        names = (node.name for node in nodes)
        slices = _create_slices(problem, request, cause.driver, names)
        yield _label_nodes(cause.driver, state.label, state.daemon_set, nodes, slices)


@fix_for(DriverAbsent)
def publish_on_similar_nodes(problem: FixProblem, cause: DriverAbsent) -> Iterator[Candidate]:
    """Let a driver publish on nodes without slices that resemble nodes with slices."""
    nodes = _list_accepting_nodes(problem, cause)
    if cause.selector:
        for candidate in _publish_on_nodes(problem, cause.driver, nodes, ""):
            slices = candidate.consequences
            yield _label_nodes(cause.driver, cause.selector, cause.daemon_set, nodes, slices)
        return
    clause = "it has" if len(nodes) == 1 else "they have"
    effect = f"like {cause.like[0]} {clause} {cause.label}; " if cause.like else ""
    yield from _publish_on_nodes(problem, cause.driver, nodes, effect)


def _list_accepting_nodes(problem: FixProblem, cause: Cause) -> list[NodeVerdict]:
    """Return the nodes of a cause that no filter rejects."""
    nodes = (verdict for verdict in problem.case.attempt.nodes if verdict.rejection is None)
    return [verdict for verdict in nodes if verdict.name in cause.nodes]


def _label_nodes(
    driver: str, label: str, daemon_set: str, nodes: Sequence[NodeVerdict], slices: Sequence[Change]
) -> Candidate:
    """Set the label by which a driver's DaemonSet selects its nodes."""
    key, _, value = label.partition("=")
    patches = tuple(label_node(node, {key: value}) for node in nodes)
    return Candidate(
        f"label {', '.join(node.name for node in nodes[:_MAX_NAMED_NODES])} with {label}",
        patches,
        FixSlot(Topic.POOL, f"{driver} siblings"),
        Preference.RESTORE,
        effect=f"{daemon_set} selects its nodes by this label, and then runs there",
        degree=-1,
        consequences=(*patches, *slices),
    )


@fix_for(NoSlicesOnNode)
def publish_on_only_node(problem: FixProblem, cause: NoSlicesOnNode) -> Iterator[Candidate]:
    """Let a driver publish on the only node that was tried."""
    nodes = problem.case.attempt.nodes
    if len(nodes) == 1 and cause.driver and not _is_explained(problem, cause.driver):
        accepting = [verdict for verdict in nodes if verdict.rejection is None]
        yield from _publish_on_nodes(problem, cause.driver, accepting, "")


def _publish_on_nodes(
    problem: FixProblem, driver: str, nodes: Sequence[NodeVerdict], effect: str
) -> Iterator[Candidate]:
    """Let a driver publish on nodes, unless it publishes there under another name."""
    on_nodes = (cause for cause in problem.causes if isinstance(cause, NoSlicesOnNode))
    request = _find_request(problem, on_nodes, driver)
    names = [node.name for node in nodes]
    is_misnamed = any(
        cause.driver == driver and cause.is_misnamed and cause.nearest in names
        for cause in problem.causes
        if isinstance(cause, UnknownNodes)
    )
    if request is None or not nodes or is_misnamed:
        return
    yield Candidate(
        f"make driver {driver} publish devices on {name_nodes(names, _MAX_NAMED_NODES)}",
        (),
        FixSlot(Topic.POOL, f"{driver} siblings"),
        Preference.RESTORE,
        effect=f"{effect}is the driver's DaemonSet running there?",
        consequences=_create_slices(problem, request, driver, names),
    )


@fix_for(UnknownNodes)
def rename_node(problem: FixProblem, cause: UnknownNodes) -> Iterator[Candidate]:
    """Let a driver publish under the name of the Node, not under its fully qualified name.

    A Node whose name is merely similar may be another machine.
    """
    if not cause.is_misnamed:
        return
    nodes = [name for _, name in problem.state.objects("Node")]
    patches = []
    for (_, slice_name), value in problem.state.objects("ResourceSlice").items():
        published = slice_of(value)
        if published.driver != cause.driver or published.node not in cause.places:
            continue
        if node_name := next((name for name in nodes if is_same_host(name, published.node)), None):
            operation = replace_field(("spec", "nodeName"), node_name)
            patches.append(Patch(f"ResourceSlice/{slice_name}", (operation,)))
    yield Candidate(
        f"set NODE_NAME of driver {cause.driver} to the name of its Node",
        (),
        FixSlot(Topic.POOL, f"{cause.driver} names"),
        Preference.CORRECT,
        effect=(
            f"it publishes for {cause.places[0]}, the Node is {cause.nearest}: "
            "take it from spec.nodeName (fieldRef)"
        ),
        consequences=tuple(patches),
        corrects=True,
    )


def _find_request(
    problem: FixProblem, causes: Iterable[Cause], driver: str
) -> RequestSurvey | None:
    """Find the survey of a request for which a driver has no slices, as one of the causes says."""
    classes = (NoSlicesForDriver, NoSlicesOnNode)
    requests = [c.request for c in causes if isinstance(c, classes) and c.driver == driver]
    surveys = {survey.ref: survey for _, survey in reversed(list(problem.requests()))}
    return next((surveys[ref] for ref in requests if ref in surveys), None)


def _create_slices(
    problem: FixProblem, request: RequestSurvey, driver: str, nodes: Iterable[str]
) -> tuple[Create, ...]:
    """Create a slice with the devices that a request wants on each node."""
    device_class = problem.state.get("DeviceClass", ("", request.device_class))
    expressions = [stage.expression or "" for stage in request.stages]
    expressions += [selector.text for selector in selectors_of(device_class or {})]
    attributes: dict[str, Any] = {}
    for expression in expressions:
        attributes |= _attributes_that_match(expression)
    devices = [
        {"name": f"device-{number}", "attributes": attributes}
        for number in range(max(request.wanted, 1))
    ]
    manifests = (
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
        for node in nodes
    )
    return tuple(map(Create, manifests))


def _attributes_that_match(expression: str) -> dict[str, Any]:
    """Return attributes with the strings with which an expression compares them."""
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
