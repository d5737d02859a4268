"""Lint's findings and fixes on an open text, as an editor shows them."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from dractl.lint import Finding, Selection, lint
from dractl.lint.registry import rules
from dractl.lint.repository import Repositories
from dractl.manifests import Inputs, Position, load_readable
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.load import is_relevant
from dractl.model import Target

Level = Literal["error", "warning", "info"]


class Range(Struct, frozen=True):
    """A range in a text; its end is exclusive."""

    line: int
    """The line of the first character."""
    column: int
    """The column of the first character."""
    end_line: int
    """The line of the end."""
    end_column: int
    """The column behind the last character."""


class TextEdit(Struct, frozen=True):
    """The replacement of a range."""

    range: Range
    """The characters that are replaced."""
    text: str
    """The text that replaces the characters."""


class QuickFix(Struct, frozen=True):
    """The edits that fix a finding."""

    title: str
    """The title of the fix in a menu."""
    edits: tuple[TextEdit, ...]
    """The edits, which belong together."""
    safe: bool
    """True if the edits change only text that certainly was a mistake."""


class Diagnostic(Struct, frozen=True):
    """A finding as an editor shows it."""

    range: Range
    """The characters to which the finding applies."""
    level: Level
    """The severity, which is lower if the finding is not certain."""
    code: str
    """The code of the rule."""
    message: str
    """The message, with the help on separate lines."""
    page: str | None = None
    """The address of the rule's page; None if it has none."""
    related: tuple[tuple[str, Range], ...] = ()
    """Messages about other places of the same text."""
    fix: QuickFix | None = None
    """The edits that an editor offers; None if there are none."""


def diagnostics(
    text: str,
    name: str,
    target: Target,
    selection: Selection | None = None,
    *,
    assumed: bool = False,
    repositories: Repositories | None = None,
    completed: Callable[[Inputs], Inputs] = lambda inputs: inputs,
) -> tuple[Diagnostic, ...]:
    """Return the findings in a text, in the order of the text; none for a text that has nothing to
    do with DRA.

    ``name`` is the name of the file; ``selection``, ``assumed``, ``repositories`` and ``completed``
    are
    passed to :func:`dractl.lint.lint`.
    """
    data = text.encode("utf-8", "surrogatepass")
    if not is_relevant(data) and not is_kustomization(name):
        return ()
    inputs = load_readable(["-"], stdin=data, stdin_name=name)
    report = lint(
        inputs,
        target,
        config=selection,
        assumed=assumed,
        repositories=repositories,
        completed=completed,
    )
    return tuple(
        _diagnostic(finding) for finding in report.findings if finding.position.file == name
    )


def _diagnostic(finding: Finding) -> Diagnostic:
    rule = rules().get(finding.code)
    name = finding.position.file
    fix = finding.fix
    quick = None
    if fix is not None and all(edit.position.file == name for edit in fix.edits):
        edits = tuple(TextEdit(range_of(edit.position), edit.text) for edit in fix.edits)
        quick = QuickFix(fix.title[:1].upper() + fix.title[1:], edits, fix.safe)
    return Diagnostic(
        range_of(finding.position),
        _level(finding),
        finding.code,
        finding.message + (f"\n{finding.help}" if finding.help else ""),
        (rule.page or None) if rule else None,
        tuple(
            (item.message, range_of(item.position))
            for item in finding.related
            if item.position.file == name
        ),
        quick,
    )


def _level(finding: Finding) -> Level:
    """Return the severity of a finding: a likely error becomes a warning, and a possible error an
    information.
    """
    if finding.confidence == "possible":
        return "info"
    if finding.confidence == "likely" and finding.severity == "error":
        return "warning"
    return finding.severity


def range_of(position: Position) -> Range:
    """Return the range of a position, which is counted from 1."""
    return Range(
        position.line - 1, position.column - 1, position.end_line - 1, position.end_column - 1
    )
