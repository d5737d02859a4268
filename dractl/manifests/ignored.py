"""What git ignores below a folder, and folders of vendored packages (gitignore(5))."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pathspec import GitIgnoreSpec

_LONGEST = 4_096  # PATH_MAX of limits.h; of twice as many ``?`` re2 makes no set
_MOST, _SIZE = (
    5_000,
    2**17,
)  # patterns of one file and their characters: compiling them takes a second or two


class _Patterns(Struct, frozen=True):
    """The patterns of one file, for what is below its folder; ``ends``: in which of these the name of a file that they
    speak of ends."""

    folder: str
    spec: GitIgnoreSpec
    ends: tuple[str, ...]


class Ignored:
    """Answers for the files and folders below ``top``, whose parents are asked first. Outside of a repository only
    vendored packages are ignored; so they are if ``top`` itself is ignored: whoever names it means it."""

    def __init__(self, top: str) -> None:
        self._specs: dict[str, tuple[_Patterns, ...]] = {}
        here = os.path.abspath(top)
        self._repository = _repository(here)
        if self._repository is None or self._matches(here, "/"):
            self._repository = None

    def folder(self, path: str) -> bool:
        """True if a folder is ignored."""
        return _is_vendored(path) or (
            self._repository is not None and self._matches(os.path.abspath(path), "/")
        )

    def files(self, folder: str) -> Callable[[str], bool] | None:
        """What tells of a file of a folder whether it is ignored; None if no pattern is about files."""
        if self._repository is None:
            return None
        ends = tuple(end for found in self._of(os.path.abspath(folder)) for end in found.ends)
        return (
            (lambda path: path.endswith(ends) and self._matches(os.path.abspath(path), ""))
            if ends
            else None
        )

    def _matches(self, path: str, end: str) -> bool:
        """The last pattern that matches decides; those of a deeper folder come later."""
        for found in reversed(self._of(os.path.dirname(path))):
            inside = os.path.relpath(path, found.folder).replace(os.sep, "/") + end
            include = found.spec.check_file(inside).include
            if include is not None:
                return include
        return False

    def _of(self, folder: str) -> tuple[_Patterns, ...]:
        """The patterns for what is in a folder, those of the repository first."""
        if folder not in self._specs:
            above: tuple[_Patterns, ...] = ()
            files = [".gitignore"]
            if folder == self._repository:
                files.insert(0, os.path.join(".git", "info", "exclude"))
            elif len(folder) > len(self._repository or "") and os.path.dirname(folder) != folder:
                above = self._of(os.path.dirname(folder))
            found = (
                each for name in files for each in _patterns(os.path.join(folder, name), folder)
            )
            self._specs[folder] = (*above, *found)
        return self._specs[folder]


def _is_vendored(path: str) -> bool:
    """True for the packages of npm, and for those of Go, which lists them (cmd/go/internal/modcmd/vendor.go)."""
    name = os.path.basename(path)
    return name == "node_modules" or (
        name == "vendor" and os.path.exists(os.path.join(path, "modules.txt"))
    )


def _repository(folder: str) -> str | None:
    here = Path(folder)
    return next((str(above) for above in (here, *here.parents) if (above / ".git").exists()), None)


def _patterns(path: str, folder: str) -> Iterator[_Patterns]:
    if not os.path.isfile(path):
        return  # a pipe, of which reading would wait
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_SIZE + 1)
    except OSError:
        return
    lines = tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    for spec, ends in _compiled(_bounded(lines if len(text) <= _SIZE else (text,), path)):
        yield _Patterns(folder, spec, ends)


@lru_cache(1_000)  # a run walks a repository more than once
def _compiled(patterns: tuple[str, ...]) -> tuple[tuple[GitIgnoreSpec, tuple[str, ...]], ...]:
    """The patterns of a file, and in which of these the name of a file that they speak of ends."""
    from pathspec import (
        GitIgnoreSpec,
    )  # imports every backend, 30 modules, and many folders have no patterns

    return tuple(
        (
            GitIgnoreSpec.from_lines(part),
            tuple(_end(pattern) for pattern in part if not pattern.endswith("/")),
        )
        for part in _parts(patterns)
    )


def _bounded(patterns: tuple[str, ...], place: str) -> tuple[str, ...]:
    """The patterns of ``place``. Raises UsageError for too many."""
    if len(patterns) > _MOST or sum(map(len, patterns)) > _SIZE:
        hint = "name folders instead of files; --no-gitignore reads no .gitignore"
        raise UsageError(
            f"more than {_MOST:,} patterns, or {_SIZE:,} characters", place=place, hint=hint
        )
    return patterns


def _parts(patterns: Sequence[str]) -> Iterator[list[str]]:
    """As many patterns at a time as re2 certainly compiles; one that is longer than any path matches none."""
    part: list[str] = []
    size = 0
    for pattern in patterns:
        if part and size + len(pattern) > _LONGEST:
            yield part
            part, size = [], 0
        if len(pattern) <= _LONGEST:
            part.append(pattern)
            size += len(pattern)
    if part:
        yield part


def excluding(patterns: Sequence[str]) -> Callable[[str], bool]:
    """What tells whether patterns exclude a path: the last that matches decides. Raises UsageError for too many."""
    specs = [spec for spec, _ in _compiled(_bounded(tuple(patterns), "exclude"))][::-1]
    return lambda path: next(
        (found for each in specs if (found := each.check_file(path).include) is not None), False
    )


def _end(pattern: str) -> str:
    """The end of the names that a pattern matches, as far as it is literal."""
    return "" if "\\" in pattern else re.split(r"[*?\]/!]", pattern.rstrip())[-1]
