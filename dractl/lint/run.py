"""From documents to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.lint import registry
from dractl.lint.finding import Report
from dractl.lint.model import Run, Subject
from dractl.lint.place import from_advice, from_broken, from_violation
from dractl.lint.relevance import GROUP, group, is_relevant
from dractl.lint.selection import Selection, select
from dractl.validation.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dractl.lint.advice import Advice
    from dractl.lint.inventory import Inventory
    from dractl.manifests import Document, Inputs
    from dractl.model import Target
    from dractl.validation.violation import Violation


def lint(
    inputs: Inputs, target: Target, *, config: Selection | None = None, devices: Inventory | None = None
) -> Report:
    """Everything that is wrong with the documents for an API server of ``target``, and what dractl advises.

    ``devices``: the inventory that selectors, constraints and capacities are tried on.
    """
    config = config or Selection()
    relevant = [document for document in inputs.documents if is_relevant(document.value)]
    found = [from_broken(broken) for broken in inputs.broken]
    # What a document means that the server cannot decode is not known: no advice about it.
    unread: set[int] = set()
    namespaces = _namespaces(inputs.documents)
    for document in relevant:
        violations = validate(document.value, target, namespaces=namespaces, faults=document.faults)
        if any(violation.rule in ("wrong-type", "not-served") for violation in violations):
            unread.add(id(document))
        found += (from_violation(document, violation, target) for violation in _merged(violations))
    for rule, advice in _advice(_run(relevant, target, devices), config):
        if id(advice.subject.document) not in unread:
            found.append(from_advice(rule, advice))
    kept, suppressed = select(found, inputs.documents, config)
    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    return Report(
        tuple(kept),
        target.release,
        files=inputs.files,
        documents=len(relevant) + len(inputs.broken),
        suppressed=suppressed,
        skipped=inputs.skipped,
    )


def _namespaces(documents: Iterable[Document]) -> dict[str, Mapping[str, str]]:
    """The labels of the namespaces that are part of the run."""
    found: dict[str, Mapping[str, str]] = {}
    for document in documents:
        if document.kind == "Namespace" and document.api_version == "v1" and document.name:
            metadata = document.value["metadata"]
            labels = metadata.get("labels")
            found[document.name] = labels if isinstance(labels, dict) else {}
    return found


def _run(documents: Iterable[Document], target: Target, devices: Inventory | None) -> Run:
    # Another group's kinds may have the names of ours; what matters there are the pods in it.
    ours = (GROUP, "", "apps", "batch")
    subjects = (Subject(d, (d.kind or "") if group(d.value) in ours else "") for d in documents)
    return Run(tuple(subjects), target, devices)


def _advice(run: Run, config: Selection) -> Iterator[tuple[registry.Rule, Advice]]:
    for rule in registry.rules().values():
        if rule.concerns(run) and config.wants(rule.code):
            for advice in rule.check(run):
                yield rule, advice


def _merged(violations: Iterable[Violation]) -> list[Violation]:
    """One violation for each cause that the server reports at one place; further sentences are joined to the first."""
    found: dict[tuple[Any, ...], Violation] = {}
    for violation in _flat_requests(violations):
        cause = (violation.type, violation.field, violation.path) if violation.field else (id(violation),)
        first = found.setdefault(cause, violation)
        if first is not violation and violation.message not in first.message:
            found[cause] = first._replace(
                message=f"{first.message}; {violation.message}", issues=first.issues + violation.issues
            )
    return list(found.values())


def _flat_requests(violations: Iterable[Violation]) -> list[Violation]:
    """A request that is written as v1beta1 had it is one fault, however many fields it has."""
    found: dict[tuple[Any, ...], list[Violation]] = {}
    for violation in violations:
        name = violation.path[-1] if violation.path else ""
        flat = violation.rule == "unknown-field" and (violation.nearest or "").endswith(f".exactly.{name}")
        found.setdefault(("flat", *violation.path[:-1]) if flat else (id(violation),), []).append(violation)
    return [_together(group) if len(group) > 1 else group[0] for group in found.values()]


def _together(group: list[Violation]) -> Violation:
    first = group[0]
    others = ", ".join(str(violation.path[-1]) for violation in group[1:])
    verb = "does" if len(group) == 2 else "do"
    return first._replace(message=f"{first.message}; so {verb} {others}")
