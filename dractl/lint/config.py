"""The configuration: ``dractl.toml``, ``.dractl.toml`` or ``[tool.dractl]`` of ``pyproject.toml``.

kubernetes-version = "1.36"
exclude = ["vendor/"]

[feature-gates]
DRAListTypeAttributes = true

[lint]
ignore = ["DRA707"]
fail-on = "warning"
baseline = "dractl-baseline.json"
devices = ["slices/"]

[lint.per-file-ignores]
"tests/**" = ["DRA7"]

[lint.severity]
DRA424 = "warning"

[charts."deploy/trainer"]
values = ["deploy/prod.yaml"]
set = ["gpus=2"]
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from dractl.errors import InputError, UsageError
from dractl.facts.consumers import parse_consumers
from dractl.lint.finding import SEVERITIES, Severity
from dractl.manifests.content import read_bounded
from dractl.model.nearest import nearest
from dractl.program import program_name

NAMES: Final = ("dractl.toml", ".dractl.toml", "pyproject.toml")
TOP: Final = ("kubernetes-version", "feature-gates", "exclude", "markdown", "lint", "charts")
MAX_BYTES: Final = 64 << 20
"""The maximum size of all files together that one key of a configuration names."""
MAX_ENTRIES: Final = 10_000
MAX_CONFIG_BYTES: Final = 1 << 20
"""The maximum size of a configuration file."""
MAX_PATTERNS: Final = 1_000
"""The maximum number of patterns of ``lint.per-file-ignores``, since each is tried on every file
with findings.
"""
CHART: Final = ("values", "set")
LINT: Final = (
    "select",
    "ignore",
    "fail-on",
    "baseline",
    "devices",
    "per-file-ignores",
    "severity",
    "for",
)


class ChartSettings(Struct, frozen=True):
    """The values of one chart."""

    values: tuple[str, ...]
    """Values files; the last one takes precedence."""
    settings: tuple[str, ...]
    """Arguments of helm's ``--set``."""


class Config(Struct, frozen=True):
    """The settings of a configuration file; missing ones are None or empty.

    Paths are relative to the file.
    """

    file: Path | None = None
    kubernetes_version: str | None = None
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    exclude: tuple[str, ...] = ()
    markdown: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    devices: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    severity: Mapping[str, Severity] = MappingProxyType({})
    consumers: tuple[str, ...] = ()
    charts: Mapping[str, ChartSettings] = MappingProxyType({})
    """The settings of charts, by the absolute path of the chart's folder."""


def find(start: Path) -> Path | None:
    """Return the configuration file of the nearest folder, from ``start`` upwards, that has one."""
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if os.path.isfile(path) and (
                name != "pyproject.toml" or b"[tool.dractl" in _bytes(path, MAX_CONFIG_BYTES)
            ):
                return path
    return None


def read(path: Path) -> Config:
    """Return the configuration in a file.

    UsageError for an invalid setting, InputError for a missing file.
    """
    import tomllib  # most runs have no configuration

    try:
        data = tomllib.loads(_bytes(path, MAX_CONFIG_BYTES).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not TOML: {error}", place=str(path)) from error
    except RecursionError:
        raise UsageError("not TOML: nested too deeply", place=str(path)) from None
    if path.name == "pyproject.toml":
        data = _table(
            _table(data.get("tool", {}), "tool", path).get("dractl", {}), "tool.dractl", path
        )
    _refuse_nul(data, "", path)
    _check_names(data, TOP, "", path)
    lint = _table(data.get("lint", {}), "lint", path)
    _check_names(lint, LINT, "lint.", path)
    gates = _table(data.get("feature-gates", {}), "feature-gates", path)
    gates = {gate: _flag(value, f"feature-gates.{gate}", path) for gate, value in gates.items()}
    per_file = _table(lint.get("per-file-ignores", {}), "lint.per-file-ignores", path)
    if len(per_file) > MAX_PATTERNS:
        raise UsageError(
            f"lint.per-file-ignores: more than {MAX_PATTERNS:,} patterns", place=str(path)
        )
    severity = _table(lint.get("severity", {}), "lint.severity", path)
    for rule, value in severity.items():
        if value not in SEVERITIES:
            hint = f"allowed: {', '.join(SEVERITIES)}; lint.ignore switches a rule off"
            raise UsageError(
                f"lint.severity.{rule} must be a severity, not {value!r}",
                place=str(path),
                hint=hint,
            )
    baseline = _text(lint, "baseline", "lint.", path)
    return Config(
        file=path,
        kubernetes_version=_text(data, "kubernetes-version", "", path),
        feature_gates=gates,
        exclude=_texts(data, "exclude", "", path),
        markdown=_flag(data.get("markdown", False), "markdown", path),
        select=_texts(lint, "select", "lint.", path),
        ignore=_texts(lint, "ignore", "lint.", path),
        fail_on=_text(lint, "fail-on", "lint.", path),
        baseline=_check_path(baseline, "lint.baseline", path) if baseline else None,
        devices=_devices(_texts(lint, "devices", "lint.", path), path),
        per_file_ignores={
            pattern: _texts(per_file, pattern, "lint.per-file-ignores.", path)
            for pattern in per_file
        },
        severity=severity,
        consumers=_consumers(_texts(lint, "for", "lint.", path), path),
        charts=dict(_charts(_table(data.get("charts", {}), "charts", path), path)),
    )


def _refuse_nul(value: Any, key: str, path: Path) -> None:
    """Raise UsageError for a key or value with a NUL, since no path, pattern or rule has one."""
    if isinstance(value, str) and "\0" in value:
        raise UsageError(
            f"{key} contains a NUL character: {value!r}",
            place=str(path),
            hint="remove \\u0000: no path, pattern or name has it",
        )
    if isinstance(value, dict):
        for name, part in value.items():
            _refuse_nul(name, key or "a name", path)
            _refuse_nul(part, f"{key}.{name}".lstrip("."), path)
    elif isinstance(value, list):
        for part in value:
            _refuse_nul(part, key, path)


def _charts(charts: Mapping[str, Any], path: Path) -> Iterator[tuple[str, ChartSettings]]:
    """Yield the values of charts, by absolute path."""
    if len(charts) > MAX_PATTERNS:
        raise UsageError(f"charts: more than {MAX_PATTERNS:,} charts", place=str(path))
    for chart, value in charts.items():
        prefix = f"charts.{chart}."
        table = _table(value, f"charts.{chart}", path)
        _check_names(table, CHART, prefix, path)
        files = [
            _check_path(text, f"{prefix}values", path)
            for text in _texts(table, "values", prefix, path)
        ]
        settings = _texts(table, "set", prefix, path)
        yield os.path.abspath(path.parent / chart), ChartSettings(tuple(files), settings)


def _consumers(names: tuple[str, ...], path: Path) -> tuple[str, ...]:
    try:
        parse_consumers(names)
    except UsageError as error:
        raise UsageError(f"lint.for: {error.message}", place=str(path), hint=error.hint) from None
    return names


def _bytes(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return read_bounded(file, str(path), max_bytes)
    except IsADirectoryError:
        raise UsageError("a folder, where a file is expected", place=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=str(path)) from error


def _devices(sources: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Return the sources of devices, with checked paths. Raises UsageError for a source that is the
    cluster: a pull request can contain a configuration, and kubectl would run with the reviewer's
    credentials.
    """
    if "cluster" in sources:
        hint = (
            "remove it, and give --devices cluster on the command line, where you are allowed to "
            "read the cluster"
        )
        raise UsageError(
            "lint.devices: a configuration cannot name the cluster", place=str(path), hint=hint
        )
    return tuple(
        text if text == "local" else _check_path(text, "lint.devices", path) for text in sources
    )


def _check_path(text: str, key: str, path: Path) -> str:
    """Return the path of a file or folder that a configuration names.

    Raises UsageError unless the path has only regular files of the configuration's repository, with
    a bounded size, since a pull request can contain any configuration and any links. The files are
    not read yet.
    """
    target = path.parent / text
    home = _repository(path.parent)
    remaining = MAX_BYTES
    for count, entry in enumerate(_list_entries(target), 1):
        refusal = _refusal(entry, home)
        if refusal is not None:
            shown = text if entry == target else f"{text}: {entry.relative_to(target)}"
            raise UsageError(
                f"{key}: {shown} {refusal}",
                place=str(path),
                hint="give such a path on the command line",
            )
        remaining -= entry.stat().st_size if entry.is_file() else 0
        if remaining < 0 or count > MAX_ENTRIES:
            raise UsageError(
                f"{key}: {text} is too large for a configuration",
                place=str(path),
                hint=(
                    f"at most {MAX_BYTES >> 20} MiB in {MAX_ENTRIES:,} files; give it on the "
                    "command line"
                ),
            )
    return str(target)


def _list_entries(path: Path) -> Iterator[Path]:
    """Yield a path and, if it is a folder, everything in it; folders behind links are not
    entered.
    """
    yield path
    if os.path.isdir(path) and not path.is_symlink():
        for folder, names, files in os.walk(path):
            yield from (Path(folder, name) for name in (*names, *files))


def _refusal(path: Path, home: Path) -> str | None:
    """Return why a configuration is not allowed to name a path; None if it is allowed, or if the
    path does not exist.
    """
    try:
        real = path.resolve()
        mode = real.stat().st_mode
    except FileNotFoundError:
        return None if path.resolve().is_relative_to(home) else f"is outside of {home}"
    except (OSError, RuntimeError) as error:  # a loop of links, no permission
        return f"cannot be looked at: {error}"
    if not real.is_relative_to(home):
        return f"is outside of {home}"
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "is not a regular file"


def _repository(folder: Path) -> Path:
    """Return the nearest folder with .git, from ``folder`` upwards, else ``folder``."""
    real = folder.resolve()
    return next((each for each in (real, *real.parents) if (each / ".git").exists()), real)


def _table(value: Any, name: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table, not {value!r}", place=str(path))
    return value


def _check_names(table: Mapping[str, Any], allowed: Iterable[str], prefix: str, path: Path) -> None:
    for key in table:
        if key not in allowed:
            settings = [
                *(f"{prefix}{name}" for name in allowed),
                *TOP,
                *(f"lint.{name}" for name in LINT),
            ]
            namesakes = (name for name in settings if name.endswith(f".{key}"))
            near = nearest(f"{prefix}{key}", settings) or next(namesakes, None)
            hint = (
                f"did you mean {near}?"
                if near
                else f"known settings: {', '.join(prefix + name for name in allowed)}"
            )
            raise UsageError(f"unknown setting {prefix}{key}", place=str(path), hint=hint)


def _text(table: Mapping[str, Any], key: str, prefix: str, path: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(
            f"{prefix}{key} must be a string, not {value!r}",
            place=str(path),
            hint="put it in quotes",
        )
    return value


def _flag(value: Any, name: str, path: Path) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false, not {value!r}", place=str(path))
    return value


def _texts(table: Mapping[str, Any], key: str, prefix: str, path: Path) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{prefix}{key} must be a list of strings, not {value!r}", place=str(path))
    return tuple(value)


def baseline(path: Path) -> dict[str, int]:
    """Count each fingerprint in an earlier report of ``dractl lint -o json``.

    Raises UsageError for anything else.
    """
    hint = f"make one with: {program_name()} lint -o json PATH > baseline.json"
    if os.path.isdir(path):
        raise UsageError(f"the baseline {path} is a folder, not a report", hint=hint)
    try:
        data = json.loads(_bytes(path, MAX_BYTES))
        findings = data["findings"]
        if data["schema"] != "dractl/lint/v1":
            raise ValueError
        prints = [str(finding["fingerprint"]) for finding in findings]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"not a report of {program_name()} lint -o json", place=str(path), hint=hint
        ) from error
    counts: dict[str, int] = {}
    for text in prints:
        counts[text] = counts.get(text, 0) + 1
    return counts
