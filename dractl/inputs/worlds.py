"""The deliveries that go to one cluster: they could exist beside each other in it."""

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

Identity = tuple[str, str, str, str]
"""The API group, kind, namespace and name of an object."""


class Root(Struct, frozen=True):
    """A delivery that no other one of the repository makes."""

    file: str
    """The absolute path of the file that has its object."""
    identities: frozenset[Identity]
    """The objects that it and the deliveries that it makes apply."""


def group_roots(roots: Sequence[Root]) -> list[list[int]]:
    """Return the positions of the roots of each cluster.

    One cluster has each object once, so roots that apply the same object belong to different
    clusters. A root that fits several clusters belongs to the one with the nearest folder.
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
    """Return how many folders the nearest of the others has in common with a root."""
    return max(len(_common(root.file, other.file)) for other in others)


def _common(first: str, second: str) -> Sequence[str]:
    return os.path.commonpath([first, second]).split(os.sep)
