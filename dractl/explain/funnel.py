"""The funnel: how many devices each stage leaves to a request, and why it drops devices."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from msgspec.structs import replace

from dractl.allocation import DeviceID, Loss, RequestSurvey, Stage, Survey
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.answer import FunnelStage
from dractl.explain.reasons.misfits import format_expression, values_text
from dractl.explain.reasons.phrases import describe_holders, tally
from dractl.model import RequestRef

_NO_NODES: Mapping[tuple[int, str], int] = MappingProxyType({})
_NAMES = {
    "node": "for this node",
    "in-use": "not allocated",
    "counters": "counters left",
    "taints": "taints tolerated",
    "capacity": "capacity",
    "gate": "feature gates",
    "node-operations": "node operations",
}


def funnel(
    devices: Devices,
    requests: Iterable[RequestSurvey],
    title: Callable[[RequestRef], str],
    false_part: Callable[[str, Sequence[DeviceID]], str | None],
    nodes: Mapping[tuple[int, str], int] = _NO_NODES,
) -> tuple[FunnelStage, ...]:
    """Return a line for each request, one for each selector of the request, and one for each other
    stage that drops devices. The selector of the class has no line.

    ``false_part`` returns the part of a selector that devices do not meet. ``nodes`` has the number
    of nodes with devices of a request's class, as :func:`count_nodes` returns it.
    """
    lines: list[FunnelStage] = []
    for request in requests:
        kept = len(_class_devices(request))
        name, node_count = title(request.ref), nodes.get((request.claim_index, request.request), 0)
        wanted = "all" if request.mode == "All" else str(request.wanted)
        request_text = f"{wanted} × {request.device_class}"
        lines.append(
            FunnelStage(
                request.request,
                request_text,
                kept,
                len(request.offered),
                heading=name,
                nodes=node_count,
                claim=request.claim,
            )
        )
        for stage in request.stages:
            if stage.name == "request-selector" or (stage.lost and stage.name != "class-selector"):
                total = len(stage.kept) + len(stage.lost)
                detail = _loss_text(devices, stage, false_part)
                kept = len(stage.kept)
                lines.append(
                    FunnelStage(
                        request.request,
                        _stage_title(stage),
                        kept,
                        total,
                        detail,
                        name,
                        claim=request.claim,
                    )
                )
    return tuple(lines)


def count_nodes(surveys: Iterable[tuple[Survey, int]]) -> Mapping[tuple[int, str], int]:
    """Count, for each request, the nodes that have devices of its class."""
    counts: Counter[tuple[int, str]] = Counter()
    for survey, number in surveys:
        for request in survey.requests:
            if _class_devices(request):
                counts[request.claim_index, request.request] += number
    return counts


def _class_devices(request: RequestSurvey) -> tuple[DeviceID, ...]:
    stage = next((s for s in reversed(request.stages) if s.name == "class-selector"), None)
    return request.offered if stage is None else stage.kept


def merge_surveys(surveys: Iterable[tuple[Survey, int]]) -> list[RequestSurvey]:
    """Merge surveys stage by stage; a device that several nodes can use counts once.

    Each survey comes with the number of identical nodes that it represents.
    """
    counted = list(surveys)
    unique = all(number == 1 for _, number in counted)
    by_request: dict[tuple[int, str], list[RequestSurvey]] = {}
    for survey, number in counted:
        for request in survey.requests:
            key = (request.claim_index, request.request)
            by_request.setdefault(key, []).append(_multiply(request, number))
    return [_merge_requests(requests, unique=unique) for requests in by_request.values()]


def _multiply(request: RequestSurvey, number: int) -> RequestSurvey:
    if number == 1:
        return request
    stages = tuple(replace(s, kept=s.kept * number, lost=s.lost * number) for s in request.stages)
    return replace(request, offered=request.offered * number, stages=stages)


def _merge_requests(requests: Sequence[RequestSurvey], *, unique: bool) -> RequestSurvey:
    """Merge the surveys of one request on several nodes."""
    if len(requests) == 1:
        return requests[0]
    stages: dict[tuple[object, ...], list[Stage]] = {}
    for stage in chain.from_iterable(request.stages for request in requests):
        stages.setdefault(_stage_key(stage), []).append(stage)
    offered = chain.from_iterable(request.offered for request in requests)
    return replace(
        requests[0],
        offered=tuple(dict.fromkeys(offered) if unique else offered),
        stages=tuple(_merge_stages(same, unique=unique) for same in stages.values()),
        wanted=max(request.wanted for request in requests),
    )


def _stage_key(stage: Stage) -> tuple[object, ...]:
    return stage.name, stage.selector, stage.constraint, stage.expression


def _merge_stages(stages: Sequence[Stage], *, unique: bool) -> Stage:
    if len(stages) == 1:
        return stages[0]
    kept = tuple(chain.from_iterable(stage.kept for stage in stages))
    lost = tuple(chain.from_iterable(stage.lost for stage in stages))
    if unique:
        kept = tuple(dict.fromkeys(kept))
        kept_devices = set(kept)
        lost = tuple(
            {loss.device: loss for loss in lost if loss.device not in kept_devices}.values()
        )
    return replace(stages[0], kept=kept, lost=lost)


def _stage_title(stage: Stage) -> str:
    if stage.name == "request-selector":
        return format_expression(stage.expression or "", 44)
    if stage.name == "constraint":
        return f"has {stage.attribute}"
    return _NAMES.get(stage.name, stage.name)


def _loss_text(
    devices: Devices, stage: Stage, false_part: Callable[[str, Sequence[DeviceID]], str | None]
) -> str:
    devices_lost: list[DeviceID] = [loss.device for loss in stage.lost]
    if not devices_lost:
        return ""
    match stage.name:
        case "request-selector":
            expression = stage.expression or ""
            return values_text(
                selectors.misfit(
                    devices, false_part(expression, devices_lost) or expression, devices_lost
                )
            )
        case "in-use":
            distinct = dict.fromkeys(devices_lost)
            holders = describe_holders(devices.holders(distinct), 2)
            alike = len(devices_lost) - len(distinct)
            others = f"; {alike} more on similar nodes" if alike else ""
            return f"{len(devices_lost)} held: {holders}{others}"
        case "taints":
            return tally(loss.taint or "" for loss in stage.lost)
        case "counters":
            return tally(f"{loss.counter_set} {loss.counter}" for loss in stage.lost)
        case "capacity":
            return _capacity_text(stage.lost)
        case "constraint":
            return f"{len(devices_lost)} lack it"
        case _:
            return stage.lost[0].message


def _capacity_text(lost: Sequence[Loss]) -> str:
    first = lost[0]
    if first.code == "capacity-short":
        return tally(f"{loss.free} free" for loss in lost)
    return first.message
