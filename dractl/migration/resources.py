"""Extended resources of device plugins, and the devices of DRA drivers that stand for them."""

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from dractl.facts import names
from dractl.facts.resources import by_name, drivers_of, resources
from dractl.model.nearest import nearest

GPU, MIG = "gpu.nvidia.com", "mig.nvidia.com"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
# renameByDefault of k8s-device-plugin's sharing configuration (api/config/v1/replicas.go)
SHARED = ".shared"


class StandIn(Struct, frozen=True):
    """A request for devices: class, selectors, the name of request and claim, and what the user has
    to know.
    """

    name: str
    device_class: str
    driver: str
    selectors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_SHARING = (
    "{resource} is a replica of a shared device; the claim gets a whole device unless"
    " gpu.nvidia.com runs with consumableShares=N (since 0.5)"
)
PARTED = (
    "{resource} is one of {replicas} replicas of a device ({source}); the claim gets a whole device"
    " unless gpu.nvidia.com runs with consumableShares={replicas} (since 0.5)"
)
_POOL = (
    "{resource}: the selector needs a DeviceAttributes object that sets resourceName to {pool};"
    " replace the network annotation with a VfConfig that names the NetworkAttachmentDefinition"
)


def wanted(resource: str) -> StandIn | None:
    """Return the devices that a device plugin's resource stands for; None where no driver is known
    to publish them.
    """
    if resource.endswith(SHARED):
        shared = (
            wanted(resource.removesuffix(SHARED)) if resource.startswith("nvidia.com/") else None
        )
        return shared and replace(shared, notes=(_SHARING.format(resource=resource),))
    if resource.startswith("nvidia.com/mig-"):
        return mig(resource.removeprefix("nvidia.com/mig-"))
    domain, _, pool = resource.partition("/")
    if "sriov" in pool.lower() and domain != SRIOV:
        expression = f'device.attributes["{SRIOV}"].resourceName == "{pool}"'
        return StandIn(
            "vf", SRIOV, SRIOV, (expression,), (_POOL.format(resource=resource, pool=pool),)
        )
    row = by_name().get(resource)
    return None if row is None else StandIn(row.request, row.device_class, row.drivers[0])


def mig(suffix: str) -> StandIn:
    """MIG devices of a profile as resource names and labels spell it: ``1g.10gb.me`` for
    ``1g.10gb+me``.

    Source: NVIDIA/k8s-device-plugin, internal/rm/rm.go AddDefaultResourcesToConfig (``+`` becomes
    ``.``; 1b826ac).
    """
    size, gb, media = suffix.partition("gb.")
    profile = f"{size}gb+{media}" if gb else suffix
    return StandIn(
        "mig", MIG, GPU, (f'device.attributes["gpu.nvidia.com"].profile == "{profile}"',)
    )


def is_extended(resource: str) -> bool:
    """Return True if only a device plugin or a DeviceClass can provide the resource."""
    return "/" in resource and "kubernetes.io/" not in resource


def why_not(resource: str) -> str:
    """Why a resource has no claim."""
    known = next((row.why for row in resources().without if row.name == resource), None)
    if known:
        return f"{resource}: {known}"
    near = nearest(resource, by_name())
    drivers = () if near else drivers_of(resource) or _of_vendor(resource)
    if drivers:
        return (
            f"{resource}: no class of {' or '.join(drivers)} is known to stand for it; write the"
            " claim by hand"
        )
    return f"{resource}: no DRA driver is known for it" + (
        f"; did you mean {near}?" if near else ""
    )


def parted(resources_of_container: Collection[str]) -> dict[str, str]:
    """Why a container's resources have no claim where some say which part of a device the others
    are.
    """
    said: dict[str, str] = {}
    for row in resources().companions:
        if row.name in resources_of_container:
            said[row.name] = (
                f"{row.name}: it says which part of {row.of} the container gets; write the claim by"
                " hand"
            )
            if row.of in resources_of_container:
                said[row.of] = (
                    f"{row.of} with {row.name} is a part of a device, and a claim would get all"
                    " of it"
                )
    return said


def _of_vendor(resource: str) -> tuple[str, ...]:
    """Return the drivers of the vendor of a resource: those whose name, or one of whose resources,
    has its domain.
    """
    domain = resource.partition("/")[0]
    owners = (row.drivers for row in resources().resources if row.name.partition("/")[0] == domain)
    own = (
        name
        for name in names()
        if name == domain or name.endswith(f".{domain}")
        if domain != "example.com"
    )
    return tuple(dict.fromkeys((*(name for drivers in owners for name in drivers), *own)))
