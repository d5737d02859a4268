"""A few questions to a cluster, put to kubectl."""

from __future__ import annotations

import json
from typing import Any

from dractl.errors import InputError

_TIMEOUT = 60  # seconds; kubectl itself gives up after --request-timeout


def served(group: str, version: str) -> frozenset[str]:
    """The resources that the API server serves in a group's version; empty where it does not know it."""
    output, errors = _run("get", "--raw", f"/apis/{group}/{version}")
    if output is None:
        if "NotFound" in errors or "could not find the requested resource" in errors:
            return frozenset()
        raise _failed(errors)
    resources = _parse(output).get("resources", [])
    return frozenset(str(item.get("name")) for item in resources)


def get(resource: str) -> list[dict[str, Any]]:
    """All objects of a resource, cluster-wide."""
    output, errors = _run("get", resource, "--all-namespaces", "-o", "json", "--chunk-size=500")
    if output is None:
        raise _failed(errors)
    items = _parse(output).get("items", [])
    return [item for item in items if isinstance(item, dict)]


def _run(*arguments: str) -> tuple[str | None, str]:
    import shutil
    import subprocess

    program = shutil.which("kubectl")
    if program is None:
        raise InputError("kubectl is not on PATH", hint="install kubectl: the cluster is asked through it")
    command = [program, *arguments, "--request-timeout=30s"]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"kubectl did not answer in {_TIMEOUT} s", hint="try: kubectl get nodes") from error
    return (done.stdout if done.returncode == 0 else None), done.stderr.strip()


def _parse(output: str) -> dict[str, Any]:
    try:
        value = json.loads(output)
    except ValueError as error:
        raise InputError(f"kubectl did not print JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _failed(errors: str) -> InputError:
    said = (errors.splitlines() or ["it said nothing"])[-1]
    return InputError(f"kubectl failed: {said}", hint="kubectl get nodes must work with the same kubeconfig")
