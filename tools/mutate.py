"""Single mutations of dractl, to see whether the tests notice: ``python tools/mutate.py --number 200 --seed 1``.

The mutations are spread evenly over the rooms. Each changes one operator, constant, condition or return of one module
in a copy of the repository, and the tests of that module's room run there, the fastest first. Survivors are printed;
exit code 1 if there are any. Recorded verdicts outside the repository are not used: what is measured is what a
contributor runs. ``--again FILE`` tries the survivors of an earlier run's output against the whole default suite.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Verdicts of real servers and schedulers that are part of the repository.
RECORDED = "tests/conformance"
TESTS = {
    "model": ["tests/model", RECORDED, "tests/objects"],
    "topology": ["tests/topology", "tests/test_damaged.py", "tests/drivers"],
    "manifests": ["tests/manifests", RECORDED, "tests/lint/rules", "tests/test_damaged.py"],
    "objects": ["tests/objects", "tests/explain", "tests/lint/rules"],
    "cel": ["tests/cel", RECORDED, "tests/explain", "tests/lint/rules"],
    "validation": ["tests/validation", RECORDED, "tests/lint/rules"],
    "drivers": ["tests/drivers", RECORDED, "tests/discovery", "tests/cli/test_rule_driver.py"],
    "lint": ["tests/lint/rules", "tests/lint", "tests/cli/test_lint.py"],
    "allocation": ["tests/allocation", RECORDED, "tests/scheduler", "tests/explain", "tests/scenarios"],
    "cluster": ["tests/cluster", "tests/scheduler", "tests/explain", "tests/scenarios", RECORDED],
    "scheduler": ["tests/scheduler", "tests/explain", "tests/scenarios", RECORDED],
    "capacity": ["tests/capacity", RECORDED, "tests/cli/test_capacity.py"],
    "explain": ["tests/explain", "tests/scenarios", RECORDED, "tests/cli/test_explain.py"],
}
# Compares generated modules byte for byte, and a mutated module has lost its comments.
GENERATED = "tests/lint/test_rules.py::test_what_is_generated_is_up_to_date"
SWAPS: dict[type[Any], type[Any]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutation(ast.NodeTransformer):
    """Changes the ``number``-th place that can be changed; counts them all."""

    def __init__(self, number: int) -> None:
        self.number, self.count, self.line = number, 0, 0

    def _chosen(self, node: Any) -> bool:
        self.count += 1
        if self.count - 1 == self.number:
            self.line = getattr(node, "lineno", 0)
            return True
        return False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for index, operator in enumerate(node.ops):
            if type(operator) in SWAPS and self._chosen(node):
                node.ops[index] = SWAPS[type(operator)]()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._chosen(node):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in SWAPS and not isinstance(node.left, ast.Constant | ast.JoinedStr) and self._chosen(node):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if isinstance(node.op, ast.Not) and self._chosen(node) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) and self._chosen(node):
            return ast.copy_location(ast.Constant(not node.value), node)
        if type(node.value) is int and self._chosen(node):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node
        self.generic_visit(node)
        if self._chosen(node):
            node.test = ast.copy_location(ast.Constant(False), node.test)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and not isinstance(node.value, ast.Constant) and self._chosen(node):
            node.value = ast.copy_location(ast.Constant(None), node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        returns, node.returns = node.returns, None  # types do nothing
        self.generic_visit(node)
        node.returns = returns
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def mutated(source: str, number: int) -> tuple[str, int]:
    """The module with one place changed, and its line."""
    mutation = Mutation(number)
    tree = ast.fix_missing_locations(mutation.visit(ast.parse(source)))
    return ast.unparse(tree), mutation.line


def places(source: str) -> int:
    mutation = Mutation(-1)
    mutation.visit(ast.parse(source))
    return mutation.count


def changed(before: str, after: str) -> list[str]:
    """The lines that differ, as a diff without context."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [f"    {line}" for line in lines if not line.startswith(("---", "+++", "@@"))]


def complaint(copy: Path, tests: list[str], limit: float) -> str:
    """The first test that fails in the copy, or "" if all pass."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(copy),
        "DRACTL_SHARED": "tests/data/recorded",
    }
    for part in tests:
        marks = ["-m", "not oracle and not live"] if part == RECORDED else []
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--deselect",
            GENERATED,
            *marks,
            part,
        ]
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{part} takes over {limit:.0f} s"
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
            return lines[0].split(" - ")[0] if lines else f"{part} exits {done.returncode}"
    return ""


def sample(rooms: list[str], number: int, dice: random.Random) -> list[tuple[Path, int]]:
    """Module and place of each mutation, as many of each room, in turn."""
    chosen = []
    for room in rooms:
        modules = sorted((ROOT / "dractl" / room).rglob("*.py"))
        every = [(path, place) for path in modules for place in range(places(path.read_text()))]
        chosen.append(dice.sample(every, min(len(every), -(-number // len(rooms)))))
    return [pick for turn in itertools.zip_longest(*chosen) for pick in turn if pick is not None][:number]


def earlier(output: Path) -> list[tuple[Path, int]]:
    """The survivors that an earlier run printed."""
    words = [line.split() for line in output.read_text().splitlines()]
    return [(ROOT / w[2].split(":")[0], int(w[3].removeprefix("#"))) for w in words if w[1:2] == ["SURVIVES"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300, help="seconds for each group of tests")
    parser.add_argument("--again", type=Path, help="the output of an earlier run, whose survivors are tried again")
    parser.add_argument("rooms", nargs="*", default=list(TESTS), metavar="ROOM")
    options = parser.parse_args()
    if options.again is not None:
        mutations = earlier(options.again)
    else:
        mutations = sample(options.rooms, options.number, random.Random(options.seed))
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "dractl")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "build", "site", ".*_cache"))
        sound: dict[str, str] = {}
        for count, (path, number) in enumerate(mutations, 1):
            name = path.relative_to(ROOT)
            room = name.parts[1]
            tests = TESTS[room] if options.again is None else [*TESTS[room], "tests"]
            if room not in sound:  # comments are lost, and lines move: no test may take that for a fault
                for module in (copy / "dractl" / room).rglob("*.py"):
                    module.write_text(ast.unparse(ast.parse(module.read_text())))
                sound[room] = complaint(copy, tests, options.limit)
            if sound[room]:
                sys.exit(f"{room}: without a mutation: {sound[room]}")
            source = path.read_text()
            before = (copy / name).read_text()
            text, line = mutated(source, number)
            (copy / name).write_text(text)
            noticed = complaint(copy, tests, options.limit)
            (copy / name).write_text(before)
            survivors += not noticed
            word = "noticed" if noticed else "SURVIVES"
            print(f"{count} {word} {name}:{line} #{number}  {source.splitlines()[line - 1].strip()}", flush=True)
            if noticed:
                print(f"    {noticed}", flush=True)
            else:
                print("\n".join(changed(before, text)), flush=True)
    print(f"{survivors} of {len(mutations)} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
