"""What is known to be broken in patch releases of Kubernetes, kernels, container runtimes and drivers, as the pack has
it."""

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from dractl.facts import pack

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


Component = Literal[
    "scheduler", "controller-manager", "kubelet", "kernel", "runtime", "driver", "library"
]


class Breakage(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that is broken in some versions of a component."""

    of: Component
    """Component that has it; ``library`` is one that drivers are built with, which no object names."""
    name: str = ""
    """Name of a driver or library, or of a runtime as in nodeInfo.containerRuntimeVersion, such as containerd."""
    since: str = ""
    """First version that has it, of a driver that of its image; empty if all earlier ones do."""
    fixed: str = ""
    """First version that no longer has it; empty if there is none."""
    coming: bool = False
    """True if it breaks with something that the cluster does not show, which ``what`` names."""
    what: str
    fix: str
    source: str
    read: str
    """Date on which the source was read."""

    def concerns(self, version: str) -> bool:
        """True if it is in a version, as kubelets, runtimes and image tags write it."""
        found = _NUMBERS.search(version)
        if found is None:
            return self.coming or not (self.since or self.fixed)
        number = _number(found[0])
        return _number(self.since) <= number and (not self.fixed or number < _number(self.fixed))

    def begins(self, release: str) -> bool:
        """True if the first patch releases of a release have it, and a later one does not."""
        return (
            self.fixed.startswith(f"{release}.")
            and self.concerns(f"{release}.0")
            and not self.coming
        )

    def lasts(self, release: str) -> bool:
        """True if every patch release of a release has it."""
        minor = _number(release)[:2]
        return self.concerns(f"{release}.0") and (not self.fixed or _number(self.fixed)[:2] > minor)

    def ends(self, release: str) -> bool:
        """True if a release is the first without it. The libraries of Kubernetes 1.38 have the version 0.38."""
        minor = "0" + release.removeprefix("1") if self.of == "library" else release
        return self.fixed == f"{minor}.0"


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")) if text else ()


@cache
def breakages() -> tuple[Breakage, ...]:
    """The rows of ``known.json``."""
    return pack.current().read("known.json", tuple[Breakage, ...])


pack.forget_with(breakages.cache_clear)
