"""Machines that would serve a subject, and why the others would not: a table, or
``dractl/explain-machines/v1``.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from dractl.cluster.coverage import Unread
from dractl.cluster.origin import NO_ORIGIN, Origin
from dractl.explain import Explanation, Reason
from dractl.explain.fleet.machines import ByMachine, MachineAnswer
from dractl.facts import current
from dractl.model.abbreviation import abbreviate
from dractl.program import invocation
from dractl.report.canvas import Canvas
from dractl.report.capacity.fit_json import free_devices_json
from dractl.report.explain.json import as_json
from dractl.report.explain.marks import mark_verdict
from dractl.report.plain import plural, printable, wrap

SCHEMA = "dractl/explain-machines/v1"
_NAMED = 6  # maximum number of machines in one line
_WIDEST_TABLE = 100_000  # columns, so that no line of a file or a pipe is wrapped
_NARROWEST_DETAIL = 30  # columns beside the machine; where fewer are left, the detail is below it
_INDENT = 4  # columns before a detail below its machine


def to_json(
    comparisons: Sequence[ByMachine], origin: Origin = NO_ORIGIN, unread: Sequence[Unread] = ()
) -> str:
    """Return each subject with the machines that serve it, the answer for each machine as explain
    prints it, the ``unread`` resources of the input, and the command of this run.

    ``schemas/dractl/explain-machines-v1.json`` is its schema.
    """
    subjects = [
        {
            "servedBy": [
                answer.machine for answer in comparison.answers if answer.explanation.fits
            ],
            "machines": [_machine(answer) for answer in comparison.answers],
        }
        for comparison in comparisons
    ]
    whole = {"schema": SCHEMA, "subjects": subjects, "facts": current().to_json()}
    if origin_value := origin.to_json():
        whole["input"] = origin_value
    if command := invocation():
        whole["command"] = command
    if unread:
        whole["unread"] = [row.as_json() for row in unread]
    return json.dumps(whole, indent=2, ensure_ascii=False)


def _machine(answer: MachineAnswer) -> dict[str, Any]:
    value: dict[str, Any] = {"machine": answer.machine, "fits": answer.explanation.fits}
    if answer.explanation.fits:
        needs = [
            {"key": n.key, "value": n.value, "requirement": n.text, "by": n.by}
            for n in answer.needs
        ]
        value |= {"needs": needs} if needs else {}
        value |= {"setBy": dict(answer.set_by)} if answer.set_by else {}
        value |= {"unjudged": list(answer.unjudged)} if answer.unjudged else {}
    if answer.filling is not None:
        value["copies"] = answer.filling.copies
        value["stranded"] = [free_devices_json(devices) for devices in answer.filling.stranded]
    if answer.autoscaler is not None:
        value["autoscaler"] = to_builtins(answer.autoscaler)
    return {**value, "answer": as_json(answer.explanation)}


def to_text(
    comparisons: Sequence[ByMachine], canvas: Canvas, release: str, *, wraps: bool = False
) -> str:
    """Return a table for each subject, with one row for each machine. With ``wraps``, details and
    sentences continue on further lines where the canvas ends.
    """
    if not wraps:
        canvas = replace(canvas, width=_WIDEST_TABLE)
    tables = ["\n".join(_table(comparison, canvas, release)) for comparison in comparisons]
    return canvas.plain("\n\n".join(tables)) + "\n"


def _table(comparison: ByMachine, canvas: Canvas, release: str) -> Iterator[str]:
    rows = [
        (answer.machine, _code(answer.explanation), answer.explanation)
        for answer in comparison.answers
    ]
    wide = max(len("MACHINE"), *(len(machine) for machine, _, _ in rows))
    coded = max(len("RESULT"), *(len(code) for _, code, _ in rows))
    judged = _verdict_column(comparison.answers)
    margin = wide + coded + 6 + (len(judged[0]) if judged else 0)
    is_beside = canvas.width - margin >= _NARROWEST_DETAIL
    yield canvas.paint(comparison.answers[0].explanation.subject.title, "1")
    column, heading = judged[0] if judged else "", "DETAIL" if is_beside else ""
    head = f"  {'MACHINE':<{wide}}  {'RESULT':<{coded}}  {column}{heading}"
    yield canvas.paint(head.rstrip(), "1")
    for number, (machine, code, answer) in enumerate(rows):
        mark = mark_verdict(answer.verdict).paint(canvas)
        column = judged[number + 1] if judged else ""
        row = f"{mark} {machine:<{wide}}  {code:<{coded}}  {column}"
        indent = " " * (margin if is_beside else _INDENT)
        first, *others = wrap(_detail(answer), canvas.width - len(indent))
        yield f"{row}{first}".rstrip() if is_beside else row.rstrip()
        yield from (f"{indent}{line}" for line in (others if is_beside else [first, *others]))
    served = sum(answer.fits for _, _, answer in rows)
    unknown = sum(answer.verdict == "undecided" for _, _, answer in rows)
    doubt = f", of {unknown} it is unknown" if unknown else ""
    yield ""
    unjudged = dict.fromkeys(
        resource
        for answer in comparison.answers
        for resource in answer.unjudged
        if answer.explanation.fits
    )
    by = f", by devices: {', '.join(unjudged)} not judged" if unjudged else ""
    counted = f"{served} of {plural(len(rows), 'machine')} can serve it{by}{doubt}"
    for sentence in (
        f"{counted}; for Kubernetes {release}",
        *_conditions(comparison.answers),
        *_list_stranded(comparison.answers),
    ):
        yield from wrap(sentence, canvas.width, "  ")
    yield from _autoscaler_lines(comparison.answers, canvas)


def _verdict_column(answers: Sequence[MachineAnswer]) -> list[str]:
    """Return the header and the cells of the autoscaler's column, padded; none if no autoscaler was
    asked.
    """
    cells = [answer.autoscaler.verdict for answer in answers if answer.autoscaler is not None]
    if not cells or answers[0].autoscaler is None:
        return []
    head = answers[0].autoscaler.name.upper()
    width = max(len(head), *map(len, cells)) + 2
    return [f"{cell:<{width}}" for cell in (head, *cells)]


def _autoscaler_lines(answers: Sequence[MachineAnswer], canvas: Canvas) -> Iterator[str]:
    """Yield why the autoscaler launches some machines and not others, the most important reason
    first.
    """
    for answer in answers:
        if answer.strands_pod and answer.autoscaler is not None:
            sentence = (
                f"! {answer.autoscaler.name} would launch {answer.machine}, and the pod would"
                f" stay pending on it: {_detail(answer.explanation)}"
            )
            for part in wrap(printable(sentence), canvas.width, "  "):
                yield canvas.paint(part, "1;31")
    reasons: dict[str, list[str]] = {}
    for answer in answers:
        judged = answer.autoscaler
        if judged is not None and judged.verdict != "serves":
            says = "launches no" if judged.verdict == "never" else "unknown for"
            line = f"{judged.name} {says} MACHINES: {judged.reason.replace(answer.machine, 'it')}"
            reasons.setdefault(line, []).append(answer.machine)
    for line, machines in reasons.items():
        named = printable(line.replace("MACHINES", abbreviate(machines, _NAMED)))
        yield from wrap(named, canvas.width, "  ")


def _conditions(answers: Sequence[MachineAnswer]) -> Iterator[str]:
    """Yield the conditions under which a node of a machine serves the subject."""
    conditions: dict[str, list[str]] = {}
    for answer in answers:
        if answer.explanation.fits:
            for by in dict.fromkeys(need.by for need in answer.needs):
                selector = ",".join(need.text for need in answer.needs if need.by == by)
                conditions.setdefault(f"only on nodes that match {selector} ({by})", []).append(
                    answer.machine
                )
            for label, component in answer.set_by.items():
                conditions.setdefault(f"only on nodes where {component} sets {label}", []).append(
                    answer.machine
                )
    served = sum(answer.explanation.fits for answer in answers)
    for condition, machines in conditions.items():
        is_each = len(machines) == served and len(machines) > _NAMED
        who = "each of them" if is_each else abbreviate(machines, _NAMED)
        yield printable(f"{who}: {condition}")


def _list_stranded(answers: Sequence[MachineAnswer]) -> Iterator[str]:
    """Yield the devices that are stranded once no further copy fits, by machine and reason."""
    machines: dict[str, list[str]] = {}
    for answer in answers:
        if answer.filling is None:
            continue
        copies = answer.filling.copies
        after = "1 copy" if copies == 1 else f"{copies} copies"
        for devices in answer.filling.stranded:
            left = f"{plural(len(devices.devices), 'device')} of {devices.driver}"
            root = f" on {devices.pcie_root}" if devices.pcie_root else ""
            line = f"{left}{root} stranded after {after} ({devices.why})"
            machines.setdefault(line, []).append(answer.machine)
    for line, names in machines.items():
        yield printable(f"{abbreviate(names, _NAMED)}: {line}")


def _code(answer: Explanation) -> str:
    return "fits" if answer.fits else answer.code


def _detail(answer: Explanation) -> str:
    """Return the devices that the machine would give, or the reason why it does not serve."""
    if answer.fits:
        devices = [item.device for node in answer.nodes[:1] for item in node.allocation]
        return printable(f"gets {', '.join(devices)}" if devices else answer.headline)
    if not answer.reasons:
        return printable(answer.headline)
    return printable("; ".join(dict.fromkeys(reason.brief for reason in _first(answer))))


def _first(answer: Explanation) -> Iterator[Reason]:
    """Yield the first reason; for a request with alternatives, the first reason of each."""
    first, *others = answer.reasons
    yield first
    asked, slash, _ = (first.request or "").partition("/")
    if slash:
        yield from (reason for reason in others if (reason.request or "").startswith(f"{asked}/"))
