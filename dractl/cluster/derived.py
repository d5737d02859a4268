"""Values computed from the objects of a cluster, kept for as long as these objects are the same.

A state of a cluster is immutable. A changed state shares with it every unchanged object, and every
unchanged mapping of the objects of a kind. So one rule holds for all computed values: a value is
kept under the identity of its sources, and belongs to every state with the same sources. No change
ever clears a value.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import wraps
from operator import is_
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from msgspec import Struct

P = ParamSpec("P")
T = TypeVar("T")

MAX_VERSIONS: Final = 8
"""Sets of objects for which one value is kept at the same time; the one that was not used for
longest goes first.
"""


class _Version(Struct, frozen=True):
    sources: tuple[object, ...]
    """Kept with the value, so that no other object gets their identity."""
    value: Any


class DerivedValues:
    """The values computed from the objects of a cluster, and of all clusters that were made from it
    by changes.
    """

    def __init__(self) -> None:
        self._versions: dict[Hashable, list[_Version]] = {}
        self._by_object: dict[Hashable, dict[int, tuple[object, Any]]] = {}

    def from_sources(
        self, key: Hashable, sources: tuple[object, ...], compute: Callable[[Any], T]
    ) -> T:
        """Return the value of ``key`` for ``sources``.

        A value that is missing is computed; ``compute`` gets a value of ``key`` for other sources,
        as many of them the same as possible, or None.
        """
        versions = self._versions.setdefault(key, [])
        if versions and all(map(is_, versions[0].sources, sources)):
            current: T = versions[0].value
            return current
        in_common = [sum(map(is_, version.sources, sources)) for version in versions]
        if len(sources) in in_common:
            version = versions.pop(in_common.index(len(sources)))
        else:
            nearest = in_common.index(max(in_common)) if versions else None
            previous = None if nearest is None else versions[nearest].value
            version = _Version(sources, compute(previous))
            del versions[MAX_VERSIONS - 1 :]
        versions.insert(0, version)
        value: T = version.value
        return value

    def from_object(self, key: Hashable, source: object, compute: Callable[[], T]) -> T:
        """Return the value of ``key`` for a single object, which is computed once."""
        values = self.by_object(key)
        entry = values.get(id(source))
        if entry is not None and entry[0] is source:
            value: T = entry[1]
            return value
        value = compute()
        values[id(source)] = source, value
        return value

    def merge(self, other: "DerivedValues") -> "DerivedValues":
        """Return the values of single objects that either of two has."""
        both = DerivedValues()
        for values in (self._by_object, other._by_object):
            for key, entries in values.items():
                both._by_object.setdefault(key, {}).update(entries)
        return both

    def by_object(self, key: Hashable) -> dict[int, tuple[object, Any]]:
        """Return the objects that have a value of ``key``, with it, by their identity."""
        return self._by_object.setdefault(key, {})


class HasObjects(Protocol):
    """A cluster's state, as far as derived values need it."""

    @property
    def cache(self) -> DerivedValues: ...

    def objects(self, kind: str) -> Mapping[tuple[str, str], Mapping[str, Any]]: ...


S = TypeVar("S", bound=HasObjects)


def derive_from(
    *kinds: str,
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Decorate a function of a state that reads objects of ``kinds`` only.

    Its value is computed once for the same objects and the same further arguments, which must be
    hashable.
    """

    def decorate(compute: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        @update_from(*kinds)
        @wraps(compute)
        def ignore_previous(state: S, _: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return compute(state, *args, **kwargs)

        return ignore_previous

    return decorate


def update_from(
    *kinds: str,
) -> Callable[[Callable[Concatenate[S, Any, P], T]], Callable[Concatenate[S, P], T]]:
    """Decorate a function like :func:`derive_from`, which gets one of its values for other objects,
    or None.

    It may reuse the parts of that value that still hold, and must return the same as without it.
    """

    def decorate(compute: Callable[Concatenate[S, Any, P], T]) -> Callable[Concatenate[S, P], T]:
        name = f"{compute.__module__}.{compute.__qualname__}"

        @wraps(compute)
        def look_up(state: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return state.cache.from_sources(
                (name, args, *kwargs.items()),
                tuple(map(state.objects, kinds)),
                lambda previous: compute(state, previous, *args, **kwargs),
            )

        return look_up

    return decorate
