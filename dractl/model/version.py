"""Semantic versions, as strict as github.com/blang/semver/v4, which CEL's ``semver()`` and the
scheduler use.
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Final

from dractl.model.go import quote

MAX_UINT64: Final = (1 << 64) - 1

_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_DIGITS = re.compile(r"[0-9]*", re.ASCII)

SEMVER_ORG: Final = (
    r"(?a)(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
)
"""The API server's pattern for version attributes: the expression of semver.org, which does not
limit the size of numbers.
"""


@total_ordering
class Version:
    """A semantic version 2.0.0. Versions are compared by precedence: build metadata do not
    count.
    """

    __slots__ = ("_key", "build", "major", "minor", "patch", "prerelease", "text")

    def __init__(
        self,
        major: int,
        minor: int,
        patch: int,
        prerelease: tuple[str, ...] = (),
        build: tuple[str, ...] = (),
    ) -> None:
        self.major, self.minor, self.patch = major, minor, patch
        self.prerelease, self.build = prerelease, build
        text = f"{major}.{minor}.{patch}"
        if prerelease:
            text += "-" + ".".join(prerelease)
        if build:
            text += "+" + ".".join(build)
        self.text = text
        # A version without prerelease comes after all prereleases; numbers come before words.
        identifiers = tuple((0, int(p), "") if _is_number(p) else (1, 0, p) for p in prerelease)
        self._key = (major, minor, patch, not prerelease, identifiers)

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse a complete version. Raises ValueError with Go's message for any other text, such as
        ``v1.2``, ``1.2`` or ``550.08.1``.
        """
        return _parse(text)

    @classmethod
    def parse_tolerant(cls, text: str) -> Version:
        """Parse what ``semver(text, true)`` accepts, which includes surrounding space, a leading
        ``v``, leading zeros and missing parts.
        """
        parts = text.strip().removeprefix("v").split(".", 2)
        for index, part in enumerate(parts):
            if len(part) > 1:
                stripped = part.lstrip("0")
                parts[index] = stripped if stripped[:1] in tuple("0123456789") else "0" + stripped
        if len(parts) < 3:
            if "+" in parts[-1] or "-" in parts[-1]:
                raise ValueError("Short version cannot contain PreRelease/Build meta data")
            parts += ["0"] * (3 - len(parts))
        return _parse(".".join(parts))

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


def _is_number(text: str) -> bool:
    return _DIGITS.fullmatch(text) is not None


def _number(text: str, what: str) -> int:
    if not _is_number(text):
        raise ValueError(f"Invalid character(s) found in {what.lower()} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{what} number must not contain leading zeroes {quote(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > MAX_UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _prerelease(identifier: str) -> str:
    if not identifier:
        raise ValueError("Prerelease is empty")
    if _is_number(identifier):
        if len(identifier) > 1 and identifier[0] == "0":
            raise ValueError(
                f"Numeric PreRelease version must not contain leading zeroes {quote(identifier)}"
            )
        _uint64(identifier)
    elif not _ALPHANUMERIC.fullmatch(identifier):
        raise ValueError(f"Invalid character(s) found in prerelease {quote(identifier)}")
    return identifier


def _build(identifier: str) -> str:
    if not identifier:
        raise ValueError("Build meta data is empty")
    if not _ALPHANUMERIC.fullmatch(identifier):
        raise ValueError(f"Invalid character(s) found in build meta data {quote(identifier)}")
    return identifier


@lru_cache(maxsize=1024)
def _parse(text: str) -> Version:
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "Major")
    minor = _number(parts[1], "Minor")
    patch_and_prerelease, plus, build = parts[2].partition("+")
    patch, dash, prerelease = patch_and_prerelease.partition("-")
    return Version(
        major,
        minor,
        _number(patch, "Patch"),
        tuple(map(_prerelease, prerelease.split("."))) if dash else (),
        tuple(map(_build, build.split("."))) if plus else (),
    )
