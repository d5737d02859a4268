"""The components, drivers and programs of a cluster, and the effects of a later release on them."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.cluster import ClusterState
from dractl.cluster.platform_objects import DEFINITION, PlatformObjects
from dractl.model import Target
from dractl.objects import Raw
from dractl.upgrade import admission, driver_apis, program_apis, roles
from dractl.upgrade.driver_apis import Drivers
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import KUBELET, RuntimeConfig
from dractl.upgrade.gates import GateSetting, default_changes, differences
from dractl.upgrade.program_apis import InstalledProgram
from dractl.upgrade.server import Input
from dractl.validation.roles import BINDINGS, ROLES


class Platform(Struct, frozen=True):
    """The components of a cluster, its drivers and programs, and the objects that configure
    them.
    """

    settings: tuple[GateSetting, ...]
    """The places where components set their gates."""
    runtime_config: RuntimeConfig
    """The API versions that kube-apiserver is configured to serve."""
    objects: tuple[Raw, ...]
    """Objects that a ClusterState does not contain: admission, custom kinds, roles."""
    drivers: Drivers
    programs: tuple[InstalledProgram, ...]
    """Programs that read claims."""
    live: PlatformObjects = PlatformObjects()
    """The roles, webhooks and admission policies of a live cluster."""

    def differences(
        self, items: Iterable[Input], before: Target, after: Target
    ) -> Iterator[Finding]:
        """Yield the changes that a release of the control plane brings. ``items`` are the objects
        that its API server judges.
        """
        settings = [each for each in self.settings if each.component != KUBELET]
        served = before.release, after.release, self.runtime_config
        yield from differences(settings, before.release, after.release)
        yield from default_changes(settings, items, before, after)
        yield from driver_apis.differences(self.drivers.speakers, *served)
        yield from program_apis.differences(self.programs, *served)
        yield from roles.differences(self.objects, before, after)
        yield from admission.differences(self.objects, *served)

    def kubelet_differences(self, before: str, after: str) -> Iterator[Finding]:
        """Yield the gates with which the kubelet of a release does not start."""
        settings = [each for each in self.settings if each.component == KUBELET]
        return differences(settings, before, after)

    def list_unknown(self, releases: Sequence[str]) -> Iterator[str]:
        """Yield the versions of drivers and programs that the input does not show."""
        yield from driver_apis.list_unknown(self.drivers, releases, self.runtime_config)
        yield from program_apis.list_unknown(self.programs, releases, self.runtime_config)

    def list_unseen(self, releases: Sequence[str]) -> Iterator[str]:
        """Yield the kinds that the input lacks and that determine facts about drivers."""
        if self.drivers.names and len(releases) > 1:
            yield from _list_unseen(self.objects, self.live)
        refused = self.live.forbidden & _PROGRAM_KINDS
        if refused and len(releases) > 1:
            names = ", ".join(sorted(refused))
            yield f"programs that read claims: you are not allowed to read {names}"


_PROGRAM_KINDS = frozenset({DEFINITION, "KubeVirt"})
"""Kinds that show a program that reads claims, and whether it is configured to read them."""
_DECIDING_KINDS = {
    "clusterroles": ("the roles of drivers", (*ROLES, *BINDINGS)),
    "validatingwebhookconfigurations": ("webhooks of resource.k8s.io", admission.KINDS),
}
"""Kinds that no other command reads, by resource, with the facts that they determine."""


def _list_unseen(objects: Iterable[Raw], live: PlatformObjects) -> Iterator[str]:
    kinds = {value.get("kind") for value in objects}
    for resource, (name, decisive) in _DECIDING_KINDS.items():
        forbidden = [kind for kind in decisive if kind in live.forbidden]
        if forbidden:
            yield f"{name}: you are not allowed to read {', '.join(forbidden)}"
        elif kinds.isdisjoint(decisive) and live.read.isdisjoint(decisive):
            yield f"{name}: not in the input; add `kubectl get {resource} -o yaml`"


def find_platform(
    state: ClusterState,
    settings: Iterable[GateSetting],
    runtime_config: RuntimeConfig,
    others: tuple[Raw, ...],
    live: PlatformObjects,
    release: str,
) -> Platform:
    """Return the platform of a cluster whose present release is given.

    ``others`` and ``live`` are objects that the state does not contain: from files, and from a live
    cluster.
    """
    stored = (value for kind in state.kinds for value in state.objects(kind).values())
    objects = (*others, *live.objects)
    return Platform(
        tuple(settings),
        runtime_config,
        objects,
        driver_apis.find_drivers(state, objects, release),
        tuple(program_apis.find_programs((*stored, *objects))),
        live,
    )
