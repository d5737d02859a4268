"""Files beside a named file are read: the nearest first, and no more than a budget."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from dractl.lint import nearby, repository
from dractl.lint.nearby import Budget, sort_by_distance

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, a repository with a claim, whose class stands in a file far away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))
    subprocess.run(["git", "init", "-q"], check=True)
    for name, text in (("apps/a/claim.yaml", CLAIM), ("far/away/class.yaml", CLASS)):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text(text)
    return tmp_path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of files that are parsed beside the input."""
    names: list[str] = []
    load = repository.load_readable

    def record(paths: list[str], **options: Any) -> Any:
        names.extend(str(Path(path).absolute().relative_to(Path.cwd())) for path in paths)
        return load(paths, **options)

    monkeypatch.setattr(repository, "load_readable", record)
    return names


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main(["lint", *words, "-o", "json"])
    return dict(json.loads(capsys.readouterr().out))


def test_large_files_beside_a_named_one_are_not_parsed_and_the_report_names_them(
    tree: Path, parsed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "far" / "away" / "class.yaml").write_text(CLASS.replace("gpu.", "nic."))
    (tree / "other.yaml").write_text(CLASS.replace("gpu.", "a.") + "#" * nearby.MAX_PARSED_BYTES)
    (tree / "dump.yaml").write_text(CLASS + "#" * nearby.MAX_PARSED_BYTES)
    first = report(capsys, "apps/a/claim.yaml", "--no-cache")
    assert "dump.yaml" not in parsed
    (note,) = first["notes"]
    assert note == (
        "not read, as the files beside the named ones are too many or too large: 1 file that may"
        " have DRA objects, dump.yaml; name those that lint should read, too"
    )
    assert "notes" not in report(capsys, ".", "--no-cache")


def test_the_nearest_files_are_parsed_first(
    tree: Path,
    parsed: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nearby, "MAX_PARSED_BYTES", 2 * len(CLASS) + 10)
    for name in ("a/near.yaml", "z/other/far.yaml", "apps/b/beside.yaml", "apps/a/same.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(CLASS.replace("gpu.", "gpu." if "/near" in name else "nic."))
    note = report(capsys, "apps/a/claim.yaml", "--no-cache")["notes"][0]
    assert {"apps/a/same.yaml", "apps/b/beside.yaml"} <= set(parsed)
    assert not {"a/near.yaml", "z/other/far.yaml", "far/away/class.yaml"} & set(parsed)
    assert "2 files that may have DRA objects, a/near.yaml, far/away/class.yaml;" in note


def test_files_without_dra_cost_nothing_but_a_search(
    tree: Path, parsed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "large.yaml").write_text("a: 1\n" * nearby.MAX_PARSED_BYTES)
    assert "notes" not in report(capsys, "apps/a/claim.yaml", "--no-cache")
    assert "large.yaml" not in parsed


def test_files_beyond_the_budget_are_read_in_the_next_run(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget of a run is spent on files that no earlier run has read."""
    monkeypatch.setattr(nearby, "MAX_PARSED_BYTES", len(CLAIM) + 10)
    monkeypatch.setattr(repository, "_SETTLED_SECONDS", -60)
    for number in range(3):
        (tree / f"{number}.yaml").write_text(CLASS)
    counts = [
        len(report(capsys, "apps/a/claim.yaml").get("notes", [""])[0].split(",")) for _ in range(4)
    ]
    assert counts == sorted(counts, reverse=True)


def test_a_budget_ends_with_its_time() -> None:
    now = 0.0
    budget = Budget(lambda: now)
    assert budget.parse(10)
    now = nearby.MAX_SECONDS + 0.01
    assert not budget.parse(10)
    assert not budget.scan(10)


def test_distance_counts_folders_between_files() -> None:
    paths = ["/r/x.yaml", "/r/a/b/x.yaml", "/r/a/c/x.yaml", "/r/a/b/d/x.yaml", "/q/x.yaml"]
    assert sort_by_distance(paths, ["/r/a/b/f.yaml"]) == [
        "/r/a/b/x.yaml",
        "/r/a/b/d/x.yaml",
        "/r/x.yaml",
        "/r/a/c/x.yaml",
        "/q/x.yaml",
    ]
    assert sort_by_distance(paths, ["/r/a/b/f.yaml", "/q/f.yaml"])[-1] == "/r/a/c/x.yaml"


def test_the_same_fault_in_a_file_beside_it_does_not_hide_it(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slices = (
        "apiVersion: resource.k8s.io/v1\n"
        "kind: ResourceSlice\n"
        "metadata: {name: n1-gpu}\n"
        "spec:\n"
        "  driver: gpu.acme.example\n"
        "  nodeName: n1\n"
        "  pool: {name: n1, generation: %d, resourceSliceCount: 1}\n"
        "  devices: [{name: gpu-0, attributes: {numa: {int: 0}}}]\n"
    )
    for name, generation in (("after", 2), ("before", 1)):
        (tree / f"{name}.yaml").write_text(slices % generation)
    for name in ("after.yaml", "before.yaml"):
        found = [(each["code"], each["file"]) for each in report(capsys, name)["findings"]]
        assert found == [("DRA363", name)]
    found = [each["code"] for each in report(capsys, "after.yaml", "before.yaml")["findings"]]
    assert found == ["DRA363"]
