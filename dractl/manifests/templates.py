"""Templates of manifests: Helm charts and other files that must be rendered first."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.model.paths import at
from dractl.program import program_name

# Compiled on first use: most files contain no `{{`.
_BLOCK_HEADER = r"(?:^|[\s:\-])[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$"
_STRING_OR_COMMENT = (
    r"""(?<![^\s:,\[{(=-])"(?:\\.|[^"\\])*"|(?<![^\s:,\[{(=-])'(?:''|[^'])*'|(?:(?<=\s)|^)\#.*"""
)

RELEASE = "release"
"""The release name with which a chart is rendered."""
_INSERTED = r"\{\{ *\.((?:Values|Release|Chart)(?:\.\w+)+)( *\| *quote)? *\}\}"
_EXPONENT = 1_000_000  # helm parses numbers as float64, and Go prints larger ones with an exponent

_YTT = (
    r"(?m)^[ \t]*#@(?:(?:overlay|schema|data|yaml|library)/|["
    r" \t]+(?:load\(|if\b|for\b|def\b|end\b))"
    r"|^[^#\n]*[:\-][ \t]+#@[ \t]"
)


def chart_of(path: str) -> str | None:
    """Return the chart that a file is a template of: the folder with a ``Chart.yaml`` next to the
    file's ``templates/``; None for any other file.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if "templates" not in folder:
        return None
    while True:
        parent, name = os.path.split(folder)
        if parent == folder:
            return None
        if name == "templates" and os.path.isfile(os.path.join(parent, "Chart.yaml")):
            return os.path.relpath(parent) if not os.path.isabs(path) else parent
        folder = parent


def add_templates(paths: Sequence[str]) -> list[str]:
    """Return changed files with the templates of the charts that they change as a whole."""
    folders = (_templates_that_use(path) for path in paths if path != "-")
    return list(dict.fromkeys((*paths, *(folder for folder in folders if folder is not None))))


def _templates_that_use(path: str) -> str | None:
    """Return the folder of a chart's templates if all templates may use a file: a file of values,
    also in ``ci/``, the ``Chart.yaml``, or a template whose name begins with ``_``. None for other
    files.
    """
    folder, name = os.path.split(path)
    if name.startswith("_"):
        chart = chart_of(path)
    elif name in ("Chart.yaml", "values.yaml"):
        chart = folder
    elif os.path.basename(folder) == "ci" and name.endswith("-values.yaml"):
        chart = os.path.dirname(folder)
    else:
        return None
    if chart is None or not os.path.isfile(os.path.join(chart, "Chart.yaml")):
        return None
    templates = os.path.join(chart, "templates")
    return templates if os.path.isdir(templates) else None


def is_bare_template(path: str) -> bool:
    """Return True for a template of a chart that is not named like a manifest: helm renders every
    file below ``templates/`` whose name does not begin with ``_`` (pkg/engine/engine.go
    allTemplates, render).
    """
    return (
        path.endswith(".tpl")
        and not os.path.basename(path).startswith("_")
        and chart_of(path) is not None
    )


def is_values(path: str) -> bool:
    """Return True for the default values of a chart."""
    folder, name = os.path.split(path)
    return name == "values.yaml" and os.path.isfile(os.path.join(folder, "Chart.yaml"))


def holds_template(text: str) -> bool:
    """Return True if ``{{`` occurs outside comments, quoted strings and block scalars."""
    if "{{" not in text:
        return False
    block_indent: int | None = None
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped:
            continue
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is not None:
            if indent > block_indent:
                continue
            block_indent = None
        bare = re.sub(_STRING_OR_COMMENT, '""', line)
        if "{{" in bare:
            return True
        if re.search(_BLOCK_HEADER, bare):
            block_indent = indent
    return False


def is_ytt(text: str) -> bool:
    """Return True if a file has code of ytt in its comments: ``#@ load(...)`` on a line, or ``key:
    #@ value`` after a key (carvel-dev/ytt pkg/template/meta.go).
    """
    # Searching for one character is thirty times as fast as for two, and a dump of 36 MB has none.
    return "#" in text and "#@" in text and re.search(_YTT, text) is not None


def fill(text: str, values: Mapping[str, Any], chart: str) -> str | None:
    """Return a template as helm renders it with the values of its chart. Return None if the
    template does more than insert texts and whole numbers of these values, or the names of the
    release and the chart.
    """
    namespaces = {
        "Release": {"Name": RELEASE, "Namespace": "default"},
        "Chart": {"Name": chart},
        "Values": values,
    }

    def insert(match: re.Match[str]) -> str:
        value = at(namespaces, *match[1].split("."))
        plain = isinstance(value, str) or (type(value) is int and abs(value) < _EXPONENT)
        if isinstance(value, bool):
            value, plain = str(value).lower(), True
        if not plain or (match[2] and not isinstance(value, str)):
            return "{{"
        return json.dumps(value) if match[2] else str(value)

    manifest = re.sub(_INSERTED, insert, text)
    return None if "{{" in manifest else manifest


def list_inserted_values(line: str) -> list[tuple[str, ...]]:
    """Return the paths of the values that a line of a template inserts."""
    return [
        tuple(name.split(".")[1:])
        for name, _ in re.findall(_INSERTED, line)
        if name.startswith("Values.")
    ]


def rendering_hint(chart: str | None) -> str:
    """Return a hint on how to lint a template."""
    if chart is None:
        return (
            "render it first and lint the output; "
            f"a Helm chart: helm template CHART | {program_name()} lint -"
        )
    return f"helm template {chart} | {program_name()} lint -"
