"""Mistakes that people make, each in a manifest of its own: where they are said, and what their fixes make of them.

A comment says which rules speak on a line, and that they know no fix.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl.lint import lint
from dractl.lint.fixes import apply_text_fixes
from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED
from tests.oracle import control_plane, create

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.finding import Finding

MARK = re.compile(r" +# (DRA\d+)(, no fix)?$", re.MULTILINE)
MARKED = {
    case.partition("\n")[0]: case.partition("\n")[2]
    for case in (Path(__file__).parent / "mistakes.yaml")
    .read_text(encoding="utf-8")
    .split("#### ")[1:]
}
CASES = {name: re.sub(MARK, "", text) for name, text in MARKED.items()}
EXPECTED = {
    name: {
        (number, rule, not without)
        for number, line in enumerate(text.splitlines(), 1)
        for rule, without in re.findall(MARK, line)
    }
    for name, text in MARKED.items()
}
"""The lines with findings, their rules, and whether a fix is offered."""
SERVED = ("v1", "apps/v1", "batch/v1", "resource.k8s.io/v1")


def find(folder: Path, text: str) -> tuple[Finding, ...]:
    (folder / "case.yaml").write_text(text, encoding="utf-8")
    return lint(load([str(folder)]), Target.of("1.37")).findings


def apply_fixes(folder: Path, text: str) -> str:
    """The text with all fixes, also of what they uncover."""
    for _ in range(5):
        fixes = [finding.fix for finding in find(folder, text) if finding.fix is not None]
        text, count = apply_text_fixes(text, fixes)
        if not count:
            break
    return text


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_reported_once_and_in_its_place(tmp_path: Path, name: str) -> None:
    here = {
        (item.position.line, item.code, item.fix is not None)
        for item in find(tmp_path, CASES[name])
    }
    assert here == EXPECTED[name]


@pytest.mark.parametrize(
    "name", [name for name, told in EXPECTED.items() if any(fix for _, _, fix in told)]
)
def test_a_fix_leaves_nothing_of_the_mistake(tmp_path: Path, name: str) -> None:
    text = apply_fixes(tmp_path, CASES[name])
    left = {item.code for item in find(tmp_path, text) if item.severity != "info"}
    assert left <= {rule for _, rule, fix in EXPECTED[name] if not fix}
    assert len(list(yaml.safe_load_all(text))) == len(list(yaml.safe_load_all(CASES[name])))


@pytest.mark.parametrize("quote", ["", "'", '"', "|-\n              "])
def test_a_fix_within_an_expression_keeps_the_text_yaml(tmp_path: Path, quote: str) -> None:
    expression = "device.attributes['dra.net'].ifName == 'eth0'"
    inside = expression if quote != "'" else expression.replace("'", "''")
    text = CASES["bool"].replace(
        'device.attributes["dra.net"].rdma == "true"', f"{quote}{inside}{quote[:1].strip('|')}"
    )
    (one,) = find(tmp_path, text)
    assert one.fix is not None
    after = apply_text_fixes(text, [one.fix])[0]
    (request,) = yaml.safe_load(after)["spec"]["devices"]["requests"]
    (selector,) = request["exactly"]["selectors"]
    assert selector["cel"]["expression"].endswith(f"&& {expression}")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects that every server knows, nested ones too, and the pods of other kinds."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item)
    elif isinstance(value, dict) and value.get("apiVersion") in SERVED and "kind" in value:
        named = {"name": "inside", **value.get("metadata", {})}
        named.pop("namespace", None)
        yield {**value, "metadata": named}
    elif isinstance(value, dict) and isinstance(value.get("containers"), list):
        containers = [{"name": f"c{at}", **item} for at, item in enumerate(value["containers"])]
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "made"},
            "spec": {**value, "containers": containers},
        }
    elif isinstance(value, dict):
        yield from objects(list(value.values()))


@pytest.mark.oracle
@pytest.mark.live
@pytest.mark.conformance
def test_server_accepts_fixed_manifests(whole: Path, tmp_path: Path, record_property: Any) -> None:
    """The API server of the newest release, with strict validation of fields, of these mistakes and the seeded ones."""
    seeded = {
        path.name: path.read_text()
        for path in sorted((whole / "conformance/seeded").glob("*.yaml"))
    }
    taken = 0
    (tmp_path / "one").mkdir()
    with control_plane(whole, COMPARED[-1], tmp_path) as cluster:
        for name, text in {**CASES, **seeded}.items():
            done = apply_fixes(tmp_path / "one", text)
            left = any(item.api for item in find(tmp_path / "one", done))
            answers = [create(cluster, value) for value in objects(list(yaml.safe_load_all(done)))]
            assert left or all(status == 201 for status, _, _ in answers), (name, answers)
            taken += sum(status == 201 for status, _, _ in answers)
    record_property("cases", taken)
