"""The funnel: how many devices each stage leaves to a request, and why it drops the others."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """Return a line for each request, and one for each stage that is a selector or drops devices.

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
    merged: dict[tuple[int, str], RequestSurvey] = {}
    for survey, number in counted:
        for request in survey.requests:
            key = (request.claim_index, request.request)
            multiplied = _multiply(request, number)
            merged[key] = (
                multiplied
                if key not in merged
                else _merge_requests(merged[key], multiplied, unique=unique)
            )
    return list(merged.values())


def _multiply(request: RequestSurvey, number: int) -> RequestSurvey:
    if number == 1:
        return request
    stages = tuple(replace(s, kept=s.kept * number, lost=s.lost * number) for s in request.stages)
    return replace(request, offered=request.offered * number, stages=stages)


def _merge_requests(a: RequestSurvey, b: RequestSurvey, *, unique: bool) -> RequestSurvey:
    stages = {_stage_key(stage): stage for stage in a.stages}
    for stage in b.stages:
        existing = stages.get(_stage_key(stage))
        stages[_stage_key(stage)] = (
            stage if existing is None else _merge_stages(existing, stage, unique=unique)
        )
    offered = a.offered + b.offered
    return replace(
        a,
        offered=tuple(dict.fromkeys(offered)) if unique else offered,
        stages=tuple(stages.values()),
        wanted=max(a.wanted, b.wanted),
    )


def _stage_key(stage: Stage) -> tuple[object, ...]:
    return stage.name, stage.selector, stage.constraint, stage.expression


def _merge_stages(a: Stage, b: Stage, *, unique: bool) -> Stage:
    kept, lost = a.kept + b.kept, a.lost + b.lost
    if unique:
        kept = tuple(dict.fromkeys(kept))
        kept_devices = set(kept)
        lost = tuple(
            {loss.device: loss for loss in lost if loss.device not in kept_devices}.values()
        )
    return replace(a, kept=kept, lost=lost)


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
            return (
                f"{len(devices_lost)} held:"
                f" {describe_holders(devices.holders(dict.fromkeys(devices_lost)), 2)}"
            )
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
