"""``dractl discover --suggest``: claims for the devices of a machine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import yaml
from msgspec import structs
from typer import Exit

from dractl.capacity.candidates import UNALIGNED, UNKNOWN_ALIGNMENT
from dractl.capacity.suggest import drivers_without_attribute, find_largest_shape, suggest
from dractl.cli import common, terminal
from dractl.cli.options.machine_input import describe_machine, render_machine
from dractl.errors import InputError, UsageError
from dractl.machines.wiring import place_together
from dractl.model.device_phrases import PLACES
from dractl.model.shapes import MIG, Shape, parse, split
from dractl.program import program_name
from dractl.report.plain import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dractl.capacity.suggest import Preference, Suggestion
    from dractl.drivers.rendering import Rendering
    from dractl.model import Target
    from dractl.topology.machine import Machine

_USUAL_SHAPES = (
    "gpu=1; gpu=1,nic=1; gpu=2; gpu=2,nic=2; gpu=4; gpu=4,nic=4; gpu=8; gpu=8,nic=8; largest"
)


def print_suggestions(
    machine: Machine, text: str, target: Target, hardware: str | None, output_file: Path | None
) -> None:
    """Print the claims with the closest alignment that the node can satisfy, one for each shape."""
    rendering = render_machine(machine, target)
    is_usual = text.strip() == "all"
    words = split(_USUAL_SHAPES if is_usual else text)
    if not words:
        raise UsageError("--suggest needs a shape, such as gpu=2,nic=1")
    claims: list[str] = []
    missing: list[Shape] = []
    for shape in _parse_shapes(words, rendering, target):
        rendered = _with_mig(shape, rendering, hardware, target)
        try:
            suggestion = suggest(shape, rendered, target)
        except InputError:
            if len(words) == 1:
                raise
            suggestion = None
        if suggestion is None:
            missing.append(shape)
        else:
            claims.append(_claim_text(_doubt_alignment(suggestion, machine)))
    incomplete = (bool(missing) and not is_usual) or not claims
    if incomplete:
        _report_missing(missing, text, rendering, target)
    if claims:
        common.write_report("---\n".join(claims), output_file)
        terminal.notice(
            "the comments list the devices that the scheduler would choose while all devices are "
            "free"
        )
    if incomplete:
        raise Exit(1)


def _doubt_alignment(suggestion: Suggestion, machine: Machine) -> Suggestion:
    """Return the suggestion. Its alignment is unknown if the wiring of the machine is unknown."""
    if suggestion.alignment != UNALIGNED or place_together(machine) is None:
        return suggestion
    return structs.replace(suggestion, alignment=UNKNOWN_ALIGNMENT)


def _parse_shapes(words: Iterable[str], rendering: Rendering, target: Target) -> list[Shape]:
    """Return the shapes that words name, each once. ``largest`` adds none if the node has no
    largest shape.
    """
    classes = [item["metadata"]["name"] for item in rendering.device_classes]
    shapes: list[Shape] = []
    for word in words:
        shape = find_largest_shape(rendering, target) if word == "largest" else parse(word, classes)
        signatures = [(other.counts, other.constraint) for other in shapes]
        if shape is not None and (shape.counts, shape.constraint) not in signatures:
            shapes.append(shape)
    return shapes


def _report_missing(
    missing: Sequence[Shape], text: str, rendering: Rendering, target: Target
) -> None:
    """Say which shapes the node cannot serve: for want of devices, or of the alignment demanded."""
    unserved: list[str] = []
    for shape in missing:
        unconstrained = _suggest_loosely(shape, rendering, target)
        if unconstrained is None:
            unserved.append(shape.text)
        else:
            silent_names = drivers_without_attribute(shape, rendering)
            terminal.print_error(
                (
                    f"{shape.text}: {' and '.join(silent_names)} would not publish"
                    f" {shape.constraint} here"
                    if silent_names
                    else f"{shape.text}: no {PLACES[shape.constraint]} has them all"
                ),
                hint=(
                    f"without @{shape.constraint}: {_describe_copies(unconstrained)},"
                    f" {unconstrained.alignment}"
                ),
            )
    if unserved or not missing:
        count_by_driver = Counter(
            item["spec"]["driver"] for item in rendering.slices for _ in item["spec"]["devices"]
        )
        counts = ", ".join(f"{count} of {driver}" for driver, count in count_by_driver.items())
        terminal.print_error(
            "this node's drivers would not publish enough devices for"
            f" {'; '.join(unserved) or text}",
            hint=f"they would publish {counts}; `{program_name()} discover` shows them",
        )


_WIDTH = 80
"""The columns of comments, the same for files and terminals of every width."""


def _suggest_loosely(shape: Shape, rendering: Rendering, target: Target) -> Suggestion | None:
    """Return the suggestion for a shape without the alignment that it demands."""
    if shape.constraint not in PLACES:
        return None
    try:
        return suggest(structs.replace(shape, constraint=None), rendering, target)
    except InputError:
        return None


def _with_mig(
    shape: Shape, rendering: Rendering, hardware: str | None, target: Target
) -> Rendering:
    """Return the node with the MIG devices of the shape, if it is described without any."""
    profiles = [
        f"{count}x{kind.removeprefix(MIG)}"
        for kind, count in shape.counts.items()
        if kind.startswith(MIG)
    ]
    if not profiles or hardware is None or "mig=" in hardware:
        return rendering
    return render_machine(describe_machine(f"{hardware},mig={'+'.join(profiles)}"), target)


def _claim_text(suggestion: Suggestion) -> str:
    """Render a claim below comments that list its devices and the remaining devices."""
    leftover = ", ".join(f"{count} {driver}" for driver, count in suggestion.leftover.items())
    lines = [
        f"{suggestion.shape.text}: {suggestion.alignment or 'no alignment asked for'}",
        *(f"  {device}" for device in suggestion.devices),
        f"{_describe_copies(suggestion)} on the node; the first leaves {leftover or 'no device'}",
    ]
    for group in suggestion.further:
        copies = "1 more copy" if group.copies == 1 else f"{group.copies} more copies"
        fit = "fits" if group.copies == 1 else "fit"
        lines.append(f"  {copies} of {suggestion.shape.text} {fit} less closely: {group.alignment}")
    comments = "".join(_comment(line) for line in lines)
    claim = comments + yaml.safe_dump(suggestion.claim, sort_keys=False)
    if suggestion.preference is None:
        return claim
    return claim + _preference_text(suggestion.preference)


def _preference_text(preference: Preference) -> str:
    """Render, as comments, the specification that prefers the alignment, so that the output has one
    claim for each shape.
    """
    spec = yaml.safe_dump({"spec": preference.claim["spec"]}, sort_keys=False)
    copies, aligned = preference.copies, preference.aligned
    share = "all" if aligned == copies else str(aligned)
    heading = "To prefer this alignment, and take other devices where it is used up:"
    copies_text = (
        f"({_count_copies(copies)} on the node, {share} of them with this alignment; the claim's"
        " status names the alternative that each request has got)"
    )
    lines = (f"# {line}\n" for line in spec.splitlines())
    return "".join([_comment(heading), _comment(copies_text), *lines])


def _comment(text: str) -> str:
    """Return a line as a comment, folded to 80 columns."""
    indent = "# " + " " * (len(text) - len(text.lstrip()))
    return "".join(f"{line}\n" for line in wrap(f"# {text}", _WIDTH, indent))


def _describe_copies(suggestion: Suggestion) -> str:
    return _count_copies(suggestion.copies)


def _count_copies(copies: int) -> str:
    return "1 of these fits" if copies == 1 else f"{copies} of these fit"
