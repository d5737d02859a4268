"""What git ignores below a folder, and folders of vendored packages (gitignore(5))."""

from __future__ import annotations

import os
from pathlib import Path

from pathspec import GitIgnoreSpec


class Ignored:
    """Answers for the files and folders below ``top``, whose parents are asked first. Outside of a repository only
    vendored packages are ignored; so they are if ``top`` itself is ignored: whoever names it means it."""

    def __init__(self, top: str) -> None:
        self._specs: dict[str, tuple[tuple[str, GitIgnoreSpec], ...]] = {}
        here = os.path.abspath(top)
        self._repository = _repository(here)
        if self._repository is None or self._matches(here, "/"):
            self._repository = None

    def folder(self, path: str) -> bool:
        """True if a folder is ignored."""
        return _is_vendored(path) or (self._repository is not None and self._matches(os.path.abspath(path), "/"))

    def file(self, path: str) -> bool:
        """True if a file is ignored."""
        return self._repository is not None and self._matches(os.path.abspath(path), "")

    def _matches(self, path: str, end: str) -> bool:
        """The last pattern that matches decides; those of a deeper folder come later."""
        for folder, spec in reversed(self._of(os.path.dirname(path))):
            include = spec.check_file(os.path.relpath(path, folder).replace(os.sep, "/") + end).include
            if include is not None:
                return include
        return False

    def _of(self, folder: str) -> tuple[tuple[str, GitIgnoreSpec], ...]:
        """The patterns for what is in a folder, those of the repository first."""
        if folder not in self._specs:
            above: tuple[tuple[str, GitIgnoreSpec], ...] = ()
            files = [".gitignore"]
            if folder == self._repository:
                files.insert(0, os.path.join(".git", "info", "exclude"))
            elif len(folder) > len(self._repository or "") and os.path.dirname(folder) != folder:
                above = self._of(os.path.dirname(folder))
            found = tuple((folder, spec) for name in files if (spec := _spec(Path(folder, name))) is not None)
            self._specs[folder] = (*above, *found)
        return self._specs[folder]


def _is_vendored(path: str) -> bool:
    """True for the packages of npm, and for those of Go, which lists them (cmd/go/internal/modcmd/vendor.go)."""
    name = os.path.basename(path)
    return name == "node_modules" or (name == "vendor" and os.path.exists(os.path.join(path, "modules.txt")))


def _repository(folder: str) -> str | None:
    here = Path(folder)
    return next((str(above) for above in (here, *here.parents) if (above / ".git").exists()), None)


def _spec(file: Path) -> GitIgnoreSpec | None:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    return GitIgnoreSpec.from_lines(patterns) if patterns else None
