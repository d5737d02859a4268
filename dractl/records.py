"""Frozen dataclasses and named tuples that cost next to nothing to declare.

``@dataclass(frozen=True, slots=True)`` writes six methods as text and compiles them, 0.4 ms a class, and imports
``inspect``. A run of ``explain`` declares 250 classes and makes instances of 100, a handful of most. So
:func:`record` compiles nothing but a constructor, and that only once it is called often. Everything else is as of a
dataclass: equality, hash, repr, pattern matching, pickling, ``__post_init__``, keyword-only fields, and what the
functions of ``dataclasses`` do with an instance.

``typing.NamedTuple`` compiles a constructor, and each annotation, at 0.1 ms a class, of which ``lint`` of one file
declares 60. :class:`NamedTuple` is the same without that; to type checkers it is ``typing``'s own.
"""

from __future__ import annotations

from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform, overload

_OFTEN = 30
"""Calls of a constructor after which it is compiled: that takes as long as these calls do without."""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter  # what collections.namedtuple reads its fields by

    class _NamedTupleType(type):
        """Makes a named tuple of a class with annotations."""

        def __new__(mcs, name, bases, namespace):
            made = super().__new__(mcs, name, bases, {"__slots__": (), **namespace})
            names = tuple(made.__annotations__)
            if names:
                made._fields = made.__match_args__ = names
                made._field_defaults = {field: namespace[field] for field in names if field in namespace}
                made._calls = count()
                for index, field in enumerate(names):
                    setattr(made, field, _tuplegetter(index, ""))
            return made

    class NamedTuple(tuple, metaclass=_NamedTupleType):
        """``typing.NamedTuple``, whose constructor is compiled once it is called often."""

        __slots__ = ()

        def __new__(cls, *args, **kwargs):
            names, given = cls._fields, len(args)
            values = {**cls._field_defaults, **dict(zip(names, args, strict=False)), **kwargs}
            once = given <= len(names) and kwargs.keys().isdisjoint(names[:given])
            if next(cls._calls) < _OFTEN and once and values.keys() == set(names):
                return tuple.__new__(cls, [values[name] for name in names])
            fields = ", ".join(names)
            body = f"  return new(cls, ({fields},))"
            made = _compiled(cls, "__new__", f"cls, {fields}", body, {"new": tuple.__new__})
            made.__defaults__ = tuple(cls._field_defaults.values())
            cls.__new__ = staticmethod(made)
            return made(cls, *args, **kwargs)

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes):
            made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"{type(self).__name__} has no fields {', '.join(changes)}")
            return made


T = TypeVar("T")

_NONE: Any = object()  # no default


class Field(NamedTuple):
    """A field of a record. ``default`` and ``factory`` are a mark of their own where there is none."""

    name: str
    default: Any = _NONE
    factory: Any = _NONE
    kw_only: bool = False
    metadata: Mapping[str, Any] = {}

    @property
    def required(self) -> bool:
        """True if an instance cannot be made without it."""
        return self.default is _NONE and self.factory is _NONE


class _Specified(NamedTuple):
    """The result of :func:`field`."""

    default: Any
    factory: Any
    kw_only: bool | None
    metadata: Mapping[str, Any]


@overload
def field(*, default: T, kw_only: bool = ..., metadata: Mapping[str, Any] = ...) -> T: ...
@overload
def field(*, default_factory: Callable[[], T], kw_only: bool = ..., metadata: Mapping[str, Any] = ...) -> T: ...
@overload
def field(*, kw_only: bool = ..., metadata: Mapping[str, Any] = ...) -> Any: ...
def field(
    *,
    default: Any = _NONE,
    default_factory: Any = _NONE,
    kw_only: bool | None = None,
    metadata: Mapping[str, Any] = {},
) -> Any:
    """A field whose default is made for each instance, that is given by keyword only, or that has metadata."""
    return _Specified(default, default_factory, kw_only, metadata)


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = ..., slots: bool = ..., kw_only: bool = ...) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T] | None = None, /, *, frozen: bool = True, slots: bool = True, kw_only: bool = False) -> Any:
    """The decorator: the class with slots for its annotated fields, and the methods of a frozen dataclass. Cached
    properties need ``slots=False``."""
    return _made(cls, frozen, slots, kw_only) if cls is not None else lambda cls: _made(cls, frozen, slots, kw_only)


def record_fields(value: object) -> tuple[Field, ...]:
    """The fields of a record or of its class, in order."""
    found: tuple[Field, ...] = value.__record_fields__  # type: ignore[attr-defined]
    return found


def replace(value: T, **changes: Any) -> T:
    """A record equal to ``value`` but for ``changes``. Raises TypeError for a field that it does not have."""
    values = {name: getattr(value, name) for name, *_ in record_fields(value)}
    return type(value)(**{**values, **changes})


def _made(cls: Any, frozen: bool, slots: bool, kw_only: bool) -> Any:
    inherited = {f.name: f for base in reversed(cls.__mro__[1:]) for f in base.__dict__.get("__record_fields__", ())}
    namespace = dict(cls.__dict__)
    own = {
        name: _field(name, namespace.pop(name, _NONE), kw_only)
        for name, annotation in cls.__annotations__.items()
        if not annotation.startswith("ClassVar")
    }
    fields = tuple({**inherited, **own}.values())
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    if slots:
        namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace["__record_fields__"] = fields
    namespace["__dataclass_fields__"] = _DataclassFields()
    namespace["__match_args__"] = tuple(f.name for f in fields if not f.kw_only)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    _add_methods(made, fields, namespace)
    if frozen:
        made.__setattr__ = _set
        made.__delattr__ = _delete
    else:
        made.__hash__ = None
    return made


def _field(name: str, value: Any, kw_only: bool) -> Field:
    if not isinstance(value, _Specified):
        return Field(name, value, _NONE, kw_only)
    return Field(
        name, value.default, value.factory, kw_only if value.kw_only is None else value.kw_only, value.metadata
    )


def _add_methods(cls: Any, fields: tuple[Field, ...], namespace: Mapping[str, Any]) -> None:
    names = [f.name for f in fields]
    cls.__record_values__ = attrgetter(*names) if names else _no_values
    if "__init__" not in namespace:
        cls.__init__ = _constructor(cls, fields)
    if "__eq__" not in namespace:
        cls.__eq__ = _equal
    if namespace.get("__hash__") is None:  # a class that defines __eq__ alone has None
        cls.__hash__ = _hash
    if "__repr__" not in namespace:
        cls.__repr__ = _repr
    if "__getstate__" not in namespace:  # slots and frozen: what copy and pickle do by themselves would assign
        cls.__getstate__ = _state
        cls.__setstate__ = _restore


def _constructor(cls: Any, fields: tuple[Field, ...]) -> Callable[..., None]:
    """``__init__`` in three steps: this one for classes of which there is no instance yet, one that looks the fields up
    in tables, and the compiled one."""

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _by_tables(cls, fields)
        cls.__init__(self, *args, **kwargs)

    return construct


def _by_tables(cls: Any, fields: tuple[Field, ...]) -> Callable[..., None]:
    calls = count()
    names = frozenset(f.name for f in fields)
    positional = [f.name for f in fields if not f.kw_only]
    defaults = {f.name: f.default for f in fields if f.default is not _NONE}
    factories = [(f.name, f.factory) for f in fields if f.factory is not _NONE]
    checked = hasattr(cls, "__post_init__")

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        if next(calls) < _OFTEN and len(args) <= len(positional) and kwargs.keys().isdisjoint(positional[: len(args)]):
            values = {**defaults, **dict(zip(positional, args, strict=False)), **kwargs}
            for name, factory in factories:
                if name not in values:
                    values[name] = factory()
            if values.keys() == names:
                for name, value in values.items():
                    object.__setattr__(self, name, value)
                if checked:
                    self.__post_init__()
                return
        cls.__init__ = _initializer(cls, fields)  # often enough, or wrong: it says how
        cls.__init__(self, *args, **kwargs)

    return construct


def _no_values(_: object) -> tuple[()]:
    return ()


def _compiled(cls: Any, name: str, parameters: str, body: str, values: dict[str, Any]) -> Callable[..., Any]:
    exec(f"def {name}({parameters}):\n{body}", values)  # noqa: S102 - all names are those of a class of ours
    made: Callable[..., Any] = values[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _initializer(cls: Any, fields: tuple[Field, ...]) -> Callable[..., None]:
    """``__init__``, compiled. Slots are set by their descriptors, which is faster than ``object.__setattr__``; a record
    without slots has none."""
    values: dict[str, Any] = {"none": _NONE}
    parameters = ["self"]
    keywords: list[str] = []
    body: list[str] = []
    for index, f in enumerate(fields):
        parameter, value = f.name, f.name
        if f.factory is not _NONE:
            values[f"make{index}"] = f.factory
            parameter, value = f"{f.name}=none", f"make{index}() if {f.name} is none else {f.name}"
        elif f.default is not _NONE:
            values[f"default{index}"] = f.default
            parameter = f"{f.name}=default{index}"
        (keywords if f.kw_only else parameters).append(parameter)
        if hasattr(cls, f.name):
            values[f"set{index}"] = getattr(cls, f.name).__set__
            body.append(f"  set{index}(self, {value})")
        else:
            body.append(f"  self.__dict__[{f.name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    if keywords:
        parameters += ["*", *keywords]
    return _compiled(cls, "__init__", ", ".join(parameters), "\n".join(body) or "  pass", values)


def _equal(self: Any, other: Any) -> Any:
    cls = type(self)
    return cls.__record_values__(self) == cls.__record_values__(other) if type(other) is cls else NotImplemented


def _hash(self: Any) -> int:
    return hash(type(self).__record_values__(self))


def _repr(self: object) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, *_ in record_fields(self))
    return f"{type(self).__qualname__}({shown})"


def _set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - Python's signature
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> NoReturn:  # noqa: ARG001 - Python's signature
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[Any]:
    return [getattr(self, name) for name, *_ in record_fields(self)]


def _restore(self: object, state: list[Any]) -> None:
    for (name, *_), value in zip(record_fields(self), state, strict=True):
        object.__setattr__(self, name, value)


class _DataclassFields:
    """``__dataclass_fields__``, made when ``dataclasses.fields``, ``replace`` or ``asdict`` asks for it."""

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        import dataclasses

        found: dict[str, Any] = owner.__dict__.get("__made_fields__", {})
        if not found:
            columns = []
            for name, default, factory, kw_only, metadata in record_fields(owner):
                known = {"default": default} if default is not _NONE else {}
                if factory is not _NONE:
                    known = {"default_factory": factory}
                columns.append((name, Any, dataclasses.field(**known, kw_only=kw_only, metadata=metadata)))
            made: Any = dataclasses.make_dataclass(owner.__name__, columns, kw_only=True)
            found = made.__dataclass_fields__
            owner.__made_fields__ = found  # type: ignore[attr-defined]
        return found
