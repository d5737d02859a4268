"""Measures how CPU time grows with the size of the input: each size is doubled four times."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import capacity
import explain
import inputs
from measure import run_once

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DOUBLINGS = 4


class Dimension(NamedTuple):
    """One property of the input that grows.

    ``make`` writes an input of a size into a folder and returns the command.
    """

    name: str
    smallest: int
    make: Callable[[Path, int], Sequence[str]]


def _lint_folders(folder: Path, size: int) -> Sequence[str]:
    inputs.write_folders(folder, size)
    return ["lint", "--isolated", "-j", "1", str(folder)]


def _lint_documents(folder: Path, size: int) -> Sequence[str]:
    folder.mkdir()
    inputs.stream(folder / "stream.yaml", size)
    return ["lint", "--isolated", str(folder)]


def _run_on_stream(
    folder: Path, text: Callable[[int], str], size: int, *command: str
) -> Sequence[str]:
    folder.mkdir()
    (folder / "stream.yaml").write_text("".join(map(text, range(size))))
    return [*command, "--isolated", str(folder)]


def _lint_with_devices(folder: Path, size: int) -> Sequence[str]:
    folder.mkdir()
    inputs.stream(folder / "stream.yaml", size)
    dump = inputs.write(folder.with_suffix(".json"), inputs.devices(50, 8))
    return ["lint", "--isolated", str(folder), "--devices", str(dump)]


def _lint_one_folder(folder: Path, size: int) -> Sequence[str]:
    folder.mkdir()
    for number in range(size):
        (folder / f"{number:05}.yaml").write_text(inputs.manifest(number))
    return ["lint", "--isolated", "-j", "1", str(folder)]


def _explain(folder: Path, dump: dict[str, object], *words: str) -> Sequence[str]:
    return ["explain", "--isolated", "-f", str(inputs.write(folder / "dump.json", dump)), *words]


def _count_devices(folder: Path, nodes: int, *words: str) -> Sequence[str]:
    """List the devices of a cluster in which about a fifth of the nodes have room."""
    return [
        *words,
        "--isolated",
        "-f",
        str(inputs.write(folder / "dump.json", capacity.dump(nodes, nodes // 5))),
    ]


def _evaluate_selector(folder: Path, nodes: int) -> Sequence[str]:
    dump = inputs.write(folder / "dump.json", inputs.devices(nodes, 8))
    return ["cel", inputs.selector(0), "--isolated", "--devices", str(dump)]


DIMENSIONS = (
    Dimension("files, in 50 folders (lint)", 500, _lint_folders),
    Dimension("files, in one folder (lint)", 500, _lint_one_folder),
    Dimension("documents of a file (lint)", 500, _lint_documents),
    Dimension(
        "documents of a file, each with a finding (lint)",
        500,
        lambda folder, size: _run_on_stream(folder, inputs.faulty, size, "lint"),
    ),
    *(
        Dimension(
            f"documents of a file, each with a finding (lint {' '.join(options)})",
            500,
            lambda folder, size, options=options: _run_on_stream(
                folder, inputs.faulty, size, "lint", *options
            ),
        )
        for options in (
            ("--diff",),
            ("--diff", "--add-ignore"),
        )  # a second run of --fix would have nothing to do
    ),
    Dimension(
        "workloads of a file (migrate)",
        500,
        lambda folder, size: _run_on_stream(folder, inputs.classic, size, "migrate"),
    ),
    Dimension(
        "devices of a node, 64 nodes (explain)",
        8,
        lambda folder, size: _explain(folder, inputs.devices(64, size), "pod/train-0"),
    ),
    Dimension(
        "nodes (explain)",
        250,
        lambda folder, size: _explain(folder, explain.source(size), "pod/train-0"),
    ),
    Dimension(
        "claims, 200 nodes (explain)",
        1000,
        lambda folder, size: _explain(folder, inputs.with_claims(200, size), "pod/train-0"),
    ),
    Dimension(
        "pending pods of 12 ReplicaSets, 100 nodes (explain -A)",
        25,
        lambda folder, size: _explain(folder, inputs.busy(100, size), "-A"),
    ),
    Dimension(
        "pending pods, each of its own (explain -A)",
        12,
        lambda folder, size: _explain(folder, inputs.busy(50, size, workloads=size), "-A"),
    ),
    Dimension(
        "pending pods, each with a claim of its own shape (explain -A)",
        12,
        lambda folder, size: _explain(folder, inputs.shapes(50, size), "-A"),
    ),
    Dimension(
        "nodes (fit)",
        125,
        lambda folder, size: _count_devices(folder, size, "fit", "template/pair"),
    ),
    Dimension("nodes (devices)", 125, lambda folder, size: _count_devices(folder, size, "devices")),
    Dimension("nodes (cel)", 125, _evaluate_selector),
    Dimension(
        "documents of a file, tried on 400 devices (lint --devices)", 500, _lint_with_devices
    ),
)


def measure_growth(
    dractl: Sequence[str], folder: Path, dimension: Dimension, runs: int
) -> tuple[list[float], float]:
    """Return the seconds of each size, and the exponent over the last two doublings.

    The seconds are the least of ``runs``, without the start. The sizes take turns, so that other
    work on the machine slows all of them. An exponent of 1 doubles the time with the size, 2 makes
    it four times as long.
    """
    (folder / "start").mkdir(exist_ok=True)
    alone = shutil.copy(Path(__file__).parent / "selector.yaml", folder / "start")
    commands = [[*dractl, "lint", "--isolated", str(alone)]]
    for step in range(DOUBLINGS + 1):
        size = dimension.smallest * 2**step
        commands.append([*dractl, *dimension.make(folder / f"{dimension.smallest}-{step}", size)])
    caches = [
        {"XDG_CACHE_HOME": str(folder / f"cache-{run}")} for run in range(runs)
    ]  # no run finds the cached answer of another one
    seconds_by_run = [[run_once(command, cache).cpu for command in commands] for cache in caches]
    start, *least = map(min, zip(*seconds_by_run, strict=True))
    times = [max(0.001, seconds - start) for seconds in least]
    return times, math.log2(times[-1] / times[-3]) / 2
