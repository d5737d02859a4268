"""cel-expr-python set up as Kubernetes sets up cel-go.

Start-up time matters (``dractl lint`` on one file has a budget): declaring the overloads as objects takes 1 ms while
the same table as YAML takes 14 ms, so only the few generic ones, which objects cannot express, are YAML. Nor is
protobuf imported, which takes longer than everything else here (15 ms): the library asks its descriptor pool for only
two methods, and protobuf's ``message_factory`` for a function that hands messages to Python, which never happens
without evaluation (cel-expr/cel-python, cel_expr_python/py_message_factory.cc).
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.cel.environment import Declarations


@cache
def _table() -> tuple[list[list[Any]], str]:
    data = json.loads(Path(__file__).with_name("environments").joinpath("functions.json").read_text("utf-8"))
    return data["plain"], "\n".join(data["generic"])


_OF_EXTENSIONS = frozenset(
    ("optional.of", "optional.none", "optional.ofNonZeroValue", "hasValue", "value", "or", "orValue")
)
_OF_LISTS = frozenset(("slice", "flatten", "lists.range", "distinct", "reverse", "sort"))


@cache
def function_names(declarations: Declarations) -> frozenset[str]:
    """Every function that the environment declares, by name."""
    plain, generic = _table()
    names = {row[0] for row in plain if row[1] not in declarations.left_out}
    names.update(re.findall(r'^- name: "(.*)"$', generic, re.MULTILINE))
    return frozenset(names) | _OF_EXTENSIONS | (_OF_LISTS if declarations.lists else frozenset())


def make(declarations: Declarations) -> Any:
    """A ``cel_expr_python.cel.Env``."""
    from cel_expr_python import cel

    plain, generic = _table()
    kinds = {name: cel.Type(name) for name in {t for row in plain for t in (*row[3], row[4])}}
    functions: dict[str, list[Any]] = {}
    for function, overload, member, operands, result in plain:
        if overload not in declarations.left_out and (declarations.formats or not overload.startswith("format")):
            functions.setdefault(function, []).append(
                cel.Overload(
                    id=overload,
                    parameters=[kinds[name] for name in operands],
                    is_member=member,
                    return_type=kinds[result],
                )
            )
    with _without_protobuf():
        return cel.NewEnv(
            config=cel.NewEnvConfigFromYaml(declarations.configuration(generic)),
            functions=[cel.FunctionDecl(name, overloads) for name, overloads in functions.items()],
            descriptor_pool=_Pool(declarations.shared),
        )


@contextmanager
def _without_protobuf() -> Iterator[None]:
    """Stand-ins for protobuf's ``message_factory`` and its package while the library looks up its one function, unless
    the real ones are imported already."""
    factory = ModuleType("google.protobuf.message_factory")
    factory.GetMessageClass = _no_messages  # type: ignore[attr-defined]
    stand_ins = {item.__name__: item for item in (ModuleType("google"), factory) if item.__name__ not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _no_messages(descriptor: object) -> None:
    raise AssertionError(f"cel-expr-python wants a message class for {descriptor!r}: it should compile only")


class _File:
    def __init__(self, content: bytes) -> None:
        self.serialized_pb = content


class _Pool:
    """The message types of Kubernetes, as a descriptor pool; those of google.protobuf are in the library.

    The struct kinds of cel-go (all but net.IP and net.CIDR, which are opaque) are messages: comparable with null.
    """

    def __init__(self, shared: bool) -> None:
        struct = ".google.protobuf.Struct"
        device = [("driver", 9, ""), ("attributes", 11, struct), ("capacity", 11, struct)]
        if shared:
            device.append(("allowMultipleAllocations", 8, ""))
        empty: list[tuple[str, int, str]] = []
        self._files = {
            "kubernetes": _file(
                "kubernetes",
                {"DRADevice": device, "Quantity": empty, "Semver": empty, "URL": empty, "NamedFormat": empty},
                "google/protobuf/struct.proto",
            ),
            "kubernetes.authorization": _file(
                "kubernetes.authorization",
                dict.fromkeys(("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision"), empty),
            ),
        }
        self._symbols = {f"{package}.{name}": file for package, (file, names) in self._files.items() for name in names}

    def FindFileContainingSymbol(self, name: str) -> _File:  # noqa: N802 - protobuf's name
        return self._symbols[name]

    def FindFileByName(self, name: str) -> _File:  # noqa: N802 - protobuf's name
        return self._files[name.removesuffix(".proto")][0]


def _file(
    package: str, messages: dict[str, list[tuple[str, int, str]]], dependency: str = ""
) -> tuple[_File, tuple[str, ...]]:
    """A google.protobuf.FileDescriptorProto, and the names of its messages; a field is (name, type number, type
    name)."""
    content = _bytes(1, f"{package}.proto") + _bytes(2, package) + (_bytes(3, dependency) if dependency else b"")
    for name, fields in messages.items():
        body = _bytes(1, name)
        for number, (field, kind, kind_name) in enumerate(fields, 1):
            text = _bytes(1, field) + bytes([3 << 3, number, 4 << 3, 1, 5 << 3, kind])  # number, LABEL_OPTIONAL, type
            body += _bytes(2, text + (_bytes(6, kind_name) if kind_name else b""))
        content += _bytes(4, body)
    return _File(content + _bytes(12, "proto3")), tuple(messages)


def _bytes(number: int, value: str | bytes) -> bytes:
    """One length-delimited field of fewer than 128 × 128 bytes."""
    value = value.encode() if isinstance(value, str) else value
    size = len(value)
    return bytes([number << 3 | 2, *([size] if size < 128 else [size & 127 | 128, size >> 7])]) + value
