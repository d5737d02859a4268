"""Turns documents into findings."""

from __future__ import annotations

from collections import ChainMap
from types import MappingProxyType
from typing import TYPE_CHECKING

from dractl.lint.finding import Report
from dractl.lint.part import NOTHING, Part, Question, judged, lint_part
from dractl.lint.proof import proven
from dractl.lint.reading import readings
from dractl.lint.selection import Selection, select
from dractl.lint.workers import alone, can_fork, in_processes
from dractl.manifests import Document, read_text
from dractl.manifests.files import Entry
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.templates import chart_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.lint.cache import Cache
    from dractl.lint.inventory import Inventory
    from dractl.lint.place import Placed
    from dractl.lint.workers import Exchange
    from dractl.manifests import Inputs, Skipped
    from dractl.model import Target


def lint(
    inputs: Inputs,
    target: Target,
    *,
    config: Selection | None = None,
    devices: Inventory | None = None,
    assumed: bool = False,
    consumers: frozenset[str] = frozenset(),
    versions: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """All errors in the documents for an API server of a release, and dractl's own advice; the parameters are those of
    :class:`Question`."""
    question = Question(target, config or Selection(), devices, assumed, consumers, versions)
    return _report([lint_part(inputs, question, alone(), Kustomizations())], question)


def lint_listed(
    shares: Sequence[Sequence[Entry | Skipped]],
    question: Question,
    *,
    named: bool,
    cache: Cache | None = None,
    completed: Callable[[Inputs], Inputs] = lambda inputs: inputs,
) -> Report:
    """As :func:`lint`, of files that are not read yet, in a process for each share; the report does not depend on how
    they are shared. ``named``: the user names one path and means manifests by it. ``cache``: reports of earlier runs.
    ``completed`` adds what is made of files in several shares, in this process.
    """
    key = ""

    def work(share: Sequence[Entry | Skipped], exchange: Exchange) -> Part | Report:
        from dractl.manifests.load import load_relevant, read_relevant

        read, kustomizations = read_relevant(share, alone=named), Kustomizations()
        if cache is not None:
            from dractl.lint.cache import digest_of, key_of

            digests, known = exchange.to_all(digest_of(read, kustomizations)), None
            if exchange.rank == 0:
                nonlocal key
                key = key_of(question, digests)
                known = cache.get(key)
            if exchange.to_all(known is not None)[0]:
                return known or NOTHING
        inputs = load_relevant(read)
        return lint_part(completed(inputs) if exchange.rank == 0 else inputs, question, exchange, kustomizations)

    parts = in_processes(shares, work)
    if isinstance(parts[0], Report):
        return parts[0]
    report = _report([part for part in parts if isinstance(part, Part)], question)
    if cache is not None and not any(item.unread for item in report.skipped):
        cache.put(key, report)
    return report


def _report(parts: Sequence[Part], question: Question) -> Report:
    """The report on all parts: with proven fixes, without suppressed findings, in the order of the places."""
    kustomizations = Kustomizations()
    namespaces = parts[0].namespaces.labels

    def again(file: str, text: str) -> list[list[Placed]]:
        items = [item for item in read_text(file, text) if isinstance(item, Document)]
        documents = [item for item in items if isinstance(item.value, dict)]
        return [judged(reading, question, namespaces)[0] for reading in readings(documents, kustomizations)]

    found = _once([placed for part in parts for placed in part.found])
    commented = [document for part in parts for document in part.commented]
    kept, suppressed = select(proven(found, again), commented, question.config)
    digests = ChainMap(*(dict(part.digests) for part in parts))
    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    return Report(
        tuple(kept),
        question.target.release,
        assumed=question.assumed,
        files=sum(part.files for part in parts),
        documents=sum(part.documents for part in parts),
        suppressed=suppressed,
        skipped=tuple(item for part in parts for item in part.skipped),
        digests={item.position.file: digests[item.position.file] for item in kept if item.position.file in digests},
    )


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


_FILE_COST = 4096
"""Bytes that take as long to lint as a file to open."""
_WORTHWHILE = 512 * 1024
"""Bytes that repay another process."""


def is_large(entries: Sequence[Entry | Skipped]) -> bool:
    """True if several processes or a report of an earlier run may be quicker than to lint; False where a chart may have
    to be rendered, which is done once for all of its files and depends on more than these."""
    charts = (isinstance(item, Entry) and chart_of(item.path) for item in entries)
    return sum(map(_size, entries)) >= 2 * _WORTHWHILE and not any(charts)


def apart(entries: Sequence[Entry | Skipped], jobs: int) -> Sequence[Sequence[Entry | Skipped]]:
    """The input in up to ``jobs`` parts of equal size, each of neighbours; one if this process cannot fork."""
    sizes = [_size(item) for item in entries]
    count = min(jobs, sum(sizes) // _WORTHWHILE)
    if count < 2 or not can_fork():
        return [entries]
    parts: list[list[Entry | Skipped]] = [[]]
    left = sum(sizes) / count
    for item, size in zip(entries, sizes, strict=True):
        if left <= 0 and len(parts) < count:
            parts.append([])
            left += sum(sizes) / count
        parts[-1].append(item)
        left -= size
    return parts


def _size(item: Entry | Skipped) -> int:
    """The estimated cost of a file, in bytes."""
    return _FILE_COST + (item.status.st_size if isinstance(item, Entry) and item.status else 0)
