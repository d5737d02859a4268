"""The funnel: how many devices each stage leaves to a request, and what those have that it loses."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from dractl.allocation import DeviceID, Loss, RequestSurvey, Stage, Survey
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.answer import FunnelStage
from dractl.explain.reasons.misfits import instead, readable
from dractl.explain.reasons.phrases import held_by, tally
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
    heading: Callable[[RequestRef], str],
    false_part: Callable[[str, Sequence[DeviceID]], str | None],
    nodes: Mapping[tuple[int, str], int] = _NO_NODES,
) -> tuple[FunnelStage, ...]:
    """A line for each request, with its class, and one for each stage that loses something or is a selector.
    ``false_part`` says which part of a selector devices do not meet; ``nodes``: on how many nodes the devices of the
    class are, as :func:`having` counts them."""
    lines: list[FunnelStage] = []
    for request in requests:
        kept = len(_of_class(request))
        named, there = heading(request.ref), nodes.get((request.claim_index, request.request), 0)
        wanted = "all" if request.mode == "All" else str(request.wanted)
        asked = f"{wanted} × {request.device_class}"
        lines.append(
            FunnelStage(
                request.request,
                asked,
                kept,
                len(request.offered),
                heading=named,
                nodes=there,
                claim=request.claim,
            )
        )
        for stage in request.stages:
            if stage.name == "request-selector" or (stage.lost and stage.name != "class-selector"):
                of = len(stage.kept) + len(stage.lost)
                detail = _detail(devices, stage, false_part)
                kept = len(stage.kept)
                lines.append(
                    FunnelStage(
                        request.request, _name(stage), kept, of, detail, named, claim=request.claim
                    )
                )
    return tuple(lines)


def having(surveys: Iterable[tuple[Survey, int]]) -> Mapping[tuple[int, str], int]:
    """For each request the number of nodes that have devices of its class."""
    found: Counter[tuple[int, str]] = Counter()
    for survey, times in surveys:
        for request in survey.requests:
            if _of_class(request):
                found[request.claim_index, request.request] += times
    return found


def _of_class(request: RequestSurvey) -> tuple[DeviceID, ...]:
    of_class = next((s for s in reversed(request.stages) if s.name == "class-selector"), None)
    return request.offered if of_class is None else of_class.kept


def whole(surveys: Iterable[tuple[Survey, int]]) -> list[RequestSurvey]:
    """Merges surveys stage by stage; each comes with the number of identical nodes that it stands for;
    a device that several nodes reach counts once."""
    found = list(surveys)
    once = all(times == 1 for _, times in found)
    merged: dict[tuple[int, str], RequestSurvey] = {}
    for survey, times in found:
        for request in survey.requests:
            key = (request.claim_index, request.request)
            mine = _times(request, times)
            merged[key] = mine if key not in merged else _together(merged[key], mine, once=once)
    return list(merged.values())


def _times(request: RequestSurvey, times: int) -> RequestSurvey:
    if times == 1:
        return request
    stages = tuple(replace(s, kept=s.kept * times, lost=s.lost * times) for s in request.stages)
    return replace(request, offered=request.offered * times, stages=stages)


def _together(a: RequestSurvey, b: RequestSurvey, *, once: bool) -> RequestSurvey:
    stages = {_key(stage): stage for stage in a.stages}
    for stage in b.stages:
        old = stages.get(_key(stage))
        stages[_key(stage)] = stage if old is None else _joined(old, stage, once=once)
    offered = a.offered + b.offered
    return replace(
        a,
        offered=tuple(dict.fromkeys(offered)) if once else offered,
        stages=tuple(stages.values()),
        wanted=max(a.wanted, b.wanted),
    )


def _key(stage: Stage) -> tuple[object, ...]:
    return stage.name, stage.selector, stage.constraint, stage.expression


def _joined(a: Stage, b: Stage, *, once: bool) -> Stage:
    kept, lost = a.kept + b.kept, a.lost + b.lost
    if once:
        kept = tuple(dict.fromkeys(kept))
        there = set(kept)
        lost = tuple({loss.device: loss for loss in lost if loss.device not in there}.values())
    return replace(a, kept=kept, lost=lost)


def _name(stage: Stage) -> str:
    if stage.name == "request-selector":
        return readable(stage.expression or "", 44)
    if stage.name == "constraint":
        return f"has {stage.attribute}"
    return _NAMES.get(stage.name, stage.name)


def _detail(
    devices: Devices, stage: Stage, false_part: Callable[[str, Sequence[DeviceID]], str | None]
) -> str:
    lost: list[DeviceID] = [loss.device for loss in stage.lost]
    if not lost:
        return ""
    match stage.name:
        case "request-selector":
            expression = stage.expression or ""
            return instead(
                selectors.misfit(devices, false_part(expression, lost) or expression, lost)
            )
        case "in-use":
            return f"{len(lost)} held: {held_by(devices.holders(dict.fromkeys(lost)), 2)}"
        case "taints":
            return tally(loss.taint or "" for loss in stage.lost)
        case "counters":
            return tally(f"{loss.counter_set} {loss.counter}" for loss in stage.lost)
        case "capacity":
            return _capacity(stage.lost)
        case "constraint":
            return f"{len(lost)} lack it"
        case _:
            return stage.lost[0].message


def _capacity(lost: Sequence[Loss]) -> str:
    first = lost[0]
    if first.code == "capacity-short":
        return tally(f"{loss.free} free" for loss in lost)
    return first.message
