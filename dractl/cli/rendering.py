"""Charts to manifests, by the helm that is installed; nothing is downloaded, no cluster is asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dractl.manifests.rendered import Rendered
from dractl.model.releases import SERVED, served_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.model import Target

TIMEOUT = 60
"""Seconds that a chart may take."""
RELEASE = "release"
"""The name that a chart is rendered under."""
_MAX_ERROR = 300


def renderer(target: Target) -> Callable[[str], Rendered] | None:
    """Renders the chart in a folder for a cluster of a release; None where there is no helm."""
    import shutil

    helm = shutil.which("helm")
    return None if helm is None else lambda chart: _helm(helm, chart, target)


def _helm(helm: str, chart: str, target: Target) -> Rendered:
    # A name that looks like a directory is never looked up in a repository (helm pkg/action/install.go LocateChart).
    folder = os.path.join(os.path.abspath(chart), "")
    versions = {
        row.api_version
        for row in SERVED
        if row.api_version in served_versions(row.kind, target.release, by_default=True)
    }
    served = [argument for version in sorted(versions) for argument in ("--api-versions", version)]
    command = [helm, "template", RELEASE, folder, "--kube-version", f"{target.release}.0", *served]
    rendered = _run(command)
    if rendered.data is not None:
        return rendered
    return _run([*command, "--namespace", RELEASE])  # charts of drivers refuse the namespace default


def _run(command: list[str]) -> Rendered:
    import subprocess

    what = " ".join([os.path.basename(command[0]), command[1]])
    try:
        done = subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Rendered(None, f"{what} took longer than {TIMEOUT} seconds")
    except OSError as error:
        return Rendered(None, f"{what} cannot be run: {error.strerror}")
    if done.returncode:
        why = _error(done.stderr.decode("utf-8", "replace")) or f"exit code {done.returncode}"
        return Rendered(None, f"{what} failed: {why}")
    return Rendered(done.stdout)


def _error(text: str) -> str:
    """What a program says about its end, in one line: from its first ``Error:`` on, without advice to debug."""
    start = max(text.lower().find("error:"), 0)
    lines = [line.strip() for line in text[start:].splitlines() if not line.startswith("Use --debug")]
    joined = " ".join(line for line in lines if line)
    return joined if len(joined) <= _MAX_ERROR else joined[:_MAX_ERROR] + " ..."
