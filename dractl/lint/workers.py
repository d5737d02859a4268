"""One task in several processes, which exchange data.

Processes are forked: a child has everything that its parent has loaded, and a spawned one would take longer to start
than most inputs take to lint. Forking is safe only in a process with one thread and with libraries that support it,
which macOS' own do not: :func:`can_fork` allows it only on Linux and without other threads, native ones included.

Children end with their parent, however it ends: each reads from a pipe that only the parent can write to.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Task = TypeVar("Task")
Result = TypeVar("Result")
Value = TypeVar("Value")
_LENGTH = 8  # bytes before each message


class Exchange:
    """Exchange of data between the processes of one task: ``rank`` is the number of this one of ``size``.

    All of them have to call the same methods in the same order.
    """

    def __init__(self, rank: int, size: int, routed: Callable[[list[Any]], list[Any]]) -> None:
        self.rank = rank
        self.size = size
        self._routed = routed

    def to_each(self, values: list[Value]) -> list[Value]:
        """Sends ``values[n]`` to process n; returns what each process sends to this one. The value that a process sends
        to itself is the same object; the others are copies."""
        sent: list[Any] = [*values]
        sent[self.rank] = None
        received = self._routed(sent)
        received[self.rank] = values[self.rank]
        return received

    def to_all(self, value: Value) -> list[Value]:
        """Sends a value to every process; returns the values of all, including this one's."""
        return self.to_each([value] * self.size)


def alone() -> Exchange:
    """The exchange of a single process."""
    return Exchange(0, 1, lambda values: values)


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


def in_processes(tasks: Sequence[Task], work: Callable[[Task, Exchange], Result]) -> list[Result]:
    """``work`` for each task, the first in this process, each other one in a child; results in the order of the tasks.

    An exception of ``work`` in a child is raised here; WorkerDied for a child that ends in another way. No child is
    left behind, however this ends.
    """
    children: list[_Child] = []
    try:
        for rank in range(1, len(tasks)):
            children.append(_Child(rank, tasks, work, children))
        first = work(tasks[0], Exchange(0, len(tasks), lambda values: _routed(values, children)))
        return [first, *(child.receive() for child in children)]
    finally:
        for child in children:
            child.end()


def _routed(values: list[Any], children: Sequence[_Child]) -> list[Any]:
    given = [values, *(child.receive() for child in children)]
    for rank, child in enumerate(children, 1):
        child.send([row[rank] for row in given])
    return [row[0] for row in given]


class _Child:
    """A forked process and the two pipes to it."""

    def __init__(
        self,
        rank: int,
        tasks: Sequence[Task],
        work: Callable[[Task, Exchange], Any],
        earlier: Sequence[_Child],
    ) -> None:
        self._in, answer = os.pipe()
        question, self._out = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            for other in (*earlier, self):  # else nobody would see the end of a pipe
                os.close(other._in)
                os.close(other._out)
            _serve(rank, tasks, work, question, answer)
        os.close(question)
        os.close(answer)

    def send(self, value: Any) -> None:
        import pickle

        try:
            _write(self._out, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        except BrokenPipeError:
            self._died()

    def receive(self) -> Any:
        import pickle

        data = _read(self._in)
        if data is None:
            self._died()
        failed, value = pickle.loads(data)  # noqa: S301 - what our own child wrote
        if failed:
            raise value
        return value

    def _died(self) -> NoReturn:
        import signal

        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        how = f"signal {signal.Signals(number).name}" if number else f"exit code {os.waitstatus_to_exitcode(status)}"
        raise WorkerDied(f"a worker process died ({how})", hint="use less memory with --jobs 1")

    def end(self) -> None:
        os.close(self._in)
        os.close(self._out)
        if self._pid:
            import signal

            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0


def _serve(
    rank: int, tasks: Sequence[Task], work: Callable[[Task, Exchange], Any], question: int, answer: int
) -> NoReturn:
    """Runs a child: the work, then its result or its exception, without output to the terminal."""
    import pickle
    import signal

    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

        def routed(values: list[Any]) -> list[Any]:
            _write(answer, pickle.dumps((False, values), pickle.HIGHEST_PROTOCOL))
            data = _read(question)
            if data is None:  # the parent is gone
                os._exit(1)
            theirs: list[Any] = pickle.loads(data)  # noqa: S301 - what our own parent wrote
            return theirs

        result = work(tasks[rank], Exchange(rank, len(tasks), routed))
        _write(answer, pickle.dumps((False, result), pickle.HIGHEST_PROTOCOL))
    except BaseException as error:
        try:
            _write(answer, _failure(error))
        except BaseException:
            os._exit(1)
    finally:
        os._exit(0)


def _failure(error: BaseException) -> bytes:
    """The message for a failed child: the exception, or one with its text if it cannot be sent."""
    import pickle
    from traceback import format_exc

    try:
        error.add_note(f"in a worker process:\n{format_exc()}")
        data = pickle.dumps((True, error))
        pickle.loads(data)  # noqa: S301 - an exception may refuse to be made again
    except Exception:
        data = pickle.dumps((True, RuntimeError(f"{type(error).__name__}: {error}")))
    return data


def _write(pipe: int, data: bytes) -> None:
    rest = memoryview(len(data).to_bytes(_LENGTH, "big") + data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _read(pipe: int) -> bytes | None:
    """One message; None if the other end was closed."""
    head = _exactly(pipe, _LENGTH)
    return None if head is None else _exactly(pipe, int.from_bytes(head, "big"))


def _exactly(pipe: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = os.read(pipe, min(size - len(data), 1 << 20))
        if not more:
            return None
        data += more
    return bytes(data)
