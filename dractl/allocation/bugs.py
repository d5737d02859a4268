"""Bugs of released allocators that can change a verdict, as data.

The user's scheduler has them, so :class:`dractl.allocation.Features` has them too unless ``upstream_bugs`` is false.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Bug(Struct, frozen=True):
    """``name`` identifies it in the code; ``first`` to ``last`` are releases, both included."""

    name: str
    issue: str  # of kubernetes/kubernetes
    first: str
    last: str
    variants: tuple[str, ...]
    effect: str

    @property
    def url(self) -> str:
        """The issue's address."""
        return f"https://github.com/kubernetes/kubernetes/issues/{self.issue}"


_ALL: Final = ("stable", "incubating", "experimental")
_NOT_STABLE: Final = ("incubating", "experimental")

# structured/internal/*/allocator_*.go of k8s.io/dynamic-resource-allocation v0.34.4, v0.35.4, v0.36.3, v0.37.1
BUGS: Final = (
    Bug(
        "rollback-leaks",
        "140436",
        "1.34",
        "1.35",
        _ALL,
        "A device that is rejected by a taint or a constraint keeps the counters that were reserved for it.",
    ),
    Bug(
        "alternative-forgotten",
        "137347",
        "1.34",
        "1.35",
        _ALL,
        "All in an alternative other than the first goes on as the first one after its first device.",
    ),
    Bug(
        "all-with-counters",
        "138882",
        "1.35",
        "1.35",
        _NOT_STABLE,
        "All over a device that consumes counters makes kube-scheduler panic.",
    ),
    Bug(
        "recheck-by-position",
        "134100",
        "1.34",
        "1.34",
        ("experimental",),
        "The second check of capacity looks at the device at the request's position in the slice, or panics.",
    ),
    Bug(
        "charged-again",
        "140437",
        "1.34",
        "1.34",
        ("experimental",),
        "Each further share of a device is charged for the device's counters again.",
    ),
    Bug(
        "pool-name-key",
        "140434",
        "1.35",
        "1.36",
        _ALL,
        "Pools of two drivers with the same name share their counters.",
    ),
    Bug(
        "distinct-identity",
        "140438",
        "1.34",
        "1.34",
        ("experimental",),
        "distinctAttribute compares pointers, so it rejects nothing but a missing attribute.",
    ),
    Bug(
        "distinct-last-only",
        "140438",
        "1.35",
        "1.36",
        _NOT_STABLE,
        "distinctAttribute remembers one value for each request, the last.",
    ),
    Bug(
        "list-not-restored",
        "140326",
        "1.36",
        "1.36",
        ("experimental",),
        "matchAttribute over list attributes does not restore the common values when it backtracks.",
    ),
    Bug(
        "rules-without-selector",
        "",
        "1.34",
        "1.36",
        _ALL,
        "A DeviceTaintRule without deviceSelector taints every device.",
    ),
)


def bugs_of(release: str, variant: str) -> frozenset[str]:
    """The names of the bugs that a variant of a release has."""
    number = int(release.partition(".")[2])
    return frozenset(
        bug.name
        for bug in BUGS
        if int(bug.first.partition(".")[2]) <= number <= int(bug.last.partition(".")[2]) and variant in bug.variants
    )
