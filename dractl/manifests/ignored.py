"""The files that git ignores below a folder, and folders of vendored packages (gitignore(5))."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.errors import UsageError
from dractl.manifests.content import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pathspec import GitIgnoreSpec

# PATH_MAX of limits.h. re2 cannot compile a pattern of twice this length that consists of ``?``.
_MAX_PATTERN_LENGTH = 4_096
# Limits on the patterns of one file and their characters, since compiling them takes a second or
# two
_MAX_PATTERNS, _MAX_CHARACTERS = (5_000, 2**17)


class _Patterns(Struct, frozen=True):
    """The patterns of one file, for paths below its folder."""

    folder: str
    spec: GitIgnoreSpec
    ends: tuple[str, ...]
    """The ends of the names of files that the patterns can match."""


class Ignored:
    """The ignored files and folders below ``top``; parents must be queried before their contents.

    The patterns of git do not apply outside of a repository. Nor do they apply if ``top`` itself is
    ignored, since a user who names an ignored folder wants its files. Vendored packages are always
    ignored.
    """

    def __init__(self, top: str) -> None:
        self._specs: dict[str, tuple[_Patterns, ...]] = {}
        here = os.path.abspath(top)
        self._repository = _repository(here)
        if self._repository is None or self._matches(here, "/"):
            self._repository = None

    def folder(self, path: str) -> bool:
        """Return True if a folder is ignored."""
        return _holds_vendored_packages(path) or (
            self._repository is not None and self._matches(os.path.abspath(path), "/")
        )

    def files(self, folder: str) -> Callable[[str], bool] | None:
        """Return a function that is True for an ignored file of a folder; None if no pattern is
        about files.
        """
        if self._repository is None:
            return None
        ends = tuple(
            end for patterns in self._patterns_for(os.path.abspath(folder)) for end in patterns.ends
        )
        return (
            (lambda path: path.endswith(ends) and self._matches(os.path.abspath(path), ""))
            if ends
            else None
        )

    def _matches(self, path: str, end: str) -> bool:
        """Return True if a path is ignored. The last pattern that matches decides, and patterns of
        a deeper folder come later.
        """
        for patterns in reversed(self._patterns_for(os.path.dirname(path))):
            inside = os.path.relpath(path, patterns.folder).replace(os.sep, "/") + end
            include = patterns.spec.check_file(inside).include
            if include is not None:
                return include
        return False

    def _patterns_for(self, folder: str) -> tuple[_Patterns, ...]:
        """Return the patterns for the contents of a folder, beginning with those of the
        repository's top.
        """
        if folder not in self._specs:
            above: tuple[_Patterns, ...] = ()
            files = [".gitignore"]
            if folder == self._repository:
                files.insert(0, os.path.join(".git", "info", "exclude"))
            elif len(folder) > len(self._repository or "") and os.path.dirname(folder) != folder:
                above = self._patterns_for(os.path.dirname(folder))
            patterns = (
                file_patterns
                for name in files
                for file_patterns in _patterns(os.path.join(folder, name), folder)
            )
            self._specs[folder] = (*above, *patterns)
        return self._specs[folder]


def _holds_vendored_packages(path: str) -> bool:
    """Return True for the folder of npm's packages or of Go's vendored packages. Go writes a list
    of the packages into the latter (cmd/go/internal/modcmd/vendor.go).
    """
    name = os.path.basename(path)
    return name == "node_modules" or (
        name == "vendor" and os.path.exists(os.path.join(path, "modules.txt"))
    )


def _repository(folder: str) -> str | None:
    here = Path(folder)
    return next((str(above) for above in (here, *here.parents) if (above / ".git").exists()), None)


def _patterns(path: str, folder: str) -> Iterator[_Patterns]:
    data = read_file(path, _MAX_CHARACTERS + 1)
    if data is None:
        return
    text = data.decode("utf-8", "replace")
    lines = tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    for spec, ends in _compile(
        _check_bounds(lines if len(text) <= _MAX_CHARACTERS else (text,), path)
    ):
        yield _Patterns(folder, spec, ends)


@lru_cache(1_000)  # a run walks a repository more than once
def _compile(patterns: tuple[str, ...]) -> tuple[tuple[GitIgnoreSpec, tuple[str, ...]], ...]:
    """Return the patterns of a file, with the ends of the names of files that they can match."""
    # Imported only here, since it loads 30 modules, and many folders have no patterns
    from pathspec import GitIgnoreSpec

    return tuple(
        (
            GitIgnoreSpec.from_lines(part),
            tuple(_end(pattern) for pattern in part if not pattern.endswith("/")),
        )
        for part in _parts(patterns)
    )


def _check_bounds(patterns: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the patterns of ``place``. Raises UsageError for too many."""
    if len(patterns) > _MAX_PATTERNS or sum(map(len, patterns)) > _MAX_CHARACTERS:
        hint = "name folders instead of files; --no-gitignore reads no .gitignore"
        raise UsageError(
            f"more than {_MAX_PATTERNS:,} patterns, or {_MAX_CHARACTERS:,} characters",
            place=place,
            hint=hint,
        )
    return patterns


def _parts(patterns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the patterns in groups that are small enough for re2 to compile. A pattern that is
    longer than any path is left out, since it matches nothing.
    """
    part: list[str] = []
    size = 0
    for pattern in patterns:
        if part and size + len(pattern) > _MAX_PATTERN_LENGTH:
            yield part
            part, size = [], 0
        if len(pattern) <= _MAX_PATTERN_LENGTH:
            part.append(pattern)
            size += len(pattern)
    if part:
        yield part


def make_exclusion(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Make a function that is True for paths that patterns exclude; the last pattern that matches
    decides. Raises UsageError for too many patterns.
    """
    specs = [spec for spec, _ in _compile(_check_bounds(tuple(patterns), "exclude"))][::-1]
    return lambda path: next(
        (include for spec in specs if (include := spec.check_file(path).include) is not None), False
    )


def _end(pattern: str) -> str:
    """Return the literal end of the names that a pattern matches."""
    return "" if "\\" in pattern else re.split(r"[*?\]/!]", pattern.rstrip())[-1]
