"""Fixes in a selector, of a request or a class: the right name or value, a guard, a condition less."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cel import reading
from dractl.cel.conditions import Excerpt
from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import text_at
from dractl.explain import selectors
from dractl.explain.fixes.candidates import (
    SUBSTITUTE_EFFECT,
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    fix_once_for,
)
from dractl.explain.fixes.corrections import Rewrite, correct_condition, rename_lookup
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.misfits import readable
from dractl.model.names import RequestRef
from dractl.objects import items, selectors_of


@fix_once_for(Cause)
def repair_selectors(problem: FixProblem) -> Iterator[Candidate]:
    """Every repair of every selector of a request that loses devices, or fails on some. Where it is true on devices of
    any node, it says what is meant: another value is then something else to ask for."""
    seen: set[tuple[RequestRef, int]] = set()
    met = {
        (request.ref, stage.selector)
        for survey in problem.case.surveys.values()
        for request in survey.requests
        for stage in request.stages
        if stage.name == "request-selector" and stage.kept
    }
    for _, request in problem.requests():
        written = problem.editable_request(request.ref)
        if written is None:
            continue
        for stage in request.stages:
            if stage.name != "request-selector" or stage.selector is None or not stage.lost:
                continue
            listed = items(written.part.fields.get("selectors"))
            if stage.selector >= len(listed):
                continue
            index = stage.selector
            key = (request.ref, index)
            text = text_at(listed[index], "cel", "expression")
            slot = FixSlot(Topic.SELECTOR, f"{written.target} {request.ref} {index}")
            where = problem.request_name(request.ref)
            lost = [loss.device for loss in stage.lost]
            for edit in _rewrite_expression(problem, text, lost, meant=(request.ref, index) in met):
                patch = written.put("selectors", index, "cel", "expression", value=edit.text)
                will_do = SUBSTITUTE_EFFECT if edit.preference is Preference.ADAPT else ""
                beside = (
                    request.enough and not edit.corrects
                )  # these devices are free: others are in the way
                preferred = replace(edit, preference=Preference.DROP, degree=1) if beside else edit
                yield _selector_candidate(preferred, where, slot, patch, will_do)
            if key not in seen:
                seen.add(key)
                yield Candidate(
                    f"remove the selector {readable(text)} from {where}",
                    (written.remove("selectors", *((index,) if len(listed) > 1 else ())),),
                    slot,
                    Preference.DROP,
                    effect=f"the pod may then get any device of class {request.device_class}",
                    degree=2 * request.enough,
                )


@fix_once_for(Cause)
def repair_class_selectors(problem: FixProblem) -> Iterator[Candidate]:
    """The selector of a class corrected, where no device of the cluster is of the class."""
    offered: dict[str, list[DeviceID]] = {}
    matched: set[str] = set()
    for _, request in problem.requests():
        for stage in request.stages:
            if stage.name == "class-selector" and request.device_class:
                offered.setdefault(request.device_class, []).extend(
                    loss.device for loss in stage.lost
                )
                if stage.kept:
                    matched.add(request.device_class)
    for name, lost in offered.items():
        value = problem.state.get("DeviceClass", ("", name))
        for index, selector in enumerate(selectors_of(value or {}) if name not in matched else ()):
            slot = FixSlot(Topic.SELECTOR, f"class {name} {index}")
            for edit in _rewrite_expression(problem, selector.text, lost):
                if not (edit.corrects or edit.variant) or not _names_published_driver(
                    problem, edit.text
                ):
                    continue
                change = {"op": "replace", "path": pointer(*selector.path), "value": edit.text}
                patch = Patch(f"DeviceClass/{name}", (change,))
                effect = "for every claim of the class" + f", {SUBSTITUTE_EFFECT}" * edit.variant
                yield _selector_candidate(edit, f"class {name}", slot, patch, effect)


def _names_published_driver(problem: FixProblem, text: str) -> bool:
    """True unless an expression names drivers none of which publishes a device."""
    named = reading(text).drivers
    return not named or bool(named & problem.case.drivers)


def _selector_candidate(
    edit: Rewrite, where: str, slot: FixSlot, patch: Patch, effect: str = ""
) -> Candidate:
    return Candidate(
        f"{edit.title} in {where}",
        (patch,),
        slot,
        edit.preference,
        effect=effect,
        degree=edit.degree,
        corrects=edit.corrects,
    )


def _rewrite_expression(
    problem: FixProblem, text: str, lost: Sequence[DeviceID], *, meant: bool = False
) -> Iterator[Rewrite]:
    """Other texts for an expression that is false, or fails, on the devices ``lost``. ``meant``: on others it is true,
    so that a condition that is false on these is no mistake."""
    for part in problem.scheduler.compile_selector(text).conjuncts:
        if all(problem.case.holds(part.text, device) for device in lost):
            continue
        if meant and not any(found.error for found in problem.case.evaluations(part.text, lost)):
            yield from _substitute_devices(problem, text, part, lost)
            continue
        wrong = selectors.misfit(problem.case.devices, part.text, lost)
        if wrong.nearest and wrong.reference is not None:
            title = f"change {wrong.reference.full_name} to {wrong.nearest}"
            yield Rewrite(title, rename_lookup(text, wrong.reference, wrong.nearest), corrects=True)
        for edit in correct_condition(problem.case.devices, part.text, lost):
            yield edit.apply_to(text, part)
        rest = _drop_condition(text, part)
        if rest is not None:
            title = f"remove the condition {readable(part.text)}"
            yield Rewrite(title, rest, Preference.RELAX, degree=1)


def _substitute_devices(
    problem: FixProblem, text: str, part: Excerpt, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """Other devices than those meant: not of another type, which are no replacement."""
    if any(lookup.name == "type" for lookup in reading(part.text).lookups):
        return
    for edit in correct_condition(problem.case.devices, part.text, lost):
        other = (
            edit
            if not edit.corrects
            else replace(edit, preference=Preference.ADAPT, corrects=False)
        )
        yield other.apply_to(text, part)


def _drop_condition(text: str, part: Excerpt) -> str | None:
    """The expression without one of its conditions; None where it is the only one."""
    before, after = text[: part.start].rstrip(), text[part.end :].lstrip()
    if after.startswith("&&"):
        return before + (" " if before else "") + after[2:].lstrip()
    if before.endswith("&&"):
        return before[:-2].rstrip() + (" " + after if after else "")
    return None
