"""Names that are unknown in a preview: a release that was not out when dractl's facts about it were
read.

Such a release may have names that dractl does not know: a field, a kind, a value, a name in an
expression. A violation that a server would report only because of such a name is a doubt, which is
a violation without a type. Nothing is concluded from a probable intent.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dractl.facts.kubernetes import Preview
from dractl.model.paths import at, remove_at
from dractl.model.releases import PREVIEWS, Target
from dractl.validation.violation import Violation, dot_path

RULE = "not-known-of-preview"
"""The rule of a doubt."""


def preview_of(target: Target) -> Preview | None:
    """Return the preview whose rules apply; None for a release that is out."""
    return PREVIEWS.get(target.release)


def is_doubt(violation: Violation) -> bool:
    """Return True if it is doubtful whether the server would refuse the document."""
    return violation.rule == RULE


def doubt(violation: Violation, subject: str, preview: Preview) -> Violation:
    """Return the doubt about ``subject`` in place of the violation that another release would
    report.
    """
    message = f"{subject}: {preview.unknown}"
    if violation.nearest:
        message += f" (the nearest that is known: {violation.nearest})"
    elif violation.type == "FieldValueNotSupported":
        message += f" (known: {', '.join(violation.allowed)})"
    return Violation(
        RULE,
        None,
        violation.field,
        violation.path,
        message,
        key=violation.key,
        offset=violation.offset,
    )


def doubt_names(
    violations: Iterable[Violation], document: Mapping[str, Any], target: Target
) -> list[Violation]:
    """Return the violations of a document, with doubts in place of violations about values and
    names in expressions.
    """
    preview = preview_of(target)
    if preview is None:
        return list(violations)
    return [
        doubt(violation, subject, preview)
        if (subject := _name_in_question(violation, document))
        else violation
        for violation in violations
    ]


def _name_in_question(violation: Violation, document: Mapping[str, Any]) -> str | None:
    """Return the value or the names that a later release may have; None if the violation is not
    about a name.
    """
    if violation.type == "FieldValueNotSupported":
        value = violation.path[-1] if violation.key else at(document, *violation.path)
        return f"{dot_path(violation.path)}: value {json.dumps(value, ensure_ascii=False)}"
    names = [issue.undeclared or issue.undefined for issue in violation.issues]
    if not names or not all(names):
        return None
    return f"{dot_path(violation.path)}: {', '.join(dict.fromkeys(map(str, names)))}"


def is_decided(violation: Violation, doubts: Sequence[Violation]) -> bool:
    """Return False if the violation is about a value that a field in doubt may provide."""
    if violation.type not in ("FieldValueRequired", "FieldValueInvalid"):
        return True
    holders = {violation.path}
    if violation.type == "FieldValueRequired":
        holders.add(violation.path[:-1])
    return all(each.path[:-1] not in holders for each in doubts)


def remove_doubts(document: Mapping[str, Any], doubts: Sequence[Violation]) -> dict[str, Any]:
    """Return a document without the fields in doubt."""
    kept = dict(document)
    for each in doubts:
        kept = remove_at(kept, each.path)
    return kept
