"""The findings in one part of the input: in each document, and across those that belong together."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from dractl.lint import registry
from dractl.lint.elsewhere import elsewhere
from dractl.lint.foreign_pods import foreign_pods
from dractl.lint.ignores import ignores
from dractl.lint.model import Run, Subject
from dractl.lint.namespaces import Namespaces, namespaces_of, seen
from dractl.lint.place import from_advice, from_broken, from_violation
from dractl.lint.placeholders import hides
from dractl.lint.reading import readings
from dractl.lint.relevance import GROUP, group
from dractl.lint.selection import Selection
from dractl.lint.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from dractl.lint.advice import Advice
    from dractl.lint.inventory import Inventory
    from dractl.lint.place import Placed
    from dractl.lint.reading import Reading
    from dractl.lint.workers import Exchange
    from dractl.manifests import Document, Inputs, Skipped
    from dractl.manifests.kustomize import Kustomizations
    from dractl.model import Target


class Question(NamedTuple):
    """The scope of linting.

    ``devices``: the inventory on which selectors, constraints and capacities are tried. ``assumed``: nobody named the
    release, so a fix to another ``apiVersion`` is not safe. ``consumers``: of registry.CONSUMERS.
    ``versions``: the versions of drivers by name, where they are known.
    """

    target: Target
    config: Selection = Selection()
    devices: Inventory | None = None
    assumed: bool = False
    consumers: frozenset[str] = frozenset()
    versions: Mapping[str, str] = MappingProxyType({})


class Part(NamedTuple):
    """The findings in a part of the input, before fixes are proven and findings suppressed.

    ``commented``: documents of files with ignore comments. ``documents`` counts those that concern DRA. ``digests`` are
    those of the files' bytes, by name.
    """

    found: list[Placed]
    commented: list[Document]
    documents: int
    files: int
    skipped: tuple[Skipped, ...]
    namespaces: Namespaces
    digests: Mapping[str, str]


NOTHING = Part([], [], 0, 0, (), Namespaces({}, frozenset()), {})
"""Of a part that another process answers for."""


class Meant(NamedTuple):
    """An object as it was probably meant, and the number of its document in the file."""

    subject: Subject
    number: int

    @property
    def file(self) -> str:
        return self.subject.document.file


def lint_part(inputs: Inputs, question: Question, exchange: Exchange, kustomizations: Kustomizations) -> Part:
    """The findings in one part of the input, while other processes check the others.

    The objects of a folder or kustomization are advised on together, by the first part that has any of them.
    """
    readable = list(readings(inputs.documents, kustomizations))
    namespaces = namespaces_of(exchange.to_all(seen(inputs.documents)))
    found = [from_broken(broken) for broken in inputs.broken]
    whole: list[Meant] = []
    patches: list[Meant] = []
    for reading in readable:
        placed, meant = judged(reading, question, namespaces.labels)
        found += placed
        (patches if reading.patch else whole).append(Meant(_subject(meant), reading.number))
    together, others = _shared(whole, question, kustomizations, exchange)
    found += _advice(together, question, kustomizations, others, namespaces.known)
    found += _advice_on_patches(patches, question, kustomizations)
    texts = {
        (item.file, id(item.text)): item for item in inputs.documents
    }  # one a file, however many its documents are
    commented = {item.file: item for item in texts.values() if ignores(item.text)}
    documents = sum(not item.document.built for item in readable) + len(inputs.broken)
    return Part(found, list(commented.values()), documents, inputs.files, inputs.skipped, namespaces, inputs.digests)


def judged(
    reading: Reading, question: Question, namespaces: Mapping[str, Mapping[str, str]]
) -> tuple[list[Placed], Document]:
    """The errors in a document by itself, and the document as it was probably meant."""
    target = question.target
    remarks, meant = verdict(reading.document, target, namespaces, matters=reading.matters)
    if reading.foreign:
        remarks += tuple(foreign_pods(reading.document, target))
    placed = [from_violation(reading.document, remark, target) for remark in remarks]
    if question.assumed:
        placed = [_without_version_fix(item) for item in placed]
    return [item._replace(number=reading.number) for item in placed], meant


def _without_version_fix(placed: Placed) -> Placed:
    fix = placed.finding.fix
    if fix is None or placed.path != ("apiVersion",):
        return placed
    return placed._replace(finding=placed.finding._replace(fix=fix._replace(safe=False)))


def _shared(
    whole: Sequence[Meant], question: Question, kustomizations: Kustomizations, exchange: Exchange
) -> tuple[list[Meant], Run]:
    """The documents that this part advises on, in the order of the input, and where it looks up names of others."""
    homes = {_home(item.subject, kustomizations) for item in whole}
    owners: dict[str, int] = {}
    for rank, named in enumerate(exchange.to_all(homes)):
        for home in named:
            owners.setdefault(home, rank)
    given: list[list[Meant]] = [[] for _ in range(exchange.size)]
    for item in whole:
        given[owners[_home(item.subject, kustomizations)]].append(item)
    together = [item for taken in exchange.to_each(given) for item in taken]
    mine, advised = ([item.subject for item in items] for items in (whole, together))
    return together, Run(elsewhere(mine, advised, exchange), question.target, question.devices)


def _subject(document: Document) -> Subject:
    # Another group's kinds may have the names of ours; only the pods in it matter.
    ours = (GROUP, "", "apps", "batch")
    return Subject(document, (document.kind or "") if group(document.value) in ours else "")


def _advice(
    meant: Sequence[Meant],
    question: Question,
    kustomizations: Kustomizations,
    others: Run,
    namespaces: Container[str | None] = (),
) -> Iterator[Placed]:
    numbers = {id(item.subject): item.number for item in meant}
    for together in _apart((item.subject for item in meant), kustomizations):
        run = Run(
            together,
            question.target,
            question.devices,
            others,
            applied_together=bool(together[0].document.rendered)
            or kustomizations.naming(together[0].document.file) is not None,
            namespaces=namespaces,
            consumers=question.consumers,
            versions=question.versions,
        )
        for rule in registry.checks():
            if question.config.wants(rule.code):
                for advice in rule.advice(run):
                    if not _hidden(advice):
                        yield from_advice(rule, advice)._replace(number=numbers[id(advice.subject)])


def _home(subject: Subject, kustomizations: Kustomizations) -> str:
    """The group of an object: the chart or kustomization it was rendered from, or the home of its file."""
    document = subject.document
    return f"{document.rendered} rendered" if document.rendered else kustomizations.home_of(document.file)


def _apart(subjects: Iterable[Subject], kustomizations: Kustomizations) -> list[list[Subject]]:
    """The objects of each chart and kustomization, and of each other folder."""
    found: dict[str, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(_home(subject, kustomizations), []).append(subject)
    return list(found.values())


def _advice_on_patches(
    patches: Sequence[Meant], question: Question, kustomizations: Kustomizations
) -> Iterator[Placed]:
    """CEL in a patch can be checked without the object that the patch changes."""
    for patch in patches:
        others = Run([patch.subject], question.target)
        for placed in _advice([patch], question._replace(devices=None), kustomizations, others):
            if placed.path[-1:] == ("expression",):
                yield placed


def _hidden(advice: Advice) -> bool:
    return hides(advice.subject.document, advice.path, advice.offset, advice.end)
