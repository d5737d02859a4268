"""Shapes such as ``gpu=2,nic=1``: the claims that serve them, and the number of copies that fit."""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity.candidates import (
    MIG_CLASS,
    MIG_DRIVER,
    UNALIGNED,
    UNKNOWN_ALIGNMENT,
    DeviceKind,
    propose_claims,
    selector_of,
)
from dractl.capacity.copies import BARE_NAME_KINDS, Copies, copies_of_candidates
from dractl.capacity.inventory import DeviceRow, Inventory, take_inventory
from dractl.capacity.placing import AlignedCopies, Fit, NodeFit, place_copies
from dractl.cluster.coverage import command_for
from dractl.cluster.snapshot_gaps import has_unknown_values, unknown_names
from dractl.cluster.state import ClusterState
from dractl.drivers.standard import PCIE_ROOT
from dractl.errors import InputError
from dractl.facts.resources import hardware
from dractl.model.shapes import MIG, parse
from dractl.objects import slice_of


def shape_copies(
    state: ClusterState, features: Features, text: str, namespace: str
) -> tuple[Copies, ...]:
    """Return the copies of each claim that serves a shape, the closest alignment first.

    A kind is a word such as gpu, nic or rdma, or the name of a DeviceClass. Raises UsageError for a
    text that is no shape, InputError for a kind without devices in the cluster.
    """
    shape = parse(text, classes=[name for _, name in state.objects("DeviceClass")])
    inventory = take_inventory(state, features)
    kinds = {kind: _find_device_kind(state, inventory, kind) for kind in shape.counts}
    return copies_of_candidates(state, namespace, shape, propose_claims(shape, kinds))


def is_shape(state: ClusterState, text: str) -> bool:
    """Return True if a text is meant as a shape and not as the name of an object.

    A shape has a count, a constraint or several kinds, or is the name of a kind and not the name of
    an object.
    """
    if any(mark in text for mark in "=@"):
        return True
    if "/" in text:
        return False
    if not text or "," in text:
        return True
    if any(key[1] == text for kind in BARE_NAME_KINDS for key in state.objects(kind)):
        return False
    return text in hardware() or ("", text) in state.objects("DeviceClass")


def place_closest(
    subjects: Sequence[Copies], features: Features, progress: Callable[[str], None] = lambda _: None
) -> Fit:
    """Place copies of a shape, each with the closest alignment that is left on its node.

    ``subjects`` come from :func:`shape_copies`. Free devices only decrease: once a copy with some
    alignment is refused, no later copy with this alignment fits. So each claim fills the cluster
    before the next one is tried.
    """
    state = subjects[0].state
    filled: list[Fit] = []
    for subject in subjects:
        filled.append(place_copies(replace(subject, state=state), features, progress=progress))
        state = filled[-1].state
        if filled[-1].undecided:
            break
    last = filled[-1]
    return replace(
        last,
        subject=replace(last.subject, state=subjects[0].state),
        fits=sum(fit.fits for fit in filled),
        nodes=tuple(
            _merge_node_fits(subjects, parts)
            for parts in zip(*(fit.nodes for fit in filled), strict=True)
        ),
    )


def _merge_node_fits(subjects: Sequence[Copies], parts: Sequence[NodeFit]) -> NodeFit:
    """Return the copies of all subjects on a node; several subjects may have the same alignment."""
    copies: Counter[str] = Counter()
    for subject, part in zip(subjects, parts, strict=False):
        if part.fits and subject.alignment:
            copies[_alignment_on_node(subject, part.name)] += part.fits
    return NodeFit(
        parts[0].name,
        sum(part.fits for part in parts),
        tuple(dict.fromkeys(device for part in parts for device in part.devices)),
        tuple(AlignedCopies(alignment, number) for alignment, number in copies.items()),
    )


def _alignment_on_node(subject: Copies, node: str) -> str:
    """Return the alignment of a subject's copies. It is unknown on a described machine whose wiring
    is unknown.
    """
    if subject.alignment != UNALIGNED or not has_unknown_values(subject.state):
        return subject.alignment
    published = subject.state.objects("ResourceSlice").values()
    slices = [item for item in published if slice_of(item).node == node]
    is_unknown = any(PCIE_ROOT in names for names in unknown_names(slices).values())
    return UNKNOWN_ALIGNMENT if is_unknown else UNALIGNED


def _find_device_kind(state: ClusterState, inventory: Inventory, kind: str) -> DeviceKind:
    """Return the DeviceClass of a kind, and the selector of its devices within the class.

    This is the class with the name of the kind, or else with the name of the driver, or else the
    class that matches the most devices.
    """
    if ("", kind) in state.objects("DeviceClass"):
        return DeviceKind(kind)
    if kind.startswith(MIG):
        if not any(MIG_CLASS in row.classes for row in inventory.devices):
            raise InputError(
                f"no MIG device in this cluster: no device is of class {MIG_CLASS}",
                hint="a described machine has them with mig=7x1g.10gb behind its name",
            )
        return DeviceKind(MIG_CLASS, selector_of(kind, MIG_DRIVER))
    rows = [row for row in inventory.devices if row.id.driver in hardware()[kind]]
    matched: dict[str, list[DeviceRow]] = {}
    for row in rows:
        for name in row.classes:
            matched.setdefault(name, []).append(row)
    drivers = {row.id.driver for row in rows}
    classes = sorted(matched, key=lambda name: (name not in drivers, -len(matched[name]), name))
    if not classes:
        raise _kind_error(state, inventory, kind, len(rows))
    return DeviceKind(classes[0], selector_of(kind, matched[classes[0]][0].id.driver))


def _kind_error(state: ClusterState, inventory: Inventory, kind: str, published: int) -> InputError:
    """Return the error for a kind with no device in any class."""
    unseen = [
        row.kind
        for row in state.coverage.unread(("ResourceSlice", "DeviceClass"))
        if row.seen == "unseen"
    ]
    if "ResourceSlice" in unseen or (published and unseen):
        return InputError(
            f"whether there is a {kind} is unknown: the input has no {' and no '.join(unseen)}",
            hint=f"add `{command_for(unseen)}`",
        )
    drivers = sorted({row.id.driver for row in inventory.devices})
    return InputError(
        f"no {kind} in this cluster: "
        + (
            f"drivers publish {published} of them, but no DeviceClass matches"
            if published
            else "no driver publishes any"
        ),
        hint=(
            f"there are devices of {', '.join(drivers)}"
            if drivers
            else "the cluster has no ResourceSlice"
        ),
    )
