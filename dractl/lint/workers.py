"""One function for many values, in several processes.

Processes are forked: a child has everything that its parent has loaded, so neither the function nor its values are
sent, and a spawned one would take longer to start than most inputs take to lint. Forking is safe only in a process with
one thread and with libraries that support it, which macOS' own do not: :func:`can_fork` allows it only on Linux and
without other threads, native ones included.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING, Any, TypeVar

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value = TypeVar("Value")
Result = TypeVar("Result")
_SHARES = 4  # for each process: some values take longer than others


class WorkerDied(InputError):
    """A child ended without a result, as when the kernel kills it for memory."""


def can_fork() -> bool:
    """True if this process may fork and continue normally."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def mapped(work: Callable[[Value], Result], values: Sequence[Value], processes: int) -> list[Result]:
    """``work`` for each value, by as many processes; results, which are pickled, in the order of the values.

    More than one only where :func:`can_fork` was true. An exception of ``work`` is raised here; WorkerDied for a child
    that ends in another way.
    """
    processes = min(processes, len(values))
    if processes < 2:
        return [work(value) for value in values]
    sys.stdout.flush()
    sys.stderr.flush()
    size = -(-len(values) // (processes * _SHARES))
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (work, values)) as pool:
            try:
                return list(pool.map(_work, range(len(values)), chunksize=size))
            except BaseException:
                for child in active_children():  # nobody needs what they still do
                    child.terminate()
                raise
    except BrokenProcessPool:
        raise WorkerDied("a worker process died", hint="use less memory with --jobs 1") from None


_given: tuple[Callable[[Any], Any], Sequence[Any]]  # in a child: the function and the values


def _begin(work: Callable[[Any], Any], values: Sequence[Any]) -> None:
    global _given  # noqa: PLW0603 - once, at the start of a child
    _given = work, values
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(number: int) -> Any:
    work, values = _given
    return work(values[number])
