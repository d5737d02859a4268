"""Repair selectors of requests and classes: correct a name or value, guard or drop a condition."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dractl.allocation import DeviceID, RequestSurvey
from dractl.cel import reading
from dractl.cel.conditions import Excerpt
from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import text_at
from dractl.explain import selectors
from dractl.explain.fixes.candidates import SUBSTITUTE_EFFECT, Candidate, FixSlot, Topic
from dractl.explain.fixes.corrections import Rewrite, correct_condition, rename_lookup
from dractl.explain.fixes.makers import fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import EditablePart, FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.drivers import DeviceContradiction
from dractl.explain.reasons.misfits import format_expression
from dractl.model.names import RequestRef
from dractl.objects import Request, items, selectors_of


@fix_once_for(Cause)
def repair_selectors(problem: FixProblem) -> Iterator[Candidate]:
    """Repair every selector of a request that loses devices, or fails on some.

    If a selector is true on devices of some node, it is meant as written: another value is a new
    demand, not a correction.
    """
    intended = _list_intended_selectors(problem)
    repaired: set[tuple[RequestRef, int]] = set()
    misread_selectors = {c.selector for c in problem.causes if isinstance(c, DeviceContradiction)}
    for _, request in problem.requests():
        editable = problem.editable_request(request.ref)
        if editable is None:
            continue
        selectors_of_request = items(editable.part.fields.get("selectors"))
        for stage in request.stages:
            index = stage.selector
            if stage.name != "request-selector" or index is None or not stage.lost:
                continue
            if index >= len(selectors_of_request):
                continue
            selector = request.ref, index
            text = text_at(selectors_of_request[index], "cel", "expression")
            if text in misread_selectors:
                continue  # the selector is right, and a value in the slices is wrong
            lost = [loss.device for loss in stage.lost]
            for rewrite in _rewrite_expression(problem, text, lost, meant=selector in intended):
                yield _repair_selector(problem, request, editable, index, rewrite)
            if selector not in repaired:
                repaired.add(selector)
                is_only = len(selectors_of_request) == 1
                yield _remove_selector(problem, request, editable, index, text, is_only=is_only)


def _list_intended_selectors(problem: FixProblem) -> set[tuple[RequestRef, int]]:
    """Return the selectors that are true on devices of some node."""
    return {
        (request.ref, stage.selector)
        for case in filter(None, (problem.case, problem.whole))
        for survey in case.surveys.values()
        for request in survey.requests
        for stage in request.stages
        if stage.name == "request-selector" and stage.kept and stage.selector is not None
    }


def _selector_slot(request: RequestSurvey, editable: EditablePart[Request], index: int) -> FixSlot:
    """Return the slot of fixes that change a selector."""
    return FixSlot(Topic.SELECTOR, f"{editable.target} {request.ref} {index}")


def _repair_selector(
    problem: FixProblem,
    request: RequestSurvey,
    editable: EditablePart[Request],
    index: int,
    rewrite: Rewrite,
) -> Candidate:
    """Replace the text of a request's selector."""
    patch = editable.put(("selectors", index, "cel", "expression"), rewrite.text)
    effect = SUBSTITUTE_EFFECT if rewrite.preference is Preference.ADAPT else ""
    if request.enough and not rewrite.corrects:  # enough devices match, and they are in use
        rewrite = replace(rewrite, preference=Preference.DROP, degree=1)
    slot = _selector_slot(request, editable, index)
    return _make_candidate(rewrite, problem.request_name(request.ref), slot, patch, effect)


def _remove_selector(
    problem: FixProblem,
    request: RequestSurvey,
    editable: EditablePart[Request],
    index: int,
    text: str,
    *,
    is_only: bool,
) -> Candidate:
    """Remove a selector, or the whole list if it is the only one."""
    return Candidate(
        f"remove the selector {format_expression(text)} from {problem.request_name(request.ref)}",
        (editable.remove(("selectors", *(() if is_only else (index,)))),),
        _selector_slot(request, editable, index),
        Preference.DROP,
        effect=f"the pod may then get any device of class {request.device_class}",
        degree=2 * request.enough,
    )


@fix_once_for(Cause)
def repair_class_selectors(problem: FixProblem) -> Iterator[Candidate]:
    """Correct the selector of a class that no device of the cluster belongs to."""
    for name, devices in _list_empty_classes(problem).items():
        value = problem.state.get("DeviceClass", ("", name))
        for index, selector in enumerate(selectors_of(value or {})):
            slot = FixSlot(Topic.SELECTOR, f"class {name} {index}")
            for rewrite in _rewrite_expression(problem, selector.text, devices):
                is_plausible = rewrite.corrects or rewrite.variant
                if not is_plausible or not _names_published_driver(problem, rewrite.text):
                    continue
                change = {"op": "replace", "path": pointer(*selector.path), "value": rewrite.text}
                patch = Patch(f"DeviceClass/{name}", (change,))
                effect = "for every claim of the class"
                if rewrite.variant:
                    effect += f", {SUBSTITUTE_EFFECT}"
                yield _make_candidate(rewrite, f"class {name}", slot, patch, effect)


def _list_empty_classes(problem: FixProblem) -> dict[str, list[DeviceID]]:
    """Return the classes without a device, each with the devices that do not match it."""
    lost_by_class: dict[str, list[DeviceID]] = {}
    matched_classes: set[str] = set()
    for _, request in problem.requests():
        for stage in request.stages:
            if stage.name == "class-selector" and request.device_class:
                devices = lost_by_class.setdefault(request.device_class, [])
                devices.extend(loss.device for loss in stage.lost)
                if stage.kept:
                    matched_classes.add(request.device_class)
    return {name: devices for name, devices in lost_by_class.items() if name not in matched_classes}


def _names_published_driver(problem: FixProblem, text: str) -> bool:
    """Return whether an expression names no driver, or one that publishes devices."""
    drivers = reading(text).drivers
    return not drivers or bool(drivers & problem.case.drivers)


def _make_candidate(
    rewrite: Rewrite, owner: str, slot: FixSlot, patch: Patch, effect: str
) -> Candidate:
    """Return a rewrite of a selector of ``owner`` as a candidate."""
    return Candidate(
        f"{rewrite.title} in {owner}",
        (patch,),
        slot,
        rewrite.preference,
        effect=effect,
        degree=rewrite.degree,
        corrects=rewrite.corrects,
    )


def _rewrite_expression(
    problem: FixProblem, text: str, lost: Sequence[DeviceID], *, meant: bool = False
) -> Iterator[Rewrite]:
    """Yield other texts for an expression that is false, or fails, on the devices ``lost``.

    ``meant`` is True if the expression is true on other devices. Then a condition that is false on
    ``lost`` is no mistake.
    """
    case = problem.case
    for part in problem.scheduler.compile_selector(text).conjuncts:
        if all(case.holds(part.text, device) for device in lost):
            continue
        if meant and not any(result.error for result in case.evaluations(part.text, lost)):
            yield from _substitute_devices(problem, text, part, lost)
            continue
        misfit = selectors.misfit(case.devices, part.text, lost)
        if misfit.nearest and misfit.reference is not None:
            title = f"change {misfit.reference.full_name} to {misfit.nearest}"
            renamed_text = rename_lookup(text, misfit.reference, misfit.nearest)
            yield Rewrite(title, renamed_text, corrects=True)
        for rewrite in correct_condition(case.devices, part.text, lost):
            yield rewrite.apply_to(text, part)
        remaining_text = _drop_condition(text, part)
        if remaining_text is not None:
            title = f"remove the condition {format_expression(part.text)}"
            yield Rewrite(title, remaining_text, Preference.RELAX, degree=1)


def _substitute_devices(
    problem: FixProblem, text: str, part: Excerpt, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """Rewrite the condition to ask for other devices; yield nothing if it is about ``type``."""
    if any(lookup.name == "type" for lookup in reading(part.text).lookups):
        return
    for rewrite in correct_condition(problem.case.devices, part.text, lost):
        if rewrite.corrects:
            substitute = replace(rewrite, preference=Preference.ADAPT, corrects=False)
            yield substitute.apply_to(text, part)
        else:
            yield rewrite.apply_to(text, part)


def _drop_condition(text: str, part: Excerpt) -> str | None:
    """Return the expression without one of its conditions; None if it is the only one."""
    before, after = text[: part.start].rstrip(), text[part.end :].lstrip()
    if after.startswith("&&"):
        return before + (" " if before else "") + after[2:].lstrip()
    if before.endswith("&&"):
        return before[:-2].rstrip() + (" " + after if after else "")
    return None
