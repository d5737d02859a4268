"""Limits how often a reader has to return to a file when following a question through the code.

A reader who follows a value from function to function leaves files and comes back to them, and each
return takes effort. The tests count these returns for the question that explain answers: up to the
search for fixes, and through this search with its simulations and the rules of the API server.

A value is followed if the value itself, a part of it, or the result of a call with it is an
argument of the next call. The next call is of a function of the file, of an imported function, or
of a method of the same class. Three kinds of calls are not followed: readers of paths and fields of
views, whose names say what they return; methods of other objects; and functions that a registry
calls, such as the makers of candidates, since each is about one cause and is read by itself.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "dractl"
READERS = ("dractl.cluster.state", "dractl.model.paths", "dractl.views")
"""Rooms and files of ``text_at`` and its like."""

FIXES = "dractl.explain.fixes"

# Measured on 2026-11-28: 170 and 260, rounded up to the next ten. A change that needs more says why.
# Obstacles are found, and each is diagnosed by itself, before a fix is searched for. The failing
# pods of a driver's Deployment, and the room that moves would make, are looked at as well. Node pools
# are asked as Karpenter asks them: requirements, then types, then its allocator. What makes a
# candidate, the problem that it solves and the candidate itself are three files of fixes. Each attempt
# asks whether the slices lack values. What the kubelet says about a failed start is a file of its own, since the
# list of waiting subjects asks it, too.
MAX_RETURNS_TO_FIXES = 174
MAX_RETURNS = 266


class Module:
    """The functions of a file by name (methods as ``Class.name``), and what its imports mean."""

    def __init__(self, name: str) -> None:
        self.name = name
        path = PACKAGE.parent / (name.replace(".", "/") + ".py")
        tree = ast.parse(
            (path if path.exists() else path.with_suffix("") / "__init__.py").read_text(
                encoding="utf-8"
            )
        )
        self.functions: dict[str, ast.FunctionDef] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                methods = (method for method in node.body if isinstance(method, ast.FunctionDef))
                self.functions.update({f"{node.name}.{method.name}": method for method in methods})
        self.imports = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }


@cache
def module(name: str) -> Module | None:
    path = PACKAGE.parent / name.replace(".", "/")
    return (
        Module(name)
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists()
        else None
    )


def called(here: Module, owner: str, call: ast.Call) -> tuple[Module, str] | None:
    """Return the function of dractl that is called, if it is in the file, imported, or in the same
    class.
    """
    match call.func:
        case ast.Name(id=name) if name in here.functions:
            return here, name
        case ast.Name(id=name) if name in here.imports:
            where, name = here.imports[name]
            there = module(where)
            while there is not None and name not in there.functions and name in there.imports:
                where, name = there.imports[name]
                there = module(where)
            return (there, name) if there is not None and name in there.functions else None
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if (
            f"{owner}.{name}" in here.functions
        ):
            return here, f"{owner}.{name}"
        case ast.Attribute(value=ast.Name(id=which), attr=name) if which in here.imports:
            there = module(".".join(here.imports[which]))
            return (there, name) if there is not None and name in there.functions else None
    return None


def stays(start: Module, name: str, parameter: str, *, skipped: tuple[str, ...] = ()) -> list[str]:
    """Return the files that a parameter enters, one after the other, without ``skipped`` rooms.

    A call in an argument comes before the call itself.
    """
    entered: list[str] = []
    known: set[tuple[str, str, str]] = set()

    def walk(here: Module, name: str, parameters: frozenset[str]) -> None:
        if here.name.startswith((*READERS, *skipped)):
            return
        if not entered or entered[-1] != here.name:
            entered.append(here.name)
        new = {(here.name, name, parameter) for parameter in parameters} - known
        if not new:
            return
        known.update(new)
        mine = set(parameters)
        for statement in here.functions[name].body:
            visit(here, name.partition(".")[0], statement, mine)

    def visit(here: Module, owner: str, node: ast.AST, mine: set[str]) -> None:
        for child in ast.iter_child_nodes(node):
            visit(here, owner, child, mine)
        targets = [node.target] if hasattr(node, "target") else []
        if isinstance(node, ast.Assign):
            targets = node.targets
        value = getattr(node, "value", None) or getattr(node, "iter", None)
        if targets and value is not None and (mentions(value, mine) or made(value, mine)):
            mine.update(
                n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)
            )
        found = called(here, owner, node) if isinstance(node, ast.Call) else None
        if found is not None and isinstance(node, ast.Call):
            there, name = found
            function = there.functions[name].args
            taken = [argument.arg for argument in (*function.posonlyargs, *function.args)][
                "." in name :
            ]
            given = [
                *zip(taken, node.args, strict=False),
                *((k.arg or "", k.value) for k in node.keywords),
            ]
            passed = {
                parameter
                for parameter, value in given
                if mentions(value, mine) or made(value, mine)
            }
            if passed:
                walk(there, name, frozenset(passed))

    walk(start, name, frozenset({parameter}))
    return entered


def made(node: ast.AST, names: set[str]) -> bool:
    """Return True for a call with one of the names among its arguments."""
    if not isinstance(node, ast.Call):
        return False
    return any(
        mentions(given, names)
        for given in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def mentions(node: ast.AST, names: set[str]) -> bool:
    """Return True for one of the names, a part of its value, or a tuple of such expressions."""
    if isinstance(node, ast.Tuple):
        return any(mentions(element, names) for element in node.elts)
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def follow_question(*, skipped: tuple[str, ...] = ()) -> list[str]:
    start = module("dractl.explain.explain")
    assert start is not None
    return stays(start, "Explainer.explain", "question", skipped=skipped)


def test_a_question_seldom_returns_to_a_file_before_fixes_are_searched() -> None:
    files = follow_question(skipped=(FIXES,))
    assert {"dractl.explain.inquire", "dractl.explain.conclude", "dractl.explain.build"} <= set(
        files
    )
    assert len(files) - len(set(files)) <= MAX_RETURNS_TO_FIXES, files


def test_a_question_seldom_returns_to_a_file_on_its_way_to_a_fix() -> None:
    files = follow_question()
    # The search keeps the problem in an attribute, so its methods are not followed.
    assert {"dractl.explain.obstacles.search", f"{FIXES}.search"} <= set(files)
    assert len(files) - len(set(files)) <= MAX_RETURNS, files
