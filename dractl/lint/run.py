"""Turns documents into findings."""

from __future__ import annotations

from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.facts.seen import describe_unknown, unknown_values
from dractl.lint.evidence import evidence_of
from dractl.lint.finding import Report
from dractl.lint.findings import Around, Terms, findings, judged
from dractl.lint.foreign_pods import needs_schema
from dractl.lint.ignores import ignores
from dractl.lint.namespaces import namespaces_of
from dractl.lint.place import from_broken
from dractl.lint.pod_schemas import PodSchemas, find_pod_schemas
from dractl.lint.proof import proven, proven_when_rendered
from dractl.lint.reading import readings
from dractl.lint.relevance import group
from dractl.lint.repository import Repositories, surrounded
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
    """All errors in the documents for an API server of a release, and dractl's own advice; the parameters are those of
    :class:`Terms`. What the documents need of others is looked up in the ``repositories`` of their files;
    ``completed`` adds what is made of several files."""
    terms = Terms(target, config or Selection(), devices, assumed, consumers, versions)
    return report_on(
        completed(surrounded(inputs, repositories or Repositories())), terms, Kustomizations()
    )


class Judged(Struct, frozen=True):
    """The findings in an input, before they are selected, with the files whose comments decide about them; the rest is
    for :class:`Report`."""

    placed: Sequence[Located]
    commented: Sequence[Source]
    documents: int
    files: int
    skipped: Sequence[Skipped]
    digests: Mapping[str, str]
    unknown: Mapping[str, Sequence[str]] = MappingProxyType({})
    beyond: Sequence[str] = ()


def judge(
    inputs: Inputs, readable: Sequence[Reading], terms: Terms, kustomizations: Kustomizations
) -> Judged:
    """The findings in an input whose documents are read so, with proven fixes."""
    written = [item for item in inputs.documents if not item.file.endswith(SUFFIXES)]
    kinds = {
        (group(item.document.value), item.document.kind or "")
        for item in readable
        if item.foreign and needs_schema(item.document)
    }
    schemas = find_pod_schemas(inputs.definitions, sorted(kinds))
    around = _around(written, inputs, schemas)

    def again(file: str, text: str) -> list[list[Located]]:
        items = read_text(file, text)
        documents = [
            item for item in items if isinstance(item, Document) and isinstance(item.value, dict)
        ]
        if sum(isinstance(item, Broken) for item in items) > sum(
            item.file == file for item in inputs.broken
        ):
            return []
        here = _around((*written, *documents), inputs, schemas) if file in prose else around
        return [
            judged(item, terms, here.namespaces_of(item.document).labels, schemas)[0]
            for item in readings(documents, kustomizations)
        ]

    found = list(map(from_broken, inputs.broken))
    asked = [item for item in inputs.documents if item.file not in around.files]
    of_files = [item for item in readable if not item.document.file.endswith(SUFFIXES)]
    prose: dict[str, list[Reading]] = {}  # examples, of which nothing else is a part
    for item in readable:
        if item.document.file.endswith(SUFFIXES):
            prose.setdefault(item.document.file, []).append(item)
    found += findings(of_files, terms, around, kustomizations)
    beside = [item.subject for item in of_files if not item.patch] if prose else []
    for examples in prose.values():
        documents = [item.document for item in examples]
        found += findings(
            examples,
            terms,
            _around((*written, *documents), inputs, schemas),
            kustomizations,
            beside,
        )

    def again_rendered(document: Document) -> list[Located]:
        trials = readings([document], kustomizations)
        return [
            item
            for trial in trials
            for item in judged(trial, terms, around.namespaces_of(document).labels, schemas)[0]
        ]

    placed = proven_when_rendered(proven(_once(found), again), again_rendered)
    commented = _commented(asked, around.files)
    own = [
        item
        for item in readable
        if not item.document.built and item.document.file not in around.files
    ]
    known = {*(item.file for item in placed), *(source.name for source in commented)}
    digests = {name: inputs.digests[name] for name in known if name in inputs.digests}
    unknown = unknown_values(item.document.value for item in own)
    return Judged(
        placed,
        commented,
        len(own) + len(inputs.broken),
        inputs.files,
        (*inputs.skipped, *schemas.broken, *find_unlisted(readable, kustomizations, around.files)),
        digests,
        unknown,
        inputs.beyond,
    )


def _around(documents: Sequence[Document], inputs: Inputs, schemas: PodSchemas) -> Around:
    worlds = list(dict.fromkeys(item.world for item in documents if item.world))
    delivered = {item.file for item in documents if item.world}
    outside = [item for item in documents if not item.world and item.file not in delivered]
    return Around(
        namespaces_of(documents),
        evidence_of(documents),
        inputs.around,
        inputs.undecided,
        {
            world: namespaces_of([*outside, *(item for item in documents if item.world == world)])
            for world in worlds
        },
        schemas,
    )


def report_of(parts: Sequence[Judged], terms: Terms) -> Report:
    """The report on an input that was judged in parts: without suppressed findings, in the order of the places."""
    placed = [item for part in parts for item in part.placed]
    placed = _once(placed) if len(parts) > 1 else placed
    commented = [source for part in parts for source in part.commented]
    kept, suppressed = select(placed, commented, terms.config)
    kept = drop_repetitions(kept)
    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    digests = {name: digest for part in parts for name, digest in part.digests.items()}
    return Report(
        tuple(kept),
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
            f.position.file: digests[f.position.file] for f in kept if f.position.file in digests
        },
    )


def _note_beyond(files: Sequence[str]) -> Iterator[str]:
    """What to say of neighbours that were not read."""
    if files:
        count = "1 file" if len(files) == 1 else f"{len(files):,} files"
        more = ", ..." if len(files) > _MAX_NAMED_FILES else ""
        yield (
            "too many or too large to be read beside the named ones:"
            f" {count} that may have DRA objects, {', '.join(files[:_MAX_NAMED_FILES])}{more}; name those that belong to them"
        )


def report_on(inputs: Inputs, terms: Terms, kustomizations: Kustomizations) -> Report:
    """The report on an input."""
    readable = list(readings(inputs.documents, kustomizations, terms.consumers))
    return report_of([judge(inputs, readable, terms, kustomizations)], terms)


def _commented(documents: Sequence[Document], others: Container[str]) -> list[Source]:
    """The files with ignore comments, and those with values of their objects, but for files that nobody asked about."""
    layers = (layer for item in documents for layer in item.layers if layer.file not in others)
    texts = {
        (item.file, id(item.text)): item.text for item in chain(documents, layers)
    }  # one a file, however many its documents are
    return list(
        {file: Source(file, text) for (file, _), text in texts.items() if ignores(text)}.values()
    )


def _once(found: Sequence[Located]) -> list[Located]:
    """Findings without those in objects of kustomizations that their files, or another kustomization, show too."""
    spots = {_spot(item) for item in found if not item.built}
    kept = []
    for item in found:
        if item.built:
            if _spot(item) in spots:
                continue
            spots.add(_spot(item))
        kept.append(item)
    return kept


def _spot(item: Located) -> tuple[str, str, int]:
    return item.finding.code, item.finding.position.file, item.finding.position.line
