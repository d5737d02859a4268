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
    """The selected findings.

    ``codes``: the rules that are on, None for all. ``per_file``: patterns as in .gitignore with the codes that are off
    in matching files. ``known``: how often each fingerprint of a baseline may occur. ``severities``: those that differ
    from the rules' own.
    """

    codes: frozenset[str] | None = None
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    known: Mapping[str, int] = MappingProxyType({})
    severities: Mapping[str, Severity] = MappingProxyType({})

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes


def drop_repetitions(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that a finding of another rule at the same place says, too."""
    places = {(*_place(item), item.code) for item in findings}
    return [
        item
        for item in findings
        if not any((*_place(item), code) in places for code in registry.rule_of(item.code).unless)
    ]


def _place(finding: Finding) -> tuple[str, int, int]:
    position = finding.position
    return position.file, position.line, position.column


def select(
    found: Iterable[Located], sources: Iterable[Source], selection: Selection
) -> tuple[list[Finding], int]:
    """The selected findings, with those about the ignore comments of files, and how many were suppressed."""
    notes = [_Note(source, comment) for source in sources for comment in ignores(source.text)]
    at: dict[tuple[str, int | None], list[_Note]] = {}
    for note in notes:
        at.setdefault((note.source.name, note.ignore.target), []).append(note)
    starts = _find_string_starts(note.source for note in notes)
    off = _per_file(selection)
    known = Counter(selection.known)
    kept: list[Finding] = []
    suppressed = 0
    for placed in found:
        finding = placed.finding
        if not selection.wants(finding.code):
            continue
        if _ignored(finding, at, starts) or off(finding):
            suppressed += 1
        elif known and known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
            suppressed += 1
        else:
            kept.append(
                replace(finding, severity=selection.severities.get(finding.code, finding.severity))
            )
    for note in notes:
        kept += (
            finding
            for finding in note.findings(selection)
            if selection.wants(finding.code) and not off(finding)
        )
    return kept, suppressed


def _find_string_starts(sources: Iterable[Source]) -> dict[str, dict[int, int]]:
    """Return where the strings of several lines begin, by file."""
    by_name = {source.name: source for source in sources}
    if not by_name:
        return {}
    from dractl.manifests.composing import string_starts

    return {name: string_starts(source) for name, source in by_name.items()}


class _Note:
    """An ignore comment, the codes that it names, and those of them that suppressed something."""

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
                where = (
                    "in this file"
                    if self.ignore.target is None
                    else f"in line {self.ignore.target}"
                )
                yield self._finding(
                    "DRA901", f"{name} finds nothing {where}", "remove it from the comment"
                )

    def _finding(self, code: str, message: str, hint: str) -> Finding:
        rule, ignore = registry.rule_of(code), self.ignore
        place = Position(
            self.source.name, ignore.line, ignore.column, ignore.line, ignore.end_column
        )
        excerpt = self.source.line(ignore.line)
        return Finding(
            code, rule.name, rule.severity, message, place, 0, "", ObjectRef(), help=hint, excerpt=excerpt
        )  # fmt: skip


def _ignored(
    finding: Finding,
    notes: Mapping[tuple[str, int | None], Sequence[_Note]],
    starts: Mapping[str, Mapping[int, int]],
) -> bool:
    """Return True if a comment suppresses a finding.

    ``notes`` are by file and by the line that they apply to, ``starts`` of strings as
    :func:`_find_string_starts` returns them.
    """
    places = (
        (file, place)
        for file, line in finding.lines
        for place in (line, starts.get(file, {}).get(line, line), None)
    )
    near = (note for place in dict.fromkeys(places) for note in notes.get(place, ()))
    return bool([note for note in near if note.takes_out(finding.code)])


def _per_file(selection: Selection) -> Callable[[Finding], bool]:
    if not selection.per_file:
        return lambda _: False
    rows = [(make_exclusion([pattern]), codes) for pattern, codes in selection.per_file]

    @cache
    def off(file: str) -> frozenset[str]:
        return frozenset().union(*(codes for matches, codes in rows if matches(file)))

    return lambda finding: finding.code in off(finding.position.file)
