"""Lint of many files: in several processes, or from the report of an earlier run."""

import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from dractl.cel_library import load, why_not
from dractl.garbage import without_collecting
from dractl.lint import registry
from dractl.lint.cache import Cache, digests_of, key_of
from dractl.lint.finding import Report
from dractl.lint.findings import Terms
from dractl.lint.reading import readings
from dractl.lint.repository import among, names_of, others_of
from dractl.lint.run import judge, report_of
from dractl.lint.size import REPAYS_A_PROCESS, size
from dractl.lint.workers import Team, can_fork
from dractl.manifests import Inputs, Skipped
from dractl.manifests.files import Entry
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import load_relevant, read_relevant

Entries = Sequence[Entry | Skipped]


def lint_listed(
    entries: Entries,
    terms: Terms,
    *,
    named: bool,
    processes: int = 1,
    cache: Cache | None = None,
    completed: Callable[[Inputs], Inputs] = lambda inputs: inputs,
) -> Report:
    """As :func:`lint`, of files that are not read yet; the report does not depend on the number of processes.

    ``named``: the user names one path and means manifests by it. ``cache``: reports of earlier runs. ``completed`` adds
    what is made of several files; with more than one process, there must be nothing to add.
    """
    shares = _shares(entries, processes)
    if len(shares) > 1 and (cache is None or cache.empty):
        registry.checks()  # imported once, for all processes
        load()
    work = partial(_share, terms=terms, named=named, hashed=cache is not None, completed=completed)
    with Team(partial(work, apart=len(shares) > 1), shares) as team:
        key, reason = "", why_not()
        if cache is not None:
            key = key_of(terms, [digest for share in team.ask() for digest in share])
            known = cache.get(key)
            if known is not None:
                return known
        others = others_of(team.ask()) if len(shares) > 1 else None
        report = report_of(team.ask(others), terms)
    promised = (
        why_not() == reason
    )  # else selectors could not be compiled, which the key does not say
    if cache is not None and promised and not any(item.unread for item in report.skipped):
        cache.put(key, report)
    return report


def _share(
    entries: Entries,
    terms: Terms,
    completed: Callable[[Inputs], Inputs],
    *,
    named: bool,
    hashed: bool,
    apart: bool,
) -> Generator[Any, Any, None]:
    """The work on a share of the files, a step at a time: it yields the digests of the files if they are asked for;
    what the files define and use, in exchange for the files of other shares that matter to them; and the judgement."""
    read, kustomizations = read_relevant(entries, alone=named), Kustomizations()
    if hashed:
        yield digests_of(read, kustomizations)
    with without_collecting():
        inputs = completed(load_relevant(read))
        readable = list(readings(inputs.documents, kustomizations, terms.consumers))
        del read
        if apart:
            inputs, readable = among(
                (yield names_of(inputs, readable)), inputs, readable, kustomizations
            )
        judged = judge(inputs, readable, terms, kustomizations)
    yield judged


def _shares(entries: Entries, processes: int) -> list[Entries]:
    """The entries in shares of about the same size that can be judged apart: objects belong together by their folders,
    unless there are kustomizations."""
    total = sum(map(size, entries))
    processes = min(processes, total // REPAYS_A_PROCESS)
    if processes < 2 or not can_fork():
        return [entries]
    folders = [list(items) for _, items in groupby(entries, _folder)]
    kustomizations = Kustomizations()
    if any(
        kustomizations.kustomizations_above(os.path.abspath(_folder(items[0]))) for items in folders
    ):
        return [entries]
    shares: list[list[Entry | Skipped]] = [[]]
    done = 0
    for items in folders:
        cost = sum(map(size, items))
        if shares[-1] and (done + cost / 2) * processes >= total * len(
            shares
        ):  # most of it lies beyond the share
            shares.append([])
        shares[-1] += items
        done += cost
    return list(shares)


def _folder(item: Entry | Skipped) -> str:
    return os.path.dirname(item.file if isinstance(item, Skipped) else item.path)
