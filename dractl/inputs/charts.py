"""Renders Helm charts: with the chart's own values or the user's, and with the values in ``ci/``.

helm runs within the limits of :mod:`dractl.inputs.programs`, on a copy of the chart. ``lookup`` and
``getHostByName`` find nothing in ``helm template``, and nothing is downloaded.
"""

import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from tempfile import TemporaryDirectory, mkdtemp
from types import MappingProxyType
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from dractl.archives import damage
from dractl.errors import UsageError
from dractl.inputs.memory import Memory, key_of
from dractl.inputs.programs import LIMITS, Completion, Limits, identify, run
from dractl.inputs.trees import (
    NO_OVERLAY,
    FileTree,
    NotRenderable,
    Overlay,
    TreeReader,
    read_folder,
)
from dractl.manifests.naming import display_path
from dractl.manifests.rendered import Rendered
from dractl.manifests.templates import RELEASE
from dractl.model import Target
from dractl.model.releases import SERVED, served_versions

MAX_TIMEOUTS = 3
"""The number of renderings in a run that may time out; after that no other chart is rendered."""
MAX_CI_VALUES = 32
"""The maximum number of values files in ``ci/`` with which a chart is rendered."""
MAX_WORKERS = 4
_CI_VALUES = re.compile(r"ci/[^/]*-values\.yaml")
"""helm/chart-testing pkg/chart/chart.go Chart.ValuesFilePathsForCI"""
_SCHEMA = "values.schema.json"
_RELEASE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_MAX_ARCHIVE_BYTES = 64 * 2**20
_UNDEFINED = re.compile(r'function "\w+" not defined')


class ChartValues(Struct, frozen=True):
    """The user's values for a chart, in place of the values in its ``ci/`` folder."""

    files: tuple[str, ...] = ()
    """Values files; the last one takes precedence."""
    settings: tuple[str, ...] = ()
    """Arguments of helm's ``--set``."""

    def __bool__(self) -> bool:
        return bool(self.files or self.settings)


NO_VALUES = ChartValues()


class ValueChoice(Struct, frozen=True):
    """The user's values for the charts of one run."""

    named: ChartValues = NO_VALUES
    """Values of the command line, for the only chart of the input."""
    by_chart: Mapping[str, ChartValues] = MappingProxyType({})
    """Values of the configuration, by the absolute path of the chart's folder."""


NO_CHOICE = ValueChoice()


class Release(Struct, frozen=True):
    """A release of a chart, as a GitOps controller installs it."""

    name: str
    """The name of the release."""
    namespace: str
    """The namespace of its objects."""
    values: tuple[bytes, ...] = ()
    """Values files; the last one takes precedence."""
    settings: tuple[str, ...] = ()
    """Arguments of ``--set``."""


class _Layer(Struct, frozen=True):
    """Values on top of a chart's own values, for one rendering."""

    names: tuple[str, ...]
    """The paths of the values files."""
    contents: tuple[bytes, ...]
    """The contents of the values files."""
    settings: tuple[str, ...] = ()
    """Arguments of ``--set``."""
    release: str = RELEASE
    """The name of the release."""
    namespace: str = ""
    """The namespace of the release. If it is empty, the default namespace is used, or another one
    if the chart refuses the default namespace.
    """


class _Job(Struct, frozen=True):
    """A chart to render, and the folders for it."""

    helm: str
    """Path of the program."""
    chart: str
    """The chart's folder as the user names it."""
    tree: FileTree
    """The chart's files."""
    scratch: str
    """A folder that is deleted afterwards."""

    @property
    def copy(self) -> str:
        """Return the folder of the copy that helm reads."""
        # A name that looks like a directory is never looked up in a repository (helm
        # pkg/action/install.go LocateChart).
        return os.path.join(self.scratch, "chart", "")


class ChartRenderer:
    """Renders the charts of one run for a release of Kubernetes."""

    def __init__(
        self,
        target: Target,
        *,
        choice: ValueChoice = NO_CHOICE,
        overlay: Overlay = NO_OVERLAY,
        memory: Memory | None = None,
        limits: Limits = LIMITS,
        is_ci_rendered: bool = False,
    ) -> None:
        self._choice = choice
        self._charts: dict[str, None] = {}
        self._overlay = overlay
        self._memory = memory or Memory()
        self._limits = limits
        self._is_ci_rendered = is_ci_rendered
        self._options = _release_options(target)
        self._timeouts = 0

    def render(self, chart: str) -> Sequence[Rendered]:
        """Render the chart in a folder with its values, and then with each values file in its
        ``ci/``.

        Raises UsageError for values of the command line that several charts could take.
        """
        values = self._choose_values(chart)
        helm = shutil.which("helm")
        if helm is None:
            return (Rendered(None),)
        try:
            tree = read_folder(chart, self._overlay)
            _check_schemas(tree)
            layers = self._layers(chart, tree, values)
        except NotRenderable as error:
            return (Rendered(None, error.why),)
        with TemporaryDirectory(prefix="dractl-") as scratch:
            job = _Job(helm, chart, tree, os.path.realpath(scratch))
            ends = self._outputs(job, layers)
        return [
            Rendered(end.output, end.problem, values=layer.names, is_variant=index > 0)
            for index, (layer, end) in enumerate(zip(layers, ends, strict=True))
        ]

    def render_release(self, chart: str, release: Release) -> Rendered:
        """Render the chart in a folder as a release in a namespace, with the release's values."""
        helm = shutil.which("helm")
        if helm is None:
            return Rendered(None)
        # helm would take a name that begins with a dash for an option.
        for name in filter(None, (release.name, release.namespace)):
            if _RELEASE_NAME.fullmatch(name) is None:
                return Rendered(None, f"{name!r} is not a name of a release or a namespace")
        layer = _Layer(
            (), release.values, release.settings, release.name or RELEASE, release.namespace
        )
        try:
            tree = read_folder(chart, self._overlay)
            _check_schemas(tree)
        except NotRenderable as error:
            return Rendered(None, error.why)
        with TemporaryDirectory(prefix="dractl-") as scratch:
            job = _Job(helm, chart, tree, os.path.realpath(scratch))
            (end,) = self._outputs(job, [layer])
        return Rendered(end.output, end.problem)

    @property
    def has_charts(self) -> bool:
        """Return True if values of the command line were used for a chart."""
        return bool(self._charts)

    def _choose_values(self, chart: str) -> ChartValues:
        """Return the user's values for a chart; a subchart only gets values from the
        configuration.
        """
        folder = os.path.abspath(chart)
        above, name = os.path.split(os.path.dirname(folder))
        is_subchart = name == "charts" and os.path.isfile(os.path.join(above, "Chart.yaml"))
        configured = self._choice.by_chart.get(folder, NO_VALUES)
        if not self._choice.named or is_subchart:
            return configured
        self._charts[display_path(chart)] = None
        if len(self._charts) > 1:
            raise UsageError(
                "--values and --set are for one chart, and the input has several: "
                + ", ".join(self._charts),
                hint="name one chart, or give each its values in dractl.toml",
            )
        return self._choice.named

    def _layers(self, chart: str, tree: FileTree, values: ChartValues) -> list[_Layer]:
        """Return the values of each rendering, beginning with the chart's own or the user's."""
        reader = TreeReader(None, self._overlay)
        contents = tuple(reader.read(name) for name in values.files)
        layers = [_Layer(values.files, contents, values.settings)]
        if self._is_ci_rendered and not values:
            paths = {path.replace(os.sep, "/"): path for path in tree.files}
            ci_paths = sorted(path for path in paths if _CI_VALUES.fullmatch(path))
            layers += [
                _Layer((os.path.join(chart, paths[path]),), (tree.files[paths[path]],))
                for path in ci_paths[:MAX_CI_VALUES]
            ]
        return layers

    def _outputs(self, job: _Job, layers: Sequence[_Layer]) -> list[Completion]:
        """Return the output for each layer, from the cache or rendered now, several at a time."""
        program = identify(job.helm)
        shared = key_of([program, *map(str.encode, self._options), *job.tree.parts()]).encode()
        keys = [key_of([shared, *_words(layer), b"", *layer.contents]) for layer in layers]
        ends: dict[str, Completion] = {
            key: Completion(output) for key in keys if (output := self._memory.get(key)) is not None
        }
        missing = {key: layer for key, layer in zip(keys, layers, strict=True) if key not in ends}
        if missing:
            job.tree.write(job.copy)
            with ThreadPoolExecutor(min(len(missing), MAX_WORKERS)) as pool:
                made = pool.map(lambda layer: self._run(job, layer), missing.values())
                ends |= zip(missing, made, strict=True)
        for key in missing:
            output = ends[key].output
            if output is not None:
                self._memory.put(key, output)
        return [ends[key] for key in keys]

    def _run(self, job: _Job, layer: _Layer) -> Completion:
        """Run helm; if the first run fails, run it again in a namespace with another name."""
        if self._timeouts >= MAX_TIMEOUTS:
            return Completion(None, f"{MAX_TIMEOUTS} renderings before it took too long")
        home = mkdtemp(dir=job.scratch)
        command = [job.helm, "template", layer.release, job.copy, *self._options]
        command += ["--namespace", layer.namespace] if layer.namespace else []
        for number, content in enumerate(layer.contents):
            place = os.path.join(home, f"values-{number}.yaml")
            with open(place, "xb") as file:
                file.write(content)
            command += ["--values", place]
        for setting in layer.settings:
            command += ["--set", setting]
        end = run(command, home, self._limits)
        if end.output is None and not end.is_timeout and not layer.namespace:
            # Charts of drivers refuse the namespace default.
            end = run([*command, "--namespace", RELEASE], home, self._limits)
        self._timeouts += end.is_timeout
        return replace(end, problem=_explain(end.problem, job, home, layer))


def _words(layer: _Layer) -> list[bytes]:
    """Return the arguments that distinguish a rendering from others of the same chart."""
    words = list(map(os.fsencode, layer.settings))
    if layer.namespace or layer.release != RELEASE:
        words += [b"", os.fsencode(layer.release), os.fsencode(layer.namespace)]
    return words


def refuse_values() -> NoReturn:
    """Raise UsageError, since the command line has values and the input has no chart."""
    raise UsageError(
        "--values and --set need a chart, and no chart of the input has a template about DRA",
        hint="name the folder of a chart",
    )


def _explain(problem: str | None, job: _Job, home: str, layer: _Layer) -> str | None:
    """Return helm's message with the user's names of files, and with the version of helm if a
    function is missing.
    """
    if problem is None:
        return None
    for number, name in enumerate(layer.names):
        problem = problem.replace(os.path.join(home, f"values-{number}.yaml"), display_path(name))
    problem = problem.replace(job.copy, os.path.join(job.chart, ""))
    problem = problem.replace(job.copy.rstrip(os.sep), job.chart)
    if _UNDEFINED.search(problem):
        version = run([job.helm, "version", "--template", "{{.Version}}"], home, Limits(seconds=5))
        if version.output:
            problem += f"; helm here is {version.output.decode('utf-8', 'replace').strip()}"
    return problem


def _release_options(target: Target) -> list[str]:
    """Return the options that tell helm which API versions a release of Kubernetes serves."""
    versions = {
        row.api_version
        for row in SERVED
        if row.api_version in served_versions(row.kind, target.release, by_default=True)
    }
    served = [argument for version in sorted(versions) for argument in ("--api-versions", version)]
    return ["--kube-version", f"{target.release}.0", *served]


def _check_schemas(tree: FileTree) -> None:
    """Raise NotRenderable for a schema of values that refers to other files or addresses.

    helm would read them, wherever they are (pkg/chartutil/jsonschema.go).
    """
    for path, content in tree.files.items():
        schemas = [content] if os.path.basename(path) == _SCHEMA else _unpack_schemas(path, content)
        for schema in schemas:
            reference = _find_reference(schema)
            if reference is not None:
                raise NotRenderable(f"{_SCHEMA} refers to {reference}, outside of the chart")


def _unpack_schemas(path: str, content: bytes) -> Iterator[bytes]:
    """Yield the schemas in a packed subchart."""
    if not path.endswith((".tgz", ".tar.gz")):
        return
    remaining = _MAX_ARCHIVE_BYTES
    try:
        with tarfile.open(fileobj=BytesIO(content), mode="r:gz") as archive:
            for member in archive:
                remaining -= member.size
                if remaining < 0:
                    raise NotRenderable(f"{path} expands to more than 64 MiB")
                file = archive.extractfile(member) if member.isreg() else None
                name = os.path.basename(member.name)
                if file is None:
                    continue
                if name == _SCHEMA:
                    yield file.read()
                elif name.endswith((".tgz", ".tar.gz")):
                    yield from _unpack_schemas(f"{path}/{name}", file.read())
    except damage():
        return  # helm refuses a damaged archive


def _find_reference(schema: bytes) -> str | None:
    """Find a reference in a JSON schema to anything outside the schema; None if there is none."""
    try:
        stack: list[Any] = [json.loads(schema, object_pairs_hook=_Pairs)]
    except RecursionError:
        return "more levels than can be followed"
    except ValueError:
        return None  # helm refuses a schema that is not JSON
    while stack:
        node = stack.pop()
        if isinstance(node, _Pairs):
            for name, value in node:
                is_reference = name in ("$ref", "$dynamicRef", "$recursiveRef")
                if is_reference and isinstance(value, str) and not value.startswith("#"):
                    return value
                if name in ("id", "$id") and isinstance(value, str) and "file:" in value.lower():
                    return value
                stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)
    return None


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, including repeated keys."""
