"""The choice of the allocator: Kubernetes releases, feature gates, and the differences between the
variants of upstream's allocator.

Upstream keeps three copies of the allocator (stable, incubating, experimental) and uses the first
that supports every enabled feature (k8s.io/dynamic-resource-allocation/structured/allocator.go). In
dractl, a :class:`Behaviour` describes one of them in one release.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from dractl.errors import Unsupported, UsageError
from dractl.facts.kubernetes import Bug as Bug, kubernetes
from dractl.model.nearest import nearest
from dractl.model.releases import (
    GATES,
    RELEASES,
    Target,
    has_change,
    patch_of,
    patch_that_brought,
    release_of,
)

Variant = Literal["stable", "incubating", "experimental"]
VARIANTS: Final[tuple[Variant, ...]] = ("stable", "incubating", "experimental")

_BINDING: Final = "DRADeviceBindingConditions"
_STATUS: Final = "DRAResourceClaimDeviceStatus"
_BOTH: Final = f"{_BINDING}+{_STATUS}"

ALLOCATORS: Final = kubernetes().allocators
BUGS: Final = ALLOCATORS.bugs
MODELLED: Final = tuple(release for release in RELEASES if release >= min(ALLOCATORS.supported))


def _check(subject: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        near = nearest(str(name), names)
        hint = f"did you mean {near}?" if near else f"use one of {', '.join(names)}"
        raise UsageError(f"{subject} {name} is not known", hint=hint)


class Behaviour(Struct, frozen=True):
    """The behaviour of one variant in one release, in the points in which variants or releases
    differ. Features and bugs are not part of it.
    """

    variant: Variant
    ordered: bool
    """True if pools and slices are sorted and the devices of a request are taken in increasing
    order: then only combinations are tried. Otherwise pools come in random order and every
    permutation is tried.
    """
    binding_slices_last: bool
    counters_in_slice: bool
    """True if counter sets are in the slice of the devices that use them, one ledger per slice."""
    counter_slices_everywhere: bool
    """True if a slice with counter sets belongs to every node."""
    whole_cluster: bool
    """True if slices for other nodes also count towards the completeness of a pool."""
    lenient_pools: bool
    """True if devices of incomplete pools are used; an invalid pool aborts the attempt when it is
    reached.
    """
    limit_unwinds: bool
    """True if the search, once a claim has over 32 devices, skips all further devices of the
    claim's earlier requests.
    """
    shares: bool
    """True if the variant supports consumable capacity and distinctAttribute."""
    binding: bool
    """True if the variant supports device binding conditions."""
    bugs: frozenset[str]


def schedulable_release(text: str) -> str:
    """Return a release whose scheduler is modelled.

    For a cluster of 1.31 to 1.33, this is the oldest modelled release; for any other cluster, it is
    the cluster's own release.
    """
    return MODELLED[0] if release_of(text) in RELEASES[: RELEASES.index(MODELLED[0])] else text


class Features(Struct, frozen=True):
    """A release, the feature gates that are on in its scheduler, and their consequences.

    UsageError for an unknown release, gate or variant; :meth:`for_release` also checks that the
    release has the gate and that the gates it depends on are on.
    """

    release: str
    on: frozenset[str]
    """Names of the gates that are on."""
    cel_on: frozenset[str] | None = None
    """The gates that are on for CEL; None if they are the same as ``on``."""
    variant: Variant | None = None
    """Forces one of upstream's allocators; None lets the features choose."""
    upstream_bugs: bool = True
    """True to keep the known bugs of the release."""
    patch: int | None = None
    """The patch release, if it is known: 3 of 1.36.3."""
    bugs_off: frozenset[str] = frozenset()
    """Names of known bugs that are switched off."""

    def __post_init__(self) -> None:
        _check("the scheduler of Kubernetes", self.release, MODELLED)
        for gate in (*self.on, *(self.cel_on or ())):
            _check("the feature gate", gate, (*GATES, _BOTH))
        if self.variant is not None:
            _check("the variant", self.variant, VARIANTS)

    @classmethod
    def for_release(
        cls, release: str, gates: Mapping[str, bool] | None = None, *, upstream_bugs: bool = True
    ) -> Features:
        """Return a release with its default gates except for ``gates``. As in its kube-scheduler,
        gates turn on the features of the allocator.

        For a release newer than dractl knows, the newest known one is returned, under its own name.
        UsageError for an unknown release or gate; Unsupported for a release whose allocator is not
        modelled.
        """
        target = Target.of(release, gates)
        if target.release not in MODELLED:
            raise Unsupported(
                f"the scheduler of Kubernetes {target.release} is not modelled",
                hint=f"dractl knows {MODELLED[0]} to {MODELLED[-1]}",
            )
        on = target.gates
        if target.has("lists-only-in-cel"):
            on = on - {"DRAListTypeAttributes"}
        return cls(
            target.release, on, target.gates, upstream_bugs=upstream_bugs, patch=patch_of(release)
        )

    def has(self, change: str) -> bool:
        """Return True if the release has a change of :data:`dractl.model.releases.CHANGES`;
        KeyError for an unknown one.
        """
        return has_change(self.release, change, self.patch)

    def keeps_bug(self, name: str) -> bool:
        """Return False for a known bug that is switched off, by itself or with all others."""
        return self.upstream_bugs and name not in self.bugs_off

    def enabled(self, gate: str) -> bool:
        """Return True if a gate is on."""
        return gate in self.on

    @property
    def binding_conditions(self) -> bool:
        """True if devices with binding conditions can be allocated, which needs two gates."""
        return {_BINDING, _STATUS} <= self.on or _BOTH in self.on

    @property
    def required(self) -> frozenset[str]:
        """The features that an allocator must support."""
        return frozenset(gate for gate, on in _switches(self) if on)

    @property
    def behaviour(self) -> Behaviour | None:
        """The behaviour of the selected variant; None if no variant supports all features."""
        supported = ALLOCATORS.supported[
            max(row for row in ALLOCATORS.supported if row <= self.release)
        ]
        for variant in (self.variant,) if self.variant else VARIANTS:
            if self.required <= {*supported[variant]}:
                return _behaviour(self, variant)
        return None

    @property
    def unsupported_text(self) -> str:
        """The error of NewAllocator if no variant supports all features."""
        names = {gate: name for name, gate in _fields(self.release)}
        values = [(names[gate], str(on).lower()) for gate, on in _switches(self)]
        if not self.has("no-allocator-names-features"):
            return (
                "internal error: no allocator available for feature set"
                f" {{{' '.join(on for _, on in values)}}}"
            )
        printed = " ".join(f"{name}:{on}" for name, on in values)
        enabled = ", ".join((self.variant,) if self.variant else VARIANTS)
        return (
            f"internal error: no allocator available for feature set {{{printed}}}, enabled"
            f" allocators: {enabled}"
        )


def _fields(release: str) -> list[tuple[str, str]]:
    return [
        (name, field.gate)
        for name, field in ALLOCATORS.features.items()
        if (field.since is None or field.since <= release)
        and (field.until is None or release < field.until)
    ]


def _switches(features: Features) -> list[tuple[str, bool]]:
    """Return the allocator's features, each with True if it is on, as kube-scheduler derives them
    from gates.
    """
    both = _BOTH in features.on
    switches = []
    for _, gate in _fields(features.release):
        if gate == _BOTH:
            switches.append((gate, features.binding_conditions))
        else:
            switches.append((gate, gate in features.on or (both and gate in {_BINDING, _STATUS})))
    return switches


@cache
def _behaviour(features: Features, variant: Variant) -> Behaviour:
    stable, experimental = variant == "stable", variant == "experimental"
    in_order = features.has("devices-in-order")
    ledgers = (
        features.has("counters-of-pools-stable") if stable else features.has("counters-of-pools")
    )
    whole = features.has("pools-of-cluster")
    return Behaviour(
        variant=variant,
        ordered=in_order and not stable,
        binding_slices_last=not in_order and experimental,
        counters_in_slice=not ledgers,
        counter_slices_everywhere=ledgers
        and (stable or not features.has("counter-slices-of-nodes")),
        whole_cluster=whole,
        lenient_pools=not whole,
        limit_unwinds=in_order or not stable,
        shares=experimental or (in_order and not stable),
        binding=experimental or (in_order and not stable),
        bugs=frozenset(bug.name for bug in BUGS if _has_bug(features, variant, bug)),
    )


def _has_bug(features: Features, variant: Variant, bug: Bug) -> bool:
    if not features.keeps_bug(bug.name):
        return False
    if variant not in bug.variants:
        return False
    fixed = patch_that_brought(bug.fixed, features.release)
    if fixed is not None and features.patch is not None:
        return features.patch < fixed
    return bug.first <= features.release <= bug.last
