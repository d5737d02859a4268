"""The changelog: short, and fed by one file a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools import changelog

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """# Changelog

## [Unreleased]

{pointer}

### Added

- An option.

## [0.1.0] - 2026-11-21

### Added

- The first command.
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with two fragments."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How to write one.\n")
    (tmp_path / "changes" / "fit-shapes.added.md").write_text("`fit` takes\nshapes.\n")
    (tmp_path / "changes" / "old-crash.fixed.md").write_text("`lint` no longer crashes.\n")
    (tmp_path / "CHANGELOG.md").write_text(TEXT.format(pointer=changelog.POINTER))
    monkeypatch.setattr(changelog, "CHANGES", tmp_path / "changes")
    monkeypatch.setattr(changelog, "CHANGELOG", tmp_path / "CHANGELOG.md")
    return tmp_path


def test_a_release_collects_the_fragments_and_deletes_them(repository: Path) -> None:
    changelog.release("0.2.0")
    text = (repository / "CHANGELOG.md").read_text()
    unreleased, new, old = (
        text.partition("## [0.2.0] - ")[0],
        text.split("## [")[2],
        text.split("## [")[3],
    )
    assert changelog.POINTER in unreleased
    assert "An option" not in unreleased
    assert "### Added\n\n- `fit` takes shapes.\n- An option.\n" in new
    assert "### Fixed\n\n- `lint` no longer crashes.\n" in new
    assert "The first command" in old
    assert [path.name for path in (repository / "changes").iterdir()] == ["README.md"]


def test_a_fragment_without_a_kind_is_refused(repository: Path) -> None:
    (repository / "changes" / "something.md").write_text("x")
    with pytest.raises(ValueError, match="upgrade, added, changed, fixed"):
        changelog.fragments()


def test_the_unreleased_part_fits_sixty_lines_and_every_fragment_has_a_kind() -> None:
    text = changelog.CHANGELOG.read_text(encoding="utf-8")
    section = text.partition(changelog.UNRELEASED)[2].partition("\n## [")[0]
    assert len(section.splitlines()) <= 60
    assert changelog.POINTER in section
    changelog.fragments()
