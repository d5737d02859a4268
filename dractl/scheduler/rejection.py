"""A node that a filter before DRA refuses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """A filter refuses a node.

    ``texts`` are the plugin's own sentences, one for each thing missing. ``final``: evicting pods would not help
    (UnschedulableAndUnresolvable). ``detail`` says what the pod wants or meets, ``of_node`` what the node has instead.
    ``pods`` (``namespace/name``) stand in the way.
    """

    plugin: str
    texts: tuple[str, ...]
    final: bool
    detail: str = ""
    of_node: str = ""
    resource: str | None = None
    want: str | None = None
    free: str | None = None
    pods: tuple[str, ...] = ()
