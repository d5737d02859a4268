"""Limits the work of dractl for a document and for a node, counted in calls of Python functions.
Unlike times, these counts are the same on every machine.

The counts are of one Python version, and the tests are skipped under other versions: 3.12 inlines
comprehensions, and 3.13 counts generators in another way. A change that lowers a count by a tenth
also lowers the figure here; a change that raises a count says why in its commit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYTHON = (3, 11)
CALLS = {"lint": 169_000, "explain": 250_000}
"""Calls for 200 documents in files of their own, and for one pending pod on 200 nodes of eight GPUs."""

_PROGRAM = """
import contextlib, io, json, sys
from pathlib import Path
sys.path.insert(0, "benchmarks")
import explain, inputs
from dractl.cli.main import main

folder = Path(sys.argv[1])

def lint(count):
    where = folder / f"lint-{count}"
    inputs.write_folders(where, count)
    return ["lint", "--isolated", "--no-cache", "-j", "1", str(where)]

def pending(count):
    where = inputs.write(folder / f"{count}.json", explain.source(count))
    return ["explain", "--isolated", "-f", str(where), "pod/train-0"]

def each_of_its_own(name, dump):  # a tenth as many pods: each has fixes, and the cluster after them
    def pods(count):
        where = inputs.write(folder / f"{name}-{count}.json", dump(4, count // 10))
        return ["explain", "--isolated", "-A", "-f", str(where)]
    return pods

def calls(arguments):
    total = 0
    def count(frame, event, argument):
        nonlocal total
        total += event == "call"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(count)
        try:
            main(arguments)
        finally:
            sys.setprofile(None)
    return total

def stream(name, text, count):
    where = folder / f"{name}-{count}" / "stream.yaml"
    where.parent.mkdir()
    where.write_text("".join(map(text, range(count))))
    return str(where)

def with_findings(name, *options):
    return lambda count: ["lint", "--isolated", *options, stream(name, inputs.faulty, count)]

def migrated(count):
    return ["migrate", "--isolated", stream("migrate", inputs.classic, count)]

counts = {}
for name, make in (
    ("lint", lint),
    ("explain", pending),
    ("findings", with_findings("findings")),
    ("lint --fix", with_findings("fix", "--fix")),
    ("lint --diff", with_findings("diff", "--diff")),
    ("lint --add-ignore", with_findings("add-ignore", "--add-ignore")),
    ("migrate", migrated),
    ("explain -A", each_of_its_own("busy", lambda nodes, pods: inputs.busy(nodes, pods, pods))),
    ("explain -A, shapes", each_of_its_own("shapes", inputs.shapes)),
):
    calls(make(20))  # imports and compiled selectors are not work for a document
    counts[name] = calls(make(200)), calls(make(400))
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path_factory.mktemp("work"))],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: (once, twice) for name, (once, twice) in json.loads(done.stdout).items()}


@pytest.mark.skipif(
    sys.version_info[:2] != PYTHON, reason=f"the figures are of Python {PYTHON[0]}.{PYTHON[1]}"
)
@pytest.mark.parametrize("name", CALLS)
def test_no_more_work_than_recorded(name: str, counted: dict[str, tuple[int, int]]) -> None:
    assert counted[name][0] <= 1.1 * CALLS[name]


GROWING = (
    *CALLS,
    "findings",
    "lint --fix",
    "lint --diff",
    "lint --add-ignore",
    "migrate",
    "explain -A",
    "explain -A, shapes",
)


@pytest.mark.parametrize("name", GROWING)
def test_twice_the_input_is_at_most_twice_the_work(
    name: str, counted: dict[str, tuple[int, int]]
) -> None:
    once, twice = counted[name]
    assert twice <= 2.1 * once
