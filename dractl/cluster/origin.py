"""The origin of an answer's objects, and the time at which they were read."""

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct


class Origin(Struct, frozen=True):
    """The cluster or the files that an answer is about."""

    live: bool = False
    """True if a cluster was read, alone or with files."""
    context: str = ""
    """The context of the kubeconfig, as kubectl names it; "" if there is none, as in a pod."""
    server: str = ""
    """The version of the API server."""
    files: tuple[str, ...] = ()
    time: float | None = None
    """The time at which the cluster was read, in seconds since 1970; for files, the newest time in
    them. None if they have no time.
    """

    @property
    def title(self) -> str:
        """``context prod, Kubernetes 1.37.1, read 2026-11-22 00:29 UTC``."""
        names = [*([f"context {self.context}"] if self.context else []), *self.files]
        if self.live and not self.context:
            names.insert(0, "the cluster of kubectl")
        server = [f"Kubernetes {self.server}"] if self.live and self.server else []
        time = self._format_time("%Y-%m-%d %H:%M UTC")
        read = [f"{'read' if self.live else 'newest time'} {time}"] if time else []
        return ", ".join((*(names or ["described machines"]), *server, *read))

    def to_json(self) -> dict[str, Any]:
        """Return the origin as reports print it, without unknown parts."""
        values = {
            "context": self.context,
            "serverVersion": self.server if self.live else "",
            "files": list(self.files),
            "time": self._format_time("%Y-%m-%dT%H:%M:%SZ"),
        }
        return {name: value for name, value in values.items() if value}

    def _format_time(self, form: str) -> str:
        return datetime.fromtimestamp(self.time, UTC).strftime(form) if self.time else ""


NO_ORIGIN = Origin()
"""The origin of objects that a program made, such as a caller of the library."""
