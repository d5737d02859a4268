"""Extended resources of device plugins, and the devices of DRA drivers that replace them."""

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
    """A request for devices that replaces a resource of a device plugin."""

    name: str
    """The name of the request and of its claim."""
    device_class: str
    """The name of the DeviceClass."""
    driver: str
    """The name of the driver that publishes the devices."""
    selectors: tuple[str, ...] = ()
    """The CEL expressions of the request."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""


_SHARED_REPLICA_NOTE = (
    "{resource} is a replica of a shared device; the claim gets a whole device unless"
    " gpu.nvidia.com runs with consumableShares=N (since 0.5)"
)
REPLICA_NOTE = (
    "{resource} is one of {replicas} replicas of a device ({source}); the claim gets a whole device"
    " unless gpu.nvidia.com runs with consumableShares={replicas} (since 0.5)"
)
_SRIOV_POOL_NOTE = (
    "{resource}: the selector needs a DeviceAttributes object that sets resourceName to {pool};"
    " replace the network annotation with a VfConfig that names the NetworkAttachmentDefinition"
)


def stand_in_for(resource: str) -> StandIn | None:
    """Return the devices that replace a device plugin's resource; None if no driver is known to
    publish them.
    """
    if resource.endswith(SHARED):
        shared = (
            stand_in_for(resource.removesuffix(SHARED))
            if resource.startswith("nvidia.com/")
            else None
        )
        return shared and replace(shared, notes=(_SHARED_REPLICA_NOTE.format(resource=resource),))
    if resource.startswith("nvidia.com/mig-"):
        return mig_stand_in(resource.removeprefix("nvidia.com/mig-"))
    domain, _, pool = resource.partition("/")
    if "sriov" in pool.lower() and domain != SRIOV:
        expression = f'device.attributes["{SRIOV}"].resourceName == "{pool}"'
        return StandIn(
            "vf",
            SRIOV,
            SRIOV,
            (expression,),
            (_SRIOV_POOL_NOTE.format(resource=resource, pool=pool),),
        )
    row = by_name().get(resource)
    return None if row is None else StandIn(row.request, row.device_class, row.drivers[0])


def mig_stand_in(suffix: str) -> StandIn:
    """Return MIG devices of a profile, given in the spelling of resource names and labels:
    ``1g.10gb.me`` for ``1g.10gb+me``.

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


def reason_without_claim(resource: str) -> str:
    """Return the reason why a resource has no claim."""
    reason = next((row.why for row in resources().without if row.name == resource), None)
    if reason:
        return f"{resource}: {reason}"
    near = nearest(resource, by_name())
    drivers = () if near else drivers_of(resource) or _drivers_of_vendor(resource)
    if drivers:
        return (
            f"{resource}: no class of {' or '.join(drivers)} is known to stand for it; write the"
            " claim by hand"
        )
    return f"{resource}: no DRA driver is known for it" + (
        f"; did you mean {near}?" if near else ""
    )


def reasons_of_companions(resources_of_container: Collection[str]) -> dict[str, str]:
    """Return the reasons why resources of a container have no claim, by name: a resource that only
    selects a part of another resource's device, and that other resource.
    """
    reasons: dict[str, str] = {}
    for row in resources().companions:
        if row.name in resources_of_container:
            reasons[row.name] = (
                f"{row.name}: it says which part of {row.of} the container gets; write the claim by"
                " hand"
            )
            if row.of in resources_of_container:
                reasons[row.of] = (
                    f"{row.of} with {row.name} is a part of a device, and a claim would get all"
                    " of it"
                )
    return reasons


def _drivers_of_vendor(resource: str) -> tuple[str, ...]:
    """Return the drivers of a resource's vendor: drivers with its domain in their own name, or in
    the name of one of their resources.
    """
    domain = resource.partition("/")[0]
    owners = (row.drivers for row in resources().resources if row.name.partition("/")[0] == domain)
    namesakes = (
        name
        for name in names()
        if name == domain or name.endswith(f".{domain}")
        if domain != "example.com"
    )
    return tuple(dict.fromkeys((*(name for drivers in owners for name in drivers), *namesakes)))
