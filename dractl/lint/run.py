"""Turns documents into findings."""

from __future__ import annotations

from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.facts.seen import describe_unknown, unknown_values
from dractl.lint.evidence import evidence_of
from dractl.lint.finding import Report
from dractl.lint.findings import Surroundings, Terms, findings, judge_document
from dractl.lint.foreign_pods import needs_schema
from dractl.lint.ignores import ignores
from dractl.lint.namespaces import Namespaces, namespaces_of
from dractl.lint.place import from_broken
from dractl.lint.pod_schemas import PodSchemas, find_pod_schemas
from dractl.lint.proof import keep_fixes_proven_on_objects, keep_proven_fixes
from dractl.lint.reading import readings
from dractl.lint.relevance import group
from dractl.lint.repository import Repositories, add_neighbours
from dractl.lint.selection import Selection, drop_repetitions, select
from dractl.lint.unlisted import find_unlisted
from dractl.manifests import Broken, Document, read_text
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.markdown import SUFFIXES
from dractl.manifests.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from dractl.lint.inventory import TriedDevices
    from dractl.lint.place import Located
    from dractl.lint.reading import Reading
    from dractl.manifests import Inputs, Skipped
    from dractl.model import Target


_MAX_NAMED_FILES = 3


def lint(
    inputs: Inputs,
    target: Target,
    *,
    config: Selection | None = None,
    devices: TriedDevices | None = None,
    assumed: bool = False,
    consumers: frozenset[str] = frozenset(),
    versions: Mapping[str, str] = MappingProxyType({}),
    repositories: Repositories | None = None,
    completed: Callable[[Inputs], Inputs] = lambda inputs: inputs,
) -> Report:
    """Report all errors in the documents for an API server of a release, and dractl's own advice.

    The parameters are the fields of :class:`Terms`. Objects that the documents name are looked up
    in the ``repositories`` of their files; ``completed`` adds the objects that are made of several
    files.
    """
    terms = Terms(target, config or Selection(), devices, assumed, consumers, versions)
    return report_on(
        completed(add_neighbours(inputs, repositories or Repositories())), terms, Kustomizations()
    )


class Judgement(Struct, frozen=True):
    """The findings in an input before they are selected, with the parts of its report."""

    placed: Sequence[Located]
    """The findings."""
    commented: Sequence[Source]
    """The files with comments that may suppress findings."""
    documents: int
    """The number of documents."""
    files: int
    """The number of files."""
    skipped: Sequence[Skipped]
    """The files that were not read."""
    digests: Mapping[str, str]
    """The digests of the files, by name."""
    unknown: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The values in slices that the facts do not have, by driver."""
    beyond: Sequence[str] = ()
    """The neighbours that were not read because of their number or size."""


class _Trial(Struct, frozen=True):
    """An input with everything that the judgement of its documents needs."""

    inputs: Inputs
    terms: Terms
    kustomizations: Kustomizations
    schemas: PodSchemas
    """The schemas of custom resources with pods."""
    manifests: Sequence[Document]
    """The documents of the input without the examples in prose."""
    surroundings: Surroundings
    """The surroundings of the manifests."""
    prose: Mapping[str, Sequence[Reading]]
    """The examples in Markdown by file. The examples of one file are judged together with the
    manifests, but not with examples of other files.
    """

    def find(self, readable: Sequence[Reading]) -> list[Located]:
        """Return the findings in the documents of the input."""
        manifests = [item for item in readable if not item.document.file.endswith(SUFFIXES)]
        located = list(map(from_broken, self.inputs.broken))
        located += findings(manifests, self.terms, self.surroundings, self.kustomizations)
        references = [item.subject for item in manifests if not item.patch] if self.prose else []
        for examples in self.prose.values():
            surroundings = self.surroundings_with([item.document for item in examples])
            located += findings(examples, self.terms, surroundings, self.kustomizations, references)
        return located

    def surroundings_with(self, documents: Sequence[Document]) -> Surroundings:
        """Return the surroundings of the manifests together with more documents."""
        return _surroundings_of((*self.manifests, *documents), self.inputs, self.schemas)

    def judge_text(self, file: str, text: str) -> list[list[Located]]:
        """Return the findings in each document of a corrected text; none if the text is more broken
        than before.
        """
        items = read_text(file, text)
        documents = [
            item for item in items if isinstance(item, Document) and isinstance(item.value, dict)
        ]
        if sum(isinstance(item, Broken) for item in items) > sum(
            item.file == file for item in self.inputs.broken
        ):
            return []
        in_prose = file in self.prose
        surroundings = self.surroundings_with(documents) if in_prose else self.surroundings
        return [
            self._judge(item, surroundings.namespaces_of(item.document))
            for item in readings(documents, self.kustomizations)
        ]

    def judge_object(self, document: Document) -> list[Located]:
        """Return the findings in a corrected object."""
        namespaces = self.surroundings.namespaces_of(document)
        return [
            finding
            for item in readings([document], self.kustomizations)
            for finding in self._judge(item, namespaces)
        ]

    def _judge(self, item: Reading, namespaces: Namespaces) -> list[Located]:
        return judge_document(item, self.terms, namespaces.labels, self.schemas)[0]


def _trial(
    inputs: Inputs, readable: Sequence[Reading], terms: Terms, kustomizations: Kustomizations
) -> _Trial:
    manifests = [item for item in inputs.documents if not item.file.endswith(SUFFIXES)]
    kinds = {
        (group(item.document.value), item.document.kind or "")
        for item in readable
        if item.foreign and needs_schema(item.document)
    }
    schemas = find_pod_schemas(inputs.definitions, sorted(kinds))
    prose: dict[str, list[Reading]] = {}
    for item in readable:
        if item.document.file.endswith(SUFFIXES):
            prose.setdefault(item.document.file, []).append(item)
    surroundings = _surroundings_of(manifests, inputs, schemas)
    return _Trial(inputs, terms, kustomizations, schemas, manifests, surroundings, prose)


def judge(
    inputs: Inputs, readable: Sequence[Reading], terms: Terms, kustomizations: Kustomizations
) -> Judgement:
    """Return the findings in the ``readable`` documents of an input, with proven fixes only."""
    trial = _trial(inputs, readable, terms, kustomizations)
    neighbours = trial.surroundings.files
    placed = keep_fixes_proven_on_objects(
        keep_proven_fixes(_drop_doubles(trial.find(readable)), trial.judge_text), trial.judge_object
    )
    asked_documents = [item for item in inputs.documents if item.file not in neighbours]
    commented = _sources_with_comments(asked_documents, neighbours)
    counted = [
        item
        for item in readable
        if not item.document.built and item.document.file not in neighbours
    ]
    files = {*(item.file for item in placed), *(source.name for source in commented)}
    return Judgement(
        placed,
        commented,
        len(counted) + len(inputs.broken),
        inputs.files,
        (
            *inputs.skipped,
            *trial.schemas.broken,
            *find_unlisted(readable, kustomizations, neighbours),
        ),
        {name: inputs.digests[name] for name in files if name in inputs.digests},
        unknown_values(item.document.value for item in counted),
        inputs.beyond,
    )


def _surroundings_of(
    documents: Sequence[Document], inputs: Inputs, schemas: PodSchemas
) -> Surroundings:
    return Surroundings(
        namespaces_of(documents),
        evidence_of(documents),
        inputs.around,
        inputs.undecided,
        _namespaces_by_world(documents),
        schemas,
    )


def _namespaces_by_world(documents: Sequence[Document]) -> dict[str, Namespaces]:
    """Return the namespaces of each cluster to which a GitOps controller applies objects, including
    the namespaces that no controller applies.
    """
    worlds = dict.fromkeys(filter(None, (item.world for item in documents)))
    if not worlds:
        return {}
    delivered = {item.file for item in documents if item.world}
    outside = [item for item in documents if not item.world and item.file not in delivered]
    return {
        world: namespaces_of([*outside, *(item for item in documents if item.world == world)])
        for world in worlds
    }


def report_of(parts: Sequence[Judgement], terms: Terms) -> Report:
    """Return the report on an input that was judged in parts, without suppressed findings, sorted
    by place.
    """
    placed = [item for part in parts for item in part.placed]
    placed = _drop_doubles(placed) if len(parts) > 1 else placed
    commented = [source for part in parts for source in part.commented]
    findings, suppressed = select(placed, commented, terms.config)
    findings = drop_repetitions(findings)
    findings.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    digests = {name: digest for part in parts for name, digest in part.digests.items()}
    return Report(
        tuple(findings),
        terms.target.release,
        release_from="default" if terms.assumed else "",
        files=sum(part.files for part in parts),
        documents=sum(part.documents for part in parts),
        suppressed=suppressed,
        skipped=tuple(item for part in parts for item in part.skipped),
        notes=(
            *describe_unknown([part.unknown for part in parts]),
            *_note_beyond([file for part in parts for file in part.beyond]),
        ),
        digests={
            f.position.file: digests[f.position.file]
            for f in findings
            if f.position.file in digests
        },
    )


def _note_beyond(files: Sequence[str]) -> Iterator[str]:
    """Yield a note about neighbours that were not read."""
    if files:
        count = "1 file" if len(files) == 1 else f"{len(files):,} files"
        more = ", ..." if len(files) > _MAX_NAMED_FILES else ""
        yield (
            "not read, as the files beside the named ones are too many or too large:"
            f" {count} that may have DRA objects, {', '.join(files[:_MAX_NAMED_FILES])}{more}; name"
            " those that lint should read, too"
        )


def report_on(inputs: Inputs, terms: Terms, kustomizations: Kustomizations) -> Report:
    """Return the report on an input."""
    readable = list(readings(inputs.documents, kustomizations, terms.consumers))
    return report_of([judge(inputs, readable, terms, kustomizations)], terms)


def _sources_with_comments(documents: Sequence[Document], others: Container[str]) -> list[Source]:
    """Return the files with ignore comments among the files that contain the documents or their
    values (such as a chart's values). Files that nobody asked about are left out.
    """
    layers = (layer for item in documents for layer in item.layers if layer.file not in others)
    # Documents of one file share its text, which is searched once.
    texts = {
        (item.file, id(text)): text for item in chain(documents, layers) for text in (item.text,)
    }
    return list(
        {file: Source(file, text) for (file, _), text in texts.items() if ignores(text)}.values()
    )


def _drop_doubles(located: Sequence[Located]) -> list[Located]:
    """Drop a finding in an object that a kustomization builds, if the object's own file or an
    earlier kustomization has the same finding.
    """
    spots = {_spot(item) for item in located if not item.built}
    distinct = []
    for item in located:
        if item.built:
            if _spot(item) in spots:
                continue
            spots.add(_spot(item))
        distinct.append(item)
    return distinct


def _spot(item: Located) -> tuple[str | int, ...]:
    return item.finding.code, item.finding.position.file, item.finding.position.line
