"""Faults of patch releases of Kubernetes, kernels, container runtimes and drivers, as the pack has
them.
"""

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from dractl.facts import pack
from dractl.facts.drivers import driver, names
from dractl.facts.refusals import compile_pattern

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


Component = Literal[
    "scheduler", "controller-manager", "kubelet", "kernel", "runtime", "driver", "library", "image"
]
Operation = Literal["drain", "reboot", "restart"]
"""An operation on a node: its pods are evicted, it is rebooted, or a driver on it is restarted."""


class Breakage(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that is broken in some versions of a component."""

    of: Component
    """The component that has the fault. ``library`` is a library that drivers are built with, which
    no object names; ``image`` is a container image of any workload.
    """
    name: str = ""
    """The name of a driver or library, or of a runtime as in nodeInfo.containerRuntimeVersion, such
    as containerd; for an image, the last part of its path.
    """
    since: str = ""
    """The first version with the fault (for a driver, the version of its image); empty if all
    earlier versions have it.
    """
    fixed: str = ""
    """The first version without the fault; empty if there is none."""
    coming: bool = False
    """True if the fault only occurs together with something that the cluster does not show;
    ``what`` names it.
    """
    words: tuple[str, ...] = ()
    """Patterns (RE2) for messages in a pod's event or condition that show the fault; empty if no
    message does.
    """
    hinders: tuple[Operation, ...] = ()
    """Operations on a node that the fault keeps from ending, or after which pods do not run."""
    what: str
    fix: str
    source: str
    read: str
    """Date on which the source was read."""

    def concerns(self, version: str) -> bool:
        """Return True if a version has the fault. ``version`` has the form that kubelets, runtimes
        and image tags use.
        """
        if _NUMBERS.search(version) is None:
            return self.coming or not (self.since or self.fixed)
        order = self._order(version)
        since = self._order(self.since) if self.since else (-1, ())
        return since <= order and (not self.fixed or order < self._order(self.fixed))

    def has_words(self, text: str) -> bool:
        """Return True if a message in a pod's event or condition shows the fault."""
        return any(compile_pattern(pattern).search(text) for pattern in self.words)

    def _order(self, version: str) -> tuple[int, tuple[int, ...]]:
        """Return a key that sorts versions. Versions of a driver are in the order of the pack,
        since NVIDIA's 0.4 comes after 25.12.
        """
        numbers = _NUMBERS.search(version)
        rank = (
            driver(self.name).rank(version) if self.of == "driver" and self.name in names() else 0
        )
        return rank, _number(numbers[0] if numbers is not None else "")

    def begins(self, release: str) -> bool:
        """Return True if the first patch releases of a release have the fault, and a later one does
        not.
        """
        return (
            self.fixed.startswith(f"{release}.")
            and self.concerns(f"{release}.0")
            and not self.coming
        )

    def lasts(self, release: str) -> bool:
        """Return True if every patch release of a release has the fault."""
        minor = _number(release)[:2]
        return self.concerns(f"{release}.0") and (not self.fixed or _number(self.fixed)[:2] > minor)

    def ends(self, release: str) -> bool:
        """Return True if a release is the first without the fault. The libraries of Kubernetes 1.38
        have the version 0.38.
        """
        minor = "0" + release.removeprefix("1") if self.of == "library" else release
        return self.fixed == f"{minor}.0"


def _number(text: str) -> tuple[int, ...]:
    """Return a version as numbers; 1.34 becomes 1.34.0."""
    numbers = [int(part) for part in text.split(".")] if text else []
    return tuple(numbers + [0] * (3 - len(numbers)) if numbers else ())


@cache
def breakages() -> tuple[Breakage, ...]:
    """Return the rows of ``known.json``."""
    return pack.current().read("known.json", tuple[Breakage, ...])


pack.forget_with(breakages.cache_clear)
