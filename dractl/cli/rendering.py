"""Rendering of charts and kustomizations with the installed programs; nothing is downloaded, and no
cluster is queried.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from dractl.lint.relevance import concern
from dractl.manifests import Inputs
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.rendered import Rendered, Renderer
from dractl.manifests.templates import RELEASE
from dractl.model import Target
from dractl.model.releases import SERVED, served_versions

TIMEOUT_SECONDS = 60
"""Seconds that a chart may take."""
_MAX_ERROR_CHARACTERS = 300
_UNREACHABLE_PROXY = "http://127.0.0.1:9"
_OFFLINE = {
    "KUBECONFIG": os.devnull,  # some kubectl ask the cluster for its version first
    "GIT_ALLOW_PROTOCOL": "none",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _UNREACHABLE_PROXY),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
}
"""What keeps the programs from the network, should a chart or kustomization that makes them use it
not be noticed.
"""


def make_renderer(target: Target) -> Renderer:
    """Make a function that renders the chart in a folder for a release, if helm is installed."""
    return lambda chart: _render_chart(chart, target)


def _render_chart(chart: str, target: Target) -> Rendered:
    helm = shutil.which("helm")
    if helm is None:
        return Rendered(None)
    # A name that looks like a directory is never looked up in a repository (helm
    # pkg/action/install.go LocateChart).
    folder = os.path.join(os.path.abspath(chart), "")
    try:
        link = _find_escaping_link(folder)
    except OSError as error:
        return Rendered(None, f"the chart cannot be read: {error.strerror}")
    if link is not None:
        return Rendered(None, f"the link {os.path.relpath(link)} leads out of the repository")
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
    return _run(
        [*command, "--namespace", RELEASE]
    )  # charts of drivers refuse the namespace default


def _find_escaping_link(chart: str) -> str | None:
    """Find a symbolic link in a chart that leads out of its repository, or out of the chart if it
    is in none.

    helm follows links (internal/sympath/walk.go), and ``.Files`` would put the file that one leads
    to into a report.
    """
    root = top = os.path.realpath(chart)
    while not os.path.exists(os.path.join(top, ".git")):
        top, below = os.path.dirname(top), top
        if top == below:
            top = root
            break
    folders, seen = [chart], {root}
    while folders:
        for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
            real = os.path.realpath(entry.path)
            inside = os.path.relpath(real, top).split(os.sep)
            if entry.is_symlink() and (".." in inside[:1] or ".git" in inside):
                return entry.path
            if os.path.isdir(real) and real not in seen:
                seen.add(real)
                folders.append(entry.path)
    return None


def build_kustomizations(inputs: Inputs, files: Iterable[str] = ()) -> Inputs:
    """Add the objects of the kustomizations among ``files``, and of those that the input belongs
    to.
    """
    candidates = list(dict.fromkeys((*files, *inputs.kustomizations)))
    if not any(map(is_kustomization, candidates)):
        return inputs
    from dractl.manifests.built import built

    return built(inputs, candidates, build, lambda document: concern(document.value) == "claims")


def build(folder: str) -> Rendered:
    """Build the kustomization in a folder with kustomize or kubectl."""
    for name, subcommand in (("kustomize", "build"), ("kubectl", "kustomize")):
        program = shutil.which(name)
        if program is not None:
            return _build_with_origins([program, subcommand], folder)
    return Rendered(None, "neither kustomize nor kubectl is installed")


def _build_with_origins(command: list[str], folder: str) -> Rendered:
    """Build a kustomization around the one in ``folder`` that annotates each object with its
    file.
    """
    with TemporaryDirectory() as made:
        here = os.path.realpath(made)
        try:
            resource = os.path.relpath(os.path.realpath(folder), here).replace(os.sep, "/")
        except ValueError:
            return Rendered(None, "it is on another drive than temporary files")
        text = json.dumps({"buildMetadata": ["originAnnotations"], "resources": [resource]})
        with open(os.path.join(here, "kustomization.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        return replace(_run([*command, here]), base=here)


def _run(command: list[str]) -> Rendered:
    program = " ".join([os.path.basename(command[0]), command[1]])
    environment = {**os.environ, **_OFFLINE}
    try:
        process = subprocess.run(
            command,
            env=environment,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Rendered(None, f"{program} took longer than {TIMEOUT_SECONDS} seconds")
    except OSError as error:
        return Rendered(None, f"{program} cannot be run: {error.strerror}")
    if process.returncode:
        reason = (
            _error_line(process.stderr.decode("utf-8", "replace"))
            or f"exit code {process.returncode}"
        )
        return Rendered(None, f"{program} failed: {reason}")
    return Rendered(process.stdout)


def _error_line(text: str) -> str:
    """Return a program's error message in one line, from its first ``Error:`` on, without warnings
    and advice.
    """
    start = max(text.lower().find("error:"), 0)
    lines = [
        line.strip()
        for line in text[start:].splitlines()
        if not line.startswith(("Use --debug", "# Warning"))
    ]
    joined = " ".join(line for line in lines if line)
    return (
        joined if len(joined) <= _MAX_ERROR_CHARACTERS else joined[:_MAX_ERROR_CHARACTERS] + " ..."
    )
