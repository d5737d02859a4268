"""Lint of many files: in several processes, or from the report of an earlier run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dractl.lint.cache import digest_of, key_of
from dractl.lint.run import report_on
from dractl.lint.size import REPAYS_A_PROCESS, size
from dractl.lint.workers import can_fork, mapped
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import load_relevant, read_relevant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dractl.lint.cache import Cache
    from dractl.lint.finding import Report
    from dractl.lint.findings import Terms
    from dractl.manifests import Inputs, Skipped
    from dractl.manifests.files import Entry


def lint_listed(
    entries: Sequence[Entry | Skipped],
    terms: Terms,
    *,
    named: bool,
    processes: int = 1,
    cache: Cache | None = None,
    completed: Callable[[Inputs], Inputs] = lambda inputs: inputs,
) -> Report:
    """As :func:`lint`, of files that are not read yet; the report does not depend on the number of processes.

    ``named``: the user names one path and means manifests by it. ``cache``: reports of earlier runs. ``completed`` adds
    what is made of several files.
    """
    read, kustomizations = read_relevant(entries, alone=named), Kustomizations()
    key = ""
    if cache is not None:
        key = key_of(terms, digest_of(read, kustomizations))
        known = cache.get(key)
        if known is not None:
            return known
    # Asked once: the threads of a first pool are seen for a moment after they have ended.
    processes = min(processes, sum(map(size, entries)) // REPAYS_A_PROCESS) if can_fork() else 1
    report = report_on(completed(load_relevant(read)), terms, kustomizations, partial(mapped, processes=processes))
    if cache is not None and not any(item.unread for item in report.skipped):
        cache.put(key, report)
    return report
