"""The world that each delivery belongs to: deliveries for one cluster apply no object twice."""

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

Identity = tuple[str, str, str, str]
"""The API group, kind, namespace and name of an object."""


class Root(Struct, frozen=True):
    """A delivery that no other delivery of the repository makes."""

    file: str
    """The absolute path of the file with its applier."""
    identities: frozenset[Identity]
    """The objects that it applies, and that the deliveries below it apply."""


def group_roots(roots: Sequence[Root]) -> list[list[int]]:
    """Return the positions of the roots of each cluster.

    A cluster has each object only once, so roots that apply the same object belong to different
    clusters. A root that could belong to several clusters belongs to the one with the nearest
    folder.
    """
    worlds: list[list[int]] = []
    for number, root in enumerate(roots):
        open_ = [
            world
            for world in worlds
            if not any(roots[other].identities & root.identities for other in world)
        ]
        nearest = max(
            open_, key=lambda world: _closeness(root, (roots[at] for at in world)), default=None
        )
        if nearest is None:
            worlds.append([number])
        else:
            nearest.append(number)
    return worlds


def _closeness(root: Root, others: Iterable[Root]) -> int:
    """Return how many folders a root has in common with the nearest of the others."""
    return max(len(_common(root.file, other.file)) for other in others)


def _common(first: str, second: str) -> Sequence[str]:
    return os.path.commonpath([first, second]).split(os.sep)
