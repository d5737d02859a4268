"""Selects findings: rules that are on, ignores in files and in comments, a baseline."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.lint import registry
from dractl.lint.finding import Finding, ObjectRef, Severity
from dractl.lint.ignores import Ignore, ignores
from dractl.lint.place import Located
from dractl.manifests import Position
from dractl.manifests.ignored import make_exclusion
from dractl.manifests.source import Source


class Selection(Struct, frozen=True):
    """The selected findings."""

    codes: frozenset[str] | None = None
    """The rules that are on; None for all."""
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    """Patterns as in .gitignore, with the codes that are off in matching files."""
    known: Mapping[str, int] = MappingProxyType({})
    """The maximum number of occurrences of each fingerprint, from a baseline."""
    severities: Mapping[str, Severity] = MappingProxyType({})
    """The severities that differ from the rules' own."""

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes


def drop_repetitions(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without the findings that repeat a finding of another rule at the same
    place.
    """
    places = {(*_place(item), item.code) for item in findings}
    return [
        item
        for item in findings
        if not any((*_place(item), code) in places for code in registry.rule_of(item.code).unless)
    ]


def _place(finding: Finding) -> tuple[str | int, ...]:
    """Return a key of the place of a finding."""
    position = finding.position
    return position.file, position.line, position.column


def select(
    located: Iterable[Located], sources: Iterable[Source], selection: Selection
) -> tuple[list[Finding], int]:
    """Return the selected findings, with the findings about the ignore comments of files, and the
    number of suppressed ones.
    """
    notes = [_Note(source, comment) for source in sources for comment in ignores(source.text)]
    at: dict[tuple[str, int | None], list[_Note]] = {}
    for note in notes:
        at.setdefault((note.source.name, note.ignore.target), []).append(note)
    find_start = _make_start_finder(notes)
    is_off = _per_file(selection)
    remaining = Counter(selection.known)
    selected: list[Finding] = []
    suppressed = 0
    for placed in located:
        finding = placed.finding
        if not selection.wants(finding.code):
            continue
        if _is_ignored(finding, at, find_start) or is_off(finding):
            suppressed += 1
        elif remaining and remaining[finding.fingerprint] > 0:
            remaining[finding.fingerprint] -= 1
            suppressed += 1
        else:
            selected.append(
                replace(finding, severity=selection.severities.get(finding.code, finding.severity))
            )
    for note in notes:
        selected += (
            finding
            for finding in note.findings(selection)
            if selection.wants(finding.code) and not is_off(finding)
        )
    return selected, suppressed


def _make_start_finder(notes: Sequence["_Note"]) -> Callable[[str, int], int]:
    """Return the function that finds the line at which a string of several lines begins.

    A file is composed only for a finding below a comment, since the comment may be at the line
    where the string begins.
    """
    sources = {note.source.name: note.source for note in notes}
    first_lines: dict[str, int] = {}
    for note in notes:
        if (line := note.ignore.target) is not None:
            name = note.source.name
            first_lines[name] = min(line, first_lines.get(name, line))

    @cache
    def starts_in(file: str) -> Mapping[int, int]:
        from dractl.manifests.composing import multiline_scalars, string_starts

        return string_starts(multiline_scalars(sources[file]))

    def find_start(file: str, line: int) -> int:
        is_below = file in first_lines and first_lines[file] < line
        return starts_in(file).get(line, line) if is_below else line

    return find_start


class _Note:
    """An ignore comment, the codes that it names, and the codes among them that suppressed
    something.
    """

    def __init__(self, source: Source, ignore: Ignore) -> None:
        self.source = source
        self.ignore = ignore
        self.unknown: list[str] = []
        self.codes: dict[str, frozenset[str]] = {}
        self.used: set[str] = set()
        for name in ignore.names:
            try:
                self.codes[name] = registry.expand([name], "an ignore comment")
            except UsageError:
                self.unknown.append(name)

    def takes_out(self, code: str) -> bool:
        names = [name for name, codes in self.codes.items() if code in codes]
        self.used.update(names)
        return bool(names)

    def findings(self, selection: Selection) -> Iterator[Finding]:
        for name in self.unknown:
            yield self._finding("DRA902", f"unknown rule {name}", registry.suggest(name))
        if not self.ignore.names:
            message = "the comment names no rule and suppresses nothing"
            yield self._finding("DRA902", message, "write the code: # dractl: ignore[DRA116] why")
        for name, codes in self.codes.items():
            if name not in self.used and any(selection.wants(code) for code in codes):
                place = (
                    "in this file"
                    if self.ignore.target is None
                    else f"on line {self.ignore.target}"
                )
                yield self._finding(
                    "DRA901", f"no {name} finding {place}", "remove it from the comment"
                )

    def _finding(self, code: str, message: str, hint: str) -> Finding:
        rule, ignore = registry.rule_of(code), self.ignore
        place = Position(
            self.source.name, ignore.line, ignore.column, ignore.line, ignore.end_column
        )
        excerpt = self.source.line(ignore.line)
        return Finding(
            code, rule.name, rule.severity, message, place, 0, "", ObjectRef(),
            help=hint, excerpt=excerpt,
        )  # fmt: skip


def _is_ignored(
    finding: Finding,
    notes: Mapping[tuple[str, int | None], Sequence[_Note]],
    find_start: Callable[[str, int], int],
) -> bool:
    """Return True if a comment suppresses a finding.

    ``notes`` are by file and by the line that they apply to.
    """
    places = (
        (file, place)
        for file, line in finding.lines
        for place in (line, find_start(file, line), None)
    )
    near = (note for place in dict.fromkeys(places) for note in notes.get(place, ()))
    return bool([note for note in near if note.takes_out(finding.code)])


def _per_file(selection: Selection) -> Callable[[Finding], bool]:
    if not selection.per_file:
        return lambda _: False
    rows = [(make_exclusion([pattern]), codes) for pattern, codes in selection.per_file]

    @cache
    def codes_off(file: str) -> frozenset[str]:
        return frozenset().union(*(codes for matches, codes in rows if matches(file)))

    return lambda finding: finding.code in codes_off(finding.position.file)
