"""Reports of earlier runs: the same as new ones, and never in the way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dractl.lint import Report, Selection, cache, many, store
from dractl.lint.cache import Cache
from dractl.lint.findings import Terms
from dractl.manifests.files import list_files
from dractl.model import Target

if TYPE_CHECKING:
    from pathlib import Path

TARGET = Target.of()
PLAIN = Terms(TARGET)
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %s}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu, cuont: 1, selectors: [{cel: {expression: '%s'}}]}}]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    top.mkdir()
    (top / "one.yaml").write_text(CLAIM % ("one", "device.driver == 1"))
    (top / "two.yaml").write_text(
        (CLAIM % ("two", "true")).replace("cuont: 1, ", "") + "---\n" + CLAIM % ("two", "x")
    )
    (top / "four.yaml").write_text(CLAIM % ("four", "true"))
    (top / "template.yaml").write_text("{{ if x }}\n" + CLAIM % ("three", "true"))
    return top


@pytest.fixture
def kept(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache"))


def report(tree: Path, kept: Cache | None, question: Terms = PLAIN) -> Report:
    return many.lint_listed(list(list_files([str(tree)], ())), question, named=True, cache=kept)


def reports(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / f"lint-{cache._FORMAT}").glob("[0-9a-f]*"))


@pytest.fixture
def unlinted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """After a call, nothing can be linted any more."""

    def forbid() -> None:
        def fail(*_: object) -> None:
            raise AssertionError("linted again")

        monkeypatch.setattr(many, "judge", fail)

    return forbid


def test_a_cache_is_empty_until_its_first_report(tree: Path, kept: Cache) -> None:
    assert kept.empty
    report(tree, kept)
    assert not kept.empty


def test_the_second_report_is_the_first_and_nothing_is_linted(
    tree: Path, kept: Cache, unlinted: Any
) -> None:
    fresh = report(tree, None)
    assert {finding.code for finding in fresh.findings} >= {"DRA003", "DRA113"}
    assert any(finding.fix for finding in fresh.findings)
    assert fresh.skipped
    assert report(tree, kept) == fresh
    unlinted()
    again = report(tree, kept)
    assert again == fresh
    assert again.to_json() == fresh.to_json()


@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: (tree / "one.yaml").write_text(CLAIM % ("one", "device.driver == 2")),
        lambda tree: (tree / "one.yaml").rename(tree / "other.yaml"),
        lambda tree: (tree / "one.yaml").unlink(),
        lambda tree: (tree / "new.yaml").write_text(CLAIM % ("new", "true")),
        lambda tree: (tree / "unrelated.yaml").write_text("kind: ConfigMap\n"),
        lambda tree: (tree / "kustomization.yaml").write_text("patches: [{path: one.yaml}]\n"),
        lambda tree: (tree.parent / "Kustomization").write_text(
            "patches: [{path: tree/two.yaml}]\n"
        ),
        lambda tree: (tree / "ns.yaml").write_text(
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
        ),
    ],
)
def test_an_edit_is_seen(tree: Path, kept: Cache, edit: Any) -> None:
    before = report(tree, kept)
    edit(tree)
    after = report(tree, kept)
    assert after == report(tree, None)
    assert after != before or after.files != before.files


@pytest.mark.parametrize(
    "question",
    [
        Terms(Target.of("1.34")),
        Terms(Target.of("1.37", {"DRAConsumableCapacity": False})),
        Terms(TARGET, Selection(codes=frozenset({"DRA113"}))),
        Terms(TARGET, Selection(severities={"DRA003": "info"})),
        Terms(TARGET, Selection(per_file=(("one.yaml", frozenset({"DRA003"})),))),
        Terms(TARGET, assumed=True),
    ],
)
def test_another_question_has_another_answer(tree: Path, kept: Cache, question: Terms) -> None:
    report(tree, kept)
    assert report(tree, kept, question) == report(tree, None, question)


def test_another_state_of_the_code_has_another_answer(
    tree: Path, tmp_path: Path, kept: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(tree, kept)
    monkeypatch.setattr(cache, "_code", lambda: "edited")
    report(tree, kept)
    assert len(reports(tmp_path)) == 2


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


def _rewritten(path: Path) -> None:
    """A report of another shape with a right checksum."""
    body = json.dumps([[["DRA001"]], "1.37", False, 1, 1, 0, []]).encode()
    path.write_bytes(store.digest_of_parts([body]).encode() + b"\n" + body)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        _flip,
        _rewritten,
        lambda path: path.chmod(0o666),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.rename(path.parent / "moved"), path.symlink_to(path.parent / "moved")),
        lambda path: path.parent.chmod(0o777),
    ],
)
def test_damaged_or_foreign_cache_entry_is_ignored(
    tree: Path, tmp_path: Path, kept: Cache, damage: Any
) -> None:
    fresh = report(tree, kept)
    (path,) = reports(tmp_path)
    damage(path)
    assert kept.get(path.name) is None
    assert report(tree, kept) == fresh


def test_linked_cache_folder_is_not_used(tree: Path, tmp_path: Path, kept: Cache) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    report(tree, kept)
    assert not any(path.is_file() for path in (tmp_path / "elsewhere").rglob("*"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_read_only_disk_is_no_cause_to_fail(
    tree: Path, tmp_path: Path, kept: Cache, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", refuse)
    assert report(tree, kept) == report(tree, None)
    assert list((tmp_path / "cache").rglob("*")) == [
        tmp_path / "cache" / f"lint-{cache._FORMAT}"
    ]  # no temporary file is left
    monkeypatch.setattr(os, "mkdir", refuse)
    assert report(tree, Cache(str(tmp_path / "other"))) == report(tree, None)


def test_reports_of_the_longest_ago_are_deleted(
    tree: Path, tmp_path: Path, kept: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_FILES", 2)
    made = report(tree, None)
    for number in range(3):
        kept.put(f"{number}", made)
        os.utime(tmp_path / "cache" / "lint-1" / f"{number}", (number, number))
    assert kept.get("1") == made  # and is used now
    kept.put("3", made)
    assert [kept.get(str(number)) is not None for number in range(4)] == [False, True, False, True]
    (tmp_path / "cache" / "lint-0").mkdir()
    kept.put("4", made)
    assert not (tmp_path / "cache" / "lint-0").exists()
    assert (
        (tmp_path / "cache" / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    )


def test_concurrent_runs_share_the_cache_and_options_disable_it(tree: Path, tmp_path: Path) -> None:
    for number in range(150):
        (tree / f"pad-{number}.yaml").write_text(CLAIM % (f"pad-{number}", "true") + "#" * 8000)
    folder = tmp_path / "home"

    def start(*options: str, **variables: str) -> subprocess.Popen[bytes]:
        # HOME for macOS, LOCALAPPDATA for Windows
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder),
            "HOME": str(folder),
            "LOCALAPPDATA": str(folder),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "dractl", "lint", "-o", "json", *options, str(tree)],
            stdout=subprocess.PIPE,
            env=environment | variables,
        )

    alone = start("--isolated").communicate()[0]
    assert (
        start("--no-cache").communicate()[0] == start(DRACTL_NO_CACHE="1").communicate()[0] == alone
    )
    assert not folder.exists()
    both = [start(), start()]
    assert [process.communicate()[0] for process in both] == [alone, alone]
    assert len([path for path in folder.rglob("*") if path.is_file() and len(path.name) == 64]) == 1
    assert start().communicate()[0] == alone
