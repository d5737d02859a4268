"""Ignore comments for the findings of a file, as ``dractl lint --add-ignore`` writes them."""

from collections.abc import Collection, Iterable

from msgspec import Struct

from dractl.lint.finding import Edit, Finding, TextFix
from dractl.lint.fixes import apply_text_fixes
from dractl.lint.ignores import Ignore, ignores, names_end
from dractl.manifests import Document, Position, read_text
from dractl.manifests.composing import multiline_scalars, string_starts
from dractl.manifests.jsontext import is_json
from dractl.manifests.source import Source
from dractl.manifests.templates import holds_template

ABOUT_COMMENTS = frozenset({"DRA901", "DRA902"})
"""Rules about ignore comments, whose findings no comment suppresses."""


class AnnotatedFile(Struct, frozen=True):
    """A file's text with ignore comments."""

    text: str
    """The text."""
    findings: int = 0
    """The number of findings that the comments suppress."""
    why_not: str | None = None
    """The reason why findings remain that no comment suppresses; None if there are none."""


def add_ignore_comments(name: str, text: str, findings: Iterable[Finding]) -> AnnotatedFile:
    """Return the text of a file with a comment for each finding; its values stay as they are.

    A comment goes to the end of the finding's line. Inside a string of several lines, where ``#``
    is part of the value, it goes above the string or to the line of its key. An existing comment
    gets the additional codes.
    """
    suppressible = [finding for finding in findings if finding.code not in ABOUT_COMMENTS]
    if not suppressible:
        return AnnotatedFile(text)
    if name.endswith(".json") or is_json(text):
        return AnnotatedFile(text, why_not="JSON has no comments")
    values = _values(name, text)
    # Comments count only in files with documents.
    if not any(isinstance(value, dict) for value in values):
        is_template = holds_template(text)
        by_hand = "it is a template, in which you write comments yourself"
        refusal = by_hand if is_template else "it has no document that can be read"
        return AnnotatedFile(text, why_not=refusal)
    lines = _Lines(Source(name, text))
    codes: dict[tuple[str, int], set[str]] = {}
    unplaced: list[str] = []
    for finding in suppressible:
        spot = lines.spot(finding)
        if spot is None:
            unplaced.append(f"{finding.code} at {finding.position.line}:{finding.position.column}")
        else:
            codes.setdefault(spot, set()).add(finding.code)
    edits = [edit for spot, names in codes.items() if (edit := lines.edit(spot, names)) is not None]
    after, _ = apply_text_fixes(text, [TextFix("", (edit,)) for edit in edits])
    if _values(name, after) != values:
        return AnnotatedFile(text, why_not="comments would change its values")
    more = f" and {len(unplaced) - 1} more" if len(unplaced) > 1 else ""
    why_not = f"there is no place for a comment on {unplaced[0]}{more}" if unplaced else None
    return AnnotatedFile(after, len(suppressible) - len(unplaced), why_not)


def _values(name: str, text: str) -> list[object]:
    return [
        item.value if isinstance(item, Document) else item.message for item in read_text(name, text)
    ]


class _Lines:
    """The lines of a file, with the places where a comment can be."""

    def __init__(self, source: Source) -> None:
        self._source = source
        comments = ignores(source.text)
        self._present: dict[int, Ignore] = {
            item.target: item for item in comments if item.target is not None
        }
        # Only one comment of a line counts, so none is added behind another one.
        self._not_behind = {item.line for item in comments if item.target is None}
        self._not_above: set[int] = set()
        scalars = list(multiline_scalars(source))
        self._starts = string_starts(scalars)
        for scalar in scalars:
            inside = range(scalar.first + 1, scalar.last + 1)
            self._not_above.update(inside)
            self._not_behind.update(inside if scalar.is_block else range(scalar.first, scalar.last))

    def spot(self, finding: Finding) -> tuple[str, int] | None:
        """Return how to place a comment (``in`` another comment, ``behind`` a line or ``above``
        it), and the line; None if no comment can be placed.
        """
        lines = [line for file, line in finding.lines if file == self._source.name]
        for line in (*lines, *(self._starts[line] for line in lines if line in self._starts)):
            if line in self._present:
                return "in", line
            if line not in self._not_behind:
                return "behind", line
            if line not in self._not_above:
                return "above", line
        return None

    def edit(self, spot: tuple[str, int], codes: Collection[str]) -> Edit | None:
        """Return the edit that adds codes to the comment at a spot; None if the comment has them
        already.
        """
        manner, line = spot
        present = self._present[line].names if manner == "in" else ()
        names = ", ".join(sorted(set(codes).difference(present)))
        if not names:
            return None
        if manner == "in":
            ignore = self._present[line]
            column, brackets = names_end(self._source.line(ignore.line), ignore)
            separator = ", " if ignore.names else ""
            new = f"{separator}{names}" if brackets else f"[{names}]"
            return Edit(self._range(ignore.line, column, column), new)
        written = self._source.line(line)
        comment = f"# dractl: ignore[{names}]"
        if manner == "behind":
            return Edit(
                self._range(line, len(written.rstrip()) + 1, len(written) + 1), f"  {comment}"
            )
        indent = written[: len(written) - len(written.lstrip())]
        return Edit(self._range(line, 1, 1), f"{indent}{comment}\n")

    def _range(self, line: int, column: int, end: int) -> Position:
        return Position(self._source.name, line, column, line, end)
