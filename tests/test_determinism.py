"""Equal input gives equal bytes, regardless of Python's hash seed, of the order of files on the
command line and on the disk, and of the cache.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.flux_repository import write_repository
from tests.planning import cluster

NODE = Path(__file__).resolve().parent.parent / "examples/discover/node.json"
LABELS = {"app": "x", "tier": "batch", "team": "vision"}
PROGRAM = """
import contextlib, io, json, sys
from dractl.cli.main import main

reports = []
for arguments in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    reports.append([code, out.getvalue(), err.getvalue()])
json.dump(reports, sys.stdout)
"""
"""Runs several command lines in one process, whose hash seed cannot be changed later."""
CLAIM = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: NAME, namespace: ml}
spec:
  devices:
    requests:
    - {name: gpu, deviceClassName: gpu.missing.com, count: 0}
    - {name: gpu, deviceClassName: gpu.exmaple.com}
    constraints: [{matchAttribute: gpu.example.com/modell, requests: [gpu, other]}]
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: ml}
spec:
  resourceClaims: [{name: a, resourceClaimName: NAME}, {name: b, resourceClaimTemplateName: no}]
  containers: [{name: c, image: x, resources: {claims: [{name: a, request: gqu}, {name: z}]}}]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: ml}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
      - {name: a, image: x, resources: {limits: {nvidia.com/gpu: 4}}}
      - {name: b, image: x, resources: {limits: {nvidia.com/mig-1g.10gb: 1, amd.com/gpu: 2}}}
"""
RULE = """\
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: sick}
spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: example.com/x, effect: NoExecute}}
"""
FORMS = {
    "devices": ("table", "json"),
    "lint": ("full", "json", "sarif"),
    "check-driver": ("full", "json"),
    "plan": ("text", "json", "html"),
    "impact": ("text", "json", "html"),
    "migrate": ("text", "json", "yaml"),
    "discover": ("tree", "json"),
    "render": ("yaml", "json"),
}
"""The formats that are compared for some commands, in place of text and JSON; other formats print
the same values.
"""


def write_files(folder: Path, *, is_reversed: bool = False) -> list[str]:
    """Write a cluster, with two files for each kind, and a repository for Flux; return the names of
    the cluster's files. With ``is_reversed``, files are written in the opposite order.
    """
    write_repository(folder / "repository", is_reversed=is_reversed)
    objects = cluster.objects(
        *(cluster.machine(name, 4, labels={"zone": name, **LABELS}) for name in "abc"),
        cluster.running("x", "StatefulSet/x", "a", 0, metadata={"labels": LABELS}),
        cluster.running("y", "StatefulSet/y", "b", 0, 1, metadata={"labels": LABELS}),
        cluster.running("v", "StatefulSet/v", "c", 2, metadata={"labels": LABELS}),
        cluster.running("z", "Job/z", "b", 2),
        cluster.running("bare", "", "c", 0),
        *(cluster.waiting(count, f"wanted-{count}") for count in range(3, 6)),
    )
    kinds: dict[str, list[Any]] = {}
    for value in objects:
        kinds.setdefault(value["kind"], []).append(value)
    names = []
    for kind, items in kinds.items():
        for part in range(2 if len(items) > 1 else 1):
            names.append(f"{kind}-{part}.json")
            some = {"kind": "List", "apiVersion": "v1", "items": items[part::2]}
            (folder / names[-1]).write_text(json.dumps(some))
    for name in ("one", "two", "three"):
        (folder / f"{name}.yaml").write_text(CLAIM.replace("NAME", name))
        (folder / f"job-{name}.yaml").write_text(JOB.replace("NAME", name))
    (folder / "rule.yaml").write_text(RULE)
    for generation in (1, 2):
        snapshot = [
            {**item, "spec": {**item["spec"], "devices": item["spec"]["devices"][generation:]}}
            for item in kinds["ResourceSlice"]
        ]
        text = json.dumps({"kind": "List", "apiVersion": "v1", "items": snapshot})
        (folder / f"snapshot-{generation}.json").write_text(text)
    return names


def list_commands(dump: list[str], manifests: list[str]) -> list[list[str]]:
    """Return the command lines whose output is compared, with the files in the given order."""
    files = [word for name in dump for word in ("-f", name)]
    together = [*files, "-f", "repository"]
    questions = [
        ["explain", "-A", *files],
        ["explain", "-A", *together],
        ["explain", "pod/wanted-4", "-n", "ml", "-vv", *files],
        ["devices", *files],
        ["devices", "--by", "workload", *files],
        ["devices", "--by", "class", *files],
        ["fit", "--shapes", "gpu=1;gpu=2;gpu=4", *files],
        ["plan", "pod/wanted-4", "-n", "ml", *files],
        ["fit", "claim/variables", "-n", "ml", *together],
        ["plan", "pod/wanted-4", "-n", "ml", *together],
        ["impact", "rule.yaml", *files],
        ["impact", "rule.yaml", *together],
        ["impact", "node/b", "--drain", *files],
        ["impact", "driver/gpu.example.com", *files],
        ["upgrade", "--from", "1.34", "--to", "1.37", *files],
        ["upgrade", "--from", "1.34", "--to", "1.37", *manifests],
        ["upgrade", "--from", "1.34", "--to", "1.37", "-v", "repository"],
        ["upgrade", "--from", "1.34", "--to", "1.37", *together],
        ["migrate", "repository"],
        ["lint", "repository"],
        ["lint", *manifests, *dump],
        ["lint", "--jobs", "2", *manifests],
        ["check-driver", "snapshot-1.json", "snapshot-2.json", "--classes", "DeviceClass-0.json"],
        ["check-driver", "snapshot-1.json", "--chart", "repository/charts/trainer"],
        ["check-driver", "--cluster", *files],
        ["check-driver", "--cluster", *together],
        [
            *("cel", f'device.driver == "{cluster.DRIVER}"'),
            *(name for name in dump if name.startswith("ResourceSlice")),
        ],
        ["cel", "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'", "--driver", "all"],
        ["facts", "--as-of", "2026-11-01", "-v", *dump],
        ["migrate", *(f"job-{name}" for name in manifests)],
        ["discover", "--from", str(NODE)],
        ["render", "--hardware", "dgx-h100"],
        ["render", "--hardware", "dgx-h100,a100", "--nodes", "2"],
    ]
    return [
        [*question, *(() if question[0] == "facts" else ("--isolated",)), "-o", form]
        for question in questions
        for form in FORMS.get(question[0], ("text", "json"))
    ]


def run_commands(folder: Path, commands: list[list[str]], seed: str) -> list[tuple[int, str, str]]:
    """Run command lines with a hash seed; return the exit code and the output of each."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PATH": os.pathsep.join((str(folder / "bin"), os.environ["PATH"])),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=True,
    )
    return [(code, remove_command(out), err) for code, out, err in json.loads(done.stdout)]


def remove_command(report: str) -> str:
    """Return a report without the line of its own command, which names the files as they were
    typed.
    """
    return re.sub(r'^  "command": .*\n', "", report, flags=re.MULTILINE)


def test_reports_do_not_depend_on_the_hash_seed_or_the_order_of_files(tmp_path: Path) -> None:
    folder, other_folder = tmp_path / "a", tmp_path / "b"
    dump = write_files(folder)
    write_files(other_folder, is_reversed=True)
    manifests = ["one.yaml", "two.yaml", "three.yaml"]
    commands = list_commands(dump, manifests)
    reports = run_commands(folder, commands, "0")
    for command, (code, out, err) in zip(commands, reports, strict=True):
        assert code in (0, 1), (command, err)
        assert out, command
    others = list_commands(dump[::-1], manifests[::-1])
    for other_reports in (
        run_commands(other_folder, others, "1"),
        run_commands(folder, commands, "2"),  # with the cache of the first run
    ):
        for command, first, second in zip(commands, reports, other_reports, strict=True):
            assert first == second, command
