"""The findings in an input: in each document, and across documents that belong together."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint import registry
from dractl.lint.evidence import NOTHING, Evidence
from dractl.lint.foreign_pods import foreign_pods
from dractl.lint.model import Advice, Circumstances, Manifest, Run, manifest
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


_PATCH_RULES = frozenset({"DRA153"})
"""Rules about the effects of a patch on an object."""


class Terms(Struct, frozen=True):
    """The settings that apply to a run of lint."""

    target: Target
    """The release and its gates."""
    config: Selection = Selection()
    """The selected rules and findings."""
    devices: TriedDevices | None = None
    """The inventory on which selectors, constraints and capacities are tried; None if no devices
    are known.
    """
    assumed: bool = False
    """True if neither an option nor a setting names the release; a fix to another ``apiVersion`` is
    then not safe.
    """
    consumers: frozenset[str] = frozenset()
    """Programs that read claims, of registry.CONSUMERS."""
    versions: Mapping[str, str] = MappingProxyType({})
    """The versions of drivers by name, if they are known."""


class Surroundings(Struct, frozen=True):
    """Facts of an input besides its objects."""

    namespaces: Namespaces
    """The namespaces of the input."""
    evidence: Evidence = NOTHING
    """The facts about drivers in its other objects."""
    files: frozenset[str] = frozenset()
    """The files that were read although nobody asked about them."""
    undecided: Sequence[str] = ()
    """The files that may define objects of any name."""
    worlds: Mapping[str, Namespaces] = MappingProxyType({})
    """The namespaces of each cluster to which Flux or Argo CD applies objects of the input."""
    schemas: PodSchemas = NO_SCHEMAS

    def namespaces_of(self, document: Document) -> Namespaces:
        """Return the namespaces that an object may be in."""
        if not self.worlds:
            return self.namespaces
        return self.worlds.get(document.world or "", self.namespaces)


class IntendedObject(Struct, frozen=True):
    """An object as it was probably meant."""

    subject: Manifest
    number: int
    """The number of its document in the file."""


def findings(
    readable: Sequence[Reading],
    terms: Terms,
    surroundings: Surroundings,
    kustomizations: Kustomizations,
    references: Sequence[Manifest] = (),
) -> list[Located]:
    """Return the findings in an input, before fixes are proven and findings suppressed.

    ``references`` are objects that names may refer to, and that are not checked themselves.
    """
    located: list[Located] = []
    objects: list[IntendedObject] = []
    patches: list[IntendedObject] = []
    for reading in readable:
        labels = surroundings.namespaces_of(reading.document).labels
        remarks, meant = _collect_remarks(reading, terms, labels, surroundings.schemas)
        if remarks and not _is_other(reading.document, surroundings.files):
            located += _locate(reading, remarks, terms)
        subject = reading.subject if meant is None else manifest(meant)
        (patches if reading.patch else objects).append(IntendedObject(subject, reading.number))
    subjects = [*references, *(item.subject for item in objects)]
    others = Run(subjects, terms.target, terms.devices)
    others_of_worlds = Run(list(_list_outside_worlds(subjects)), terms.target, terms.devices)
    silent: set[Hashable] = set()
    for group in _group_by_home(objects, kustomizations):
        if _concerns_asked_files(group, surroundings.files):
            named_objects = others_of_worlds if group[0].subject.document.world else others
            located += _advice(group, terms, kustomizations, named_objects, surroundings, silent)
    located += _advice_on_patches(patches, others, terms, kustomizations)
    return [item for item in located if item.finding.position.file not in surroundings.files]


def _list_outside_worlds(subjects: Sequence[Manifest]) -> Iterator[Manifest]:
    """Yield the objects that are not in a world: objects of files that no GitOps controller
    applies, and objects whose names have variables.
    """
    files = {subject.document.file for subject in subjects if subject.document.world}
    for subject in subjects if files else ():
        is_open = subject.document.file not in files or holds_placeholder(subject.name)
        if not subject.document.world and is_open:
            yield subject


def _concerns_asked_files(together: Sequence[IntendedObject], around: Container[str]) -> bool:
    """Return True if findings in objects may be in a file that was asked about.

    Findings in objects of a kustomization may be in a patch, or in values.
    """
    return not all(_is_other(item.subject.document, around) for item in together)


def _is_other(document: Document, around: Container[str]) -> bool:
    """Return True if a finding in an object cannot be in a file that was asked about."""
    return not document.rendered and document.file in around


def judge_document(
    reading: Reading,
    terms: Terms,
    namespaces: Mapping[str, Mapping[str, str]],
    schemas: PodSchemas = NO_SCHEMAS,
) -> tuple[list[Located], Document | None]:
    """Return the errors in a document by itself, and the document as it was probably meant, if that
    differs from the written one.
    """
    remarks, meant = _collect_remarks(reading, terms, namespaces, schemas)
    return _locate(reading, remarks, terms), meant


def _collect_remarks(
    reading: Reading, terms: Terms, namespaces: Mapping[str, Mapping[str, str]], schemas: PodSchemas
) -> tuple[list[Flagged], Document | None]:
    answer = verdict(reading.document, terms.target, namespaces, matters=reading.matters)
    remarks = [
        *answer.remarks,
        *(foreign_pods(reading.document, terms.target, schemas) if reading.foreign else ()),
    ]
    return remarks, None if answer.document is reading.document else answer.document


def _locate(reading: Reading, remarks: Iterable[Flagged], terms: Terms) -> list[Located]:
    placed = [from_violation(reading.document, remark, terms.target) for remark in remarks]
    if terms.assumed:
        placed = [_make_version_fix_unsafe(item) for item in placed]
    return [replace(item, number=reading.number) for item in placed]


def _make_version_fix_unsafe(placed: Located) -> Located:
    fix = placed.finding.fix
    if fix is None or placed.path != ("apiVersion",):
        return placed
    return replace(placed, finding=replace(placed.finding, fix=replace(fix, safe=False)))


def _advice(
    together: Sequence[IntendedObject],
    terms: Terms,
    kustomizations: Kustomizations,
    others: Run,
    around: Surroundings,
    silent: set[Hashable],
    bases: Sequence[Manifest] = (),
) -> list[Located]:
    """Return the advice on objects that belong together."""
    numbers = {id(item.subject): item.number for item in together}
    first = together[0].subject.document
    run = Run(
        [item.subject for item in together],
        terms.target,
        terms.devices,
        others,
        circumstances=Circumstances(
            bool(first.rendered) or kustomizations.naming(first.file) is not None,
            around.namespaces_of(first).known,
            terms.consumers,
            terms.versions,
            around.undecided,
            around.evidence,
            unasked_files=around.files,
        ),
        bases=bases,
    )
    rules = [rule for rule in registry.checks(run) if terms.config.wants(rule.code)]
    all_advice = advice_of(run, rules, silent)
    shown = [(rule, advice) for rule, advice in all_advice if not _is_hidden(advice, around.files)]
    without_devices = _advice_without_devices(run) if any(rule.devices for rule, _ in shown) else {}
    return [
        replace(
            from_advice(rule, _add_cause(advice, without_devices) if rule.devices else advice),
            number=numbers[id(advice.subject)],
        )
        for rule, advice in shown
    ]


def _advice_without_devices(run: Run) -> dict[tuple[int, Path], Advice]:
    """Return the advice that is known even without devices, by subject and path."""
    return {
        (id(advice.subject), advice.path): advice
        for rule in registry.checks()
        for advice in rule.advice(run.without_devices)
        if (advice.severity or rule.severity) != "info"
    }


def _add_cause(advice: Advice, without_devices: Mapping[tuple[int, Path], Advice]) -> Advice:
    """Add to advice about devices the cause and the fix that are known without devices."""
    cause = without_devices.get((id(advice.subject), advice.path))
    if cause is None:
        return advice
    return replace(
        advice,
        message=f"{advice.message}: {cause.message}",
        help=advice.help or cause.help,
        fix=advice.fix or cause.fix,
        span=cause.span,
    )


def _group_by_home(
    meant: Iterable[IntendedObject], kustomizations: Kustomizations
) -> list[list[IntendedObject]]:
    """Group the objects by cluster, by chart and kustomization, by document of prose, and by
    folder.
    """
    homes: dict[str, list[IntendedObject]] = {}
    for item in meant:
        document = item.subject.document
        together = document.world or document.rendered
        home = f"{together} rendered" if together else kustomizations.home_of(document.file)
        # Only the examples of this file belong together, without the files beside it
        if document.file.endswith(SUFFIXES):
            home = document.file
        homes.setdefault(home, []).append(item)
    return list(homes.values())


def _advice_on_patches(
    patches: Sequence[IntendedObject], others: Run, terms: Terms, kustomizations: Kustomizations
) -> Iterator[Located]:
    """Yield the advice on patches.

    CEL in a patch can be checked without the object that the patch changes. The removal of a part
    of the object can only be found together with the object.
    """
    for patch in patches:
        no_surroundings = Surroundings(Namespaces({}, frozenset()))
        bases = bases_of(patch.subject.document, others.subjects, kustomizations)
        for placed in _advice(
            [patch],
            replace(terms, devices=None),
            kustomizations,
            Run([patch.subject], terms.target),
            no_surroundings,
            set(),
            bases,
        ):
            if placed.path[-1:] == ("expression",) or placed.finding.code in _PATCH_RULES:
                yield placed


def _is_hidden(advice: Advice, around: Container[str]) -> bool:
    document = advice.subject.document
    return _is_other(document, around) or hides(document, advice.path, advice.span)
