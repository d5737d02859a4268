"""cel-expr-python set up as Kubernetes sets up cel-go.

Declaring the overloads as objects takes 1 ms, and 14 ms as YAML. Only the few generic overloads,
which objects cannot express, are YAML.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cel_expr_python import cel

from dractl.cel.declarations import Declarations
from dractl.cel.protos import kubernetes


@cache
def _table() -> tuple[list[list[Any]], str]:
    data = json.loads(
        Path(__file__).with_name("environments").joinpath("functions.json").read_text("utf-8")
    )
    return data["plain"], "\n".join(data["generic"])


_EXTENSION_FUNCTIONS = frozenset(
    (
        "optional.of",
        "optional.none",
        "optional.ofNonZeroValue",
        "hasValue",
        "value",
        "or",
        "orValue",
    )
)
_LIST_FUNCTIONS = frozenset(("slice", "flatten", "lists.range", "distinct", "reverse", "sort"))


@cache
def function_names(declarations: Declarations) -> frozenset[str]:
    """Return every function that the environment declares, by name."""
    plain, generic = _table()
    names = {row[0] for row in plain if row[1] not in declarations.left_out}
    names.update(re.findall(r'^- name: "(.*)"$', generic, re.MULTILINE))
    return (
        frozenset(names)
        | _EXTENSION_FUNCTIONS
        | (_LIST_FUNCTIONS if declarations.lists else frozenset())
    )


@cache
def make(declarations: Declarations) -> Any:
    """Return the ``cel_expr_python.cel.Env``. Releases with equal declarations share one."""
    formats = () if declarations.formats else tuple(_format_overloads())
    return _build(
        declarations.configuration(_table()[1]),
        declarations.left_out.union(formats),
        declarations.shared,
    )


def _format_overloads() -> Iterator[str]:
    """Yield the overloads of named formats."""
    return (row[1] for row in _table()[0] if row[1].startswith("format"))


@cache
def _build(configuration: str, left_out: frozenset[str], shared: bool) -> Any:
    """Build a ``cel_expr_python.cel.Env``."""
    functions: dict[str, list[Any]] = {}
    for function, overload, declared in _overloads():
        if overload not in left_out:
            functions.setdefault(function, []).append(declared)
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(configuration),
        functions=[cel.FunctionDecl(name, overloads) for name, overloads in functions.items()],
        descriptor_pool=kubernetes(shared),
    )


@cache
def _overloads() -> tuple[tuple[str, str, Any], ...]:
    """Return the function, the name and the declaration of each overload of the table."""
    plain, _ = _table()
    kinds = {name: cel.Type(name) for name in {t for row in plain for t in (*row[3], row[4])}}
    return tuple(
        (
            function,
            overload,
            cel.Overload(
                id=overload,
                parameters=[kinds[name] for name in operands],
                is_member=member,
                return_type=kinds[result],
            ),
        )
        for function, overload, member, operands, result in plain
    )
