"""Single mutations of dractl, to see whether the tests notice: ``python tools/mutate.py --number 200 --seed 1``.

Each mutation changes one operator, constant, condition or return of one module in a copy of the repository and runs the
tests of that module's room there, the fastest first. What survives is printed as a diff; exit code 1 if any does. The
recorded verdicts outside of the repository are not used, so that what a contributor runs is what is measured.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (
    "model",
    "topology",
    "manifests",
    "objects",
    "cel",
    "validation",
    "allocation",
    "scheduler",
    "explain",
    "capacity",
)
TESTS = {
    "model": ["tests/model"],
    "topology": ["tests/topology", "tests/test_damaged.py"],
    "manifests": ["tests/manifests", "tests/test_damaged.py"],
    "objects": ["tests/objects", "tests/lint/rules", "tests/explain"],
    "cel": ["tests/cel"],
    "validation": ["tests/validation", "tests/lint/rules"],
    "allocation": ["tests/allocation", "tests/explain/test_reasons.py"],
    "scheduler": ["tests/scheduler", "tests/explain"],
    "explain": ["tests/explain", "tests/cli/test_explain.py"],
    "capacity": ["tests/capacity", "tests/cli/test_capacity.py"],
}
# Verdicts of real servers and schedulers that are part of the repository.
RECORDED = ["tests/conformance"]
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


def survives(copy: Path, room: str, limit: float) -> bool:
    """True if the room's tests and the recorded verdicts pass in the copy."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(copy),
        "DRACTL_SHARED": "tests/data/recorded",
    }
    for tests in ([*TESTS[room]], RECORDED):
        marks = ["-m", "conformance and not oracle and not live"] if tests is RECORDED else []
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *marks, *tests]
        try:
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0:
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=900, help="seconds for the tests of one mutation")
    parser.add_argument("rooms", nargs="*", default=list(TESTS), metavar="ROOM")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    sources = {p: p.read_text() for room in options.rooms for p in sorted((ROOT / "dractl" / room).rglob("*.py"))}
    weighted = [(path, number) for path, source in sources.items() for number in range(places(source))]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "dractl")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "build", "site", ".*_cache"))
        for count, (path, number) in enumerate(dice.sample(weighted, options.number), 1):
            name = path.relative_to(ROOT)
            text, line = mutated(sources[path], number)
            (copy / name).write_text(text)
            alive = survives(copy, name.parts[1], options.limit)
            (copy / name).write_text(sources[path])
            survivors += alive
            before = sources[path].splitlines()[line - 1].strip() if line else ""
            print(f"{count} {'SURVIVES' if alive else 'noticed'} {name}:{line} #{number}  {before}", flush=True)
    print(f"{survivors} of {options.number} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
