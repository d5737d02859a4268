"""Renderings of earlier runs, cached by the digest of all their inputs."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Protocol

MAX_ENTRY_BYTES = 4 * 2**20


class Store(Protocol):
    """Stores bytes by key, from one run to the next."""

    def get(self, key: str) -> bytes | None:
        """Return the bytes under a key."""

    def put(self, key: str, body: bytes) -> None:
        """Store bytes under a key."""


class Memory:
    """Outputs of programs by the digest of their input, cached in the process and in a store."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._outputs: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return the output that belongs to a key."""
        if key not in self._outputs and self._store is not None:
            output = self._store.get(key)
            if output is not None:
                self._outputs[key] = output
        return self._outputs.get(key)

    def put(self, key: str, output: bytes) -> None:
        """Cache an output, unless it is large."""
        if len(output) > MAX_ENTRY_BYTES:
            return
        self._outputs[key] = output
        if self._store is not None:
            self._store.put(key, output)


def key_of(parts: Iterable[bytes]) -> str:
    """Return the digest of several values in this order."""
    total = blake2b(digest_size=32)
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()
