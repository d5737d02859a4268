"""Measures commands: wall time, CPU time, and memory of all processes together."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAUSE = 0.003
"""Seconds between two samples of the memory."""


class Run(NamedTuple):
    """Seconds of wall and of processor time (user and system, of children too)."""

    wall: float
    cpu: float


class Cost(NamedTuple):
    """Medians of several runs, and the peak memory in MiB, from a separate run."""

    wall: float
    cpu: float
    memory: float


def run_once(
    command: Sequence[str], environment: Mapping[str, str], accepted: Sequence[int] = (0, 1)
) -> Run:
    """Run a command and discard its output. Raises RuntimeError for an exit code not accepted."""
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    ) as process:
        assert process.stderr is not None
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode not in accepted:
        raise RuntimeError(
            f"{' '.join(command)} ended with {process.returncode}: {error.decode()[-500:]}"
        )
    return Run(wall, usage.ru_utime + usage.ru_stime)


def memory(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the most memory of a command and its children at one time, in MiB.

    The function samples the proportional set sizes of all these processes, which needs Linux.
    ``ru_maxrss`` is not used, since it includes the size that this process had when it forked.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    most = 0
    while process.poll() is None:
        most = max(most, sum(map(_share, _family(process.pid))))
        time.sleep(PAUSE)
    return most / 1024


def _family(pid: int) -> list[int]:
    """List a process and everything that it started."""
    processes = [pid]
    for parent in processes:
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                processes += map(int, file.read().split())
        except OSError:
            continue
    return processes


def _share(pid: int) -> int:
    """Return the proportional set size of a process, in KiB; 0 where it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def compare_commands(
    commands: Mapping[str, Sequence[str]], runs: int, before: Mapping[str, Path] | None = None
) -> dict[str, Cost]:
    """Measure commands, which take turns so that the machine is the same for all.

    ``before`` has the cache folders of some commands; the other commands get an empty one in each
    run.
    """
    import tempfile

    caches = before or {}

    def cache(name: str, folder: str) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(caches.get(name, folder))}

    runs_by_name: dict[str, list[Run]] = {name: [] for name in commands}
    most: dict[str, float] = {}
    # From here on, files are in the page cache, and reports in their cache.
    for name, command in commands.items():
        with tempfile.TemporaryDirectory() as folder:
            if name in caches:
                run_once(command, cache(name, folder))
            most[name] = memory(command, cache(name, folder))
    for _ in range(runs):
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as folder:
                runs_by_name[name].append(run_once(command, cache(name, folder)))
    return {
        name: Cost(
            statistics.median(run.wall for run in times),
            statistics.median(run.cpu for run in times),
            most[name],
        )
        for name, times in runs_by_name.items()
    }
