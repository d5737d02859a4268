"""Lint of many files: in several processes, or from the report of an earlier run."""

import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from dractl.cel_library import load, why_not
from dractl.garbage import pause_collection
from dractl.lint import registry
from dractl.lint.cache import Cache, digests_of, key_of
from dractl.lint.finding import Report
from dractl.lint.findings import Terms
from dractl.lint.reading import readings
from dractl.lint.repository import add_needs, names_of, needs_of_batches
from dractl.lint.run import judge, report_of
from dractl.lint.size import REPAYS_A_PROCESS, size
from dractl.lint.workers import Team, can_fork
from dractl.manifests import Inputs, Skipped
from dractl.manifests.files import Entry
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import load_relevant, read_relevant
from dractl.manifests.naming import parent_of

Entries = Sequence[Entry | Skipped]


def lint_listed(
    entries: Entries,
    terms: Terms,
    *,
    named: bool,
    processes: int = 1,
    cache: Cache | None = None,
    complete: Callable[[Inputs], Inputs] = lambda inputs: inputs,
    announce: Callable[[str], None] = lambda _: None,
) -> Report:
    """Lint files that are not read yet, as :func:`lint` does; the report does not depend on the
    number of processes.

    ``named`` is True if the user names only one path, which then certainly contains manifests.
    ``cache`` has reports of earlier runs. ``complete`` adds objects that are made of several files;
    if there are several processes, the input may not have such objects. ``announce`` is called with
    the current step; it may start threads.
    """
    batches = _split(entries, processes)
    if len(batches) > 1 and (cache is None or cache.empty):
        registry.checks()  # imported once, for all processes
        load()
    work = partial(
        _work_on_batch, terms=terms, named=named, wants_digests=cache is not None, complete=complete
    )
    on_step = partial(announce, f"linting {len(entries):,} files")
    with Team(partial(work, has_others=len(batches) > 1), batches, on_step) as team:
        key, reason = "", why_not()
        if cache is not None:
            key = key_of(terms, [digest for share in team.ask() for digest in share])
            report_before = cache.get(key)
            if report_before is not None:
                return report_before
        others = needs_of_batches(team.ask()) if len(batches) > 1 else None
        report = report_of(team.ask(others), terms)
    # If the library was found to be unusable during the run, selectors were not compiled; the key
    # of the report does not show that.
    same_library = why_not() == reason
    if cache is not None and same_library and not any(item.unread for item in report.skipped):
        cache.put(key, report)
    return report


def _work_on_batch(
    entries: Entries,
    terms: Terms,
    complete: Callable[[Inputs], Inputs],
    *,
    named: bool,
    wants_digests: bool,
    has_others: bool,
) -> Generator[Any, Any, None]:
    """Lint a batch of the files, one step at a time.

    The generator first yields the digests of the files, if they are wanted. Second, it yields the
    names of the batch, and receives the files of other batches that matter to the batch. Last, it
    yields the judgement.
    """
    read, kustomizations = read_relevant(entries, alone=named), Kustomizations()
    if wants_digests:
        yield digests_of(read, kustomizations)
    with pause_collection():
        inputs = complete(load_relevant(read))
        readable = list(readings(inputs.documents, kustomizations, terms.consumers))
        del read
        if has_others:
            inputs, readable = add_needs(
                (yield names_of(inputs, readable)), inputs, readable, kustomizations
            )
        judged = judge(inputs, readable, terms, kustomizations)
    yield judged


def _split(entries: Entries, processes: int) -> list[Entries]:
    """Split the entries into batches of about the same size that can be judged separately.

    Objects belong together by their folders, unless there are kustomizations.
    """
    folders = [list(items) for _, items in groupby(entries, _folder)]
    costs = [sum(map(size, items)) for items in folders]
    total = sum(costs)
    processes = min(processes, total // REPAYS_A_PROCESS)
    if processes < 2 or not can_fork():
        return [entries]
    kustomizations = Kustomizations()
    if any(
        kustomizations.kustomizations_above(os.path.abspath(_folder(items[0]))) for items in folders
    ):
        return [entries]
    batches: list[list[Entry | Skipped]] = [[]]
    cost_so_far = 0
    for items, cost in zip(folders, costs, strict=True):
        # A new batch begins if most of the folder lies beyond the share of the present one.
        if batches[-1] and (cost_so_far + cost / 2) * processes >= total * len(batches):
            batches.append([])
        batches[-1] += items
        cost_so_far += cost
    return list(batches)


def _folder(item: Entry | Skipped) -> str:
    return parent_of(item.file if isinstance(item, Skipped) else item.path)
