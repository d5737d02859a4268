"""The upgrade of one driver: the slices after it, and the effect on objects that read the
slices.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.errors import UsageError
from dractl.facts.images import versions_that_run
from dractl.model import Target
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade import drivers
from dractl.upgrade.attribute_readers import DriverUpgrade, Use, find_affected, findings
from dractl.upgrade.finding import Finding
from dractl.upgrade.new_devices import (
    NewDevices,
    describe_new_devices,
    find_new_devices,
    find_wider_requests,
)
from dractl.upgrade.placing import Applicant, Difference, Outcomes, Placing, quote_scheduler
from dractl.upgrade.readers import find_readers, sources_of_claim, sources_of_pod
from dractl.views import Pod

if TYPE_CHECKING:
    from dractl.cluster.described_nodes import DescribedNode


class DriverChange(Struct, frozen=True):
    """A driver's upgrade."""

    name: str
    start: tuple[str, ...]
    """The versions that are consistent with its present slices, oldest first."""
    to: str
    """The version to which it is upgraded."""


def find_change(state: ClusterState, name: str, text: str) -> DriverChange | None:
    """Return the upgrade of a driver; None if the input shows nothing of the driver. Raises
    UsageError for an unknown version, for a downgrade, and for slices that fit no known version.
    """
    first, dots, last = text.rpartition("..")
    to = drivers.parse_version(name, last)
    slices = [
        item
        for node_slices in drivers.group_by_node(
            state.objects("ResourceSlice").values(), name
        ).values()
        for item in node_slices
    ]
    objects = (value for kind in state.kinds for value in state.objects(kind).values())
    tag = first if dots else versions_that_run(objects).get(name)
    start = (
        (drivers.parse_version(name, first),)
        if dots
        else drivers.versions_that_fit(name, slices, tag)
    )
    if not slices and tag is None:
        return None
    if not start:
        raise UsageError(
            f"the slices of {name} fit no version that dractl knows",
            hint=f"write {name}=PRESENT..{last}",
        )
    if drivers.is_downgrade(name, start[0], to):
        versions = ", ".join(drivers.versions(name))
        raise UsageError(
            f"{name} {start[0]} to {to} is a downgrade",
            hint=f"dractl knows {versions}, oldest first",
        )
    return DriverChange(name, start, to)


class DriverSlices(Struct, frozen=True):
    """The slices of a driver after its upgrade."""

    state: ClusterState
    """The cluster with the slices of the later version."""
    findings: tuple[Finding, ...]
    """The differences."""
    changed: Mapping[tuple[str, str], str]
    """The codes of the changes. The key is ``attributes`` or ``capacity``, and the full name."""
    notes: tuple[str, ...]
    """Questions that the input does not answer."""


def upgrade_slices(
    state: ClusterState,
    change: DriverChange,
    described: Iterable["DescribedNode"],
    target: Target,
    features: Features,
) -> DriverSlices:
    """Return the cluster with the slices of the later version, and the differences."""
    name, start, to = change.name, change.start[0], change.to
    before = drivers.group_by_node(state.objects("ResourceSlice").values(), name)
    machines = {each.node: each for each in described}
    after = {
        node: drivers.PredictedSlices(drivers.render_slices(machines[node], name, to, target))
        if node in machines
        else drivers.predict_slices(slices, name, start, to)
        for node, slices in before.items()
    }
    changes = drivers.collect_changes(name, before, after, _holders(state))
    findings_of_step = [*drivers.difference_findings(changes)]
    notes = []
    new_devices: list[NewDevices] = []
    predicted_nodes = [node for node in before if node not in machines]
    if predicted_nodes or not before:
        present = [item for node in predicted_nodes for item in before[node]]
        new_devices = find_new_devices(name, start, to, present)
        findings_of_step += describe_new_devices(new_devices, predicted_nodes)
    if predicted_nodes and start != to:
        findings_of_step += drivers.behavior_changes(name, start, to)
        notes.append(
            f"{name} on {_nodes(predicted_nodes)}: its present slices and what is known of "
            f"{start} to {to} are compared"
        )
        unknown = sorted(
            {each.name for one in after.values() for many in one.coming.values() for each in many}
        )
        notes += [f"{name} {to}: the values of {', '.join(unknown)}"] if unknown else []
    slices = (item for one in after.values() for item in one.slices)
    upgraded = drivers.replace_slices(state, name, slices)
    findings_of_step += find_wider_requests(
        new_devices, to, Scheduler(state, features), Scheduler(upgraded, features)
    )
    changed = drivers.codes_by_name(name, changes)
    if not before and start != to:
        changed = drivers.catalogue_codes(name, start, to)
        notes.append(
            f"{name}: no slice of it is in the input; {start} and {to} are compared by what is "
            "known of them"
        )
    return DriverSlices(upgraded, tuple(findings_of_step), changed, tuple(notes))


# -- readers of changed attributes --


def place_readers(
    placing: Placing,
    change: DriverChange,
    driver_slices: DriverSlices,
    present: tuple[ClusterState, Outcomes],
    later: Outcomes,
    features: Features,
) -> Iterator[Finding]:
    """Yield the findings on the objects that read a changed attribute or capacity, and on the
    subjects whose devices change for other reasons.

    ``present`` is the cluster before the step, with the outcomes in it.
    """
    state, outcomes = present
    upgrade = DriverUpgrade(
        change.name,
        change.to,
        driver_slices.changed,
        Scheduler(state, features),
        Scheduler(driver_slices.state, features),
    )
    affected = tuple(find_affected(upgrade, find_readers(state))) if driver_slices.changed else ()
    differences = {id(each.subject): each for each in placing.compare(outcomes, later)}
    uses = _list_uses(
        placing, state, (outcomes, later), differences, {each.reader.name for each in affected}
    )
    yield from findings(upgrade, affected, uses, placing.describe)
    explained = {
        id(use.subject)
        for each in affected
        if each.is_cause
        for use in uses.get(each.reader.name, ())
    }
    for key, difference in differences.items():
        if key not in explained:
            yield difference.finding(placing.describe)


def read_without_slices(
    state: ClusterState, change: DriverChange, driver_slices: DriverSlices, features: Features
) -> Iterator[Finding]:
    """Yield findings on the objects that read a changed attribute or capacity, if the input has no
    devices that could be allocated.
    """
    scheduler = Scheduler(state, features)
    upgrade = DriverUpgrade(change.name, change.to, driver_slices.changed, scheduler, scheduler)
    affected = find_affected(upgrade, find_readers(state)) if driver_slices.changed else ()
    yield from findings(upgrade, affected, {}, quote_scheduler)


def _list_uses(
    placing: Placing,
    state: ClusterState,
    outcomes: tuple[Outcomes, Outcomes],
    differences: Mapping[int, Difference],
    names: set[str],
) -> dict[str, list[Use]]:
    """Return the subjects that get their devices through an object, by the name of the object."""
    uses: dict[str, list[Use]] = {}
    for subject, before, after in zip(placing.subjects, *outcomes, strict=True) if names else ():
        use = Use(subject, before, after, differences.get(id(subject)))
        for name in sources_of(state, subject) & names:
            uses.setdefault(name, []).append(use)
    return uses


def sources_of(state: ClusterState, subject: Applicant) -> frozenset[str]:
    """Return the names of the claims, templates and classes that give a subject its devices."""
    sources = frozenset[str]()
    for name in subject.objects:
        kind, _, full_name = name.partition("/")
        key = tuple(full_name.split("/"))
        if kind == "ResourceClaim" and len(key) == 2:
            sources |= sources_of_claim((key[0], key[1]), state.claim((key[0], key[1])))
        elif kind == "Pod" and len(key) == 2 and (key[0], key[1]) in state.pods:
            sources |= sources_of_pod(state, state.pod((key[0], key[1])))
        elif subject.pod is not None:
            sources |= sources_of_pod(state, Pod(subject.pod))
            if kind == "ResourceClaimTemplate":
                sources |= {name}
    return sources


def _nodes(names: Sequence[str]) -> str:
    # The name "" stands for devices that are not on a single node.
    return (names[0] or "several nodes") if len(names) == 1 else f"{len(names)} nodes"


def _holders(state: ClusterState) -> dict[str, list[str]]:
    """Return the claims that hold each device (``DRIVER/POOL/DEVICE``)."""
    holders: dict[str, list[str]] = {}
    for key, claim in state.claims.items():
        for device in claim.allocated_devices:
            holders.setdefault(str(device.id), []).append(f"ResourceClaim/{'/'.join(key)}")
    return holders
