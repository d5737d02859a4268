"""The step at which a driver is upgraded: what it publishes then, and what that does to whoever reads it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.cluster.described_nodes import DescribedNode
from dractl.errors import UsageError
from dractl.facts.images import versions_that_run
from dractl.model import Target
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade import drivers
from dractl.upgrade.attribute_readers import DriverUpgrade, Use, find_affected, findings
from dractl.upgrade.finding import Finding
from dractl.upgrade.placing import Applicant, Difference, Outcomes, Placing, quote_scheduler
from dractl.upgrade.readers import find_readers, sources_of_claim, sources_of_pod
from dractl.views import Pod


class DriverChange(Struct, frozen=True):
    """A driver's upgrade; ``start`` are the versions that its present slices fit, oldest first."""

    name: str
    start: tuple[str, ...]
    to: str


def find_change(state: ClusterState, name: str, text: str) -> DriverChange | None:
    """The upgrade of a driver; None if nothing of it is in the input. Raises UsageError."""
    first, dots, last = text.rpartition("..")
    to = drivers.later(name, last)
    slices = [
        item
        for found in drivers.by_node(state.objects("ResourceSlice").values(), name).values()
        for item in found
    ]
    objects = (value for kind in state.kinds for value in state.objects(kind).values())
    tag = first if dots else versions_that_run(objects).get(name)
    start = (drivers.later(name, first),) if dots else drivers.present(name, slices, tag)
    if not slices and tag is None:
        return None
    if not start:
        raise UsageError(
            f"the slices of {name} fit no version that dractl knows",
            hint=f"write {name}=PRESENT..{last}",
        )
    if drivers.downgrade(name, start[0], to):
        known = ", ".join(drivers.versions(name))
        raise UsageError(
            f"{name} {start[0]} to {to} is a downgrade", hint=f"dractl knows {known}, oldest first"
        )
    return DriverChange(name, start, to)


class Published(Struct, frozen=True):
    """What a driver publishes after its upgrade."""

    state: ClusterState
    """The cluster with the slices of the later version."""
    findings: tuple[Finding, ...]
    changed: Mapping[tuple[str, str], str]
    """The code of what happens to each attribute and capacity, by part of a device and full name."""
    notes: tuple[str, ...]
    """What the input does not decide."""


def publish(
    state: ClusterState, change: DriverChange, described: Iterable[DescribedNode], target: Target
) -> Published:
    """Return the cluster with the slices of the later version, and what differs."""
    name, start, to = change.name, change.start[0], change.to
    before = drivers.by_node(state.objects("ResourceSlice").values(), name)
    machines = {each.node: each for each in described}
    after = {
        node: drivers.Predicted(drivers.published(machines[node], name, to, target))
        if node in machines
        else drivers.predicted(slices, name, start, to)
        for node, slices in before.items()
    }
    changes = drivers.collect_changes(name, before, after, _holders(state))
    found = [*drivers.differences(changes)]
    notes = []
    guessed = [node for node in before if node not in machines]
    if guessed and start != to:
        found += drivers.changes(name, start, to)
        notes.append(
            f"{name} on {_nodes(guessed)}: its present slices and what is known of {start} to {to} are compared"
        )
        unknown = sorted(
            {each.name for one in after.values() for many in one.coming.values() for each in many}
        )
        notes += [f"{name} {to}: the values of {', '.join(unknown)}"] if unknown else []
    slices = (item for one in after.values() for item in one.slices)
    later = drivers.republished(state, name, slices)
    changed = drivers.changed_names(name, changes)
    if not before and start != to:
        changed = drivers.known_changes(name, start, to)
        notes.append(
            f"{name}: no slice of it is in the input; {start} and {to} are compared by what is known of them"
        )
    return Published(later, tuple(found), changed, tuple(notes))


# -- whoever reads what changes --


def place_readers(
    placing: Placing,
    change: DriverChange,
    published: Published,
    present: tuple[ClusterState, Outcomes],
    later: Outcomes,
    features: Features,
) -> Iterator[Finding]:
    """Yield what becomes of the objects that read what changes, and of the subjects whose devices change otherwise.

    ``present`` is the cluster before the step, with the outcomes in it.
    """
    state, outcomes = present
    upgrade = DriverUpgrade(
        change.name,
        change.to,
        published.changed,
        Scheduler(state, features),
        Scheduler(published.state, features),
    )
    affected = tuple(find_affected(upgrade, find_readers(state))) if published.changed else ()
    differences = {id(each.subject): each for each in placing.compare(outcomes, later)}
    uses = _list_uses(
        placing, state, (outcomes, later), differences, {one.reader.name for one in affected}
    )
    yield from findings(upgrade, affected, uses, placing.describe)
    explained = {
        id(use.subject) for one in affected if one.is_cause for use in uses.get(one.reader.name, ())
    }
    for key, difference in differences.items():
        if key not in explained:
            yield difference.finding(placing.describe)


def read_without_slices(
    state: ClusterState, change: DriverChange, published: Published, features: Features
) -> Iterator[Finding]:
    """Yield the objects that read what changes, where the input has no devices that could be allocated."""
    scheduler = Scheduler(state, features)
    upgrade = DriverUpgrade(change.name, change.to, published.changed, scheduler, scheduler)
    affected = find_affected(upgrade, find_readers(state)) if published.changed else ()
    yield from findings(upgrade, affected, {}, quote_scheduler)


def _list_uses(
    placing: Placing,
    state: ClusterState,
    outcomes: tuple[Outcomes, Outcomes],
    differences: Mapping[int, Difference],
    names: set[str],
) -> dict[str, list[Use]]:
    """Return the subjects that get their devices through each of some objects."""
    uses: dict[str, list[Use]] = {}
    for subject, before, after in zip(placing.subjects, *outcomes, strict=True) if names else ():
        use = Use(subject, before, after, differences.get(id(subject)))
        for name in sources_of(state, subject) & names:
            uses.setdefault(name, []).append(use)
    return uses


def sources_of(state: ClusterState, subject: Applicant) -> frozenset[str]:
    """Return the names of the claims, templates and classes through which subjects get devices."""
    found = frozenset[str]()
    for name in subject.objects:
        kind, _, full_name = name.partition("/")
        key = tuple(full_name.split("/"))
        if kind == "ResourceClaim" and len(key) == 2:
            found |= sources_of_claim((key[0], key[1]), state.claim((key[0], key[1])))
        elif kind == "Pod" and len(key) == 2 and (key[0], key[1]) in state.pods:
            found |= sources_of_pod(state, state.pod((key[0], key[1])))
        elif subject.pod is not None:
            found |= sources_of_pod(state, Pod(subject.pod))
            if kind == "ResourceClaimTemplate":
                found |= {name}
    return found


def _nodes(names: Sequence[str]) -> str:
    return (
        (names[0] or "several nodes") if len(names) == 1 else f"{len(names)} nodes"
    )  # "": of no single node


def _holders(state: ClusterState) -> dict[str, list[str]]:
    """Return the claims that hold each device (``DRIVER/POOL/DEVICE``)."""
    holders: dict[str, list[str]] = {}
    for key, claim in state.claims.items():
        for device in claim.allocated_devices:
            holders.setdefault(str(device.id), []).append(f"ResourceClaim/{'/'.join(key)}")
    return holders
