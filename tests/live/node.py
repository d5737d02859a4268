"""A real node: kubelet, containerd, runc and a driver that fails on demand, as processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.conftest import ROOT, whole_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RELEASE = "1.37"
NAME = "node-1"
DRIVER = "lab.node.test"
CDI = Path("/var/run/cdi")
KUBELET = Path("/var/lib/kubelet")
CNI = Path("/etc/cni/net.d/10-oracle.conflist")
CONTAINERD = Path("/etc/containerd/config.toml")
_PROGRAMS = Path.home() / ".cache" / "dractl-oracle"


def lacking(release: str = RELEASE) -> str:
    """What such a node lacks on this machine; empty if it can be started."""
    shared = whole_dir()
    if shared is None or not (shared / "oracle" / "node" / "node.py").exists():
        return "no recorded data, or it has no program for a node"
    if os.geteuid() != 0:
        return "a node needs root"
    programs = [
        _PROGRAMS / f"kube-{release}",
        _PROGRAMS / f"kubelet-{release}",
        _PROGRAMS / f"node-{release}" / "lab",
    ]
    absent = [path.name for path in programs if not path.exists()]
    absent += [name for name in ("runc", "iptables") if shutil.which(name) is None]
    return f"not built or not installed: {', '.join(absent)}" if absent else ""


class Node:
    """The node, from its start to its end. ``faults`` is what its driver does wrong."""

    def __init__(self, name: str = NAME, release: str = RELEASE) -> None:
        self.name = name
        self.release = release
        shared = whole_dir()
        assert shared is not None
        self._program = shared / "oracle" / "node" / "node.py"
        self._directory = tempfile.TemporaryDirectory(prefix="dractl-node-")
        self.folder = Path(self._directory.name)
        self._faults = self.folder / "faults.json"
        self.kubeconfig = Path()

    def __enter__(self) -> Self:
        self._faults.write_text("{}")
        options = (
            "--name",
            self.name,
            "--release",
            self.release,
            "--feature-gates",
            "DRAAdminAccess=true",
        )
        started = self.part("up", *options, check=False)
        if started.returncode:
            self.__exit__()
            raise RuntimeError(started.stderr)
        self.kubeconfig = Path(started.stdout.partition("=")[2].strip())
        self.run_driver(self.own_driver)
        kubectl = self.folder / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\nexec {_PROGRAMS / f"kube-{self.release}"} kubectl --kubeconfig={self.kubeconfig} "$@"\n'
        )
        kubectl.chmod(0o755)
        self.apply(
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "lab"}}
            | CLASS
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.part("down", check=False)
        self._directory.cleanup()

    def part(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One command of the program that runs the node."""
        return subprocess.run(
            [sys.executable, str(self._program), *arguments],
            capture_output=True,
            text=True,
            check=check,
        )

    @property
    def own_driver(self) -> Path:
        """The driver that the node's oracle has built."""
        return _PROGRAMS / f"node-{self.release}" / "lab"

    def run_driver(self, program: Path) -> None:
        """Start a driver as the part ``lab``, which must not run."""
        options = self.driver_options(self._faults)
        self.part("driver", "lab", "--", str(program), *options, "-v=4")

    def driver_options(self, faults: Path) -> tuple[str, ...]:
        """The options of a driver with a file that says what it does wrong."""
        options = ("-kubeconfig", str(self.kubeconfig), "-node-name", self.name)
        return (*options, "-faults", str(faults))

    def log(self, name: str) -> str:
        """What a part has logged since the node is up."""
        folder = self.part("status").stdout.partition("logs: ")[2].splitlines()[0]
        return (Path(folder) / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def faults(self, **wrong: Any) -> None:
        self._faults.write_text(json.dumps(wrong))

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        command = [str(self.folder / "kubectl"), *arguments]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=check
        ).stdout

    def apply(self, *objects: Mapping[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def dractl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        starter = "import sys; sys.argv[0] = 'dractl'; from dractl.cli.main import run; run()"
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        environment = {
            **os.environ,
            "PATH": path,
            "NODE_NAME": self.name,
        }  # the machine has another name
        command = [sys.executable, "-c", starter, *arguments]
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )

    def explain(self, pod: str) -> tuple[int, Mapping[str, Any]]:
        """The exit code and the answer about a pod."""
        done = self.dractl("explain", f"pod/{pod}", "-n", "default", "-o", "json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {
            "headline": done.stderr
        }

    def failed_checks(self) -> str:
        """The failed lines of ``discover --check``."""
        found = json.loads(self.dractl("discover", "--check", "-o", "json").stdout)["checks"]
        return "\n".join(f"{c['name']}: {c['evidence']}" for c in found if c["state"] == "missing")

    def phase(self, pod: str) -> str:
        """``Running`` only if all containers are ready; empty if there is no such pod."""
        text = self.kubectl("get", "pod", pod, "-o", "json", "--ignore-not-found")
        if not text:
            return ""
        value = json.loads(text)
        ready = any(
            c["type"] == "Ready" and c["status"] == "True"
            for c in value["status"].get("conditions", [])
        )
        phase = str(value["status"].get("phase"))
        return "waits" if phase == "Running" and not ready else phase

    def events(self, pod: str) -> list[tuple[str, str]]:
        """Reason and message of the events about a pod."""
        listed = json.loads(self.kubectl("get", "events", "-n", "default", "-o", "json"))["items"]
        return [(e["reason"], e["message"]) for e in listed if e["involvedObject"]["name"] == pod]

    def ends(self, pod: str) -> tuple[int, str]:
        """How often a pod's container was restarted, and whether it is running."""
        status = json.loads(self.kubectl("get", "pod", pod, "-o", "json"))["status"][
            "containerStatuses"
        ][0]
        return status["restartCount"], ",".join(status["state"])

    def until(self, what: str, holds: Callable[[], bool], seconds: float = 120) -> None:
        """Asks again until something holds. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.5)

    def clean(self) -> None:
        """All parts run, and nothing is left of an earlier situation."""
        self.faults()
        for part in ("containerd", "kubelet", "lab"):
            self.part("start", part)
        self.kubectl(
            "delete",
            "pods,resourceclaims",
            "--all",
            "-n",
            "default",
            "--ignore-not-found",
            "--wait=false",
        )
        self.until(
            "pods are gone",
            lambda: not self.kubectl("get", "pods,resourceclaims", "-o", "name").strip(),
        )
        slices = ("get", "resourceslices", "-o", "jsonpath={.items[*].spec.driver}")
        self.until("slices are there", lambda: DRIVER in self.kubectl(*slices))


CLASS = {"spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}}


def claim(mode: str = "") -> dict[str, Any]:
    """A claim for one device; ``mode`` is the driver's configuration."""
    devices: dict[str, Any] = {"requests": [{"name": "r", "exactly": {"deviceClassName": "lab"}}]}
    if mode:
        devices["config"] = [{"opaque": {"driver": DRIVER, "parameters": {"mode": mode}}}]
    metadata = {"name": "train", "namespace": "default"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": devices},
    }


def pod(*arguments: str, lists: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A pod with that claim. ``lists``: what its container lists; ``main`` and ``more``: more of container and spec."""
    main = {
        "name": "main",
        "image": "node.test/tool:1",
        "imagePullPolicy": "IfNotPresent",
        "args": list(arguments or ("need", "LAB")),
        "resources": {
            "claims": [dict(lists)] if lists else [] if lists is not None else [{"name": "c"}]
        },
        **more.pop("main", {}),
    }
    spec = {
        "terminationGracePeriodSeconds": 1,
        "containers": [main],
        "resourceClaims": [{"name": "c", "resourceClaimName": "train"}],
        **more,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": spec,
    }
