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
            "nodes, and the candidates for an option of lint, beside an interpreter that does "
            "nothing.",
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
            "5,000 valid claims, templates, classes and pods, a file each in 50 folders: 40 "
            "different selectors, all names and images different. The second run finds the report "
            "of the first in its cache. kubeconform has dractl's schemas; it does not look at "
            "selectors, names or other objects.",
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
            "25,000 of them.",
            lambda folder: lint_folders(folder, 25_000),
            (
                Goal("dractl", "cpu", 1.2, "kubeconform", MANY_NOTE),
                Goal("dractl", "wall", 1.2, "kubeconform", MANY_NOTE),
            ),
        ),
        Table(
            "Floors of many files",
            "What 5,000 of them take in Python without any judgement: `benchmarks/floors.py`, "
            "each step after those before it. `start` imports what lint does, `read` lists and "
            "reads the files, `yaml` parses them, `look` makes one call for each value; `libyaml` "
            "parses with PyYAML's C parser instead.",
            floor_of_many,
            (),
        ),
        Table(
            "A monorepo",
            "50,000 files, of which 500 concern DRA; the others are Deployments and ConfigMaps. "
            "kubeconform skips what it has no schema of, the ConfigMaps.",
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
            "A chart with ten files of values in `ci/`, each of which lint renders and judges; "
            "beside it helm alone, ten times. Without helm there is no row.",
            values,
            (Goal("dractl", "wall", 10),),
        ),
        Table(
            "CustomResourceDefinitions",
            "132 MiB of generated definitions that mention the claims of pods, as operators ship "
            "them.",
            definitions,
            (Goal("dractl", "cpu", 3),),
        ),
        Table(
            "One pod on 5,000 nodes",
            "A dump of 37 MB, 40,000 devices, in which nothing is free. The peer is upstream's "
            "allocator of 1.37: it answers yes or no for each node; dractl says why, and looks "
            "for changes with which the pod would fit.",
            explain_pod,
            (
                Goal("dractl", "cpu", 1.2, "allocator", ONE_POD_NOTE),
                Goal("dractl", "wall", 1.2, "allocator", ONE_POD_NOTE),
            ),
        ),
        Table(
            "Floors of a dump",
            "What this dump takes in Python without an answer: `explain` imports, `text` reads "
            "it, `json` parses it with msgspec, in C.",
            floor_of_dump,
            (),
        ),
        Table(
            "Six faults",
            "A pod on 300 nodes that waits for a gate and asks for a label, an amount of memory, a "
            "class, a device and a root that no node has.",
            several_faults,
            (Goal("dractl", "cpu", 3),),
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
            "379 pods on 300 nodes with 8 GPUs and 8 NICs each; 83 are pending for 12 causes: "
            "`explain -A`.",
            explain_all,
            (Goal("dractl", "cpu", 1.5, note=ALL_PODS_NOTE),),
        ),
        Table(
            "Impact",
            "The same cluster: a DeviceTaintRule that evicts all 293 pods with a GPU, whose "
            "successors are tried on every node, the drain of one node, and the end of the driver "
            "on all nodes: `impact`.",
            hits,
            (Goal("taint", "cpu", 8), Goal("drain", "cpu", 2), Goal("driver", "cpu", 2.5)),
        ),
        Table(
            "Room",
            "The copies of a pod with two aligned GPUs that fit on 5,000 nodes, and all their "
            "devices.",
            room,
            (Goal("fit", "cpu", 2.5, note=ROOM_NOTE), Goal("devices", "cpu", 3, note=ROOM_NOTE)),
        ),
        Table(
            "Karpenter's verdict",
            "A claim of two aligned GPUs on all 53 instance types of Karpenter's tables: by a "
            "NodePool that allows them all, and for each machine beside dractl's own verdict.",
            autoscaler,
            (
                Goal("pod, with a NodePool", "cpu", 1),
                Goal("machines, --for karpenter", "cpu", 1.5, "machines"),
            ),
        ),
        Table(
            "Upgrade",
            "1,000 objects (150 nodes with 1,200 devices, 344 claims of 40 selectors and their "
            "pods) from 1.34 to 1.38, and then with another version of the driver, of which 35 "
            "claims read an attribute that it does not publish.",
            upgrade,
            (Goal("releases", "cpu", 3), Goal("releases and driver", "cpu", 3)),
        ),
        Table(
            "Moves",
            "The fewest pods that have to move so that a pod with eight GPUs fits, on nodes of "
            "eight GPUs with four pods each: two or three are planted, or all nodes are full and "
            "the search ends at its limit.",
            moves,
            (
                Goal("plan, 50 nodes", "cpu", 5),
                Goal("plan, 50 nodes, none found", "cpu", 5),
                Goal("plan, 500 nodes", "cpu", 30),
                Goal("plan, 500 nodes, none found", "cpu", 30),
            ),
        ),
        Table(
            "A driver's snapshots",
            "20,000 devices on 2,500 nodes with twelve attributes each, by themselves and beside "
            "an earlier snapshot in which every device has another version of its driver: "
            "`check-driver`.",
            snapshots,
            (Goal("one snapshot", "cpu", 5), Goal("two snapshots", "cpu", 5)),
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
    "What is left is Python's time to load modules. Of the imports for one file, nearly half is "
    "the standard library, as far as typer, msgspec and PyYAML need it, and a quarter those three "
    "themselves: 8 times a bare interpreter before a line of dractl runs. A third is 155 modules "
    "of ours; rules that a file does not need are not imported."
)
MANY_NOTE = (
    "Tried: a parser of our own for plain YAML, in which a line that stands in other files too is "
    "read once; parts that read the same are judged once, by the server's rules and by dractl's "
    "own; selectors compiled once; two processes with equal shares, which tell each other only "
    "what others may use; CEL loaded once for both (no difference). Two fifths of the wall time "
    "are no work that can be shared: Python starts, lint's modules are loaded, the files are "
    "listed, and each process loads CEL and compiles the selectors. Of the rest a third is "
    "reading and parsing, a third the server's rules, and a third what kubeconform does not have. "
    "The table of floors shows what reading in Python takes without any judgement."
)
MONOREPO_NOTE = (
    "Tried: folders are listed once, files are searched as bytes by two processes, and only those "
    "that may concern DRA are decoded. What is left is opening and reading 50,000 files one by "
    "one."
)
ONE_POD_NOTE = (
    "Tried: nodes that cannot be told apart share one verdict, slices are compared with one "
    "before them, pods, claims and nodes that a change does not touch are kept, and each item of "
    "the list is decoded by msgspec, with equal parts as one value. The peer stops at yes or no "
    "for each node. Three tenths of the time are reading the dump (a third of them msgspec, a "
    "third finding equal parts), an eighth its slices and claims, a sixth the first attempt (a "
    "quarter of it kube-scheduler's other filters, which the peer does not have), and a sixth the "
    "ten attempts for the changes that dractl proposes and the cluster after them; a tenth is "
    "Python's start. Nothing is waited for: wall time is CPU time, while the peer collects its "
    "garbage on the other core. The table of floors shows what reading the dump takes without an "
    "answer."
)
ALL_PODS_NOTE = (
    "660 attempts, on 70 nodes each: every fix is played through, with what the controllers make "
    "of it; pods that were in front before, or claims that a node refused before, are not tried "
    "again, and what filters say of a node holds for all pods that are the same to them. The "
    "attempts take two fifths of the time (a tenth of it all is allocation), the cluster after a "
    "fix a fifth, what is known of pods and nodes after each change a tenth."
)
ROOM_NOTE = (
    "Tried: nodes that cannot be told apart are surveyed once, and claims of mere names are not "
    "decoded. A third is reading the dump; the rest of `devices` makes 40,000 rows, each with its "
    "classes, model, amounts and holders."
)
LARGE_NOTE = (
    "Tried: equal attributes, capacities, containers and requests are one value; copies of the "
    "text are freed. What is left is the dump as Python's maps: 1.2 KiB for each device, nearly "
    "half of it the map of its attributes."
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

Medians of {runs} runs; the commands of a table take turns. CPU is user and system time of all
processes, memory the most that all processes of a command have at one time (proportional set size).
Missed goals are marked and say why.

- Machine: {started}
- Programs: {", ".join(versions)}

On a machine that has other work, wall times are longer than on an idle one, for all commands alike:
compare them with each other, and CPU times across machines."""


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
        f"Seconds of CPU without the start, the least of {runs} runs, as each size is doubled "
        "four times, and the exponent over the last two doublings: 1 is as fast as the input "
        "grows. The goal is 1.05."
    )
    columns = "| | sizes | | | | | | exponent |\n|---|---|---:|---:|---:|---:|---:|---:|\n"
    head = f"## Growth\n\n{about}\n\n{columns}"
    return (
        head
        + "\n".join(rows)
        + ("\n\n" + "\n".join(missed) if missed else "\n\n- Nothing grows faster.")
    )


_OF_ITS_OWN = (
    "Tried: pods in front of several that are asked about are tried once after equal changes, and "
    "what is known of pods and claims is kept where a change does not touch them. What is left is "
    "to look through all pods and claims, once for each change that is tried, for those that it "
    "touches."
)
_SAME_CALLS = (
    "twice the input makes twice the calls; what a call takes grows with the objects that are in "
    "memory, which leave the processor's cache."
)
GROWTH_NOTES: dict[str, str] = {
    "pending pods, each of its own (explain -A)": _OF_ITS_OWN,
    "pending pods, each with a claim of its own shape (explain -A)": _OF_ITS_OWN,
    "documents of a file, each with a finding (lint)": _SAME_CALLS,
    "documents of a file, each with a finding (lint --diff --add-ignore)": _SAME_CALLS,
    "workloads of a file (migrate)": _SAME_CALLS,
    "nodes (cel)": _SAME_CALLS,
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
