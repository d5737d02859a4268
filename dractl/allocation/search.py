"""The scheduler's depth-first search, and the pruning that gives the same result.

The walk is upstream's: requests in order, devices in order, the first full solution is taken
(``allocateOne`` and ``allocateDevice`` of
k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go). The rest of a search is
*pure* if nothing in it can abort the attempt or leave a trace. In a pure rest, a part that has no
solution can be skipped without changing the result. Three techniques find such parts: bounds
(:mod:`dractl.allocation.bounds`), the symmetry of devices of one kind, and the memory of states
that failed. None of these techniques costs anything before the first failure.
"""

from collections.abc import Hashable
from typing import Final

from msgspec import Struct

from dractl.allocation import effort
from dractl.allocation.bounds import Bounds
from dractl.allocation.holdings import Aborted, AbortReason, Holdings, Undo
from dractl.allocation.problem import FAULT, SearchProblem, bits

RESULTS_MAX: Final = 32  # resourceapi.AllocationResultsMaxSize


class Solution(Struct, frozen=True):
    """A solution of the search."""

    picks: tuple[tuple[int, int], ...]
    """(slot, device) in the order of allocation."""
    chosen: tuple[int, ...]
    """The alternative that was taken, by request."""
    work: int
    """Devices that the search examined."""
    steps: float
    """Calls of upstream's allocateOne."""


class NoSolution(Struct, frozen=True):
    """Proven: no solution exists."""

    work: int
    steps: float


class Abort(Struct, frozen=True):
    """The end of the attempt, caused by ``device`` when the search tried it for ``slot``."""

    reason: AbortReason
    """``device``: its selectors, its capacity or its pool cannot be evaluated; ``constraint``: mode
    All needs the device, but a constraint excludes it; ``derived``: a derived attribute of it
    cannot be evaluated; ``limit``: every alternative needs more results than the limit allows;
    ``panic-nil``, ``panic-index``: kube-scheduler crashes.
    """
    slot: int
    device: int
    work: int
    steps: float
    detail: tuple[int, int] = (0, 0)
    """The number of the constraint; for ``panic-index``, an index and a length."""


class OutOfBudget(Struct, frozen=True):
    """The budget ended before a solution or a proof was found."""

    work: int
    steps: float


Outcome = Solution | NoSolution | Abort | OutOfBudget


class _BudgetEnded(Exception):
    pass


# The outcome of entering a part of the search, or leaving it.
_FAILED: Final = 0
_EXCEEDED: Final = 1  # the limit of results: upstream's errAllocationResultMaxSizeExceeded
_ENTERED: Final = 2
_DONE: Final = 3


class _Devices:
    """A frame of the search: the next device of a slot."""

    __slots__ = ("before", "failed", "index", "key", "pure", "slot", "start_steps", "todo", "undo")

    def __init__(self, slot: int, index: int, todo: int, *, pure: bool, steps: float) -> None:
        self.slot = slot
        self.index = index  # index of the device in the request
        self.todo = todo
        self.pure = pure
        self.undo: Undo | None = None
        # by kind: the steps that a failed device took, and the number of devices after it
        self.failed: dict[Hashable, tuple[float, int]] = {}
        self.before = steps  # the steps when the current device was taken
        self.key: Hashable = None
        self.start_steps = steps


class _Choice:
    """A frame of the search: the alternatives of a request."""

    __slots__ = ("all_exceeded", "next", "request")

    def __init__(self, request: int) -> None:
        self.request = request
        self.next = 0
        self.all_exceeded = True


class Search(Holdings):
    """One search over a problem. Use :func:`search`."""

    def __init__(self, problem: SearchProblem, budget: int) -> None:
        super().__init__(problem)
        self.budget = budget
        self.work = 0
        self.steps = 0.0
        self.stack: list[_Devices | _Choice] = []
        self.pure = _pure_requests(problem)
        self.bounds: Bounds | None = None
        self.memory: dict[Hashable, float] = {}

    # -- the walk ----------------------------------------------------------------------------------

    def run(self) -> bool:
        """Walk until a solution is found (true) or there is none."""
        step = self._enter_request(0, None)
        if step == _DONE:
            return True
        if step == _EXCEEDED:
            raise Aborted("limit", 0, 0)
        while self.stack:
            step = self._advance(self.stack[-1])
            if step == _DONE:
                return True
            while step in (_FAILED, _EXCEEDED):
                left = self.stack.pop()
                if not self.stack:
                    if step == _EXCEEDED:
                        raise Aborted("limit", 0, 0)
                    return False
                parent = self.stack[-1]
                if step == _EXCEEDED and self._claim(parent) != self._claim(left):
                    step = _FAILED
                step = self._child_failed(parent, step)
        return False

    def _claim(self, frame: _Devices | _Choice) -> int:
        if isinstance(frame, _Choice):
            return self.slots[self.problem.requests[frame.request][0]].claim
        return self.slots[frame.slot].claim

    def _advance(self, frame: _Devices | _Choice) -> int:
        if isinstance(frame, _Choice):
            return self._next_alternative(frame)
        if self.slots[frame.slot].every is None:
            return self._next_device(frame)
        return self._take_fixed_device(frame)

    def _child_failed(self, frame: _Devices | _Choice, step: int) -> int:
        """Return the next step after the part of the search below a frame has failed: continue
        (_ENTERED) or fail too.
        """
        if isinstance(frame, _Choice):
            if step == _FAILED:
                frame.all_exceeded = False
            return _ENTERED
        assert frame.undo is not None
        undo, frame.undo = frame.undo, None
        self.give_back(undo)
        if self.slots[frame.slot].every is not None:
            return step
        if step == _EXCEEDED:
            return _EXCEEDED
        self._note_failure(frame, undo.device)
        return _ENTERED

    def _enter_request(self, request: int, claim: int | None) -> int:
        """Enter a request; ``claim`` is the claim of the previous request."""
        if request == len(self.problem.requests):
            self.steps += 1 + (claim is not None)
            return _DONE
        first = self.problem.requests[request][0]
        step_claim = self.slots[first].claim
        if claim is not None and step_claim != claim:
            self.steps += 1
        if self.problem.choices[request]:
            self.steps += 1
            self.stack.append(_Choice(request))
            return _ENTERED
        step = self._enter_slot(first, 0, 0)
        return _FAILED if step == _EXCEEDED and claim is not None and step_claim != claim else step

    def _enter_slot(self, number: int, index: int, start: int) -> int:
        self.steps += 1
        slot = self.slots[number]
        if slot.every is not None and not slot.every:
            return _FAILED
        if index >= slot.need:
            return self._enter_request(slot.request + 1, slot.claim)
        if self.results[slot.claim] + slot.need - index > RESULTS_MAX:
            return _EXCEEDED if self.rules.limit_unwinds else _FAILED
        todo = 0
        if slot.every is None:
            todo = slot.selectable | slot.faults
            if not slot.admin:
                todo &= ~self.problem.held
            if self.rules.combinations:
                todo = todo >> start << start
        frame = _Devices(number, index, todo, pure=self.pure[slot.request], steps=self.steps)
        if frame.pure and self.bounds is not None:
            failed = self._count_failing_steps(frame, todo)
            if failed is not None:
                self.steps += failed
                return _FAILED
        self.stack.append(frame)
        return _ENTERED

    def _count_failing_steps(self, frame: _Devices, todo: int) -> float | None:
        """Return the number of steps in a part of the search that is proven to fail, so that it
        need not be walked; None if it may succeed.
        """
        assert self.bounds is not None
        slot = self.slots[frame.slot]
        if slot.every is None:
            frame.key = self._key(frame.slot, frame.index, todo)
            failed = self.memory.get(frame.key)
            if failed is not None:
                return failed
        self.work += len(self.problem.requests) - slot.request
        if self.bounds.feasible(self, frame.slot, slot.need - frame.index, todo):
            return None
        steps = effort.size(self.bounds, self, frame.slot, slot.need - frame.index, todo)
        if slot.every is None:
            self.memory[frame.key] = steps
        return steps

    def _next_alternative(self, frame: _Choice) -> int:
        alternatives = self.problem.requests[frame.request]
        while frame.next < len(alternatives):
            frame.next += 1
            step = self._enter_slot(alternatives[frame.next - 1], 0, 0)
            if step in (_ENTERED, _DONE):
                return step
            if step == _FAILED:
                frame.all_exceeded = False
        return _EXCEEDED if frame.all_exceeded and self.rules.limit_unwinds else _FAILED

    def _take_fixed_device(self, frame: _Devices) -> int:
        """Take the next device of mode All: the devices are fixed, and each is tried once."""
        slot = self.slots[frame.slot]
        assert slot.every is not None
        if frame.todo:  # each device is tried only once
            return _FAILED
        frame.todo = 1
        self._spend()
        device = slot.every[frame.index]
        if (
            self.rules.all_panics
            and self.problem.charges is not None
            and self.problem.charges[device] is not None
        ):
            self.panic_if_charged(frame.slot, device)
        undo = self.take(frame.slot, frame.index, device)
        if undo is None:
            return _FAILED
        following = frame.slot
        if self.rules.forgets_alternative:
            following = self.problem.requests[slot.request][0]
        step = self._enter_slot(following, frame.index + 1, 0)
        if step in (_ENTERED, _DONE):
            frame.undo = undo
            return step
        self.give_back(undo)
        return step

    def _next_device(self, frame: _Devices) -> int:
        """Take the next device of mode ExactCount: each device in order, until the remaining search
        succeeds with it.
        """
        slot = self.slots[frame.slot]
        combinations = self.rules.combinations
        while frame.todo:
            low = frame.todo & -frame.todo
            frame.todo ^= low
            device = low.bit_length() - 1
            self._spend()
            if (self.used_by[slot.claim] if slot.admin else self.used) & low:
                continue
            if slot.faults & low:
                raise Aborted("device", frame.slot, device)
            if slot.wants is not None and not self.fits(frame.slot, device):
                continue
            if frame.failed and self.bounds is not None:
                failure = frame.failed.get(self.bounds.kind(self, frame.slot, device))
                if failure is not None:
                    left, needed = (
                        self._count_companions(frame, device),
                        slot.need - frame.index - 1,
                    )
                    self.steps += effort.scale_steps(
                        *failure, left, needed, combinations=combinations
                    )
                    continue
            frame.before = self.steps
            undo = self.take(frame.slot, frame.index, device)
            if undo is None:
                continue
            step = self._enter_slot(frame.slot, frame.index + 1, device + 1 if combinations else 0)
            if step in (_ENTERED, _DONE):
                frame.undo = undo
                return step
            self.give_back(undo)
            if step == _EXCEEDED:
                return _EXCEEDED
            self._note_failure(frame, device)
        if frame.pure and self.bounds is not None:
            # The state is equal to the state in which the frame was made.
            key = (
                frame.key
                if frame.key is not None
                else self._key(frame.slot, frame.index, self._todo(frame))
            )
            self.memory[key] = self.steps - frame.start_steps
        return _FAILED

    def _todo(self, frame: _Devices) -> int:
        """Return the devices that the frame started with."""
        slot = self.slots[frame.slot]
        todo = slot.selectable | slot.faults
        if not slot.admin:
            todo &= ~self.problem.held
        if self.rules.combinations and frame.index:
            _, before = self.picks[-1]
            todo = todo >> (before + 1) << (before + 1)
        return todo

    def _note_failure(self, frame: _Devices, device: int) -> None:
        """Record that ``device`` leads to no solution. The first failure builds the bounds."""
        if not frame.pure:
            return
        if self.bounds is None:
            self.bounds = Bounds(self.problem)
        steps = self.steps - frame.before
        frame.failed.setdefault(
            self.bounds.kind(self, frame.slot, device),
            (steps, self._count_companions(frame, device)),
        )

    def _count_companions(self, frame: _Devices, device: int) -> int:
        """Count the devices left in the frame that can be combined with this one."""
        assert self.bounds is not None
        return (frame.todo & effort.companions(self.bounds, frame.slot, device)).bit_count()

    def _spend(self) -> None:
        self.work += 1
        if self.work > self.budget:
            raise _BudgetEnded

    def _key(self, slot: int, index: int, todo: int) -> Hashable:
        """Return the part of the state on which the rest of the search depends."""
        assert self.bounds is not None
        request, claim = self.slots[slot].request, self.slots[slot].claim
        relevant = self.bounds.relevant[request]
        fixed = self.bounds.symmetry.fixed
        free = todo if self.slots[slot].admin else todo & ~self.used
        return (
            slot,
            index,
            free & fixed,
            self.used & relevant & fixed,
            self.bounds.symmetry.state(
                free, self.bounds.relevant[request + 1] & ~self.used, self.charged
            ),
            tuple([used & relevant for used in self.used_by]) if self.bounds.admin else None,
            self.results[claim],
            tuple([t.key() for t in self.trackers[claim]]) if self.trackers[claim] else None,
            frozenset(self.shares.items()) if self.shares else None,
            frozenset(self.groups.items()) if self.groups else None,
        )


def _pure_requests(problem: SearchProblem) -> tuple[bool, ...]:
    """Return for each request whether the search is pure from that request on: nothing can abort
    the attempt, and whatever is undone leaves no trace.
    """
    pure = [True] * (len(problem.requests) + 1)
    contested = any(len(ledger.available) > 1 for ledger in problem.ledgers)
    for request in range(len(problem.requests) - 1, -1, -1):
        pure[request] = pure[request + 1] and not contested and _pure_request(problem, request)
    return tuple(pure)


def _pure_request(problem: SearchProblem, request: int) -> bool:
    for number in problem.requests[request]:
        slot = problem.slots[number]
        claim = problem.constraints[slot.claim]
        covering = [c for c in claim if c.values[number] is not None]
        if slot.faults if slot.admin else slot.faults & ~problem.held:
            return False
        if slot.every is not None and (covering or problem.rules.all_panics):
            return False
        if (
            slot.every is not None
            and problem.rules.forgets_alternative
            and (slot.alternative or 0) > 0
        ):
            return False
        if problem.rules.recheck_by_position and slot.wants is not None:
            return False
        if (
            problem.rules.leaks
            and problem.charges is not None
            and any(problem.charges[d] is not None for d in bits(slot.selectable))
        ):
            return False
        if problem.rules.leaks and slot.wants is not None and slot.selectable & problem.multi:
            return False
        for constraint in covering:
            values = constraint.values[number]
            assert values is not None
            if constraint.kind == "match-unrestored":
                return False
            if constraint.kind == "distinct-last" and slot.need > 1:
                return False
            if any(values[d] is FAULT for d in bits(slot.selectable)):
                return False
    return True


def search(problem: SearchProblem, budget: int) -> Outcome:
    """Return the first solution in upstream's order, a proof that none exists, or the reason for
    aborting.

    ``work`` counts examined devices; ``steps`` is how often upstream calls allocateOne: counted
    where the search went, estimated where it was pruned.
    """
    run = Search(problem, budget)
    try:
        if not run.run():
            return NoSolution(run.work, run.steps)
    except Aborted as abort:
        return Abort(abort.reason, abort.slot, abort.device, run.work, run.steps, abort.detail)
    except _BudgetEnded:
        return OutOfBudget(run.work, run.steps)
    chosen = [0] * len(problem.requests)
    for frame in run.stack:
        if isinstance(frame, _Choice):
            chosen[frame.request] = frame.next - 1
    return Solution(tuple(run.picks), tuple(chosen), run.work, run.steps)
