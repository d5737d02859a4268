"""The errors in one document: the API server's errors, then the errors that the server would report
once the first ones are fixed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint import placeholders
from dractl.lint.drafts import HIDING, Draft
from dractl.lint.finding import Confidence, Severity
from dractl.manifests import Document
from dractl.model import Target
from dractl.validation.validate import validate
from dractl.validation.violation import Violation

_DOUBLED = frozenset({"duplicate-key", "merged-key"})
_ROUNDS = 4
_LACKS_A_VALUE = ("FieldValueInvalid", "FieldValueRequired")
_OF_VERSIONS = frozenset({"not-served", "served-on-demand", "dropped-field"})
"""Rules about the version of a document, which do not apply if the document is judged in another
version.
"""


class Flagged(Struct, frozen=True):
    """A violation as lint reports it."""

    violation: Violation
    server: bool = True
    """True if the API server reports it for the document as it is."""
    severity: Severity | None = None
    """The severity, if this case is less severe than the rule's own severity."""
    confidence: Confidence = "certain"
    """The certainty that the document contains a pod, if that is a guess."""


class DocumentVerdict(Struct, frozen=True):
    """The errors in a document."""

    remarks: tuple[Flagged, ...]
    document: Document
    """The document as it was probably meant; the document itself if its types are right."""


def verdict(
    document: Document,
    target: Target,
    namespaces: Mapping[str, Mapping[str, str]],
    *,
    matters: Callable[[Violation], bool] = lambda _: True,
) -> DocumentVerdict:
    """Return all errors in a document that ``matters`` accepts.

    ``namespaces`` has the labels of the namespaces in the input. An object that names no namespace
    may be meant for any of them.
    """
    if not document.namespace:
        namespaces = {}
    draft = Draft(document)
    remarks: list[Flagged] = []
    seen: set[tuple[Any, ...]] = set()
    unserved = undecodable = False
    faults = document.faults
    for round_ in range(_ROUNDS):
        violations = validate(draft.value, target, namespaces=namespaces, faults=faults)
        if not violations:
            break
        written = [
            replace(violation, path=draft.source_path(violation.path)) for violation in violations
        ]
        for violation in merge_violations(written, seen):
            if round_ and (
                draft.misses(violation) or (unserved and violation.rule in _OF_VERSIONS)
            ):
                continue
            if not matters(violation):
                continue
            if not placeholders.depends(document, violation):
                remarks.append(
                    Flagged(
                        violation, round_ == 0, "info" if violation.rule == "merged-key" else None
                    )
                )
            elif placeholders.is_for_hands(document.at(violation.path)):
                remarks.append(Flagged(_report_placeholder(document, violation), server=False))
        hiding = [violation for violation in violations if violation.rule in HIDING]
        unserved = unserved or any(violation.rule == "not-served" for violation in hiding)
        undecodable = undecodable or any(
            violation.rule in ("not-served", "wrong-type") or _belongs_elsewhere(violation)
            for violation in hiding
        )
        is_doubled = any(violation.rule in _DOUBLED for violation in hiding)
        if is_doubled:
            faults = ()  # duplicate keys are reported already; the last value counts
        if not (draft.improve(hiding, target) or is_doubled):
            break
    return DocumentVerdict(
        tuple(_join_dropped_fields(remarks)) if remarks else (),
        draft.document if undecodable else document,
    )


def _belongs_elsewhere(violation: Violation) -> bool:
    return violation.moved_to is not None and violation.moved_to[:-1] != violation.path[:-1]


def _join_dropped_fields(remarks: Sequence[Flagged]) -> Iterator[Flagged]:
    """Join a refusal with the field that the server drops before it: both come from one mistake,
    which is reported at the refusal.
    """
    dropped = {
        item.violation.path: item.violation
        for item in remarks
        if item.violation.rule == "dropped-field"
    }
    refused = {item.violation.path for item in remarks if item.violation.type in _LACKS_A_VALUE}
    for item in remarks:
        violation = item.violation
        if violation.rule == "dropped-field" and violation.path[:-1] in refused:
            continue
        causes = [cause.message for path, cause in dropped.items() if path[:-1] == violation.path]
        if violation.path in refused and causes:
            item = replace(  # noqa: PLW2901
                item, violation=replace(violation, message="; ".join((violation.message, *causes)))
            )
        yield item


def _report_placeholder(document: Document, violation: Violation) -> Violation:
    name = document.at(violation.path)
    message = f"{name} is a placeholder: fill it in before you apply this"
    return Violation("unfilled-placeholder", None, None, violation.path, message)


def merge_violations(
    violations: Iterable[Violation], seen: set[tuple[Any, ...]] | None = None
) -> list[Violation]:
    """Return one violation for each cause that the server reports at a place, with further
    sentences joined to the first.

    Causes in ``seen`` are left out, and the other causes are added to it.
    """
    by_cause: dict[tuple[Any, ...], Violation] = {}
    for violation in _flat_requests(violations):
        cause = (violation.rule, violation.path) if not violation.field else (
            violation.type, violation.field, violation.path
        )  # fmt: skip
        first = by_cause.setdefault(cause, violation)
        if first is not violation and violation.message not in first.message:
            by_cause[cause] = replace(first, message=f"{first.message}; {violation.message}")
    if seen is None:
        return list(by_cause.values())
    fresh = [violation for cause, violation in by_cause.items() if cause not in seen]
    seen.update(by_cause)
    return fresh


def _flat_requests(violations: Iterable[Violation]) -> list[Violation]:
    """Merge the violations of a request in the form of v1beta1 into one, since it is one fault,
    however many fields the request has.
    """
    groups: dict[tuple[Any, ...], list[Violation]] = {}
    for violation in violations:
        to = violation.moved_to
        flat = to is not None and len(to) > 1 and to[-2:] == ("exactly", violation.path[-1])
        groups.setdefault(("flat", *violation.path[:-1]) if flat else (id(violation),), []).append(
            violation
        )
    return [_join_siblings(group) if len(group) > 1 else group[0] for group in groups.values()]


def _join_siblings(group: Sequence[Violation]) -> Violation:
    first = group[0]
    others = ", ".join(str(violation.path[-1]) for violation in group[1:])
    verb = "does" if len(group) == 2 else "do"
    return replace(first, message=f"{first.message}; so {verb} {others}")
