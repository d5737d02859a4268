"""The findings in an input: in each document, and across those that belong together."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint import registry
from dractl.lint.evidence import NOTHING, Evidence
from dractl.lint.foreign_pods import foreign_pods
from dractl.lint.model import Advice, Manifest, Run, manifest
from dractl.lint.namespaces import Namespaces
from dractl.lint.patched import bases_of
from dractl.lint.place import from_advice, from_violation
from dractl.lint.placeholders import hides, holds_placeholder
from dractl.lint.pod_schemas import NO_SCHEMAS, PodSchemas
from dractl.lint.repeated import advice_of
from dractl.lint.selection import Selection
from dractl.lint.verdict import verdict
from dractl.manifests.markdown import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence

    from dractl.lint.inventory import TriedDevices
    from dractl.lint.place import Located
    from dractl.lint.reading import Reading
    from dractl.lint.verdict import Flagged
    from dractl.manifests import Document
    from dractl.manifests.documents import Path
    from dractl.manifests.kustomize import Kustomizations
    from dractl.model import Target


_OF_PATCHES = frozenset({"DRA153"})
"""Rules about what a patch does to an object."""


class Terms(Struct, frozen=True):
    """The terms of linting.

    ``devices``: the inventory on which selectors, constraints and capacities are tried. ``assumed``: nobody named the
    release, so a fix to another ``apiVersion`` is not safe. ``consumers``: of registry.CONSUMERS.
    ``versions``: the versions of drivers by name, where they are known.
    """

    target: Target
    config: Selection = Selection()
    devices: TriedDevices | None = None
    assumed: bool = False
    consumers: frozenset[str] = frozenset()
    versions: Mapping[str, str] = MappingProxyType({})


class Around(Struct, frozen=True):
    """What an input knows besides its objects: its namespaces, what it says about drivers, and ``files`` and
    ``undecided`` as in ``around`` and ``undecided`` of :class:`Inputs`. ``worlds``: the namespaces of each cluster to
    which Flux or Argo CD applies objects of the input."""

    namespaces: Namespaces
    evidence: Evidence = NOTHING
    files: frozenset[str] = frozenset()
    undecided: Sequence[str] = ()
    worlds: Mapping[str, Namespaces] = MappingProxyType({})
    schemas: PodSchemas = NO_SCHEMAS

    def namespaces_of(self, document: Document) -> Namespaces:
        """The namespaces that an object may be in."""
        return self.worlds.get(document.world or "", self.namespaces)


class Meant(Struct, frozen=True):
    """An object as it was probably meant, and the number of its document in the file."""

    subject: Manifest
    number: int


def findings(
    readable: Sequence[Reading],
    terms: Terms,
    around: Around,
    kustomizations: Kustomizations,
    beside: Sequence[Manifest] = (),
) -> list[Located]:
    """The findings in an input, before fixes are proven and findings suppressed. ``beside``: objects that only lend
    their names."""
    found: list[Located] = []
    whole: list[Meant] = []
    patches: list[Meant] = []
    for reading in readable:
        labels = around.namespaces_of(reading.document).labels
        remarks, meant = _remarked(reading, terms, labels, around.schemas)
        if remarks and not _is_other(reading.document, around.files):
            found += _placed(reading, remarks, terms)
        subject = reading.subject if meant is None else manifest(meant)
        (patches if reading.patch else whole).append(Meant(subject, reading.number))
    subjects = [*beside, *(item.subject for item in whole)]
    others = Run(subjects, terms.target, terms.devices)
    others_of_worlds = Run(list(_outside_worlds(subjects)), terms.target, terms.devices)
    silent: set[Hashable] = set()
    for group in _apart(whole, kustomizations):
        if _asked(group, around.files):
            elsewhere = others_of_worlds if group[0].subject.document.world else others
            found += _advice(group, terms, kustomizations, elsewhere, around, silent)
    found += _advice_on_patches(patches, others, terms, kustomizations)
    return [item for item in found if item.finding.position.file not in around.files]


def _outside_worlds(subjects: Sequence[Manifest]) -> Iterator[Manifest]:
    """The objects of which no world has a form of its own: those of files that no GitOps controller applies, and those
    whose names are completed by variables."""
    files = {subject.document.file for subject in subjects if subject.document.world}
    for subject in subjects if files else ():
        is_open = subject.document.file not in files or holds_placeholder(subject.name)
        if not subject.document.world and is_open:
            yield subject


def _asked(together: Sequence[Meant], around: Container[str]) -> bool:
    """True if findings in objects may be in a file that was asked about; those of a kustomization may be in a patch, or
    in values."""
    return not all(_is_other(item.subject.document, around) for item in together)


def _is_other(document: Document, around: Container[str]) -> bool:
    """True if no finding in an object is in a file that was asked about."""
    return not document.rendered and document.file in around


def judged(
    reading: Reading,
    terms: Terms,
    namespaces: Mapping[str, Mapping[str, str]],
    schemas: PodSchemas = NO_SCHEMAS,
) -> tuple[list[Located], Document | None]:
    """The errors in a document by itself, and the document as it was probably meant, if otherwise than written."""
    remarks, meant = _remarked(reading, terms, namespaces, schemas)
    return _placed(reading, remarks, terms), meant


def _remarked(
    reading: Reading, terms: Terms, namespaces: Mapping[str, Mapping[str, str]], schemas: PodSchemas
) -> tuple[list[Flagged], Document | None]:
    answer = verdict(reading.document, terms.target, namespaces, matters=reading.matters)
    remarks = [
        *answer.remarks,
        *(foreign_pods(reading.document, terms.target, schemas) if reading.foreign else ()),
    ]
    return remarks, None if answer.document is reading.document else answer.document


def _placed(reading: Reading, remarks: Iterable[Flagged], terms: Terms) -> list[Located]:
    placed = [from_violation(reading.document, remark, terms.target) for remark in remarks]
    if terms.assumed:
        placed = [_without_version_fix(item) for item in placed]
    return [replace(item, number=reading.number) for item in placed]


def _without_version_fix(placed: Located) -> Located:
    fix = placed.finding.fix
    if fix is None or placed.path != ("apiVersion",):
        return placed
    return replace(placed, finding=replace(placed.finding, fix=replace(fix, safe=False)))


def _advice(
    together: Sequence[Meant],
    terms: Terms,
    kustomizations: Kustomizations,
    others: Run,
    around: Around,
    silent: set[Hashable],
    bases: Sequence[Manifest] = (),
) -> list[Located]:
    """The advice on objects that belong together."""
    numbers = {id(item.subject): item.number for item in together}
    first = together[0].subject.document
    run = Run(
        [item.subject for item in together],
        terms.target,
        terms.devices,
        others,
        applied_together=bool(first.rendered) or kustomizations.naming(first.file) is not None,
        namespaces=around.namespaces_of(first).known,
        consumers=terms.consumers,
        versions=terms.versions,
        undecided=around.undecided,
        evidence=around.evidence,
        bases=bases,
    )
    rules = [rule for rule in registry.checks(run) if terms.config.wants(rule.code)]
    said = advice_of(run, rules, silent)
    found = [(rule, advice) for rule, advice in said if not _hidden(advice, around.files)]
    known = _known(run) if any(rule.devices for rule, _ in found) else {}
    return [
        replace(
            from_advice(rule, _explained(advice, known) if rule.devices else advice),
            number=numbers[id(advice.subject)],
        )
        for rule, advice in found
    ]


def _known(run: Run) -> dict[tuple[int, Path], Advice]:
    """What is known of drivers says without the devices, by subject and path."""
    return {
        (id(advice.subject), advice.path): advice
        for rule in registry.checks()
        for advice in rule.advice(run.without_devices)
        if (advice.severity or rule.severity) != "info"
    }


def _explained(advice: Advice, known: Mapping[tuple[int, Path], Advice]) -> Advice:
    """What devices show, together with the cause and the fix that are known without them."""
    cause = known.get((id(advice.subject), advice.path))
    if cause is None:
        return advice
    return replace(
        advice,
        message=f"{advice.message}: {cause.message}",
        help=advice.help or cause.help,
        fix=advice.fix or cause.fix,
        span=cause.span,
    )


def _apart(meant: Iterable[Meant], kustomizations: Kustomizations) -> list[list[Meant]]:
    """The objects of each chart and kustomization, of each document of prose, and of each other folder."""
    homes: dict[str, list[Meant]] = {}
    for item in meant:
        document = item.subject.document
        together = document.world or document.rendered
        home = f"{together} rendered" if together else kustomizations.home_of(document.file)
        if document.file.endswith(SUFFIXES):  # examples, and not what stands beside them
            home = document.file
        homes.setdefault(home, []).append(item)
    return list(homes.values())


def _advice_on_patches(
    patches: Sequence[Meant], others: Run, terms: Terms, kustomizations: Kustomizations
) -> Iterator[Located]:
    """CEL in a patch can be checked without the object that the patch changes; what a patch drops only with it."""
    for patch in patches:
        alone = Around(Namespaces({}, frozenset()))
        bases = bases_of(patch.subject.document, others.subjects, kustomizations)
        for placed in _advice(
            [patch],
            replace(terms, devices=None),
            kustomizations,
            Run([patch.subject], terms.target),
            alone,
            set(),
            bases,
        ):
            if placed.path[-1:] == ("expression",) or placed.finding.code in _OF_PATCHES:
                yield placed


def _hidden(advice: Advice, around: Container[str]) -> bool:
    document = advice.subject.document
    return _is_other(document, around) or hides(document, advice.path, advice.span)
