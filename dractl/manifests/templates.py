"""Files that are templates of manifests, not manifests: Helm charts and whatever else needs rendering first."""

from __future__ import annotations

import os
import re

# Compiled when first used: most files hold no `{{`.
_BLOCK_HEADER = r"(?:^|[\s:\-])[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$"
_STRING_OR_COMMENT = r"""(?<![^\s:,\[{(=-])"(?:\\.|[^"\\])*"|(?<![^\s:,\[{(=-])'(?:''|[^'])*'|(?:(?<=\s)|^)\#.*"""


def chart_of(path: str) -> str | None:
    """The chart that a file is a template of: the folder that holds ``Chart.yaml`` beside the file's ``templates/``."""
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


def holds_template(text: str) -> bool:
    """Whether ``{{`` stands outside comments, quoted strings and block scalars."""
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


def rendering_hint(chart: str | None) -> str:
    """How to have a template linted."""
    if chart is None:
        return "render it first and lint the output; a Helm chart: helm template CHART | dractl lint -"
    return f"helm template {chart} | dractl lint -"
