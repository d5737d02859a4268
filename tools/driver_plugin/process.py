"""The driver as a process: started, stopped and killed as a pod of its DaemonSet would be."""

from __future__ import annotations

import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.driver_plugin import protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_POLL_SECONDS = 0.1


class DriverError(Exception):
    """The driver does not do what the next checks need."""


class Driver:
    """A driver that is started with a command and registers in the folder of a kubelet."""

    def __init__(self, command: Sequence[str], kubelet_root: Path, log: Path, limit: float) -> None:
        self.command = list(command)
        self.registry = kubelet_root / "plugins_registry"
        self.log = log
        self.limit = limit
        self.started_at = 0.0
        """The time of the last start, by the monotonic clock."""
        self.info: Any = None
        """Its answer to GetInfo."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the driver, and wait for its socket. Raises DriverError."""
        self.registry.mkdir(parents=True, exist_ok=True)  # as a kubelet does
        stale = set(self._list_sockets())
        started_at = time.time()
        self.started_at = time.monotonic()
        with self.log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    self.command,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise DriverError(
                    f"{self.command[0]} cannot be started: {error.strerror}"
                ) from error

        def has_registered() -> bool:
            if not self.is_running:
                raise DriverError(f"the driver ended by itself; it wrote: {self.last_words()}")
            sockets = [
                path
                for path in self._list_sockets()
                if path not in stale or path.stat().st_mtime >= started_at - 1
            ]
            return any(self._ask(path) for path in sockets)

        if not wait_until(has_registered, self.limit):
            names = ", ".join(sorted(path.name for path in self.registry.glob("*"))) or "nothing"
            raise DriverError(
                f"no plug-in answers in {self.registry} within {self.limit:g} s; it holds {names}"
            )

    def _list_sockets(self) -> list[Path]:
        """Return the sockets of the registry; the kubelet ignores hidden files and other kinds."""
        paths = self.registry.glob("*") if self.registry.is_dir() else ()
        return [
            path
            for path in paths
            if not path.name.startswith(".") and stat.S_ISSOCK(path.stat().st_mode)
        ]

    def _ask(self, socket: Path) -> bool:
        """Query the plug-in that registers at a socket; return False if none answers."""
        try:
            with protocol.connect(str(socket)) as channel:
                self.info = protocol.call(
                    channel,
                    "/pluginregistration.Registration/GetInfo",
                    protocol.REGISTRATION["InfoRequest"](),
                    protocol.REGISTRATION["PluginInfo"],
                    2,
                )
                protocol.call(
                    channel,
                    "/pluginregistration.Registration/NotifyRegistrationStatus",
                    protocol.REGISTRATION["RegistrationStatus"](plugin_registered=True),
                    protocol.REGISTRATION["RegistrationStatusResponse"],
                    2,
                )
        except protocol.CallError:
            return False
        return True

    def stop(self) -> bool:
        """Ask the driver to end; return False if it had to be killed."""
        process = self._process
        if process is None or process.poll() is not None:
            return True
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(self.limit)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def kill(self) -> None:
        """Kill the driver, as the kernel does when memory is short."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)

    def list_remaining_sockets(self) -> list[str]:
        """Return the sockets of the driver that are still there."""
        endpoint = Path(self.info.endpoint) if self.info is not None else None
        paths = [*self._list_sockets(), *([endpoint] if endpoint and endpoint.exists() else [])]
        return sorted(str(path) for path in paths)

    def last_words(self) -> str:
        """Return the last line of the driver's log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "nothing")


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Return True as soon as a condition holds; False if it does not hold within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_SECONDS)
    return True
