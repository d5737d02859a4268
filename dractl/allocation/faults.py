"""Values for the reasons that abort an attempt or make a pool invalid.

Each value has the fields that upstream's sentence is made of, and the sentence itself as ``text``.
kube-scheduler prints the sentence, so it is composed where the fault is found and never parsed
afterwards.
"""

from typing import Literal

from msgspec import Struct

from dractl.allocation.state import DeviceID
from dractl.model.names import RequestRef

# "pool-reached": the stable variant of 1.34 reached a pool with inconsistent slices in its search
FaultKind = Literal[
    "class-unnamed",  # the request names no device class, or is of a type unknown to this release
    "class-missing",  # no DeviceClass of that name
    "gate-off",  # the request uses a field whose feature gate is off
    "selector-empty",  # a selector without a CEL expression
    "selector",  # a CEL expression does not compile, or fails on a device that the search reached
    "mode",  # an allocation mode unknown to this release
    "limit",  # more than 32 devices for one claim
    "pool-incomplete",  # mode All while the slices of a pool are being updated
    "pool-invalid",  # with mode All, a pool has inconsistent slices
    "pool-reached",
    "pools-invalid",  # no devices fit, and a pool of the node has inconsistent slices
    "constraint-empty",  # a constraint of a type unknown to this release
    "constraint",  # mode All includes a device that a constraint excludes
    "capacity",  # the amount cannot be represented in the device's range arithmetic
    "derived",  # a derived attribute does not compile, or fails on a device
    "node-selector",  # the node selector of a slice or device cannot be parsed
    "result",  # the allocation cannot be stored
    "panic",  # kube-scheduler itself crashes
    "unsupported",  # no allocator of the release has all enabled features
]


class Fault(Struct, frozen=True):
    """An error of kube-scheduler's allocator. Fields that do not apply are None."""

    kind: FaultKind
    text: str
    """Upstream's sentence."""
    claim: str | None = None
    """The claim as ``namespace/name``."""
    request: RequestRef | None = None
    device: DeviceID | None = None
    pool: tuple[str, str] | None = None
    """The driver and the name of the pool."""
    gate: str | None = None
    constraint: int | None = None
    """The index of the constraint in the claim."""
    device_class: str | None = None
    issue: str | None = None
    """The upstream issue, as ``kubernetes#NNN``."""


class AttemptFailed(Exception):
    """An attempt that cannot continue, because of ``fault``."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


class DuplicateDevice(Struct, frozen=True):
    """Two devices of a pool have the same name."""

    device: str

    @property
    def text(self) -> str:
        """Upstream's words."""
        return f"duplicate device name {self.device}"


class DuplicateCounterSet(Struct, frozen=True):
    """Two counter sets of a pool have the same name."""

    counter_set: str

    @property
    def text(self) -> str:
        """Upstream's words."""
        return f"duplicate counter set name {self.counter_set}"


class DanglingCounterSet(Struct, frozen=True):
    """A device consumes counters of a set that the pool does not have."""

    counter_set: str
    device: str

    @property
    def text(self) -> str:
        """Upstream's words."""
        return f"counter set {self.counter_set} not found"


class DanglingCounter(Struct, frozen=True):
    """A device consumes a counter that its counter set does not have."""

    counter_set: str
    counter: str
    device: str

    @property
    def text(self) -> str:
        """Upstream's words."""
        return f"counter {self.counter} not found in counter set {self.counter_set}"


PoolFault = DuplicateDevice | DuplicateCounterSet | DanglingCounterSet | DanglingCounter
