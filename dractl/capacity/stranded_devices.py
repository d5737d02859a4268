"""Free devices that a shape cannot use once no further copy fits, by node and PCIe root."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from msgspec import Struct

from dractl.allocation import DeviceID, Survey
from dractl.capacity.inventory import PCIE_ROOT
from dractl.capacity.placing import Fit
from dractl.cluster.devices import Devices
from dractl.model.device_phrases import PLACES, count_devices
from dractl.objects import PoolName
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import NodeVerdict


class StrandedDevices(Struct, frozen=True):
    """Free devices of one driver on one PCIe root of a node."""

    driver: str
    node: str
    pcie_root: str | None
    """The PCIe root; None if the devices name none."""
    devices: tuple[str, ...]
    """``driver/pool/device``."""
    why: str


def find_stranded_devices(
    fit: Fit, scheduler: Scheduler, explain_node: Callable[[str], str]
) -> tuple[StrandedDevices, ...]:
    """Find the devices that pass every stage of some request of the next copy, and still are not
    enough for a copy.

    ``scheduler`` belongs to ``fit.state``; ``explain_node`` describes what stops the next copy on a
    node. The list is empty if the next copy stops before any node is tried.
    """
    if fit.next_attempt.stops or fit.next_attempt.fatal_node is not None:
        return ()
    index, groups = Devices(fit.state, scheduler.slices), scheduler.groups
    # Nodes of one group share the survey of the group's first node.
    surveys: dict[Hashable, tuple[str, Survey]] = {}
    stranded: list[StrandedDevices] = []
    for verdict in fit.next_attempt.nodes:
        claims = [claim.claim for claim in verdict.claims if claim.claim is not None]
        if not claims or verdict.fits:
            continue
        if verdict.group not in surveys:
            survey = scheduler.allocator.survey(scheduler.state.decode(verdict.node.raw), claims)
            surveys[verdict.group] = verdict.name, survey
        example, survey = surveys[verdict.group]
        pools = dict(zip(groups.pools(example), groups.pools(verdict.name), strict=True))
        examples = {
            _map_device(device, pools): device
            for request in survey.requests
            for device in request.candidates
        }
        roots: dict[tuple[str, str | None], list[DeviceID]] = {}
        for device in sorted(examples):
            roots.setdefault((device.driver, _pcie_root(index, device)), []).append(device)
        for (driver, root), devices in roots.items():
            names = tuple(str(device) for device in devices)
            reason = _explain_stranding(
                verdict, survey, [examples[device] for device in devices], explain_node
            )
            stranded.append(StrandedDevices(driver, verdict.name, root, names, reason))
        for short_device, message in _devices_short_of_capacity(survey).items():
            device = _map_device(short_device, pools)
            if device not in examples:
                stranded.append(
                    StrandedDevices(
                        device.driver,
                        verdict.name,
                        _pcie_root(index, device),
                        (str(device),),
                        message,
                    )
                )
    return tuple(stranded)


def _map_device(device: DeviceID, pools: Mapping[PoolName, PoolName]) -> DeviceID:
    """Return the device of another node that corresponds to this one."""
    driver, pool = pools.get((device.driver, device.pool), (device.driver, device.pool))
    return DeviceID(driver, pool, device.device)


def _devices_short_of_capacity(survey: Survey) -> dict[DeviceID, str]:
    """Return the shared devices that have free capacity, but less than a request asks for."""
    return {
        loss.device: loss.message
        for request in survey.requests
        for stage in request.stages
        for loss in stage.lost
        if loss.code == "capacity-short" and loss.free not in (None, "0")
    }


def _pcie_root(index: Devices, device: DeviceID) -> str | None:
    attribute = index.attribute(device, PCIE_ROOT)
    value = None if attribute is None else attribute.value
    if isinstance(value, tuple):
        value = value[0] if value else None
    return value if isinstance(value, str) else None


def _explain_stranding(
    verdict: NodeVerdict,
    survey: Survey,
    devices: Sequence[DeviceID],
    explain_node: Callable[[str], str],
) -> str:
    if verdict.rejection is not None:
        return f"the node takes no further copy: {explain_node(verdict.name)}"
    for request in survey.requests:
        if request.ref.alternative is None and not request.enough:
            return (
                f"{_want_phrase(request.wanted, request.request)};"
                f" the node has {_free_phrase(len(request.candidates))}"
            )
    for constraint in survey.constraints:
        if constraint.kind != "matchAttribute":
            continue
        counts = {request.request: request.wanted for request in survey.requests}
        for group in constraint.groups:
            candidates = dict(group.candidates)
            if group.fits or not any(
                device in group_devices
                for group_devices in candidates.values()
                for device in devices
            ):
                continue
            name = constraint.attribute.rpartition("/")[2]
            place = PLACES.get(name)
            sharing = f"on one {place}" if place else f"with one {name}"
            for request_name in constraint.requests:
                count = len(candidates.get(request_name, ()))
                want = counts.get(request_name, 1)
                if count < want:
                    return (
                        f"{_want_phrase(want, request_name)} {sharing},"
                        f" and theirs has {_free_phrase(count)}"
                    )
    return explain_node(verdict.name) or "the free devices cannot be allocated together"


def _want_phrase(count: int, request: str) -> str:
    return f"a copy wants {count_devices(count, request)}"


def _free_phrase(count: int) -> str:
    return f"{count} free" if count else "none free"
