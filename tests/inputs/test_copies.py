"""Copies of one object in several files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cluster.sources import read_files
from dractl.errors import UsageError

CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "ml"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
}


def write(path: Path, value: dict[str, Any] = CLAIM, **metadata: str) -> str:
    """Write an object with further metadata, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**value, "metadata": {**value["metadata"], **metadata}}))
    return str(path)


def files_of(*paths: str) -> list[str]:
    return [Path(document.file).name for document in read_files(paths).documents]


def test_equal_copies_are_one_object(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    write(tmp_path / "b.json")
    assert len(files_of(str(tmp_path))) == 1


def test_differing_copies_of_a_folder_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    write(tmp_path / "b.json", labels="x")
    with pytest.raises(UsageError, match=r"ResourceClaim ml/c differs between .*a\.json and .*b"):
        read_files([str(tmp_path)])


def test_named_file_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json")
    write(tmp_path / "b.json", labels="x")
    assert files_of(first, str(tmp_path)) == ["a.json"]


def test_several_named_files_do_not_win_over_each_other(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.json"), write(tmp_path / "b.json", labels="x")
    with pytest.raises(UsageError):
        read_files([first, second])


def test_the_newer_state_of_a_stored_object_counts(tmp_path: Path) -> None:
    """A must-gather has some objects twice, read a moment apart."""
    write(tmp_path / "a.json", uid="1", resourceVersion="12")
    write(tmp_path / "b.json", uid="1", resourceVersion="9")
    assert files_of(str(tmp_path)) == ["a.json"]


def test_dumps_of_two_clusters_are_not_one(tmp_path: Path) -> None:
    write(tmp_path / "east/a.json", uid="1", resourceVersion="12")
    write(tmp_path / "west/a.json", uid="2", resourceVersion="9")
    with pytest.raises(UsageError, match=r"east.* and .*west"):
        read_files([str(tmp_path)])


def test_manifest_beside_a_dump_does_not_replace_the_stored_object(tmp_path: Path) -> None:
    dump = write(tmp_path / "dump.json", uid="1", resourceVersion="12")
    manifest = write(tmp_path / "claim.json", labels="x")
    assert files_of(str(tmp_path)) == ["dump.json"]
    assert files_of(dump, manifest) == ["claim.json"]
