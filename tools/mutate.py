"""Tries single mutations of dractl, to see whether the tests notice.

``python tools/mutate.py --number 200 --seed 1`` tries 200 of them.

A mutation changes one operator, constant, condition or return in one function; mutations are spread
evenly over the rooms. The tests are collected once and run once, and the lines that each test
executes are recorded. Then each mutation is made in a fork of that process, which runs the tests of
the mutated lines, the quickest first, until one fails. Survivors are printed with their diff; the
exit code is 1 if there are any. Code that runs only in a process that a test starts counts as not
tested.

Recorded verdicts outside the repository are not used, since contributors do not have them.
``--again FILE`` tries the survivors of an earlier run's output once more, as long as their modules
are the same. Needs Linux and Python 3.12 (``sys.monitoring``).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import gc
import importlib
import itertools
import os
import pickle
import pkgutil
import random
import resource
import signal
import sys
import tempfile
from array import array
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
ROOMS = sorted(path.parent.name for path in (ROOT / "dractl").glob("*/__init__.py"))
SWAPS: dict[type[Any], type[Any]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
}
SECONDS, MEMORY = 120, 6 * 2**30
"""Limits of CPU time and memory for the tests of one mutation; a mutation that exceeds them counts
as noticed.
"""


class Mutation(ast.NodeTransformer):
    """Changes the ``number``-th place that can be changed in functions, and counts all such
    places.
    """

    def __init__(self, number: int) -> None:
        self.number, self.count, self.depth = number, 0, 0
        self.lines = range(0)

    def _is_target(self, node: Any) -> bool:
        if self.depth == 0:
            return False
        self.count += 1
        if self.count - 1 != self.number:
            return False
        self.lines = range(node.lineno, node.end_lineno + 1)
        return True

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for index, operator in enumerate(node.ops):
            if type(operator) in SWAPS and self._is_target(node):
                node.ops[index] = SWAPS[type(operator)]()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._is_target(node):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if (
            type(node.op) in SWAPS
            and not isinstance(node.left, ast.Constant | ast.JoinedStr)
            and self._is_target(node)
        ):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if isinstance(node.op, ast.Not) and self._is_target(node) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) and self._is_target(node):
            return ast.copy_location(ast.Constant(not node.value), node)
        if type(node.value) is int and self._is_target(node):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._is_target(node.test):
            # The new condition is no constant, so that the compiler keeps the branch and, with it,
            # the function's free variables.
            node.test = ast.copy_location(ast.Call(ast.Name("bool", ast.Load()), [], []), node.test)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if (
            node.value is not None
            and not isinstance(node.value, ast.Constant)
            and self._is_target(node)
        ):
            node.value = ast.copy_location(ast.Constant(None), node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


class FunctionKey(NamedTuple):
    """The place of a function in its source."""

    file: str
    name: str
    line: int


class Place(NamedTuple):
    path: Path
    number: int


class Mutant(NamedTuple):
    """A place with its change: lines, new functions, and the module before and after."""

    lines: range
    codes: dict[FunctionKey, CodeType]
    before: str
    after: str


def mutant(place: Place) -> Mutant:
    source = place.path.read_text("utf-8")
    mutation = Mutation(place.number)
    tree = ast.fix_missing_locations(mutation.visit(ast.parse(source)))
    before = {
        _key(code): code for code in _codes(compile(source, place.path, "exec", dont_inherit=True))
    }
    after = {
        _key(code): code for code in _codes(compile(tree, place.path, "exec", dont_inherit=True))
    }
    changed = {key: code for key, code in after.items() if code != before.get(key)}
    return Mutant(mutation.lines, changed, ast.unparse(ast.parse(source)), ast.unparse(tree))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _key(code: CodeType) -> FunctionKey:
    return FunctionKey(code.co_filename, code.co_qualname, code.co_firstlineno)


def put_in(codes: dict[FunctionKey, CodeType]) -> bool:
    """Give every existing function its mutated code; return False if no function takes it."""
    done = False
    for function in [item for item in gc.get_objects() if isinstance(item, FunctionType)]:
        code = codes.get(_key(function.__code__))
        if code is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = code
            done = True
    return done


def places(room: str) -> list[Place]:
    mutable = []
    chosen = ROOT / "dractl" / room
    for path in [chosen] if chosen.is_file() else sorted(chosen.rglob("*.py")):
        mutation = Mutation(-1)
        mutation.visit(ast.parse(path.read_text("utf-8")))
        mutable += [Place(path, number) for number in range(mutation.count)]
    return mutable


def sample(rooms: list[str], number: int, dice: random.Random) -> list[Place]:
    """Choose as many places of each room, in turn."""
    chosen = [
        dice.sample(every, min(len(every), -(-number // len(rooms))))
        for every in map(places, rooms)
    ]
    return [
        place for turn in itertools.zip_longest(*chosen) for place in turn if place is not None
    ][:number]


def read_survivors(output: Path) -> list[Place]:
    """Return the survivors that an earlier run printed."""
    words = [line.split() for line in output.read_text("utf-8").splitlines()]
    return [
        Place(ROOT / w[2].rpartition(":")[0], int(w[3][1:]))
        for w in words
        if w[1:2] == ["SURVIVES"]
    ]


class Baseline(NamedTuple):
    """The run without a mutation: tests by line, seconds by test, and failures."""

    tests: dict[tuple[str, int], array[int]]
    seconds: list[float]
    failed: set[int]


class Experiment:
    """The pytest plugin that runs the tests once as they are, and then for every mutation."""

    def __init__(self, mutations: list[Place]) -> None:
        self.mutations = mutations
        self.survivors = 0
        self._seconds = 0.0
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        self._failed = self._failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("not every test could be collected")
        for module in pkgutil.walk_packages([str(ROOT / "dractl")], "dractl."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "noted")
            _run_in_fork(
                lambda: file.write_bytes(pickle.dumps(self._note(session.items))), limited=False
            )
            noted: Baseline = pickle.loads(file.read_bytes())
        for index in sorted(noted.failed):
            print(
                f"fails without a mutation, and is left out: {session.items[index].nodeid}",
                flush=True,
            )
        for count, place in enumerate(self.mutations, 1):
            self._try(count, place, session.items, noted)
        print(f"{self.survivors} of {len(self.mutations)} survive")
        return True

    def _run(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Run a test; return True if it passes."""
        self._seconds, self._failed = 0.0, False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self._failed

    def _note(self, items: list[pytest.Item]) -> Baseline:
        noted = Baseline(defaultdict(lambda: array("H")), [], set())
        monitoring = sys.monitoring
        ours = str(ROOT / "dractl") + os.sep

        def line(code: CodeType, number: int) -> Any:
            if code.co_filename.startswith(ours):
                noted.tests[code.co_filename, number].append(len(noted.seconds))
            return monitoring.DISABLE

        monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutate")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        for index, (item, following) in enumerate(itertools.pairwise([*items, None])):
            assert item is not None
            monitoring.restart_events()
            if not self._run(item, following):
                noted.failed.add(index)
            noted.seconds.append(self._seconds)
        return noted._replace(tests=dict(noted.tests))

    def _notice(self, made: Mutant, chosen: list[pytest.Item]) -> str:
        """Return the first test that fails with a mutation; "" if all pass."""
        if not put_in(made.codes):
            return "cannot be made while it runs"
        for item, following in itertools.pairwise([*chosen, None]):
            assert item is not None
            if not self._run(item, following):
                return item.nodeid
        return ""

    def _try(self, count: int, place: Place, items: list[pytest.Item], noted: Baseline) -> None:
        made = mutant(place)
        indices = {
            i for number in made.lines for i in noted.tests.get((str(place.path), number), ())
        } - noted.failed
        chosen = [items[index] for index in sorted(indices, key=noted.seconds.__getitem__)]
        with tempfile.TemporaryFile("w+") as output:
            status = _run_in_fork(
                lambda: print(self._notice(made, chosen), end="", file=output, flush=True)
            )
            output.seek(0)
            noticed = output.read() or (f"ends with status {status}" if status else "")
        name = place.path.relative_to(ROOT)
        first = place.path.read_text("utf-8").splitlines()[made.lines[0] - 1].strip()
        word = "noticed" if noticed else "SURVIVES"
        print(f"{count} {word} {name}:{made.lines[0]} #{place.number}  {first}", flush=True)
        if noticed:
            print(f"    {noticed}", flush=True)
            return
        self.survivors += 1
        print(f"    {len(chosen)} tests run it", flush=True)
        for text in difflib.unified_diff(
            made.before.splitlines(), made.after.splitlines(), lineterm="", n=0
        ):
            if not text.startswith(("---", "+++", "@@")):
                print(f"    {text}", flush=True)


def _run_in_fork(work: Callable[[], object], *, limited: bool = True) -> int:
    """Do the work in a child process and return its status."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 70
    try:
        if limited:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process
            signal.alarm(5 * SECONDS)  # and this one ends a process that waits forever
        work()
        status = 0
    finally:
        os._exit(status)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, metavar="FILE", help="the output of an earlier run")
    parser.add_argument(
        "--tests",
        nargs="+",
        default=["tests"],
        metavar="PATH",
        help="the tests to run (default: all)",
    )
    parser.add_argument(
        "rooms", nargs="*", default=ROOMS, metavar="ROOM", help="or a file, as lint/fixes.py"
    )
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["DRACTL_SHARED"] = "tests/data/recorded"
    if options.again is not None:
        mutations = read_survivors(options.again)
    else:
        mutations = sample(options.rooms, options.number, random.Random(options.seed))
    experiment = Experiment(mutations)
    arguments = [
        "-o",
        "addopts=",
        "--import-mode=importlib",
        "-m",
        "not oracle and not live",
        "-p",
        "no:terminal",
    ]
    code = pytest.main(
        [*arguments, "-p", "no:cacheprovider", "-s", *options.tests], plugins=[experiment]
    )
    return int(code) or (1 if experiment.survivors else 0)


if __name__ == "__main__":
    sys.exit(main())
