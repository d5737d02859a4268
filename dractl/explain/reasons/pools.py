"""Reasons about the slices that drivers publish: missing slices, and pools that cannot be used."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import SEE_SLICES, Cause, Facts, Progress, ReasonPage, RequestCause
from dractl.explain.reasons.next_step import DAEMONSETS, MORE_NODES, AskedObject, pods_on
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.explain.reasons.refusals import labels_text
from dractl.model.abbreviation import abbreviate
from dractl.scheduler.rejection import NodeLabel


class NoSlicesForDriver(RequestCause, frozen=True, kw_only=True):
    """The driver publishes nothing."""

    page = ReasonPage(
        "no-slices-for-driver",
        "the driver publishes no ResourceSlice",
        "The class's driver has no ResourceSlice: it is not installed, does not run, or is too old"
        " for this API.",
        "kubectl get resourceslices; kubectl get daemonsets -A | grep -i dra",
        "Look at the driver's pods and their logs; check that its version supports the API versions"
        " of the cluster.",
        Progress.NO_DRIVER,
    )

    driver: str | None = None
    drivers: tuple[str, ...] = ()
    """The drivers that publish something."""
    nearest: str | None = None
    """A driver with a similar name."""
    none_known: bool = False
    """True if the input has no ResourceSlice at all."""
    listed: bool = False
    """True if the cluster has no ResourceSlice; False if the input may lack the cluster's slices.
    """

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "found": self.drivers,
            "nearest": self.nearest,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.none_known:
            owner = "cluster" if self.listed else "input"
            why = f"{self.lead(names)}the {owner} has no ResourceSlice at all"
            return f"{why}; driver {self.driver} publishes nothing" if self.driver else why
        why = f"{self.lead(names)}driver {self.driver} publishes no ResourceSlice"
        why = f"{why} (class {self.device_class})" if self.device_class else why
        if self.nearest:
            why += f"; there is {self.nearest}"
        others = [name for name in self._siblings if name != self.nearest]
        if others:
            verb = "does" if len(others) == 1 else "do"
            why += f"; {abbreviate(others)} of the same vendor {verb}"
        return why

    @property
    def _siblings(self) -> tuple[str, ...]:
        """Drivers of the same vendor that publish devices, since only a part of a driver may be
        installed.
        """
        vendor = (self.driver or "").partition(".")[2]
        return tuple(
            name
            for name in self.drivers
            if name != self.driver and vendor and name.endswith(f".{vendor}")
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.none_known:
            yield MORE_NODES
        if self._siblings:
            switch = (
                " (resources.gpus.enabled of its chart)" if self.driver == "gpu.nvidia.com" else ""
            )
            yield NextStep(
                f"see whether the part that publishes {self.driver} is enabled{switch}", DAEMONSETS
            )
        driver = f"driver {self.driver}" if self.driver else "a DRA driver"
        yield NextStep(f"see whether {driver} is installed and running", DAEMONSETS)


class NoSlicesOnNode(RequestCause, frozen=True, kw_only=True):
    """The driver publishes no device on the node."""

    page = ReasonPage(
        "no-slices-on-node",
        "the driver publishes nothing on this node",
        "Other nodes may have devices of the driver; this one has none, or its slice is empty.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "If the node should have devices, look at the driver's pod on it; after a kubelet restart"
        " the slices may take a while.",
        Progress.NO_DEVICE,
    )

    driver: str | None = None

    def facts(self) -> Facts:
        return {**super().facts(), "driver": self.driver}

    def sentence(self, names: Names, scope: Scope) -> str:
        nodes = "this node" if scope is Scope.ONE else "any of these nodes"
        if self.driver is None:
            return f"{self.lead(names)}no driver publishes a device on {nodes}"
        return f"{self.lead(names)}{self.driver} publishes no device on {nodes}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0] if self.nodes else "NODE"
        yield NextStep(
            f"see whether driver {self.driver or ''} runs on {node}, if that has the hardware",
            pods_on(node),
        )
        yield MORE_NODES


class SliceNodeMismatch(RequestCause, frozen=True, kw_only=True):
    """The slice, or its devices, are for other nodes."""

    page = ReasonPage(
        "slice-node-mismatch",
        "the slice is for other nodes",
        "A slice that is not bound to one node has a node selector, and this node's labels do not"
        " match it.",
        SEE_SLICES + " (spec.nodeSelector); kubectl get nodes --show-labels",
        "Label the node to match the selector, if the device can really be reached from there.",
        Progress.TOO_FEW,
    )

    driver: str | None = None
    slice: str | None = None
    selectors: tuple[str, ...] = ()
    """The node selector of the slice, as text; empty if only devices have one."""
    keys: tuple[str, ...] = ()
    """The labels that the selector compares."""
    labels: tuple[NodeLabel, ...] = ()
    """The labels that the nodes have."""
    devices: tuple[str, ...] = ()
    """The devices for other nodes."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "slice": self.slice,
            "found": self.selectors,
            "devices": self.devices,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.selectors:
            labels = labels_text(self.labels, len(self.nodes) < 2)
            why = f"{self.lead(names)}slice {self.slice} is only for nodes with {self.selectors[0]}"
            return f"{why}; {labels}" if labels else why
        verb = "is" if len(self.devices) == 1 else "are"
        return (
            f"{self.lead(names)}{plural(len(self.devices), 'device')} of the slice {verb} for other"
            " nodes"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.slice is None:
            return
        yield NextStep(
            f"see which nodes slice {self.slice} is for: add such a node, or let its driver name"
            " these",
            (
                quote_command("kubectl get nodes -L {}", ",".join(self.keys))
                if self.keys
                else "kubectl get nodes"
            ),
        )


class PoolCause(RequestCause, frozen=True, kw_only=True):
    """A pool whose devices the scheduler does not use."""

    driver: str
    pool: str
    """``driver/name``."""
    have: int | None = None
    """The number of slices that exist."""
    want: int | None = None
    """The number of slices that each slice announces."""
    generation: int = 0
    all_mode: bool = False
    """True if the pool blocks a request for all devices, whichever driver the request is for."""
    upstream: str = ""
    """The scheduler's sentence, if nothing else is known."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "pool": self.pool,
            "have": self.have,
            "want": self.want,
        }

    def fault_sentence(self, names: Names, fault: str) -> str:
        """Return the sentence with the fault of the pool."""
        if self.upstream:
            return self.upstream
        if self.all_mode and self.request is not None:
            return f"{names.request(self.request)} wants all devices, and pool {self.pool} {fault}"
        return f"pool {self.pool} {fault}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"look at the slices of pool {self.pool}, then restart driver {self.driver} where it"
            " lags",
            quote_command(
                "kubectl get resourceslices --field-selector spec.driver={}", self.driver
            ),
        )


class PoolIncomplete(PoolCause, frozen=True, kw_only=True):
    """Slices of the pool are missing."""

    page = ReasonPage(
        "pool-incomplete",
        "slices of the pool are missing",
        "The pool announces a different number of slices than it has: devices of an incomplete pool"
        " are not used, and a request with allocationMode All fails while any pool of the node is"
        " incomplete, whatever its driver. Up to 1.37 that error ends the scheduler's attempt for"
        " all nodes; from 1.38 on it refuses this node alone.",
        SEE_SLICES + " (spec.pool: name, generation, resourceSliceCount)",
        "Wait a moment; if it persists, the driver is at fault: restart it. A dead node's slices go"
        " away with its Node object.",
        Progress.HIDDEN,
        (
            (
                "claim ml/gpu, request gpu: asks for all devices, but resource pool"
                " gpu.example.com/node-1 is currently being updated"
            ),
        ),
    )

    def sentence(self, names: Names, scope: Scope) -> str:
        have, want = self.have or 0, self.want or 0
        if have > want:
            exist = f"{plural(have, 'slice')} of generation {self.generation} exist"
            announced = f"{want} {'is' if want == 1 else 'are'} announced"
            return self.fault_sentence(names, f"is incomplete: {exist}, and {announced}")
        return self.fault_sentence(
            names, f"is incomplete: {have} of {want} slices of generation {self.generation} exist"
        )


class CountsDiffer(Cause, frozen=True, kw_only=True):
    """The slices of a pool announce different numbers of slices."""

    page = ReasonPage(
        "pool-counts-differ",
        "the slices of a pool announce different numbers of slices",
        "Each slice of a pool says how many there are, and these numbers have to be equal. Up to"
        " 1.37 the scheduler believes the slice that it reads first, so that the pool may be"
        " complete in one attempt and incomplete in the next.",
        SEE_SLICES + " (spec.pool.resourceSliceCount)",
        "Wait a moment, since a driver writes one slice after the other. If the numbers stay"
        " different, restart the driver, and tell its authors.",
        Progress.HIDDEN,
    )
    steps_beside_fixes = True
    is_root_cause = True

    driver: str
    pool: str
    counts: tuple[tuple[str, int], ...]
    """The names of the slices with the number that each announces."""

    def facts(self) -> Facts:
        return {**super().facts(), "driver": self.driver, "pool": self.pool}

    def sentence(self, names: Names, scope: Scope) -> str:
        counts = ", ".join(f"{number} in {name}" for name, number in self.counts[:3])
        return (
            f"the slices of pool {self.pool} announce different numbers of slices ({counts}):"
            " whether kube-scheduler takes the pool for complete depends on the slice that it reads"
            " first (kubernetes/kubernetes#141117)"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "wait a moment, since a driver writes one slice after the other; if the numbers stay"
            f" different, restart driver {self.driver}",
            DAEMONSETS,
        )


class PublishedTwice(Cause, frozen=True, kw_only=True):
    """The pool has more slices than each slice announces."""

    page = ReasonPage(
        "pool-published-twice",
        "two installations of a driver publish the same pool",
        "Each slice of a pool says how many there are. More than that are there: an earlier"
        " installation of the driver has left its slices behind, or two run side by side. The"
        " scheduler takes the pool to be incomplete and uses none of its devices.",
        SEE_SLICES + " (metadata.creationTimestamp); kubectl get daemonsets -A",
        "Uninstall the driver that is not wanted, and delete the slices that it has left.",
        Progress.HIDDEN,
    )
    steps_beside_fixes = True
    is_root_cause = True
    is_question = True

    driver: str
    pool: str
    generation: int = 0
    slices: tuple[tuple[str, str], ...] = ()
    """The names of the slices with the time of their creation, the oldest first."""
    duplicates: tuple[str, ...] = ()
    """The devices that several slices have."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "pool": self.pool,
            "found": self.duplicates,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        slices = " and ".join(
            f"{name} of {when}" if when else name for name, when in self.slices[:3]
        )
        more = f" and {len(self.slices) - 3} more" if len(self.slices) > 3 else ""
        both = (
            f"; {'all' if len(self.slices) > 2 else 'both'} have {abbreviate(self.duplicates)}"
            if self.duplicates
            else ""
        )
        return (
            f"pool {self.pool} is published twice, by slices {slices}{more}{both}: do two"
            " installations of the driver run, or has an earlier one left its slices?"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"see which DaemonSets of driver {self.driver} run, and uninstall the other one",
            DAEMONSETS,
        )
        yield NextStep(
            "look at the slices; a stale one is older than the start of the driver that runs",
            quote_command(
                "kubectl get resourceslices --field-selector spec.driver={}"
                " --sort-by=.metadata.creationTimestamp",
                self.driver,
            ),
        )


class PoolObsolete(PoolCause, frozen=True, kw_only=True):
    """A newer generation of the pool exists."""

    page = ReasonPage(
        "pool-obsolete",
        "a newer generation of the pool has replaced the slice",
        "Only slices of the newest generation of a pool count; older ones are dropped silently.",
        SEE_SLICES + " (spec.pool.generation)",
        "The driver must publish all slices of the pool in the same generation: restart it on the"
        " node that lags.",
        Progress.HIDDEN,
    )

    def sentence(self, names: Names, scope: Scope) -> str:
        return self.fault_sentence(
            names, f"is ignored: here it has generation {self.generation}, elsewhere a newer one"
        )


class PoolInvalid(PoolCause, frozen=True, kw_only=True):
    """The slices of the pool contradict each other."""

    page = ReasonPage(
        "pool-invalid",
        "the pool contradicts itself",
        "Two devices or counter sets have the same name, or a device consumes a counter that no"
        " counter set of the pool has. No device of the pool is used. Up to 1.37 the scheduler does"
        " not say which fault it is.",
        SEE_SLICES,
        "This is a bug in the driver: report it, or use a version without it.",
        Progress.HIDDEN,
        (
            (
                "claim ml/gpu, request gpu: asks for all devices, but resource pool"
                " gpu.example.com/node-1 is currently invalid"
            ),
        ),
    )

    fault: str = ""
    """The contradiction in the scheduler's words."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return self.fault_sentence(names, f"is invalid: {self.fault}")
