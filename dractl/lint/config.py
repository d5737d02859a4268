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
"""

from __future__ import annotations

import json
import tomllib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from dractl.errors import InputError, UsageError
from dractl.lint.finding import SEVERITIES
from dractl.lint.registry import CONSUMERS
from dractl.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from dractl.lint.finding import Severity

NAMES: Final = ("dractl.toml", ".dractl.toml", "pyproject.toml")
TOP: Final = ("kubernetes-version", "feature-gates", "exclude", "lint")
LINT: Final = ("select", "ignore", "fail-on", "baseline", "devices", "per-file-ignores", "severity", "for")


class Config(Struct, frozen=True):
    """The settings of a configuration file; missing ones are None or empty. Paths are relative to the file."""

    file: Path | None = None
    kubernetes_version: str | None = None
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    devices: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    severity: Mapping[str, Severity] = MappingProxyType({})
    consumers: tuple[str, ...] = ()


def find(start: Path) -> Path | None:
    """The configuration file of the nearest folder, from ``start`` upwards, that has one."""
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if path.is_file() and (name != "pyproject.toml" or b"[tool.dractl" in _bytes(path)):
                return path
    return None


def read(path: Path) -> Config:
    """The configuration in a file. UsageError for an invalid setting, InputError for a missing file."""
    try:
        data = tomllib.loads(_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not TOML: {error}", place=str(path)) from error
    except RecursionError:
        raise UsageError("not TOML: nested too deeply", place=str(path)) from None
    if path.name == "pyproject.toml":
        data = _table(_table(data.get("tool", {}), "tool", path).get("dractl", {}), "tool.dractl", path)
    _known(data, TOP, "", path)
    lint = _table(data.get("lint", {}), "lint", path)
    _known(lint, LINT, "lint.", path)
    gates = _table(data.get("feature-gates", {}), "feature-gates", path)
    for gate, value in gates.items():
        if not isinstance(value, bool):
            raise UsageError(f"feature-gates.{gate} must be true or false, not {value!r}", place=str(path))
    per_file = _table(lint.get("per-file-ignores", {}), "lint.per-file-ignores", path)
    severity = _table(lint.get("severity", {}), "lint.severity", path)
    for rule, value in severity.items():
        if value not in SEVERITIES:
            hint = f"allowed: {', '.join(SEVERITIES)}; lint.ignore switches a rule off"
            raise UsageError(f"lint.severity.{rule} must be a severity, not {value!r}", place=str(path), hint=hint)
    baseline = _text(lint, "baseline", "lint.", path)
    return Config(
        file=path,
        kubernetes_version=_text(data, "kubernetes-version", "", path),
        feature_gates=gates,
        exclude=_texts(data, "exclude", "", path),
        select=_texts(lint, "select", "lint.", path),
        ignore=_texts(lint, "ignore", "lint.", path),
        fail_on=_text(lint, "fail-on", "lint.", path),
        baseline=str(path.parent / baseline) if baseline else None,
        devices=_devices(_texts(lint, "devices", "lint.", path), path),
        per_file_ignores={pattern: _texts(per_file, pattern, "lint.per-file-ignores.", path) for pattern in per_file},
        severity=severity,
        consumers=_consumers(_texts(lint, "for", "lint.", path), path),
    )


def _consumers(names: tuple[str, ...], path: Path) -> tuple[str, ...]:
    if names:
        for name in names:
            if name not in CONSUMERS:
                raise UsageError(f"lint.for: unknown {name!r}", place=str(path), hint=f"known: {', '.join(CONSUMERS)}")
    return names


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=str(path)) from error


def _devices(sources: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Raises UsageError for the cluster: a pull request brings its configuration along, and kubectl would run with the
    credentials of whoever checks it."""
    if "cluster" in sources:
        hint = "remove it, and give --devices cluster on the command line where the cluster may be read"
        raise UsageError("lint.devices: a configuration cannot name the cluster", place=str(path), hint=hint)
    return tuple(text if text == "local" else str(path.parent / text) for text in sources)


def _table(value: Any, name: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table, not {value!r}", place=str(path))
    return value


def _known(table: Mapping[str, Any], known: Iterable[str], prefix: str, path: Path) -> None:
    for key in table:
        if key not in known:
            everywhere = [*(f"{prefix}{name}" for name in known), *TOP, *(f"lint.{name}" for name in LINT)]
            elsewhere = (name for name in everywhere if name.endswith(f".{key}"))
            near = nearest(f"{prefix}{key}", everywhere) or next(elsewhere, None)
            hint = f"did you mean {near}?" if near else f"known settings: {', '.join(prefix + name for name in known)}"
            raise UsageError(f"unknown setting {prefix}{key}", place=str(path), hint=hint)


def _text(table: Mapping[str, Any], key: str, prefix: str, path: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{prefix}{key} must be a string, not {value!r}", place=str(path), hint="put it in quotes")
    return value


def _texts(table: Mapping[str, Any], key: str, prefix: str, path: Path) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{prefix}{key} must be a list of strings, not {value!r}", place=str(path))
    return tuple(value)


def baseline(path: Path) -> dict[str, int]:
    """The number of occurrences of each fingerprint in an earlier report of ``dractl lint -o json``."""
    try:
        data = json.loads(_bytes(path))
        findings = data["findings"]
        if data["schema"] != "dractl/lint/v1":
            raise ValueError
        prints = [str(finding["fingerprint"]) for finding in findings]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "make one with: dractl lint -o json PATH > baseline.json"
        raise UsageError("not a report of dractl lint -o json", place=str(path), hint=hint) from error
    counts: dict[str, int] = {}
    for text in prints:
        counts[text] = counts.get(text, 0) + 1
    return counts
