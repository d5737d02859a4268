"""Measures dractl beside its peers on the same inputs, and writes docs/benchmarks.md.

    python benchmarks/run.py [--runs N] [--only WORD] [--output FILE]

Every table is one run: the commands take turns, so that whatever else the machine does slows all of
them. Go, where it is installed, builds kubeconform and a program around upstream's allocator, from
the modules of ``peers/``; without it dractl is measured alone. It takes about 15 minutes on two
idle cores, 1 GB of disk and 1 GB of memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path[:0] = [str(FOLDER), str(FOLDER / "peers")]
import capacity  # noqa: E402
import explain  # noqa: E402
import growth  # noqa: E402
import inputs  # noqa: E402
import oncall  # noqa: E402
import planning  # noqa: E402
from measure import compare_commands  # noqa: E402

from dractl.facts.autoscalers import device_tables  # noqa: E402

import build  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from measure import Cost

DRACTL = (
    [sys.executable, "-m", "dractl"]
    if os.name == "nt"
    else [str(Path(sys.executable).with_name("dractl"))]
)
BARE = "python -c pass"
HELM = shutil.which("helm")
FLOORS = [sys.executable, str(FOLDER / "floors.py")]


class Goal(NamedTuple):
    """A limit: ``most`` of a measure, in its unit (MiB, s) or in multiples of another command's."""

    command: str
    measure: str
    most: float
    of: str | None = None
    note: str = ""
    """For a missed goal: the attempts to reach it, and its limit."""

    def verdict(self, taken: Mapping[str, Cost]) -> str:
        if self.command not in taken or (self.of is not None and self.of not in taken):
            return f"- {self._sentence()}: not measured, the other program was not built"
        value = getattr(taken[self.command], self.measure)
        unit = " MiB" if self.measure == "memory" else " s"
        if self.of is not None:
            value, unit = value / getattr(taken[self.of], self.measure), " ×"
        if value <= self.most:
            return f"- {self._sentence()}: {value:.2f}{unit}"
        note = self.note or "Not looked into yet."
        return f"- **missed**: {self._sentence()}: {value:.2f}{unit}. {note}"

    def _sentence(self) -> str:
        measure = {"wall": "wall time", "cpu": "CPU time", "memory": "memory"}[self.measure]
        limit = (
            f"{self.most:g} × {self.of}"
            if self.of
            else f"{self.most:g} {'MiB' if self.measure == 'memory' else 's'}"
        )
        return f"{self.command}: {measure} at most {limit}"


class Table(NamedTuple):
    """One comparison: ``make`` writes the input and returns the commands by name."""

    title: str
    about: str
    make: Callable[[Path], Mapping[str, Sequence[str]]]
    goals: tuple[Goal, ...]


class Peers(NamedTuple):
    """Programs to compare with, if they could be built."""

    kubeconform: Sequence[str]
    allocator: Sequence[str]

    def add_to(
        self, commands: dict[str, Sequence[str]], name: str, *words: str
    ) -> dict[str, Sequence[str]]:
        program = getattr(self, name)
        return {**commands, name: [*program, *words]} if program else commands


def tables(peers: Peers) -> list[Table]:
    def copy_alone(folder: Path, name: str) -> str:
        """Copy a file into an empty folder, since lint reads the whole repository of a file."""
        (folder / name).mkdir()
        return str(shutil.copy(FOLDER / name, folder / name))

    def start(folder: Path) -> Mapping[str, Sequence[str]]:
        lint = [*DRACTL, "lint", "--isolated"]
        dump = str(inputs.write(folder / "small.json", explain.source(4)))
        completion = {
            "_DRACTL_COMPLETE": "complete_bash",
            "COMP_WORDS": "dractl lint --f",
            "COMP_CWORD": "2",
        }
        return {
            BARE: [sys.executable, "-c", "pass"],
            "--version": [*DRACTL, "--version"],
            "lint one.yaml": [*lint, copy_alone(folder, "one.yaml")],
            "lint finding.yaml": [*lint, copy_alone(folder, "finding.yaml")],
            "lint selector.yaml": [*lint, copy_alone(folder, "selector.yaml")],
            "explain small.json": [*DRACTL, "explain", "--isolated", "-f", dump, "pod/train-0"],
            "Tab": ["env", *(f"{name}={value}" for name, value in completion.items()), *DRACTL],
        }

    def lint_folders(folder: Path, count: int = 5000) -> Mapping[str, Sequence[str]]:
        inputs.write_folders(folder / "many", count)
        lint = [*DRACTL, "lint", str(folder / "many")]
        commands = {"dractl": lint, "dractl -j 1": [*lint, "-j", "1"], "dractl, second run": lint}
        return peers.add_to(commands, "kubeconform", str(folder / "many"))

    def monorepo(folder: Path) -> Mapping[str, Sequence[str]]:
        inputs.monorepo(folder / "mono", 50_000)
        lint = [*DRACTL, "lint", str(folder / "mono")]
        commands = {"dractl": lint, "dractl, second run": lint}
        return peers.add_to(
            commands, "kubeconform", "-ignore-missing-schemas", str(folder / "mono")
        )

    def flux(folder: Path) -> Mapping[str, Sequence[str]]:
        inputs.flux(folder / "flux", 60, 1_000)
        return {"dractl": [*DRACTL, "lint", "--no-cache", str(folder / "flux")]}

    def definitions(folder: Path) -> Mapping[str, Sequence[str]]:
        inputs.definitions(folder / "crds", 132)
        return {"dractl": [*DRACTL, "lint", "--no-cache", str(folder / "crds")]}

    def explain_pod(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "dump.json", explain.source(5000)))
        commands = {"dractl": [*DRACTL, "explain", "-f", dump, "pod/train-0"]}
        return peers.add_to(commands, "allocator", dump, "train-0")

    def several_faults(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "faults.json", explain.six_faults(300)))
        return {"dractl": [*DRACTL, "explain", "-f", dump, "pod/train-0"]}

    def expensive_selector(folder: Path) -> Mapping[str, Sequence[str]]:
        expression = inputs.EXPENSIVE_SELECTOR
        dump = str(inputs.write(folder / "counted.json", inputs.counted(250, expression)))
        return {
            "explain": [*DRACTL, "explain", "--isolated", "-f", dump, "pod/train-0"],
            "cel": [*DRACTL, "cel", expression, "--isolated", "--devices", dump],
        }

    def matrix(folder: Path) -> Mapping[str, Sequence[str]]:
        claims = str(inputs.write(folder / "claims.json", explain.distinct_claims(200)))
        ask = [*DRACTL, "explain", "--isolated", claims, "-o", "csv"]
        return {
            "all machines": [*ask, "--hardware", "all"],
            "one machine": [*ask, "--hardware", "dgx-b200"],
        }

    def values(folder: Path) -> Mapping[str, Sequence[str]]:
        inputs.chart(folder / "chart", 10)
        lint = [*DRACTL, "lint", "--no-cache", str(folder / "chart")]
        each = f'for values in "$0"/ci/*.yaml; do {HELM} template "$0" -f "$values"; done'
        helm = ["sh", "-c", each, str(folder / "chart")]
        return {"dractl": lint, "helm": helm} if HELM else {}

    def explain_all(folder: Path) -> Mapping[str, Sequence[str]]:
        everything = {"apiVersion": "v1", "kind": "List", "items": oncall.objects()}
        dump = str(inputs.write(folder / "oncall.json", everything))
        return {"dractl": [*DRACTL, "explain", "-A", "-f", dump]}

    def hits(folder: Path) -> Mapping[str, Sequence[str]]:
        everything = {"apiVersion": "v1", "kind": "List", "items": oncall.objects()}
        dump = str(inputs.write(folder / "oncall.json", everything))
        questions = {
            "taint": str(inputs.write(folder / "rule.json", oncall.taint_rule())),
            "drain": "node/gpu-7",
            "driver": "driver/gpu.nvidia.com",
        }
        return {
            name: [*DRACTL, "impact", subject, "-f", dump] for name, subject in questions.items()
        }

    def large(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "large.json", explain.source(13_500)))
        return {"dractl": [*DRACTL, "explain", "-f", dump, "pod/train-0"]}

    def room(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "capacity.json", capacity.dump(5000, 1024)))
        fit, devices = ["fit", "template/pair", "-f", dump], ["devices", "-f", dump]
        return {"fit": [*DRACTL, *fit], "devices": [*DRACTL, *devices]}

    def upgrade(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "upgrade.json", inputs.upgradeable()))
        command = [*DRACTL, "upgrade", "-f", dump, "--from", "1.34", "--to", "1.38"]
        driver = ["--driver-version", "gpu.nvidia.com=25.3..0.5"]
        return {"releases": command, "releases and driver": [*command, *driver]}

    def autoscaler(folder: Path) -> Mapping[str, Sequence[str]]:
        cluster = explain.source(1)
        dump = str(inputs.write(folder / "plain.json", cluster))
        cluster["items"].append(explain.node_pool())
        pools = str(inputs.write(folder / "pool.json", cluster))
        claim = str(inputs.write(folder / "claim.json", {**cluster, "items": cluster["items"][:2]}))
        ask = [*DRACTL, "explain", "--isolated"]
        machines = ["--hardware", ",".join(device_tables()["karpenter"].types)]
        return {
            "pod": [*ask, "-f", dump, "pod/train-0"],
            "pod, with a NodePool": [*ask, "-f", pools, "pod/train-0"],
            "machines": [*ask, claim, *machines],
            "machines, --for karpenter": [*ask, claim, *machines, "--for", "karpenter"],
        }

    def moves(folder: Path) -> Mapping[str, Sequence[str]]:
        clusters = {
            "plan, 50 nodes": planning.plant_plan(50, 1)[0],
            "plan, 50 nodes, none found": planning.fill_nodes(50, 1),
            "plan, 500 nodes": planning.plant_plan(500, 1)[0],
            "plan, 500 nodes, none found": planning.fill_nodes(500, 1),
        }
        dumps = {
            name: str(inputs.write(folder / f"{number}.json", dump))
            for number, (name, dump) in enumerate(clusters.items())
        }
        return {
            name: [*DRACTL, "plan", "pod/wanted", "-n", "ml", "--exit-zero", "-f", dump]
            for name, dump in dumps.items()
        }

    def snapshots(folder: Path) -> Mapping[str, Sequence[str]]:
        earlier, later = (
            str(inputs.write(folder / f"{generation}.json", inputs.publication(20_000, generation)))
            for generation in (1, 2)
        )
        command = [*DRACTL, "check-driver", "--exit-zero"]
        return {"one snapshot": [*command, earlier], "two snapshots": [*command, earlier, later]}

    def floor_of_many(folder: Path) -> Mapping[str, Sequence[str]]:
        inputs.write_folders(folder / "many", 5000)
        steps = ("start", "read", "yaml", "look", "libyaml")
        lint = [*DRACTL, "lint", "--no-cache", "-j", "1", str(folder / "many")]
        return {
            **{step: [*FLOORS, step, str(folder / "many")] for step in steps},
            "dractl -j 1": lint,
        }

    def floor_of_dump(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "dump.json", explain.source(5000)))
        steps = {step: [*FLOORS, step, dump] for step in ("explain", "text", "json")}
        return {**steps, "dractl": [*DRACTL, "explain", "-f", dump, "pod/train-0"]}

    def largest(folder: Path) -> Mapping[str, Sequence[str]]:
        dump = str(inputs.write(folder / "largest.json", inputs.devices(20_000, 10)))
        return {"dractl": [*DRACTL, "explain", "-f", dump, "pod/train-0"]}

    return [
        Table(
            "Start",
            "A claim without a selector, one with a finding, one with a selector, a dump of 4 "
            "nodes, and the completion of an option of lint, beside an interpreter that runs no "
            "code.",
            start,
            (
                Goal("--version", "cpu", 8, BARE, START_NOTE),
                Goal("lint one.yaml", "cpu", 12, BARE, START_NOTE),
                Goal("lint finding.yaml", "cpu", 12, BARE, START_NOTE),
                Goal("lint selector.yaml", "cpu", 16, BARE, START_NOTE),
                Goal("explain small.json", "cpu", 25, BARE, START_NOTE),
                Goal("Tab", "wall", 0.25, note=START_NOTE),
            ),
        ),
        Table(
            "Many files",
            "5,000 valid claims, templates, classes and pods, each in a file of its own, in 50 "
            "folders. They have 40 different selectors, and all names and images differ. The "
            "second run finds the report of the first one in its cache. kubeconform uses dractl's "
            "schemas; it does not check selectors, names or references to other objects.",
            lint_folders,
            (
                Goal("dractl", "cpu", 1.5, "kubeconform", MANY_NOTE),
                Goal("dractl", "wall", 1.5, "kubeconform", MANY_NOTE),
                Goal("dractl", "memory", 300),
                Goal("dractl, second run", "wall", 0.4, "dractl"),
                Goal("dractl, second run", "wall", 1, "kubeconform"),
            ),
        ),
        Table(
            "More files",
            "25,000 files of the same kind.",
            lambda folder: lint_folders(folder, 25_000),
            (
                Goal("dractl", "cpu", 1.2, "kubeconform", MANY_NOTE),
                Goal("dractl", "wall", 1.2, "kubeconform", MANY_NOTE),
            ),
        ),
        Table(
            "Floors of many files",
            "The least time that Python needs for 5,000 such files, without checking any of them "
            "(`benchmarks/floors.py`). Each step includes the earlier ones: `start` imports the "
            "modules that lint imports, `read` lists and reads the files, `yaml` parses them, and "
            "`look` makes one call for each value. `libyaml` parses with PyYAML's C parser "
            "instead.",
            floor_of_many,
            (),
        ),
        Table(
            "A monorepo",
            "50,000 files, of which 500 concern DRA; the others are Deployments and ConfigMaps. "
            "kubeconform skips the ConfigMaps, for which it has no schema.",
            monorepo,
            (Goal("dractl", "wall", 0.3, "kubeconform", MONOREPO_NOTE),),
        ),
        Table(
            "A repository for Flux",
            "1,000 files with 60 Kustomizations, each with a HelmRelease and a component with a "
            "claim template.",
            flux,
            (Goal("dractl", "cpu", 3),),
        ),
        Table(
            "A chart with values",
            "A chart with ten files of values in `ci/`; lint renders and checks the chart with "
            "each of them. For comparison, helm alone renders it ten times. Without helm there is "
            "no row.",
            values,
            (Goal("dractl", "wall", 10),),
        ),
        Table(
            "CustomResourceDefinitions",
            "132 MiB of generated definitions that mention the claims of pods, like the "
            "definitions that operators ship.",
            definitions,
            (Goal("dractl", "cpu", 3),),
        ),
        Table(
            "One pod on 5,000 nodes",
            "A dump of 37 MB with 40,000 devices, none of which is free. The peer is upstream's "
            "allocator of 1.37, which answers yes or no for each node; dractl also says why, and "
            "searches for changes with which the pod would fit.",
            explain_pod,
            (
                Goal("dractl", "cpu", 1.2, "allocator", ONE_POD_NOTE),
                Goal("dractl", "wall", 1.2, "allocator", ONE_POD_NOTE),
            ),
        ),
        Table(
            "Floors of a dump",
            "The least time that Python needs for this dump, without an answer: `explain` imports "
            "the modules, `text` reads the dump, and `json` parses it with msgspec, which is in C.",
            floor_of_dump,
            (),
        ),
        Table(
            "Six faults",
            "A pod in a cluster of 300 nodes. It waits for a scheduling gate, and asks for a "
            "label, an amount of memory, a class, a device and a PCIe root that no node has.",
            several_faults,
            (Goal("dractl", "cpu", 3),),
        ),
        Table(
            "An expensive selector",
            "A selector with 70,756 rounds of loops, whose estimated cost is just below the limit "
            "of the API server, on 2,000 devices. Every device has other values of the attribute "
            "that it reads.",
            expensive_selector,
            (Goal("explain", "cpu", 5), Goal("cel", "cpu", 5)),
        ),
        Table(
            "A matrix",
            "200 different claims on every machine that dractl describes: `explain FILE "
            "--hardware all`.",
            matrix,
            (Goal("all machines", "cpu", 20),),
        ),
        Table(
            "Every pending pod",
            "`explain -A` for 379 pods on 300 nodes, each node with 8 GPUs and 8 NICs; 83 of the "
            "pods are pending, for 12 causes.",
            explain_all,
            (Goal("dractl", "cpu", 1.5, note=ALL_PODS_NOTE),),
        ),
        Table(
            "Impact",
            "`impact` in the same cluster: of a DeviceTaintRule that evicts all 293 pods with a "
            "GPU, whose successors are tried on every node; of the drain of one node; and of the "
            "removal of the driver from all nodes.",
            hits,
            (Goal("taint", "cpu", 8), Goal("drain", "cpu", 2), Goal("driver", "cpu", 2.5)),
        ),
        Table(
            "Room",
            "How many copies of a pod with two aligned GPUs fit on 5,000 nodes (`fit`), and the "
            "list of all devices of these nodes (`devices`).",
            room,
            (Goal("fit", "cpu", 2.5, note=ROOM_NOTE), Goal("devices", "cpu", 3, note=ROOM_NOTE)),
        ),
        Table(
            "Karpenter's verdict",
            "A claim for two aligned GPUs, on all 53 instance types of Karpenter's tables: once "
            "through a NodePool that allows all of them, and once for each machine, beside "
            "dractl's own verdict.",
            autoscaler,
            (
                Goal("pod, with a NodePool", "cpu", 1),
                Goal("machines, --for karpenter", "cpu", 1.5, "machines"),
            ),
        ),
        Table(
            "Upgrade",
            "1,000 objects (150 nodes with 1,200 devices, 344 claims with 40 different selectors, "
            "and their pods) from 1.34 to 1.38; then also with another version of the driver, "
            "which lacks an attribute that 35 claims read.",
            upgrade,
            (
                Goal("releases", "cpu", 3, note=UPGRADE_NOTE),
                Goal("releases and driver", "cpu", 3, note=UPGRADE_NOTE),
            ),
        ),
        Table(
            "Moves",
            "The smallest number of pods that have to move so that a pod with eight GPUs fits. "
            "Each node has eight GPUs and four pods. Either the input has a solution with two or "
            "three moves, or all nodes are full and the search ends at its limit.",
            moves,
            (
                Goal("plan, 50 nodes", "cpu", 5, note=MOVES_NOTE),
                Goal("plan, 50 nodes, none found", "cpu", 5, note=MOVES_NOTE),
                Goal("plan, 500 nodes", "cpu", 30, note=MOVES_NOTE),
                Goal("plan, 500 nodes, none found", "cpu", 30, note=MOVES_NOTE),
            ),
        ),
        Table(
            "A driver's snapshots",
            "`check-driver` for 20,000 devices with twelve attributes each, on 2,500 nodes: alone, "
            "and beside an earlier snapshot in which every device has another version of its "
            "driver.",
            snapshots,
            (
                Goal("one snapshot", "cpu", 5, note=SNAPSHOTS_NOTE),
                Goal("two snapshots", "cpu", 5, note=SNAPSHOTS_NOTE),
            ),
        ),
        Table(
            "A dump of 100 MB",
            "One pod on 13,500 nodes, 108,000 devices.",
            large,
            (
                Goal("dractl", "cpu", 6, note=ONE_POD_NOTE),
                Goal("dractl", "memory", 400, note=LARGE_NOTE),
            ),
        ),
        Table(
            "20,000 nodes",
            "One pod on 20,000 nodes, 200,000 devices.",
            largest,
            (
                Goal("dractl", "wall", 20, note=ONE_POD_NOTE),
                Goal("dractl", "memory", 1536, note=LARGE_NOTE),
            ),
        ),
    ]


START_NOTE = (
    "The remaining time is Python's, for loading modules. For one file, nearly half of it is the "
    "modules of the standard library that typer, msgspec and PyYAML need, and a quarter is these "
    "three themselves: before a line of dractl runs, 8 times the time of a bare interpreter has "
    "passed. A third is 155 modules of dractl; rules that a file does not need are not imported."
)
MANY_NOTE = (
    "Tried: a parser of our own for plain YAML, which parses a line once even if several files "
    "have it; parts with the same text are checked once, by the server's rules and by dractl's "
    "own; each selector is compiled once; two processes get equal parts of the files, and exchange "
    "only results that the other can use; CEL is loaded once for both (no difference). Two fifths "
    "of the wall time cannot be split between processes: Python starts, lint's modules are loaded, "
    "the files are listed, and each process loads CEL and compiles the selectors. Of the remaining "
    "time, a third is reading and parsing, a third is the server's rules, and a third is checks "
    "that kubeconform does not have. The table of floors shows how long Python takes to read the "
    "files without checking them."
)
MONOREPO_NOTE = (
    "Tried: folders are listed once, two processes search the files as bytes, and only files that "
    "may concern DRA are decoded. The remaining time is for opening and reading 50,000 files one "
    "by one."
)
ONE_POD_NOTE = (
    "Tried: nodes that the allocator cannot tell apart share one verdict; a slice is compared with "
    "an earlier one; pods, claims and nodes that a change does not affect are reused; and msgspec "
    "decodes each item of the list, with equal parts as one value. The peer only answers yes or no "
    "for each node. Three tenths of the time are reading the dump (a third of that is msgspec, and "
    "a third is finding equal parts), an eighth is decoding its slices and claims, a sixth is the "
    "first attempt (a quarter of it for kube-scheduler's other filters, which the peer does not "
    "have), a sixth is the ten attempts for the changes that dractl proposes, with the cluster "
    "after each, and a tenth is the start of Python. dractl uses one core, so its wall time is its "
    "CPU time; the peer collects its garbage on the other core. The table of floors shows how long "
    "Python takes to read the dump without an answer."
)
ALL_PODS_NOTE = (
    "660 attempts on 70 nodes each: every fix is simulated, with what the controllers do in answer "
    "to it. Pods that were ahead in the queue before the fix, and claims that a node refused "
    "before it, are not tried again; a filter's verdict on a node is reused for all pods that are "
    "equal to it. The attempts take two fifths of the time (allocation a tenth of all), the "
    "simulation of the cluster after a fix takes a fifth, and updating what dractl knows of pods "
    "and nodes after each change takes a tenth."
)
ROOM_NOTE = (
    "Tried: nodes that the allocator cannot tell apart are surveyed once, and claims are not "
    "decoded where their names suffice. A third of the time is reading the dump; in the remaining "
    "time `devices` makes 40,000 rows, each with its classes, model, amounts and holders."
)
UPGRADE_NOTE = (
    "Half of the time are 1,100 attempts to place a pod under each release and version, a quarter "
    "is the change of the driver, and a seventh is the verdict of each API server on each object."
)
MOVES_NOTE = (
    "Tried: pods with equal requests share the search for their places, and a pod is tried once "
    "beside the same pods on a node. In the remaining time, dractl looks for the pods that may "
    "leave a node."
)
SNAPSHOTS_NOTE = (
    "Two fifths of the time are the API server's rules for each device, and two fifths are 54 "
    "rules of lint for all devices of a snapshot, several of which read 480,000 attributes."
)
LARGE_NOTE = (
    "Tried: equal attributes, capacities, containers and requests are one value, and copies of the "
    "text are freed. The remaining memory is the dump as Python's maps: 1.2 KiB for each device, "
    "nearly half of it for the map of its attributes."
)


def table(item: Table, taken: Mapping[str, Cost]) -> str:
    rows = [
        f"| {name} | {value.wall:.2f} | {value.cpu:.2f} | {value.memory:.0f} |"
        for name, value in taken.items()
    ]
    columns = "| | wall, s | CPU, s | memory, MiB |\n|---|---:|---:|---:|\n"
    head = f"## {item.title}\n\n{item.about}\n\n{columns}"
    return "\n\n".join(
        filter(
            None, (head + "\n".join(rows), "\n".join(goal.verdict(taken) for goal in item.goals))
        )
    )


def machine() -> str:
    """Describe the processor, its number, the memory, the systems' names, and how busy it is."""
    name = platform.processor() or platform.machine()
    memory = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
        total = int(Path("/proc/meminfo").read_text().split()[1])
        memory = f", {total / 2**20:.0f} GiB of memory"
    except (OSError, StopIteration, ValueError):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = (
        f"; load average {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    )
    python = f"{platform.system()}, Python {platform.python_version()}"
    return f"{name}, {cores} cores{memory}, {python}{load}"


def introduction(runs: int, started: str) -> str:
    from dractl import __version__

    versions = [f"dractl {__version__}"]
    for name in build.PACKAGES:
        module = (build.HERE / name / "go.mod").read_text()
        wanted = {
            "kubeconform": "github.com/yannh/kubeconform ",
            "allocator": "k8s.io/dynamic-resource-allocation ",
        }[name]
        version = next(
            line.split(wanted)[1].split()[0] for line in module.splitlines() if wanted in line
        )
        versions.append(f"{wanted.strip()} {version}")
    return f"""# Benchmarks

Written by `python benchmarks/run.py`, which makes the inputs, builds the peers with Go, and
measures. Do not edit.

Each figure is the median of {runs} runs, in which the commands of a table take turns. CPU is the
user and system time of all processes of a command, and memory is their maximum together at one time
(proportional set size). A missed goal is marked, with the reason. The goals in seconds were set on
a machine on which `python -c pass` takes 0.01 s of CPU; the first table has the time on this
machine.

- Machine: {started}
- Programs: {", ".join(versions)}

On a busy or slower machine, all times are longer, for all commands alike. Compare times with each
other, and with those of another machine only by the time of `python -c pass`."""


def list_parts(page: Path) -> dict[str, str]:
    """Return the parts of a page by title; the introduction has the title ""."""
    if not page.exists():
        return {}
    first, *others = page.read_text().rstrip().split("\n\n## ")
    return {"": first, **{part.partition("\n")[0]: f"## {part}" for part in others}}


def sort_parts(parts: Mapping[str, str], order: Sequence[Table]) -> str:
    """Join the page: the introduction, the tables in their order, then how times grow."""
    titles = ("", *(item.title for item in order), "Growth")
    return "\n\n".join(parts[title] for title in titles if title in parts) + "\n"


def growth_table(folder: Path, word: str, runs: int) -> str:
    rows, missed = [], []
    for dimension in growth.DIMENSIONS:
        if word not in "growth" and word not in dimension.name:
            continue
        print(f"growth: {dimension.name}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            times, exponent = growth.measure_growth(DRACTL, Path(inside), dimension, runs)
        largest = dimension.smallest * 2**growth.DOUBLINGS
        shown = " | ".join(f"{seconds:.2f}" for seconds in times)
        mark = "" if exponent <= 1.05 else "**"
        sizes, bold = f"{dimension.smallest:,} to {largest:,}", f"{mark}{exponent:.2f}{mark}"
        rows.append(f"| {dimension.name} | {sizes} | {shown} | {bold} |")
        if mark:
            note = GROWTH_NOTES.get(dimension.name, "Not looked into yet.")
            missed.append(f"- **missed**: {dimension.name}: {note}")
    if not rows:
        return ""
    about = (
        "CPU time in seconds for an input whose size is doubled four times, without the start of "
        f"dractl (minimum of {runs} runs). The exponent is that of the last two doublings; with an "
        "exponent of 1, the time grows as fast as the input. The goal is 1.05."
    )
    columns = "| | sizes | | | | | | exponent |\n|---|---|---:|---:|---:|---:|---:|---:|\n"
    head = f"## Growth\n\n{about}\n\n{columns}"
    return (
        head
        + "\n".join(rows)
        + ("\n\n" + "\n".join(missed) if missed else "\n\n- No exponent exceeds the goal.")
    )


_OF_ITS_OWN = (
    "Tried: pods that are ahead of several subjects in the queue are tried once after equal "
    "changes, and what dractl knows of pods and claims is reused where a change does not affect "
    "them. In the remaining time, dractl searches all pods and claims for those that a change "
    "affects, once for each change that it tries."
)
_SAME_CALLS = (
    "an input of twice the size needs twice the calls, but each call takes longer, since more "
    "objects are in memory and the processor's cache holds a smaller part of them."
)
GROWTH_NOTES: dict[str, str] = {
    "pending pods, each of its own (explain -A)": _OF_ITS_OWN,
    "pending pods, each with a claim of its own shape (explain -A)": _OF_ITS_OWN,
    "files, in one folder (lint)": _SAME_CALLS,
    "documents of a file, each with a finding (lint)": _SAME_CALLS,
    "documents of a file, each with a finding (lint --diff --add-ignore)": _SAME_CALLS,
    "workloads of a file (migrate)": _SAME_CALLS,
    "nodes (cel)": _SAME_CALLS,
    "nodes (explain)": (
        "a dump of 16 MiB or more, as the largest one here, is read item by item so that equal "
        "parts share memory, which takes more calls."
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument(
        "--only",
        default="",
        metavar="WORD",
        help="tables whose title has this word; the others stay",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md")
    asked = parser.parse_args()
    # Byte code is kept, as for an installed package.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "dractl")], check=True)
    started, start = machine(), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = build.build(folder)
        location = build.schemas(folder / "schemas")
        kubeconform = (
            [str(programs["kubeconform"]), "-schema-location", location] if programs else []
        )
        peers = Peers(kubeconform, [str(programs["allocator"])] if programs else [])
        parts = list_parts(asked.output) if asked.only else {}
        alone = f"\n\nMeasured by itself: {started}." if asked.only else ""
        for item in tables(peers):
            if asked.only.lower() not in item.title.lower():
                continue
            print(item.title, file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=folder) as inside:
                commands = item.make(Path(inside))
                kept = {
                    name: Path(inside) / "cache" for name in commands if name.endswith("second run")
                }
                measured = table(item, compare_commands(commands, asked.runs, kept)) + alone
            print(measured, file=sys.stderr)
            parts[item.title] = measured
            parts.setdefault("", introduction(asked.runs, started))
            asked.output.write_text(sort_parts(parts, tables(peers)))
        if growths := growth_table(folder, asked.only.lower(), asked.runs):
            parts["Growth"] = growths
            asked.output.write_text(sort_parts(parts, tables(peers)))
    print(f"{asked.output}, after {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
