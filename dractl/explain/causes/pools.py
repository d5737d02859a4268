"""Causes in what drivers publish: slices that are missing, pools that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import HIDDEN, NOTHING, SEE_SLICES, Cause, OfRequest, ReasonPage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.scheduler.rejection import NodeLabel


class NoSlicesForDriver(OfRequest, frozen=True, kw_only=True):
    """The driver publishes nothing. ``known`` are the drivers that publish something; ``none_known``: there is no
    ResourceSlice at all, in the cluster (``listed``) or in the input, which may lack those of the cluster."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "no-slices-for-driver",
        "the driver publishes no ResourceSlice",
        "The class's driver has no ResourceSlice: it is not installed, does not run, or is too old for this API.",
        "kubectl get resourceslices; kubectl get daemonsets -A | grep -i dra",
        "Look at the driver's pods and their logs; check that its version supports the API versions of the cluster.",
        1,
    )
    shown: ClassVar[Mapping[str, str]] = {"known": "found"}

    driver: str | None = None
    known: tuple[str, ...] = ()
    nearest: str | None = None
    none_known: bool = False
    listed: bool = False


class NoSlicesOnNode(OfRequest, frozen=True, kw_only=True):
    """The driver publishes no device on the node."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "no-slices-on-node",
        "the driver publishes nothing on this node",
        "Other nodes may have devices of the driver; this one has none, or its slice is empty.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "If the node should have devices, look at the driver's pod on it; after a kubelet restart the slices may take "
        "a while.",
        NOTHING,
    )

    driver: str | None = None


class SliceNodeMismatch(OfRequest, frozen=True, kw_only=True):
    """The slice is for nodes that match ``selectors`` (one, as text), or its ``devices`` are for other nodes."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "slice-node-mismatch",
        "the slice is for other nodes",
        "A slice that is not bound to one node has a node selector, and this node's labels do not match it.",
        SEE_SLICES + " (spec.nodeSelector); kubectl get nodes --show-labels",
        "Label the node to match the selector, if the device can really be reached from there.",
        3,
    )
    shown: ClassVar[Mapping[str, str]] = {"selectors": "found"}

    driver: str | None = None
    slice: str | None = None
    selectors: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    labels: tuple[NodeLabel, ...] = ()
    devices: tuple[str, ...] = ()


class OfPool(OfRequest, frozen=True, kw_only=True):
    """A pool (``driver/name``) whose devices the scheduler does not use. ``have`` of ``want`` slices of ``generation``
    exist. With ``all_mode`` it stops a request for all devices, whichever driver's devices that wants.
    ``upstream`` is the scheduler's sentence, where that is all that is known."""

    driver: str
    pool: str
    have: int | None = None
    want: int | None = None
    generation: int = 0
    all_mode: bool = False
    upstream: str = ""


class PublishedTwice(Cause, frozen=True, kw_only=True):
    """The pool has more slices than each of them says. ``slices`` are their names with the time of their creation, the
    oldest first; ``both`` are devices that several of them have."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pool-published-twice",
        "two installations of a driver publish the same pool",
        "Each slice of a pool says how many there are. More than that are there: an earlier installation of the driver "
        "has left its slices behind, or two run side by side. The scheduler takes the pool to be incomplete and uses "
        "none of its devices.",
        SEE_SLICES + " (metadata.creationTimestamp); kubectl get daemonsets -A",
        "Uninstall the driver that is not wanted, and delete the slices that it has left.",
        HIDDEN,
    )
    shown: ClassVar[Mapping[str, str]] = {"both": "found"}

    driver: str
    pool: str
    generation: int = 0
    slices: tuple[tuple[str, str], ...] = ()
    both: tuple[str, ...] = ()


class PoolIncomplete(OfPool, frozen=True, kw_only=True):
    """Slices of the pool are missing."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pool-incomplete",
        "slices of the pool are missing",
        "The pool announces a different number of slices than it has: devices of an incomplete pool are not used, and "
        "a request with allocationMode All fails while any pool of the node is incomplete, whatever its driver.",
        SEE_SLICES + " (spec.pool: name, generation, resourceSliceCount)",
        "Wait a moment; if it persists, the driver is at fault: restart it. A dead node's slices go away with its "
        "Node object.",
        HIDDEN,
    )


class PoolObsolete(OfPool, frozen=True, kw_only=True):
    """A newer generation of the pool exists."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pool-obsolete",
        "a newer generation of the pool has replaced the slice",
        "Only slices of the newest generation of a pool count; older ones are dropped silently.",
        SEE_SLICES + " (spec.pool.generation)",
        "The driver must publish all slices of the pool in the same generation: restart it on the node that lags.",
        HIDDEN,
    )


class PoolInvalid(OfPool, frozen=True, kw_only=True):
    """The pool contradicts itself; ``fault`` says how, in the scheduler's words."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "pool-invalid",
        "the pool contradicts itself",
        "Two devices or counter sets have the same name, or a device consumes a counter that no counter set of the "
        "pool has. No device of the pool is used. Up to 1.37 the scheduler does not say which fault it is.",
        SEE_SLICES,
        "This is a bug in the driver: report it, or use a version without it.",
        HIDDEN,
    )

    fault: str = ""
