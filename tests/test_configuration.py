"""docs/configuration.md names every existing setting and variable, and no other."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema

from dractl.lint.config import read

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "schemas" / "dractl" / "config.json").read_text(encoding="utf-8"))


def settings(schema: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return every setting by its dotted name."""
    found: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        found |= settings(part, f"{name}.") if "properties" in part else {prefix + name: part}
    return found


def named(value: dict[str, Any], tables: set[str], prefix: str = "") -> set[str]:
    """Return the dotted names of the settings in a file; each of ``tables`` counts as one
    setting.
    """
    found = set()
    for name, part in value.items():
        whole = prefix + name
        found |= (
            named(part, tables, f"{whole}.")
            if isinstance(part, dict) and whole not in tables
            else {whole}
        )
    return found


def test_every_setting_has_its_row() -> None:
    (table,) = re.findall(r"^\| setting .*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert re.findall(r"^\| `([^`]+)`", table, re.MULTILINE) == list(settings(SCHEMA))
    for severity in SCHEMA["properties"]["lint"]["properties"]["fail-on"]["enum"]:
        assert f'`"{severity}"`' in table


def test_the_example_says_every_setting_and_is_taken(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    value = tomllib.loads(text)
    jsonschema.validate(value, SCHEMA)
    assert named(value, set(settings(SCHEMA))) == set(settings(SCHEMA))
    path = tmp_path / "dractl.toml"
    path.write_text(text, encoding="utf-8")
    config = read(path)
    assert (config.kubernetes_version, config.fail_on, config.per_file_ignores) == (
        "1.36",
        "warning",
        {"tests/**": ("DRA7",)},
    )


def test_every_variable_has_its_row() -> None:
    places = [*(ROOT / "dractl" / "cli").rglob("*.py"), ROOT / "dractl" / "facts" / "words.py"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in places)
    without_prefix = re.findall(
        r"""(?:variables|environment)\.get\("(?:DRACTL_)?([A-Z_]+)\"""", code
    )
    used = {f"DRACTL_{name}" for name in without_prefix} | set(
        re.findall(r"\bDRACTL_[A-Z]+[A-Z_]*\b", code)
    )
    assert set(re.findall(r"\bDRACTL_[A-Z_]+\b", PAGE)) == used
