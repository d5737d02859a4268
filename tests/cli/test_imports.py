"""What short runs import: starting has to stay fast."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cel_library import why_not

ROOT = Path(__file__).resolve().parent.parent.parent


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("make_imports", ROOT / "tools" / "make_imports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = tool()
LISTED: dict[str, list[str]] = json.loads(MAKE.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MAKE.RUNS)
def test_a_run_imports_what_is_listed(path: str) -> None:
    if why_not() is not None and "google" in LISTED[path]:
        pytest.skip("no CEL library for this platform")
    more = set(MAKE.imported(MAKE.RUNS[path])) - set(LISTED[path])
    assert not more, (
        f"`{' '.join(MAKE.RUNS[path])}` now imports {', '.join(sorted(more))} too, which makes every start slower. "
        "Import it where it is used; if this run cannot do without it, run python tools/make_imports.py"
    )


def test_nobody_needs_the_heavy_ones_to_start() -> None:
    never = {"typer", "rich", "jsonschema", "asyncio", "difflib", "inspect", "dataclasses"}
    for path in ("--version", "lint, no selector", "lint, a selector", "explain, a small dump"):
        assert not never & set(LISTED[path]), path
    assert not {"yaml", "google", "cel_expr_python"} & set(LISTED["lint, no selector"])
    assert [name for name in LISTED["--version"] if name != "dractl"] == [
        "dractl.cli",
        "dractl.cli.main",
        "dractl.errors",
        "dractl.interrupts",
    ]
