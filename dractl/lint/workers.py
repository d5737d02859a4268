"""Work on several values that is done in steps, in several processes.

Processes are forked: a child has everything that its parent has loaded, so neither the work nor its
values are sent. A spawned process would take longer to start than most inputs take to lint. Forking
is safe only in a process with one thread and with libraries that support it. The libraries of macOS
do not: :func:`can_fork` allows it only on Linux and without other threads, native ones included.

The modules that make processes are imported for the first process, since that takes 40 ms.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.synchronize import Barrier
    from typing import Self

Value = TypeVar("Value")


class WorkerDied(InputError):
    """A child ended without a result, as when the kernel kills it for memory."""


def can_fork() -> bool:
    """Return True if this process may fork and continue normally."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class Team(Generic[Value]):
    """One generator for each value, made by ``work``: the first in this process, and each of the
    others in a process of its own.

    The generators' values are pickled, and their exceptions are raised in this process. WorkerDied
    is raised if a process ends without a value or an exception. ``on_step`` is called in each step
    once all processes work; it may start threads, which may not exist when a process is forked.
    """

    def __init__(
        self,
        work: Callable[[Value], Generator[Any, Any, None]],
        values: Sequence[Value],
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._own = work(values[0])
        self._on_step = on_step
        self._others = range(1, len(values))
        self._pool: ProcessPoolExecutor | None = None
        if self._others:
            self._pool = _start_pool(work, values)

    def ask(self, sent: Sequence[Any] | None = None) -> list[Any]:
        """Return the next value of each generator, in their order; each generator receives its part
        of ``sent``.
        """
        futures = [
            self._pool.submit(_continue, number, sent) for number in self._others if self._pool
        ]
        self._on_step()
        first_answer = self._own.send(sent and sent[0])
        return [first_answer, *(_results(futures) if futures else ())]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is not None:
            if kind is not None:
                _end_children()  # their further work is not needed
            self._pool.shutdown()


def _start_pool(
    work: Callable[[Value], Generator[Any, Any, None]], values: Sequence[Value]
) -> ProcessPoolExecutor:
    """Start a process for each value but the first."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    sys.stdout.flush()
    sys.stderr.flush()
    context = get_context("fork")
    number = len(values) - 1
    given = work, values, context.Barrier(number)
    return ProcessPoolExecutor(number, context, _begin, given)


def _results(futures: Iterable[Future[tuple[int, Any]]]) -> list[Any]:
    """Return the answers of the processes, in the order of their values. Raises WorkerDied."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        answers = sorted((item.result() for item in futures), key=itemgetter(0))
    except BrokenProcessPool:
        raise WorkerDied("a worker process died", hint="use less memory with --jobs 1") from None
    return [answer for _, answer in answers]


def _end_children() -> None:
    from multiprocessing import active_children

    for child in active_children():
        child.terminate()


class _Child(Struct, frozen=True):
    """The work of a child process."""

    number: int
    """The number of its value."""
    work: Generator[Any, Any, None]
    """The generator of that value."""


# In a child:
_given: tuple[Callable[[Any], Generator[Any, Any, None]], Sequence[Any], Barrier]
_own: list[_Child] = []


def _begin(
    work: Callable[[Any], Generator[Any, Any, None]], values: Sequence[Any], barrier: Barrier
) -> None:
    global _given  # noqa: PLW0603 - once, at the start of a child
    _given = work, values, barrier
    # The parent receives the interrupt too, and ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _continue(number: int, sent: Sequence[Any] | None) -> tuple[int, Any]:
    """Return the number of this child's value, and the next step of its work.

    The first call in a child decides which value it works on.
    """
    work, values, barrier = _given
    barrier.wait()  # each child waits here, so that every one of them gets exactly one number
    if not _own:
        _own.append(_Child(number, work(values[number])))
    (answer,) = _own
    return answer.number, answer.work.send(sent and sent[answer.number])
