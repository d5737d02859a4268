"""Turns documents into findings."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dractl.lint.evidence import evidence_of
from dractl.lint.finding import Report
from dractl.lint.findings import Around, Terms, findings, judged
from dractl.lint.ignores import ignores
from dractl.lint.namespaces import namespaces_of
from dractl.lint.place import from_broken
from dractl.lint.proof import proven
from dractl.lint.reading import readings
from dractl.lint.repository import Repositories, surrounded
from dractl.lint.selection import Selection, select
from dractl.manifests import Document, read_text
from dractl.manifests.kustomize import Kustomizations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.lint.findings import Mapped
    from dractl.lint.inventory import TriedDevices
    from dractl.lint.place import Placed
    from dractl.manifests import Inputs
    from dractl.model import Target


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
) -> Report:
    """All errors in the documents for an API server of a release, and dractl's own advice; the parameters are those of
    :class:`Terms`. What the documents need of others is looked up in the ``repositories`` of their files."""
    terms = Terms(target, config or Selection(), devices, assumed, consumers, versions)
    return report_on(surrounded(inputs, repositories or Repositories()), terms, Kustomizations())


def report_on(inputs: Inputs, terms: Terms, kustomizations: Kustomizations, mapped: Mapped = map) -> Report:
    """The report on an input: with proven fixes, without suppressed findings, in the order of the places. ``mapped``
    is ``map``, or does the same in several processes."""
    readable = list(readings(inputs.documents, kustomizations))
    namespaces = namespaces_of(inputs.documents)

    def again(file: str, text: str) -> list[list[Placed]]:
        items = [item for item in read_text(file, text) if isinstance(item, Document)]
        documents = [item for item in items if isinstance(item.value, dict)]
        return [judged(reading, terms, namespaces.labels)[0] for reading in readings(documents, kustomizations)]

    found = list(map(from_broken, inputs.broken))
    around = Around(namespaces, evidence_of(inputs.documents), inputs.around, inputs.undecided)
    asked = [item for item in inputs.documents if item.file not in around.files]
    found += findings(readable, terms, around, kustomizations, mapped)
    kept, suppressed = select(proven(_once(found), again), _commented(asked), terms.config)

    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    return Report(
        tuple(kept),
        terms.target.release,
        assumed=terms.assumed,
        files=inputs.files,
        documents=sum(not item.document.built for item in readable if item.document.file not in around.files)
        + len(inputs.broken),
        suppressed=suppressed,
        skipped=inputs.skipped,
        digests={f.position.file: inputs.digests[f.position.file] for f in kept if f.position.file in inputs.digests},
    )


def _commented(documents: Sequence[Document]) -> list[Document]:
    """A document of each file with ignore comments."""
    texts = {(item.file, id(item.text)): item for item in documents}  # one a file, however many its documents are
    return list({item.file: item for item in texts.values() if ignores(item.text)}.values())


def _once(found: Sequence[Placed]) -> list[Placed]:
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


def _spot(item: Placed) -> tuple[str, str, int]:
    return item.finding.code, item.finding.position.file, item.finding.position.line
