"""Facts about Cluster Autoscaler and claims, by version: the flag that turns claims on, and the
providers that expect no devices of a node group without nodes.
"""

import re
from functools import cache

from msgspec import Struct

from dractl.facts import pack

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?")


class FlagDefault(Struct, frozen=True, forbid_unknown_fields=True):
    """The default of the flag for claims, from one version on."""

    since: str
    value: bool
    locked: bool
    """True if the program does not start with any other value."""
    source: str


class EmptyGroupFault(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault because of which an autoscaler with one of ``providers`` adds no node for claims to a
    node group without nodes.
    """

    providers: tuple[str, ...]
    newest: dict[str, str]
    """For each minor version that was read, the newest patch release that has the fault."""
    what: str
    """A clause."""
    source: str
    read: str

    def concerns(self, provider: str, version: str) -> bool:
        """Return True if a version has the fault with a provider; False also for versions that were
        not read.
        """
        minor, patch = _split(version)
        newest = self.newest.get(f"{minor[0]}.{minor[1]}", "")
        return provider in self.providers and bool(newest) and patch <= _split(newest)[1]


class ClusterAutoscalerFacts(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The facts about Cluster Autoscaler and claims."""

    flag: str
    """The flag that turns claims on, without dashes."""
    defaults: tuple[FlagDefault, ...]
    """The defaults of the flag, the oldest first."""
    recommended: str
    """The first version that the documentation calls ready for production."""
    empty_groups: tuple[EmptyGroupFault, ...]
    source: str
    read: str

    def default_in(self, version: str) -> FlagDefault | None:
        """Return the default of a version; None if it does not have the flag."""
        rows = [row for row in self.defaults if _split(row.since)[0] <= _split(version)[0]]
        return rows[-1] if rows else None

    def find_empty_group_fault(self, provider: str, version: str) -> EmptyGroupFault | None:
        """Return why a provider expects no devices of a node group without nodes; None if no such
        fault of the version is known.
        """
        return next((row for row in self.empty_groups if row.concerns(provider, version)), None)


def _split(version: str) -> tuple[tuple[int, int], int]:
    """Return the minor version and the patch release, which is 0 if the version names none."""
    match = _VERSION.match(version)
    return ((int(match[1]), int(match[2])), int(match[3] or 0)) if match else ((0, 0), 0)


@cache
def cluster_autoscaler() -> ClusterAutoscalerFacts:
    """Return the file ``cluster-autoscaler.json``."""
    return pack.current().read("cluster-autoscaler.json", ClusterAutoscalerFacts)


pack.forget_with(cluster_autoscaler.cache_clear)
