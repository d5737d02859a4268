"""What is known to be broken in patch releases of Kubernetes, kernels, container runtimes and drivers, as the pack has
it."""

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from dractl.facts import pack

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


class Breakage(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that is broken in the versions of a component from ``since`` (absent: all) until before ``fixed``
    (absent: none has the fix).

    ``of`` is ``scheduler``, ``kubelet``, ``kernel``, ``runtime`` (``name`` is that of
    nodeInfo.containerRuntimeVersion, such as containerd) or ``driver`` (``name`` is the driver's, the version that of
    its image). ``coming``: it breaks with something that the cluster does not show, which ``what`` names. ``read`` is
    when the source was read.
    """

    of: Literal["scheduler", "kubelet", "kernel", "runtime", "driver"]
    name: str = ""
    since: str = ""
    fixed: str = ""
    coming: bool = False
    what: str
    fix: str
    source: str
    read: str

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


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")) if text else ()


@cache
def breakages() -> tuple[Breakage, ...]:
    """The rows of ``known.json``."""
    return pack.current().read("known.json", tuple[Breakage, ...])


pack.forget_with(breakages.cache_clear)
