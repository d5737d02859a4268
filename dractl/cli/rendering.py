"""Charts to manifests, by the helm that is installed; nothing is downloaded, no cluster is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.manifests.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT = 60
"""Seconds that a chart may take."""


def renderer() -> Callable[[str], Rendered] | None:
    """Renders the chart in a folder; None where there is no helm."""
    import shutil

    helm = shutil.which("helm")
    return None if helm is None else lambda chart: _helm(helm, chart)


def _helm(helm: str, chart: str) -> Rendered:
    import os
    import subprocess

    # A name that looks like a directory is never looked up in a repository (helm pkg/action/install.go LocateChart).
    folder = os.path.join(os.path.abspath(chart), "")
    try:
        done = subprocess.run(
            [helm, "template", "release", folder],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return Rendered(None, f"helm template took longer than {TIMEOUT} seconds")
    except OSError as error:
        return Rendered(None, f"helm cannot be run: {error.strerror}")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Rendered(None, f"helm template failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return Rendered(done.stdout)
