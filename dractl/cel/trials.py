"""An expression tried on devices: the devices it selects, and the part that decided."""

from collections.abc import Iterable

from msgspec import Struct

from dractl.cel.decisions import Decision
from dractl.cel.device import DeviceLike
from dractl.cel.program import EvalError, Program


class TriedDevice(Struct, frozen=True):
    """A published device."""

    driver: str
    pool: str
    name: str
    value: DeviceLike

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


class Trial(Struct, frozen=True):
    """Devices with the same result, decided by the same part on the same values.

    ``result`` is None if the evaluation fails; ``error`` is upstream's text then.
    """

    result: bool | None
    error: str | None
    decision: Decision
    devices: tuple[TriedDevice, ...]


def tried(program: Program, devices: Iterable[TriedDevice]) -> tuple[Trial, ...]:
    """The trials of all devices: true before false before errors, larger groups first. ValueError if the program does
    not compile."""
    groups: dict[tuple[bool | None, str | None, Decision], list[TriedDevice]] = {}
    for device in devices:
        verdict = program.evaluate(device.driver, device.value)
        decision = program.decision(device.driver, device.value)
        failed = isinstance(verdict, EvalError)
        key = (
            None if failed else bool(verdict),
            verdict.text if isinstance(verdict, EvalError) else None,
            decision,
        )
        groups.setdefault(key, []).append(device)
    order = {True: 0, False: 1, None: 2}
    found = [Trial(*key, tuple(members)) for key, members in groups.items()]
    return tuple(sorted(found, key=lambda trial: (order[trial.result], -len(trial.devices))))


class ReleaseVerdict(Struct, frozen=True):
    """The verdict of a release on an expression.

    ``program`` is compiled as kube-apiserver does when the expression is created, ``stored`` as kube-scheduler does.
    ``trials`` cover the devices that were ``asked`` about, if any; devices of the drivers ``untried`` are not among
    them. ``remarks`` are what else is to be said of it: code, message and help.
    """

    release: str
    program: Program
    stored: Program
    help: str | None = None
    trials: tuple[Trial, ...] = ()
    asked: bool = False
    untried: tuple[str, ...] = ()
    remarks: tuple[tuple[str, str, str | None], ...] = ()
    in_doubt: bool = False
    """True if it only has names that the preview of a release may have."""

    @property
    def admission(self) -> str:
        """The API server's answer when the expression is created; ``undecided`` if that is not known."""
        return "undecided" if self.in_doubt else self.program.admission

    @property
    def fails(self) -> bool:
        """True if the API server rejects it, if it fails on a device, or if it selects none of the devices asked
        about."""
        if self.in_doubt:
            return False
        if self.program.admission != "ok" or any(trial.result is None for trial in self.trials):
            return True
        return self.asked and not any(trial.result for trial in self.trials)

    def count(self, result: bool | None) -> int:
        """The number of devices with this result; None: those on which the evaluation fails."""
        return sum(len(trial.devices) for trial in self.trials if trial.result is result)
