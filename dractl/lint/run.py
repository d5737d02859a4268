"""From documents to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import registry
from dractl.lint.finding import Report
from dractl.lint.foreign_pods import foreign_pods
from dractl.lint.model import Run, Subject
from dractl.lint.namespaces import namespaces_of
from dractl.lint.place import from_advice, from_broken, from_violation
from dractl.lint.placeholders import hides
from dractl.lint.proof import proven
from dractl.lint.reading import readings
from dractl.lint.relevance import GROUP, group
from dractl.lint.selection import Selection, select
from dractl.lint.verdict import verdict
from dractl.manifests import Document, read_text
from dractl.manifests.kustomize import Kustomizations

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from dractl.lint.advice import Advice
    from dractl.lint.inventory import Inventory
    from dractl.lint.place import Placed
    from dractl.lint.reading import Reading
    from dractl.manifests import Inputs
    from dractl.model import Target


def lint(
    inputs: Inputs,
    target: Target,
    *,
    config: Selection | None = None,
    devices: Inventory | None = None,
    assumed: bool = False,
) -> Report:
    """Everything that is wrong with the documents for an API server of ``target``, and what dractl advises.

    ``devices``: the inventory that selectors, constraints and capacities are tried on. ``assumed``: nobody named the
    release, so that no fix to another ``apiVersion`` is safe.
    """
    config = config or Selection()
    kustomizations = Kustomizations()
    namespaces = namespaces_of(inputs.documents)
    whole: list[Document] = []
    patches: list[Document] = []
    found = [from_broken(broken) for broken in inputs.broken]
    numbers: dict[int, int] = {}
    count = 0
    for reading in readings(inputs.documents, kustomizations):
        count += 1
        placed, meant = _judged(reading, target, namespaces.labels, assumed=assumed)
        found += placed
        numbers[id(meant)] = reading.number
        (patches if reading.patch else whole).append(meant)
    advice = [
        *_advice(whole, target, devices, config, kustomizations, namespaces.known),
        *_advice_on_patches(patches, target, config, kustomizations),
    ]
    found += (
        from_advice(rule, item)._replace(number=numbers[id(item.subject.document)])
        for rule, item in advice
        if not _hidden(item)
    )

    def again(file: str, text: str) -> list[list[Placed]]:
        items = [item for item in read_text(file, text) if isinstance(item, Document)]
        documents = [item for item in items if isinstance(item.value, dict)]
        return [
            _judged(reading, target, namespaces.labels, assumed=assumed)[0]
            for reading in readings(documents, kustomizations)
        ]

    kept, suppressed = select(proven(found, again), inputs.documents, config)
    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    return Report(
        tuple(kept),
        target.release,
        assumed=assumed,
        files=inputs.files,
        documents=count + len(inputs.broken),
        suppressed=suppressed,
        skipped=inputs.skipped,
    )


def _judged(
    reading: Reading, target: Target, namespaces: Mapping[str, Mapping[str, str]], *, assumed: bool
) -> tuple[list[Placed], Document]:
    """What is wrong with a document by itself, and the document as it was probably meant."""
    remarks, meant = verdict(reading.document, target, namespaces, matters=reading.matters)
    if reading.foreign:
        remarks += tuple(foreign_pods(reading.document, target))
    placed = [from_violation(reading.document, remark, target) for remark in remarks]
    if assumed:
        placed = [_without_version_fix(item) for item in placed]
    return [item._replace(number=reading.number) for item in placed], meant


def _without_version_fix(placed: Placed) -> Placed:
    fix = placed.finding.fix
    if fix is None or placed.path != ("apiVersion",):
        return placed
    return placed._replace(finding=placed.finding._replace(fix=fix._replace(safe=False)))


def _advice(
    documents: Sequence[Document],
    target: Target,
    devices: Inventory | None,
    config: Selection,
    kustomizations: Kustomizations,
    namespaces: Container[str | None],
) -> Iterator[tuple[registry.Rule, Advice]]:
    # Another group's kinds may have the names of ours; what matters there are the pods in it.
    ours = (GROUP, "", "apps", "batch")
    subjects = [Subject(d, (d.kind or "") if group(d.value) in ours else "") for d in documents]
    whole = Run(subjects, target, devices)
    for together in _apart(subjects, kustomizations):
        run = Run(
            together,
            target,
            devices,
            whole,
            applied_together=kustomizations.naming(together[0].document.file) is not None,
            namespaces=namespaces,
        )
        for rule in registry.rules().values():
            if rule.concerns(run) and config.wants(rule.code):
                for advice in rule.check(run):
                    yield rule, advice


def _apart(subjects: Iterable[Subject], kustomizations: Kustomizations) -> list[list[Subject]]:
    """The objects of each kustomization, and of each other folder."""
    found: dict[str, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(kustomizations.home_of(subject.document.file), []).append(subject)
    return list(found.values())


def _advice_on_patches(
    documents: Sequence[Document], target: Target, config: Selection, kustomizations: Kustomizations
) -> Iterator[tuple[registry.Rule, Advice]]:
    """What a patch says in CEL can be judged without what it is applied to."""
    for document in documents:
        for rule, advice in _advice([document], target, None, config, kustomizations, ()):
            if advice.path[-1:] == ("expression",):
                yield rule, advice


def _hidden(advice: Advice) -> bool:
    return hides(advice.subject.document, advice.path, advice.offset, advice.end)
