"""The driver lab of `tests/oracles`, its mutants of `tests/data/driver-mutants`, and the checks of a driver as commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import yaml

from tests.conftest import ROOT, whole_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RELEASE = "1.37"
MUTANTS = ROOT / "tests" / "data" / "driver-mutants"
ROWS = yaml.safe_load((MUTANTS / "index.yaml").read_text(encoding="utf-8"))
LAB = {"name": "lab"}


def lacking() -> str:
    """Return what is missing to build a driver and to call it; empty if nothing is."""
    absent = [name for name in ("go", "patch") if shutil.which(name) is None]
    try:
        import grpc  # noqa: F401
    except ImportError:
        absent.append("grpcio")
    if absent:
        return f"not installed: {', '.join(absent)}"
    return "" if whole_dir() is not None else "the oracles are not here"


def build(name: str, folder: Path) -> Path:
    """Build the driver or a mutant of it."""
    shared = whole_dir()
    assert shared is not None
    shutil.copytree(ROOT / "tests" / "oracles" / "lab", folder / "lab")
    for file in ("go.mod", "go.sum"):
        shutil.copy(shared / "oracle" / "node" / RELEASE / file, folder / file)
    if name != LAB["name"]:
        patch = str(MUTANTS / f"{name}.patch")
        subprocess.run(["patch", "-p1", "-s", "-d", str(folder / "lab"), "-i", patch], check=True)
    program = folder / f"{name}-driver"  # the source of lab is in a folder of that name
    flags = ["-trimpath", "-ldflags", "-s -w", "-o", str(program)]
    # With the user's own build cache: without it, the libraries of Kubernetes take minutes.
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    build_command = ["go", "build", *flags, "./lab"]
    subprocess.run(build_command, cwd=folder, env=environment, check=True)
    return program


def call_plugin(
    program: Path, kubeconfig: Path, folder: Path, *, kubelet_root: Path, cdi_root: Path
) -> set[str]:
    """Return the checks of the plug-in API that a driver fails. What it published is in ``snapshots`` of ``folder``."""
    places = ["--kubelet-root", str(kubelet_root), "--cdi-root", str(cdi_root)]
    options = ["--call-seconds", "10", "--start-seconds", "15", "--json"]
    options += ["--log", str(folder / "log"), "--snapshots", str(folder / "snapshots")]
    options += ["--kubeconfig", str(kubeconfig)]
    driver = [str(program), "-kubeconfig", str(kubeconfig)]
    driver += ["-kubelet-root", str(kubelet_root), "-cdi-root", str(cdi_root)]
    command = [sys.executable, "-m", "tools.driver_plugin", *places, *options, "--", *driver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert results, done.stderr
    return {result["id"] for result in results if result["status"] == "failed"}


def check_driver(*words: str, environment: dict[str, str] | None = None) -> set[str]:
    """Return the codes that check-driver reports."""
    command = [sys.executable, "-m", "dractl", "check-driver", "--isolated", "-o", "json", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return {finding["code"] for finding in json.loads(done.stdout)["findings"]}


def check_snapshots(snapshots: Sequence[Path]) -> set[str]:
    """Return what check-driver reports of snapshots, none if the driver published nothing."""
    return check_driver(*map(str, sorted(snapshots))) if snapshots else set()
