"""A record behaves as a frozen dataclass with slots does, and a named tuple as typing's."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from functools import cached_property
from typing import ClassVar
from typing import NamedTuple as TypingNamedTuple

import pytest

from dractl.records import NamedTuple, field, record, record_fields, replace


@record
class Point:
    """A place."""

    unit: ClassVar[str] = "mm"

    x: int
    y: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y


@record(kw_only=True)
class Named(Point):
    name: str = field(default="", metadata={"shown": False})


@record(slots=False)
class Lazy:
    x: int

    @cached_property
    def twice(self) -> int:
        return 2 * self.x


@record
class Checked:
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")


@record
class Loose:
    x: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose) and self.x.lower() == other.x.lower()

    def __hash__(self) -> int:
        return hash(self.x.lower())


@record(frozen=False)
class Counter:
    count: int = 0


class Range(NamedTuple):
    """From one number to another."""

    start: int
    end: int = 10
    """Exclusive."""
    unit: str | None = None

    @property
    def length(self) -> int:
        return self.end - self.start


class TypingRange(TypingNamedTuple):
    start: int
    end: int = 10
    unit: str | None = None


class Marked(Range):
    """A named tuple with a method more."""

    def mark(self) -> str:
        return f"[{self.start}"


def test_values_are_given_by_position_or_name() -> None:
    assert Point(1, 2).sum == Point(y=2, x=1).sum == 3
    assert Point(1).y == 0
    assert Named(1, 2, name="a").name == "a"
    with pytest.raises(TypeError, match="required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes from 2 to 4 positional arguments"):
        Named(1, 2, [], "a")  # type: ignore[misc]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_a_factory_makes_a_default_for_each_instance() -> None:
    assert Point(1).names is not Point(1).names
    given = ["a"]
    assert Point(1, names=given).names is given


def test_equal_and_hash_go_by_type_and_fields() -> None:
    assert Checked(1) == Checked(1)
    assert Checked(1) != Checked(2)
    assert len({Checked(1), Checked(1), Checked(2)}) == 2
    assert Checked(1) != Lazy(1)
    assert Point(1) != Named(1)
    assert Checked(1) != 1
    assert Loose("A") == Loose("a")
    assert len({Loose("A"), Loose("a")}) == 1


def test_a_record_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.other = 2  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert not hasattr(point, "__dict__")


def test_a_record_that_may_change_is_not_hashable() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_post_init_runs_and_cached_properties_are_kept() -> None:
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)
    lazy = Lazy(2)
    assert lazy.twice == 4
    assert lazy.__dict__ == {"x": 2, "twice": 4}


def test_repr_and_patterns() -> None:
    assert repr(Named(1, name="a")) == "Named(x=1, y=0, names=[], name='a')"
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("no match")


def test_copies_and_pickles_are_equal() -> None:
    for value in (Named(1, 2, ["a"], name="b"), Lazy(1), Counter(3)):
        assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_replace_changes_fields_and_knows_no_others() -> None:
    assert replace(Named(1, name="a"), x=2) == Named(2, name="a")
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(Point(1), z=2)


def test_fields_say_default_and_metadata() -> None:
    x, y, names, name = record_fields(Named)
    assert (x.required, y.required, y.default, names.required, name.kw_only) == (True, False, 0, False, True)
    assert name.metadata == {"shown": False}
    assert [f.name for f in record_fields(Point(1))] == ["x", "y", "names"]


def test_the_functions_of_dataclasses_take_records() -> None:
    value = Named(1, 2, ["a"], name="b")
    assert dataclasses.is_dataclass(value)
    assert dataclasses.asdict(value) == {"x": 1, "y": 2, "names": ["a"], "name": "b"}
    assert dataclasses.replace(value, x=5) == replace(value, x=5)
    assert [f.name for f in dataclasses.fields(Point)] == ["x", "y", "names"]
    assert dataclasses.fields(Named)[3].metadata["shown"] is False


def test_a_named_tuple_is_a_tuple_with_names() -> None:
    value = Range(1, unit="mm")
    start, end, unit = value
    assert (start, end, unit) == value == (1, 10, "mm")
    assert (value.start, value.length, value.unit, value[1]) == (1, 9, "mm", 10)
    assert hash(value) == hash((1, 10, "mm"))
    assert Marked(1, 2).mark() == "[1"
    assert Range(2) > Range(1, 50)
    assert not hasattr(value, "__dict__")
    with pytest.raises(AttributeError):
        value.start = 2  # type: ignore[misc]


def test_a_named_tuple_does_what_typings_does() -> None:
    ours, theirs = Range(1, unit="mm"), TypingRange(1, unit="mm")
    assert repr(ours) == repr(theirs).removeprefix("Typing")
    assert ours._asdict() == theirs._asdict()
    assert ours._replace(end=3) == theirs._replace(end=3)
    assert Range._make([1, 2, None]) == TypingRange._make([1, 2, None])
    assert Range._fields == TypingRange._fields == Range.__match_args__
    assert Range._field_defaults == TypingRange._field_defaults
    assert type(ours._replace(end=3)) is Range
    for arguments in ([], [1, 2, "a", 4]):
        with pytest.raises(TypeError):
            Range(*arguments)
    with pytest.raises(TypeError, match="other"):
        Range(1, other=2)  # type: ignore[call-arg]


def test_named_tuples_are_copied_and_pickled_with_their_type() -> None:
    for value in (Range(1), Marked(1, 2, "a")):
        for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made == value
            assert type(made) is type(value)


def test_declaring_and_using_one_imports_neither_dataclasses_nor_inspect() -> None:
    program = (
        "import sys; from dractl.records import record\n"
        "@record\nclass A:\n    __annotations__ = {'x': 'int'}\n"
        "A(1) == A(1), hash(A(1)), repr(A(1))\n"
        "sys.exit(bool({'dataclasses', 'inspect'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
