"""Saves the repeated judgement of claims and classes with equal content, of which a large
repository has many.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from dractl.lint.published import image_versions
from dractl.objects import encode_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dractl.lint.model import Advice, Manifest, Run
    from dractl.lint.registry import Rule


def advice_of(run: Run, rules: Sequence[Rule], silent: set[Hashable]) -> list[tuple[Rule, Advice]]:
    """Return the advice of rules on a run.

    A rule that judges each claim and class by itself judges only one of several objects with the
    same content. If there is advice on that one, the rule judges the others, too. ``silent`` has
    the contents without advice, from earlier runs and this one.
    """
    # With slices, advice also depends on the drivers that publish them.
    keys = {} if run.of("ResourceSlice") else _keys(run)
    first = {key: subject for subject, key in reversed(keys.items()) if key not in silent}
    advice = _collect_advice(run, rules, keys.keys() - first.values())
    loud = {keys.get(advice.subject) for rule, advice in advice if rule.alone}
    silent.update(first.keys() - loud)
    if any(key in loud and first[key] is not subject for subject, key in keys.items()):
        advice = _collect_advice(
            run, rules, {subject for subject, key in keys.items() if key not in loud}
        )
    return advice


def _collect_advice(
    run: Run, rules: Sequence[Rule], skipped: Collection[Manifest]
) -> list[tuple[Rule, Advice]]:
    part = run.restrict_to([subject for subject in run.subjects if subject not in skipped])
    return [(rule, advice) for rule in rules for advice in rule.advice(part if rule.alone else run)]


def _keys(run: Run) -> dict[Manifest, Hashable]:
    """Return the claims and classes of a run, each with a key of everything on which a rule that
    judges them by themselves depends.
    """
    versions = tuple(image_versions(run).items())
    keys: dict[Manifest, Hashable] = {
        subject: (encode_json(subject.spec), versions) for subject in run.of("DeviceClass")
    }
    for claim in run.claims:
        classes = (run.device_class(request.device_class) for request in claim.alternatives)
        keys[claim.subject] = (
            encode_json(claim.subject.document.at(claim.path[:-1])),
            versions,
            *classes,
        )
    return keys
