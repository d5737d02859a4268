"""The state of a search: the devices, shares, counters and groups taken so far, and how a device is
taken.

Devices are taken and given back as by upstream's allocateDevice and its rollback
(k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go). For the releases in which
upstream's rollback leaks, the rollback here leaks too.
"""

from typing import Literal

from msgspec import Struct

from dractl.allocation.constraints import ConstraintFault, tracker
from dractl.allocation.problem import SearchProblem, Slot, Vector

AbortReason = Literal["device", "constraint", "derived", "limit", "panic-nil", "panic-index"]


class Aborted(Exception):
    """The attempt ends because of ``device``, which was tried for ``slot``; see
    :class:`dractl.allocation.search.Abort`.
    """

    def __init__(
        self, reason: AbortReason, slot: int, device: int, detail: tuple[int, int] = (0, 0)
    ) -> None:
        super().__init__()
        self.reason = reason
        self.slot = slot
        self.device = device
        self.detail = detail


class Undo(Struct, frozen=True):
    """The changes made by taking a device."""

    slot: int
    device: int
    charged: bool
    groups: tuple[tuple[int, frozenset[str] | None], ...]
    trackers: int
    shared_before: Vector | None
    was_shared: bool


class Holdings:
    """The part of a problem that a search has allocated so far."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.rules = problem.rules
        self.slots = problem.slots
        self.picks: list[tuple[int, int]] = []
        claims = max((slot.claim for slot in problem.slots), default=-1) + 1
        self.results = [0] * claims
        # devices allocated in this search, for all claims together and for each claim
        self.used = 0
        self.used_by = [0] * claims
        self.trackers = [
            [tracker(c, problem.slots) for c in constraints] for constraints in problem.constraints
        ]
        self.shares: dict[int, Vector] = {}  # the consumption of shares in the current search
        self.charged: list[list[int]] = [
            [0] * len(ledger.available[0]) for ledger in problem.ledgers
        ]
        self.ledger_pool: list[int | None] = [
            None if len(x.available) > 1 else 0 for x in problem.ledgers
        ]
        self.groups: dict[int, frozenset[str]] = {}

    def fits(self, slot: int, device: int) -> bool:
        """Return True if every capacity of the device has enough left for a share."""
        wants = self.slots[slot].wants
        assert wants is not None
        assert self.problem.free is not None
        want = wants[device]
        if want is None:
            return False
        free = self.problem.free[device]
        taken = self.shares.get(device)
        if taken is None:
            return all(w <= f for w, f in zip(want, free, strict=True))
        return all(w + t <= f for w, t, f in zip(want, taken, free, strict=True))

    def take(self, number: int, index: int, device: int) -> Undo | None:
        """Allocate the device as upstream's allocateDevice does; None if that is not possible."""
        slot = self.slots[number]
        bit = 1 << device
        multi = bool(self.problem.multi & bit)
        if not self._is_available(slot, bit, multi=multi):
            return None

        skip = multi and self._is_charged(device)
        groups: tuple[tuple[int, frozenset[str] | None], ...] = ()
        if self.problem.groups is not None and not skip and self.problem.groups[device]:
            joined = self._join_groups(device)
            if joined is None:
                return None
            groups = joined
        charged = False
        charges = self.problem.charges
        if charges is not None and not skip and charges[device] is not None:
            if not self._charge(device):
                self._leave_groups(groups)
                return None
            charged = True
        if slot.tainted & bit:
            self._reject(Undo(number, device, charged, groups, 0, None, was_shared=False))
            return None

        trackers = self.trackers[slot.claim]
        for position, constraint in enumerate(trackers):
            try:
                added = constraint.add(number, device)
            except ConstraintFault:
                raise Aborted("derived", number, device, (position, 0)) from None
            if not added:
                if slot.every is not None:
                    raise Aborted("constraint", number, device, (position, 0))
                self._reject(
                    Undo(number, device, charged, groups, position, None, was_shared=False)
                )
                return None

        before = self.shares.get(device)
        undo = Undo(
            number, device, charged, groups, len(trackers), before, was_shared=device in self.shares
        )
        if not multi:
            self.used |= bit
            self.used_by[slot.claim] |= bit
        if slot.wants is not None:
            if not self._fits_again(number, index, device):
                if self.rules.leaks:
                    # Upstream's leak: the device stays in use, with its counters and values
                    return None
                self._restore(undo)
                return None
            if multi:
                self._add_share(slot.wants[device], device)
        self.results[slot.claim] += 1
        self.picks.append((number, device))
        return undo

    def _is_charged(self, device: int) -> bool:
        """Return True if an earlier share has been charged for the counters of the device."""
        if not self.rules.charged_once:
            return False
        return bool(self.problem.sharing >> device & 1) or device in self.shares

    def _add_share(self, want: Vector | None, device: int) -> None:
        assert want is not None
        before = self.shares.get(device)
        self.shares[device] = (
            want if before is None else tuple(map(sum, zip(before, want, strict=True)))
        )

    def _is_available(self, slot: Slot, bit: int, *, multi: bool) -> bool:
        """Return False for a device in use, and for one that is rejected before anything is
        reserved.
        """
        if slot.refused & bit:
            return False
        if slot.admin:
            return multi or not self.used_by[slot.claim] & bit
        return not (self.used | self.problem.held) & bit

    def _fits_again(self, number: int, index: int, device: int) -> bool:
        if not self.rules.recheck_by_position:
            return self.fits(number, device)
        assert self.problem.slices is not None
        first, count = self.problem.slices[device]
        if index >= count:
            raise Aborted("panic-index", number, device, (index, count))
        return self.fits(number, first + index)

    def _reject(self, undo: Undo) -> None:
        """Undo the changes for a rejected device; early releases leave its counters charged."""
        if self.rules.leaks:
            for constraint in self.trackers[self.slots[undo.slot].claim][: undo.trackers]:
                constraint.remove(undo.slot)
            return
        for constraint in reversed(self.trackers[self.slots[undo.slot].claim][: undo.trackers]):
            constraint.remove(undo.slot)
        self._leave_groups(undo.groups)
        if undo.charged:
            self._discharge(undo.device)

    def give_back(self, undo: Undo) -> None:
        """Undo an allocation when the search backtracks."""
        self.picks.pop()
        self.results[self.slots[undo.slot].claim] -= 1
        if self.rules.leaks:
            self._give_back_leaking(undo)
        else:
            self._restore(undo)

    def _restore(self, undo: Undo) -> None:
        slot = self.slots[undo.slot]
        bit = 1 << undo.device
        if self.problem.multi & bit:
            if undo.was_shared:
                assert undo.shared_before is not None
                self.shares[undo.device] = undo.shared_before
            else:
                self.shares.pop(undo.device, None)
        else:
            self._unmark(slot.claim, bit)
        for constraint in reversed(self.trackers[slot.claim][: undo.trackers]):
            constraint.remove(undo.slot)
        self._leave_groups(undo.groups)
        if undo.charged:
            self._discharge(undo.device)

    def _give_back_leaking(self, undo: Undo) -> None:
        """Undo an allocation as releases up to 1.35 do: shares keep their counters, and a share
        that consumes nothing is never removed.
        """
        slot = self.slots[undo.slot]
        bit = 1 << undo.device
        for constraint in self.trackers[slot.claim]:
            constraint.remove(undo.slot)
        if self.problem.multi & bit:
            wants = slot.wants
            want = wants[undo.device] if wants is not None else None
            taken = self.shares.get(undo.device)
            if want and taken is not None:
                left = tuple(t - w for t, w in zip(taken, want, strict=True))
                if any(left):
                    self.shares[undo.device] = left
                else:
                    del self.shares[undo.device]
            return
        self._unmark(slot.claim, bit)
        if self.problem.charges is not None and self.problem.charges[undo.device] is not None:
            self._discharge(undo.device)

    def _unmark(self, claim: int, bit: int) -> None:
        self.used_by[claim] &= ~bit
        if not any(used & bit for used in self.used_by):
            self.used &= ~bit

    # -- counters and compatibility groups ---------------------------------------------------------

    def _charge(self, device: int) -> bool:
        """Reserve the device's counters if all counters of its pool still suffice afterwards."""
        assert self.problem.charges is not None
        charge = self.problem.charges[device]
        assert charge is not None
        pool = self.ledger_pool[charge.ledger]
        if pool is None:
            pool = self.ledger_pool[charge.ledger] = charge.pool
        taken = self.charged[charge.ledger]
        for counter, amount in charge.amounts:
            taken[counter] += amount
        available = self.problem.ledgers[charge.ledger].available[pool]
        if all(left is None or left >= used for left, used in zip(available, taken, strict=True)):
            return True
        for counter, amount in charge.amounts:
            taken[counter] -= amount
        return False

    def _discharge(self, device: int) -> None:
        assert self.problem.charges is not None
        charge = self.problem.charges[device]
        assert charge is not None
        taken = self.charged[charge.ledger]
        for counter, amount in charge.amounts:
            taken[counter] -= amount

    def _join_groups(self, device: int) -> tuple[tuple[int, frozenset[str] | None], ...] | None:
        """Narrow the groups of each counter set of the device; None if the device cannot be
        allocated beside the others.
        """
        assert self.problem.groups is not None
        saved: list[tuple[int, frozenset[str] | None]] = []
        for counter_set, groups in self.problem.groups[device]:
            before = self.groups.get(counter_set)
            current = self.problem.baseline[counter_set] if before is None else before
            if current is None:
                narrowed = groups
            elif not groups or not current:
                narrowed = current
                if groups or current:
                    self._leave_groups(tuple(saved))
                    return None
            else:
                narrowed = current & groups
                if not narrowed:
                    self._leave_groups(tuple(saved))
                    return None
            saved.append((counter_set, before))
            self.groups[counter_set] = narrowed
        return tuple(saved)

    def _leave_groups(self, saved: tuple[tuple[int, frozenset[str] | None], ...]) -> None:
        for counter_set, before in reversed(saved):
            if before is None:
                del self.groups[counter_set]
            else:
                self.groups[counter_set] = before

    def panic_if_charged(self, slot: int, device: int) -> None:
        """Raise Aborted if kube-scheduler panics because of kubernetes#138882: it looks up the
        counters of the device without knowing the device's pool.
        """
        bit = 1 << device
        target = self.slots[slot]
        in_use = (
            self.used_by[target.claim] & bit
            if target.admin
            else (self.used | self.problem.held) & bit
        )
        if in_use or target.refused & bit:
            return
        if self.problem.multi & bit and (self.problem.sharing & bit or device in self.shares):
            return
        raise Aborted("panic-nil", slot, device)
