"""Values computed from the objects of a cluster, kept for as long as these objects are the same.

A state of a cluster is immutable. A changed state shares every unchanged object with the earlier
one, and every unchanged mapping of the objects of a kind. So one rule holds for all computed
values: a value is cached by the identity of its sources, and is valid for every state with the same
sources. No change ever has to clear a value.
"""

from collections.abc import Callable, Hashable, Mapping, Sized
from functools import partial, wraps
from operator import is_, sub
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from msgspec import Struct

P = ParamSpec("P")
T = TypeVar("T")

MAX_VERSIONS: Final = 48
"""The number of sets of sources for which one value is cached at the same time; the least recently
used one is dropped first.
"""
MAX_CHANGED_STATES: Final = 64
"""The number of changed states that are cached at the same time; the least recently used one is
dropped first. The candidates of a search for fixes change one state again and again.
"""


class _Version(Struct, frozen=True):
    sources: tuple[object, ...]
    """The sources. They are kept, so that Python gives their ``id()`` to no other object."""
    sizes: tuple[int, ...]
    """The numbers of objects in the sources."""
    value: Any


class DerivedValues:
    """The values computed from the objects of a cluster, and of all clusters that changes produce
    from it.
    """

    def __init__(self) -> None:
        self._versions: dict[Hashable, dict[tuple[int, ...], _Version]] = {}
        self._by_object: dict[Hashable, dict[int, tuple[object, Any]]] = {}
        self._changed_states: dict[tuple[int, Hashable], tuple[object, Any]] = {}

    def from_sources(
        self, key: Hashable, sources: tuple[object, ...], compute: Callable[[Callable[[], Any]], T]
    ) -> T:
        """Return the value of ``key`` for ``sources``.

        A missing value is computed. ``compute`` gets a function that returns the value of ``key``
        for the most similar other sources, or None. It is a function because most computations do
        without that value.
        """
        versions, identities = self._versions.setdefault(key, {}), tuple(map(id, sources))
        version = versions.pop(identities, None)
        if version is None:
            sizes = _list_sizes(sources)
            value = compute(partial(_nearest_value, versions, sources, sizes))
            version = _Version(sources, sizes, value)
            if len(versions) >= MAX_VERSIONS:
                del versions[next(iter(versions))]
        versions[identities] = version
        result: T = version.value
        return result

    def from_object(self, key: Hashable, source: object, compute: Callable[[], T]) -> T:
        """Return the value of ``key`` for a single object; the value is computed once."""
        values = self.by_object(key)
        entry = values.get(id(source))
        if entry is not None and entry[0] is source:
            value: T = entry[1]
            return value
        value = compute()
        values[id(source)] = source, value
        return value

    def from_change(self, state: T, change: Hashable, make: Callable[[], T]) -> T:
        """Return the state after a change of another state.

        The same change of the same state always returns the same object, so values derived from it
        are computed once for all subjects.
        """
        states, key = self._changed_states, (id(state), change)
        entry = states.pop(key, None)
        if entry is None:
            entry = state, make()  # the state is kept, so that no new object gets its id()
            if len(states) >= MAX_CHANGED_STATES:
                del states[next(iter(states))]
        states[key] = entry
        changed: T = entry[1]
        return changed

    def merge(self, other: "DerivedValues") -> "DerivedValues":
        """Return the values of single objects that either of the two collections has."""
        both = DerivedValues()
        for values in (self._by_object, other._by_object):
            for key, entries in values.items():
                both._by_object.setdefault(key, {}).update(entries)
        return both

    def by_object(self, key: Hashable) -> dict[int, tuple[object, Any]]:
        """Return the objects that have a value of ``key``, each with this value, by the identity of
        the object.
        """
        return self._by_object.setdefault(key, {})


def _nearest_value(
    versions: dict[tuple[int, ...], _Version], sources: tuple[object, ...], sizes: tuple[int, ...]
) -> Any:
    """Return the value of the version that has the most sources in common with ``sources``; None if
    there is none. Of several such versions, the one with the most similar numbers of objects
    counts, and then the newest: the value for a cluster reduced to one node is a poor start for the
    whole cluster.
    """
    nearest: _Version | None = None
    highest = (-1, 0)
    for version in reversed(versions.values()):
        in_common = sum(map(is_, version.sources, sources))
        similarity = in_common, -sum(map(abs, map(sub, version.sizes, sizes)))
        if similarity > highest:
            nearest, highest = version, similarity
            if similarity == (len(sources) - 1, 0):  # no other sources can be more similar
                break
    return None if nearest is None else nearest.value


def _list_sizes(sources: tuple[object, ...]) -> tuple[int, ...]:
    """Return the number of objects in each source."""
    return tuple(len(source) if isinstance(source, Sized) else 0 for source in sources)


class HasObjects(Protocol):
    """A cluster's state, reduced to what derived values need."""

    @property
    def cache(self) -> DerivedValues: ...

    def objects(self, kind: str) -> Mapping[tuple[str, str], Mapping[str, Any]]: ...


S = TypeVar("S", bound=HasObjects)


def derive_from(
    *kinds: str,
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Decorate a function of a state that reads objects of ``kinds`` only.

    Its value is computed once for the same objects and the same other arguments, which must be
    hashable.
    """

    def decorate(compute: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        name = _name_of(compute)

        @wraps(compute)
        def look_up(state: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return state.cache.from_sources(
                (name, args, *kwargs.items()),
                tuple(map(state.objects, kinds)),
                lambda _: compute(state, *args, **kwargs),
            )

        return look_up

    return decorate


def _name_of(compute: Callable[..., object]) -> str:
    return f"{compute.__module__}.{compute.__qualname__}"


def update_from(
    *kinds: str,
) -> Callable[[Callable[Concatenate[S, Any, P], T]], Callable[Concatenate[S, P], T]]:
    """Decorate a function as :func:`derive_from` does. The function also receives one of its
    earlier values, for other objects, or None.

    It may reuse the parts of that value that are still valid, and must return the same result as
    without it.
    """

    def decorate(compute: Callable[Concatenate[S, Any, P], T]) -> Callable[Concatenate[S, P], T]:
        name = _name_of(compute)

        @wraps(compute)
        def look_up(state: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return state.cache.from_sources(
                (name, args, *kwargs.items()),
                tuple(map(state.objects, kinds)),
                lambda nearest: compute(state, nearest(), *args, **kwargs),
            )

        return look_up

    return decorate
