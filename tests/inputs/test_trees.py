"""Folders that are read as a whole: how many files they may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.inputs import trees

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_has_at_most_so_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MAX_TREE_FILES", 2)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    assert set(trees.read_folder(str(tmp_path), trees.NO_OVERLAY).files) == {"a.yaml", "b.yaml"}
    (tmp_path / "c.yaml").write_text("a: 1\n")
    with pytest.raises(trees.NotRenderable, match="more than 2 files"):
        trees.read_folder(str(tmp_path), trees.NO_OVERLAY)
