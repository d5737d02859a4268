"""Files that git ignores are no input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dractl.errors import UsageError
from dractl.manifests.files import Entry, list_files

if TYPE_CHECKING:
    from pathlib import Path

FILES = (
    "a.yaml",
    "secret.yaml",
    "build/b.yaml",
    "deep/keep.yaml",
    "deep/drop.yaml",
    "node_modules/p/c.yaml",
    "vendor/mine.yaml",
    "go/vendor/theirs.yaml",
)


def tree(folder: Path) -> None:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a: b\n", encoding="utf-8")
    (folder / "go" / "vendor" / "modules.txt").write_text("", encoding="utf-8")
    (folder / ".gitignore").write_text(
        "/build/\nsecret.yaml\n# a comment\n*drop*\n", encoding="utf-8"
    )
    (folder / "deep" / ".gitignore").write_text("keep.yaml\n!drop.yaml\n", encoding="utf-8")


def list_below(folder: Path, *, gitignore: bool = True) -> set[str]:
    found = [
        item
        for item in list_files([str(folder)], (), gitignore=gitignore)
        if isinstance(item, Entry)
    ]
    return {os.path.relpath(item.path, folder).replace(os.sep, "/") for item in found}


def test_patterns_of_a_repository_and_of_its_folders(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / ".git").mkdir()
    assert list_below(tmp_path) == {"a.yaml", "deep/drop.yaml", "vendor/mine.yaml"}
    assert list_below(tmp_path, gitignore=False) == set(FILES)


def test_patterns_above_the_folder_count_unless_it_is_ignored_itself(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / ".git").mkdir()
    assert list_below(tmp_path / "deep") == {"drop.yaml"}
    assert list_below(tmp_path / "build") == {"b.yaml"}


def test_without_a_repository_only_packages_are_passed_over(tmp_path: Path) -> None:
    tree(tmp_path)
    assert list_below(tmp_path) == set(FILES) - {"node_modules/p/c.yaml", "go/vendor/theirs.yaml"}


def test_more_patterns_than_are_compiled_at_once(tmp_path: Path) -> None:
    """re2 compiles 8 MiB at a time, which a thousand long names fill, or 8,000 times any character; the last pattern
    that matches decides."""
    (tmp_path / ".git").mkdir()
    names = [f"generated-by-a-program-with-a-long-name-{number}.yaml" for number in range(2_000)]
    for name in (names[0], names[1], names[-1], "kept.yaml"):
        (tmp_path / name).write_text("a: b\n")
    lines = [
        *names,
        "x" * 10_000,
        *(f"{number}{'?' * 4_000}" for number in range(2)),
        f"!{names[1]}",
    ]
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    assert list_below(tmp_path) == {names[1], "kept.yaml"}
    found = [item for item in list_files([str(tmp_path)], lines) if isinstance(item, Entry)]
    assert {item.path.rpartition("/")[2] for item in found} == {names[1], "kept.yaml"}


def test_pattern_file_as_a_pipe_is_not_opened(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / ".git" / "info").mkdir(parents=True)
    os.mkfifo(tmp_path / ".git" / "info" / "exclude")
    (tmp_path / "deep" / ".gitignore").unlink()
    os.mkfifo(tmp_path / "deep" / ".gitignore")
    assert list_below(tmp_path) == {"a.yaml", "deep/keep.yaml", "vendor/mine.yaml"}


@pytest.mark.parametrize("lines", [["a/"] * 5_001, ["a" * 1_000] * 132, ["#" + "x" * 300_000]])
def test_patterns_without_end_are_refused_with_their_file(tmp_path: Path, lines: list[str]) -> None:
    tree(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / ".gitignore").write_text("\n".join(lines))
    with pytest.raises(
        UsageError, match=r"deep/\.gitignore: more than 5,000 patterns, or 131,072 characters"
    ):
        list_below(tmp_path)


@pytest.mark.parametrize("lines", [["a/"] * 5_000, ["#", ""] * 5_000, ["#" * 131_072]])
def test_as_many_patterns_as_are_taken(tmp_path: Path, lines: list[str]) -> None:
    """Comments and empty lines are none."""
    tree(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / ".gitignore").write_text("\n".join(lines))
    assert "deep/keep.yaml" in list_below(tmp_path)


def test_as_many_characters_as_are_excluded(tmp_path: Path) -> None:
    tree(tmp_path)
    patterns = ["a.yaml", *["b" * 1_024] * 127, "c" * 1_018]
    found = [item.path for item in list_files([str(tmp_path)], patterns) if isinstance(item, Entry)]
    assert found
    assert str(tmp_path / "a.yaml") not in found
    with pytest.raises(
        UsageError, match="exclude: more than 5,000 patterns, or 131,072 characters"
    ):
        list(list_files([str(tmp_path)], [*patterns, "d"]))
