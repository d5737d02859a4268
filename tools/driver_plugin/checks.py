"""The checks of the behaviour that a kubelet relies on, in the order of a driver's life."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.driver_plugin import cdi, protocol
from tools.driver_plugin.cluster import ApiError, Cluster
from tools.driver_plugin.process import Driver, DriverError, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_UNKNOWN_UID = "00000000-0000-4000-8000-000000000000"
_FOREIGN_DRIVER = "another.driver-plugin-check.example.com"
_SETTLED_SECONDS = 2.0
_MAX_REPORTS = 50
_FLOOD_SECONDS = 1.0
_DEFAULT_HEALTH_TIMEOUT = 30
"""kubernetes/kubernetes pkg/kubelet/cm/dra/healthinfo.go DefaultHealthTimeout."""


class FailureError(Exception):
    """A check has failed; the message has the expected and the actual result."""


class SkippedError(Exception):
    """A check cannot be done with this driver."""


@dataclass
class Session:
    """A driver under test, and the facts that the checks have found so far."""

    driver: Driver
    cluster: Cluster
    node: str
    cdi_root: Path
    limit: float
    """The seconds within which a call has to be answered."""
    slices: list[dict[str, Any]] = field(default_factory=list)
    snapshots: list[list[dict[str, Any]]] = field(default_factory=list)
    """The slices before and after each start."""
    refused_claim: dict[str, str] = field(default_factory=dict)
    """The claim with a configuration that no driver knows."""
    standing_devices: frozenset[str] = frozenset()
    """The CDI devices that are defined before any claim is prepared, such as one whose edits all
    claims get (kubernetes-sigs/dra-example-driver cmd/dra-example-kubeletplugin/cdi.go).
    """
    _changed_at: float = 0.0

    @property
    def name(self) -> str:
        """The name under which the driver registers."""
        return str(self.driver.info.name)

    def devices(self, count: int) -> list[dict[str, str]]:
        """Return devices that can be allocated side by side. Raises SkippedError."""
        candidates = [
            {
                "driver": self.name,
                "pool": resource_slice["spec"]["pool"]["name"],
                "device": device["name"],
            }
            for resource_slice in self.slices
            for device in resource_slice["spec"].get("devices") or ()
            if not device.get("taints") and not device.get("consumesCounters")
        ]
        if len(candidates) < count:
            raise SkippedError(
                f"the driver publishes {len(candidates)} devices without taints and counters"
            )
        return candidates[:count]

    def claim(self, name: str, *devices: dict[str, str], **options: Any) -> dict[str, str]:
        """Create a claim that has devices."""
        results = [
            {"request": f"request-{index}", **device} for index, device in enumerate(devices)
        ]
        return self.cluster.create_claim(f"driver-plugin-{name}", results, **options)

    def prepare(self, *claims: dict[str, str]) -> dict[str, Any]:
        """Prepare claims as one call, and return the answers by UID. Raises FailureError."""
        return self._call("Prepare", "PrepareResponse", claims)

    def unprepare(self, *claims: dict[str, str]) -> dict[str, Any]:
        """Unprepare claims as one call, and return the answers by UID. Raises FailureError."""
        return self._call("Unprepare", "UnprepareResponse", claims)

    def _call(self, verb: str, response: str, claims: Iterable[dict[str, str]]) -> dict[str, Any]:
        method = f"/{self.service}/Node{verb}Resources"
        began = time.monotonic()
        try:
            with protocol.connect(self.driver.info.endpoint) as channel:
                answer = protocol.call(
                    channel,
                    method,
                    protocol.make_claims(list(claims)),
                    protocol.PLUGIN[response],
                    self.limit,
                )
        except protocol.CallError as error:
            if error.is_timeout:
                seconds = time.monotonic() - began
                raise FailureError(
                    f"Node{verb}Resources has no answer after {seconds:.0f} s, when a kubelet "
                    "gives up"
                ) from error
            raise FailureError(f"Node{verb}Resources fails: {error}") from error
        return {entry.key: entry.value for entry in answer.claims}

    @property
    def service(self) -> str:
        """The service that a kubelet calls: the newest one that driver and kubelet have in
        common.
        """
        announced = set(self.driver.info.supported_versions)
        names = [name for version, name in protocol.PLUGIN_SERVICES.items() if version in announced]
        if not names:
            raise FailureError(
                f"supported_versions are {', '.join(sorted(announced)) or 'empty'}; a kubelet knows"
                f" {', '.join(protocol.PLUGIN_SERVICES)}"
            )
        return names[0]

    def prepare_one(self, claim: dict[str, str]) -> Any:
        """Prepare a claim that has to succeed, and return its answer. Raises FailureError."""
        answers = self.prepare(claim)
        if set(answers) != {claim["uid"]}:
            raise FailureError(
                f"NodePrepareResources was asked for claim {claim['uid']} and answers for"
                f" {', '.join(sorted(answers)) or 'none'}"
            )
        answer = answers[claim["uid"]]
        if answer.error:
            raise FailureError(f"NodePrepareResources refuses the claim: {answer.error}")
        return answer

    def unprepare_one(self, claim: dict[str, str]) -> None:
        """Unprepare a claim that has to succeed. Raises FailureError."""
        answers = self.unprepare(claim)
        if claim["uid"] not in answers:
            raise FailureError("NodeUnprepareResources has no entry for the claim")
        if answers[claim["uid"]].error:
            raise FailureError(
                f"NodeUnprepareResources refuses the claim: {answers[claim['uid']].error}"
            )

    def has_settled(self) -> bool:
        """Read the slices; return True if they are complete and have not changed lately."""
        before = self.slices
        is_complete = self.read_slices()
        if not is_complete or self.slices != before:
            self._changed_at = time.monotonic()
        began = max(self._changed_at, self.driver.started_at)
        return is_complete and time.monotonic() - began >= _SETTLED_SECONDS

    def read_slices(self) -> bool:
        """Read the slices of the driver; return True if its pools are complete."""
        self.slices = self.cluster.list_slices(self.name, self.node)
        counts: dict[tuple[str, int], list[int]] = {}
        for resource_slice in self.slices:
            pool = resource_slice["spec"]["pool"]
            counts.setdefault((pool["name"], pool["generation"]), []).append(
                pool["resourceSliceCount"]
            )
        newest = {name: max(g for n, g in counts if n == name) for name, _ in counts}
        return bool(counts) and all(len(counts[pool]) == counts[pool][0] for pool in newest.items())


def ids_of(answer: Any) -> list[str]:
    """Return the CDI devices of an answer."""
    return [one for device in answer.devices for one in device.cdi_device_ids]


def check_register(session: Session) -> None:
    """The driver registers as a DRA plug-in, with an endpoint that answers."""
    session.driver.start()
    info = session.driver.info
    if info.type != "DRAPlugin":
        raise FailureError(f"type is {info.type or 'empty'}; a kubelet takes DRAPlugin")
    if not info.name:
        raise FailureError("name is empty")
    if not Path(info.endpoint).is_absolute() or not Path(info.endpoint).exists():
        raise FailureError(f"endpoint {info.endpoint or 'is empty'}: no such socket")
    assert session.service


def check_publish(session: Session) -> None:
    """The driver publishes a complete pool with devices for its node."""
    if not wait_until(session.has_settled, session.driver.limit):
        raise FailureError(
            f"no complete pool of {session.name} within {session.driver.limit:g} s; the driver"
            f" wrote: {session.driver.last_words()}"
        )
    if not session.snapshots:
        session.standing_devices = cdi.list_devices(session.cdi_root)
    session.snapshots.append(session.slices)


def check_prepare(session: Session) -> None:
    """A claim is prepared, with its own devices and requests."""
    (device,) = session.devices(1)
    claim = session.claim("prepare", device)
    answer = session.prepare_one(claim)
    expected = {(device["pool"], device["device"])}
    prepared = {(one.pool_name, one.device_name) for one in answer.devices}
    if not prepared <= expected:
        raise FailureError(f"the claim has {expected}, and the answer {prepared}")
    names = {name for one in answer.devices for name in one.request_names}
    if not names <= {"request-0"}:
        raise FailureError(f"the claim has request-0, and the answer {', '.join(sorted(names))}")


def check_cdi(session: Session) -> None:
    """A container runtime can resolve the CDI devices of a prepared claim."""
    answer = session.prepare_one(session.claim("cdi", *session.devices(1)))
    faults = cdi.find_faults(ids_of(answer), session.cdi_root)
    if faults:
        raise FailureError("; ".join(faults))


def check_prepare_again(session: Session) -> None:
    """A claim that is prepared can be prepared again, with the same answer."""
    claim = session.claim("again", *session.devices(1))
    first, second = session.prepare_one(claim), session.prepare_one(claim)
    if sorted(map(str, first.devices)) != sorted(map(str, second.devices)):
        raise FailureError(
            f"CDI devices were {', '.join(ids_of(first)) or 'none'} and are"
            f" {', '.join(ids_of(second)) or 'none'} at the second call"
        )


def check_unprepare(session: Session) -> None:
    """A claim that is unprepared leaves no CDI file behind."""
    claim = session.claim("unprepare", *session.devices(1))
    answer = session.prepare_one(claim)
    _unprepare_without_trace(session, claim, answer)


def _unprepare_without_trace(session: Session, claim: dict[str, str], answer: Any) -> None:
    """Unprepare a claim, whose devices no CDI file may define afterwards. Raises FailureError."""
    session.unprepare_one(claim)
    own_devices = [each for each in ids_of(answer) if each not in session.standing_devices]
    files = cdi.mentions(claim["uid"], own_devices, session.cdi_root)
    if files:
        raise FailureError(f"{', '.join(files)} still defines devices of the claim")


def check_unprepare_unknown(session: Session) -> None:
    """A claim that the driver never saw, or no longer has, is unprepared without an error."""
    unknown = {"namespace": session.cluster.namespace, "name": "unknown", "uid": _UNKNOWN_UID}
    session.unprepare_one(unknown)


def check_unprepare_deleted(session: Session) -> None:
    """A claim whose object is gone is unprepared without an error."""
    claim = session.claim("deleted", *session.devices(1))
    session.prepare_one(claim)
    session.cluster.delete_claim(claim["name"])
    session.unprepare_one(claim)


def check_prepare_two(session: Session) -> None:
    """Each of two claims in one call gets an answer, with its own CDI devices."""
    claims = [
        session.claim(f"two-{index}", device) for index, device in enumerate(session.devices(2))
    ]
    answers = session.prepare(*claims)
    missing = [claim["name"] for claim in claims if claim["uid"] not in answers]
    if missing:
        raise FailureError(f"no answer for {', '.join(missing)}")
    errors = [answer.error for answer in answers.values() if answer.error]
    if errors:
        raise FailureError(f"one claim is refused: {errors[0]}")
    first, second = (set(ids_of(answers[claim["uid"]])) for claim in claims)
    in_both = first & second - session.standing_devices
    if in_both:
        raise FailureError(f"both claims have CDI device {', '.join(sorted(in_both))}")
    faults = cdi.find_faults(sorted(first | second), session.cdi_root)
    if faults:
        raise FailureError("; ".join(faults))
    for answer in session.unprepare(*claims).values():
        if answer.error:
            raise FailureError(f"NodeUnprepareResources refuses a claim: {answer.error}")


def check_prepare_in_parallel(session: Session) -> None:
    """Calls for two claims at the same time are both answered."""
    claims = [
        session.claim(f"parallel-{index}", device)
        for index, device in enumerate(session.devices(2))
    ]
    with ThreadPoolExecutor(len(claims)) as pool:
        list(pool.map(session.prepare_one, claims))
    for claim in claims:
        session.unprepare_one(claim)


def check_other_driver(session: Session) -> None:
    """If a claim has devices of two drivers, the driver prepares only its own devices."""
    (device,) = session.devices(1)
    foreign = {**device, "driver": _FOREIGN_DRIVER, "device": "not-of-this-driver"}
    answer = session.prepare_one(session.claim("other", device, foreign))
    names = {one.device_name for one in answer.devices} - {device["device"]}
    if names:
        raise FailureError(f"it prepares {', '.join(sorted(names))} of driver {_FOREIGN_DRIVER}")


def check_configuration(session: Session) -> None:
    """The driver refuses an unknown configuration, and continues to run."""
    (device,) = session.devices(1)
    parameters = {"apiVersion": "driver-plugin-check.example.com/v1", "kind": "Unknown"}
    config = [{"opaque": {"driver": session.name, "parameters": parameters}}]
    session.refused_claim = session.claim("configuration", device, config=config)
    answers = session.prepare(session.refused_claim)
    if not session.driver.is_running:
        raise FailureError(f"the driver has ended; it wrote: {session.driver.last_words()}")
    if not any(answer.error for answer in answers.values()):
        raise FailureError(
            "parameters of kind Unknown are accepted: a misspelt configuration is ignored silently"
        )


def check_after_failure(session: Session) -> None:
    """A device whose preparation failed can be prepared for another claim."""
    try:
        session.prepare_one(session.claim("after-failure", *session.devices(1)))
    finally:  # as a kubelet does when the pod of the refused claim is gone
        session.unprepare(session.refused_claim)


def check_restart(session: Session) -> None:
    """After a restart, a prepared claim is prepared again with the same devices."""
    claim = session.claim("restart", *session.devices(1))
    before = session.prepare_one(claim)
    session.driver.stop()
    session.driver.start()
    after = session.prepare_one(claim)
    if sorted(map(str, before.devices)) != sorted(map(str, after.devices)):
        raise FailureError(
            f"CDI devices were {', '.join(ids_of(before)) or 'none'} and are"
            f" {', '.join(ids_of(after)) or 'none'} after the restart"
        )


def check_unprepare_after_restart(session: Session) -> None:
    """After a restart, a claim that was prepared before is unprepared, and leaves no CDI file."""
    claim = session.claim("unprepare-after-restart", *session.devices(1))
    answer = session.prepare_one(claim)
    session.driver.stop()
    session.driver.start()
    _unprepare_without_trace(session, claim, answer)


def check_reboot(session: Session) -> None:
    """After a reboot, which empties /var/run, a prepared claim gets its CDI files again."""
    claim = session.claim("reboot", *session.devices(1))
    answer = session.prepare_one(claim)
    session.driver.stop()
    for name in cdi.mentions(claim["uid"], ids_of(answer), session.cdi_root):
        (session.cdi_root / name).unlink()
    session.driver.start()
    faults = cdi.find_faults(ids_of(session.prepare_one(claim)), session.cdi_root)
    if faults:
        raise FailureError("; ".join(faults))


def check_kill(session: Session) -> None:
    """A driver that was killed starts again although its old sockets still exist."""
    session.driver.kill()
    session.driver.start()
    session.prepare_one(session.claim("kill", *session.devices(1)))


def check_publish_again(session: Session) -> None:
    """After the restarts, the driver still publishes its devices."""
    check_publish(session)


def check_health(session: Session) -> None:
    """The driver reports the health of its devices, and repeats each report before it is stale."""
    announced = set(session.driver.info.supported_versions)
    services = [name for version, name in protocol.HEALTH_SERVICES.items() if version in announced]
    if not services:
        raise SkippedError("the driver does not report health")
    published = {
        (resource_slice["spec"]["pool"]["name"], device["name"])
        for resource_slice in session.slices
        for device in resource_slice["spec"].get("devices") or ()
    }
    began, timeout, count = time.monotonic(), float(_DEFAULT_HEALTH_TIMEOUT), 0
    try:
        with protocol.connect(session.driver.info.endpoint) as channel:
            for report in protocol.watch_health(channel, services[0], timeout + 2):
                count += 1
                unknown = {
                    f"{health.device.pool_name}/{health.device.device_name}"
                    for health in report.devices
                    if (health.device.pool_name, health.device.device_name) not in published
                }
                if unknown:
                    raise FailureError(
                        f"it reports {', '.join(sorted(unknown))}, which it does not publish"
                    )
                seconds = time.monotonic() - began
                if count >= _MAX_REPORTS and seconds < _FLOOD_SECONDS:
                    raise FailureError(f"{count} reports within {seconds:.1f} s")
                if count > 1 and seconds >= _FLOOD_SECONDS:
                    return
    except protocol.CallError as error:
        raise FailureError(f"NodeWatchResources fails: {error}") from error
    seconds = time.monotonic() - began
    raise FailureError(
        f"{count} reports within {seconds:.0f} s: a kubelet takes a device for unknown after"
        f" {_DEFAULT_HEALTH_TIMEOUT} s"
    )


def check_stop(session: Session) -> None:
    """The driver ends at SIGTERM, and removes its sockets."""
    if not session.driver.stop():
        raise FailureError(f"the driver still runs {session.driver.limit:g} s after SIGTERM")
    sockets = session.driver.list_remaining_sockets()
    if sockets:
        raise FailureError(f"{', '.join(sockets)} is still there: a kubelet keeps the plug-in")


@dataclass(frozen=True)
class Check:
    """A check, and the checks that must pass before it."""

    id: str
    run: Callable[[Session], None]
    needs: tuple[str, ...] = ("prepare",)


CHECKS = (
    Check("register", check_register, ()),
    Check("publish", check_publish, ("register",)),
    Check("prepare", check_prepare, ("publish",)),
    Check("cdi", check_cdi),
    Check("prepare-again", check_prepare_again),
    Check("unprepare", check_unprepare),
    Check("unprepare-unknown", check_unprepare_unknown),
    Check("unprepare-deleted", check_unprepare_deleted, ("unprepare",)),
    Check("prepare-two", check_prepare_two, ("cdi", "unprepare")),
    Check("prepare-in-parallel", check_prepare_in_parallel, ("prepare-two",)),
    Check("other-driver", check_other_driver),
    Check("configuration", check_configuration),
    Check("after-failure", check_after_failure, ("configuration",)),
    Check("restart", check_restart, ("prepare-again",)),
    Check("unprepare-after-restart", check_unprepare_after_restart, ("unprepare", "restart")),
    Check("reboot", check_reboot, ("cdi", "restart")),
    Check("kill", check_kill, ("restart",)),
    Check("publish-again", check_publish_again, ("publish",)),
    Check("health", check_health),
    Check("stop", check_stop, ("register",)),
)


@dataclass(frozen=True)
class Result:
    """The result of a check: ``passed``, ``failed`` or ``skipped``."""

    id: str
    status: str
    message: str = ""


def run_checks(session: Session) -> Iterable[Result]:
    """Yield the result of each check."""
    passed: set[str] = set()
    for check in CHECKS:
        missing = [name for name in check.needs if name not in passed]
        if missing:
            yield Result(check.id, "skipped", f"needs {', '.join(missing)}")
            continue
        try:
            if check.needs and not session.driver.is_running:
                session.driver.start()
            check.run(session)
        except SkippedError as reason:
            yield Result(check.id, "skipped", str(reason))
        except (FailureError, DriverError, ApiError) as error:
            yield Result(check.id, "failed", str(error))
            # A driver that panics runs until its stacks are written, which must not overlap the
            # next check.
            wait_until(lambda: not session.driver.is_running, _SETTLED_SECONDS)
        else:
            passed.add(check.id)
            yield Result(check.id, "passed")
    session.driver.kill()
