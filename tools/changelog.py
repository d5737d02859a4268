"""Collect the fragments of changes/ into CHANGELOG.md.

``python tools/changelog.py`` prints the fragments as they would stand there; ``python
tools/changelog.py release VERSION`` writes them there, below the version and today's date, and
deletes their files.
"""

from __future__ import annotations

import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGES = ROOT / "changes"
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "## [Unreleased]"
POINTER = (
    "Changes since this list was written are files in [changes/](changes);"
    " a release collects them here."
)
HEADINGS = {
    "upgrade": "### Before you upgrade",
    "added": "### Added",
    "changed": "### Changed",
    "fixed": "### Fixed",
}


def fragments() -> dict[str, list[Path]]:
    """Return the fragments of each kind, by name. Raises ValueError for a file name without a
    kind.
    """
    kinds: dict[str, list[Path]] = {kind: [] for kind in HEADINGS}
    for path in sorted(CHANGES.glob("*.md")):
        if path.name == "README.md":
            continue
        parts = path.name.split(".")
        kind = parts[-2] if len(parts) > 2 else ""
        if kind not in kinds:
            raise ValueError(
                f"{path.name}: expected NAME.KIND.md; KIND is one of {', '.join(kinds)}"
            )
        kinds[kind].append(path)
    return kinds


def bullet(text: str) -> str:
    """Return a text as an item of a list, wrapped at 120 columns."""
    return textwrap.fill(
        " ".join(text.split()),
        120,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def merge(section: str) -> str:
    """Add the fragments to the lists of a section of the changelog."""
    for kind, paths in fragments().items():
        items = "\n".join(bullet(path.read_text(encoding="utf-8")) for path in paths)
        heading = HEADINGS[kind]
        if not items:
            continue
        if heading in section:
            section = section.replace(f"{heading}\n\n", f"{heading}\n\n{items}\n", 1)
        else:
            section = f"{section.rstrip()}\n\n{heading}\n\n{items}\n\n"
    return section


def release(version: str) -> None:
    """Write the unreleased changes below a version, and delete the fragments."""
    text = CHANGELOG.read_text(encoding="utf-8")
    head, _, rest_of_file = text.partition(UNRELEASED)
    section, separator, older = rest_of_file.partition("\n## [")
    date = datetime.now(UTC).date().isoformat()
    section = merge(section.replace(f"{POINTER}\n\n", ""))
    CHANGELOG.write_text(
        f"{head}{UNRELEASED}\n\n{POINTER}\n\n## [{version}] - {date}{section}{separator}{older}",
        encoding="utf-8",
    )
    for paths in fragments().values():
        for path in paths:
            path.unlink()


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print(merge(""))
        case ["release", version]:
            release(version)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
