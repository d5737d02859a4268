"""An expression tried on devices: the devices that it selects, and the part that decided."""

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
    """Devices with the same result, which the same part decided with the same values."""

    result: bool | None
    """True or False; None if the evaluation fails."""
    error: str | None
    """Upstream's text of the failure."""
    decision: Decision
    devices: tuple[TriedDevice, ...]


def try_on_devices(program: Program, devices: Iterable[TriedDevice]) -> tuple[Trial, ...]:
    """Return the trials of all devices: true before false before errors, larger groups first.
    ValueError if the program does not compile.
    """
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
    trials = [Trial(*key, tuple(members)) for key, members in groups.items()]
    return tuple(sorted(trials, key=lambda trial: (order[trial.result], -len(trial.devices))))


class ReleaseVerdict(Struct, frozen=True):
    """The verdict of a release on an expression."""

    release: str
    program: Program
    """The expression compiled as kube-apiserver does when it is created."""
    stored: Program
    """The expression compiled as kube-scheduler does."""
    help: str | None = None
    trials: tuple[Trial, ...] = ()
    """The trials on the given devices."""
    asked: bool = False
    """True if devices were given."""
    untried: tuple[str, ...] = ()
    """Drivers whose devices were given but not tried."""
    remarks: tuple[tuple[str, str, str | None], ...] = ()
    """Further remarks: code, message and help."""
    in_doubt: bool = False
    """True if the API server's answer is unknown, because a name in the expression may exist in the
    preview of this release.
    """

    @property
    def admission(self) -> str:
        """The API server's answer when the expression is created; ``undecided`` if that is not
        known.
        """
        return "undecided" if self.in_doubt else self.program.admission

    @property
    def fails(self) -> bool:
        """True if the API server rejects it, if it fails on a device, or if it selects none of the
        given devices.
        """
        if self.in_doubt:
            return False
        if self.program.admission != "ok" or any(trial.result is None for trial in self.trials):
            return True
        return self.asked and not any(trial.result for trial in self.trials)

    def count(self, result: bool | None) -> int:
        """Return the number of devices with this result; for None, of devices on which the
        evaluation fails.
        """
        return sum(len(trial.devices) for trial in self.trials if trial.result is result)
