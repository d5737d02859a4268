"""Claims and classes that read the same as others of which nothing was said. In a large repository most do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from dractl.lint.published import running_here
from dractl.objects import encode_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dractl.lint.model import Advice, Manifest, Run
    from dractl.lint.registry import Rule


def advice_of(run: Run, rules: Sequence[Rule], silent: set[Hashable]) -> list[tuple[Rule, Advice]]:
    """What rules say of a run. Those that look at each claim and class alone are asked about one of those that read the
    same, and about the others if they say anything. ``silent``: what they said nothing of, in runs before and now."""
    read = (
        {} if run.of("ResourceSlice") else _read(run)
    )  # the drivers of slices beside them count, too
    first = {
        reading: subject for subject, reading in reversed(read.items()) if reading not in silent
    }
    found = _said(run, rules, read.keys() - first.values())
    loud = {read.get(advice.subject) for rule, advice in found if rule.alone}
    silent.update(first.keys() - loud)
    if any(reading in loud and first[reading] is not subject for subject, reading in read.items()):
        found = _said(
            run, rules, {subject for subject, reading in read.items() if reading not in loud}
        )
    return found


def _said(
    run: Run, rules: Sequence[Rule], known: Collection[Manifest]
) -> list[tuple[Rule, Advice]]:
    part = run.only([subject for subject in run.subjects if subject not in known])
    return [(rule, advice) for rule in rules for advice in rule.advice(part if rule.alone else run)]


def _read(run: Run) -> dict[Manifest, Hashable]:
    """The claims and classes of a run, with all that such rules go by."""
    versions = tuple(running_here(run).items())
    found: dict[Manifest, Hashable] = {
        subject: (encode_json(subject.spec), versions) for subject in run.of("DeviceClass")
    }
    for claim in run.claims:
        classes = (run.device_class(request.device_class) for request in claim.alternatives)
        found[claim.subject] = (
            encode_json(claim.subject.document.at(claim.path[:-1])),
            versions,
            *classes,
        )
    return found
