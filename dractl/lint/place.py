"""Places findings in files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.lint import registry
from dractl.lint.finding import Api, Finding, ObjectRef, Related, yaml_path
from dractl.lint.fixes import fix_for_violation, replacement
from dractl.lint.hints import hint
from dractl.lint.rendered_fixes import fix_advice, fix_violation
from dractl.manifests import Position

if TYPE_CHECKING:
    from dractl.cel import Issue
    from dractl.lint.model import Advice
    from dractl.lint.verdict import Flagged
    from dractl.manifests import Broken, Document
    from dractl.model import Target
    from dractl.validation.violation import Path, Violation

_MAX_FURTHER = 4


class Located(Struct, frozen=True):
    """A finding with its path."""

    finding: Finding
    path: Path = ()
    text: str | None = None
    """The text of the file; None if it could not be read."""
    built: bool = False
    """True if it is in an object that a kustomization makes."""
    number: int = -1
    """The number of the document in the file."""
    trial: Document | None = None
    """The rendered object as a fix in another file would make it; None once the fix is proven."""

    @property
    def file(self) -> str:
        return self.finding.position.file


def from_broken(broken: Broken) -> Located:
    """Return the finding about a document that could not be read."""
    rule = registry.rule_of("DRA001")
    finding = Finding(
        rule.code,
        rule.name,
        rule.severity,
        broken.message,
        broken.position,
        broken.index,
        "",
        ObjectRef(),
        help=broken.hint,
        api=Api("BadRequest") if broken.refused else None,
        excerpt=broken.excerpt,
    )
    return Located(finding)


def from_violation(document: Document, remark: Flagged, target: Target) -> Located:
    """Return the API server's finding in a document, or the finding that it would report once the
    errors at which it stops are fixed.
    """
    violation = remark.violation
    rule = registry.for_violation(violation.rule)
    position = document.locate(
        violation.path, key=violation.key or _is_block(document, violation), offset=violation.offset
    )
    sentence = _server_sentence(document, violation)
    rendered_fix = fix_violation(document, violation) if document.rendered else None
    direct_fix = fix_for_violation(document, violation) if document.editable else None
    return _locate(
        rule,
        document,
        violation.path,
        position,
        sentence.message,
        severity=remark.severity or rule.severity,
        confidence=remark.confidence,
        help=_help(document, violation, target),
        related=sentence.related,
        api=sentence.api if remark.server else None,
        fix=rendered_fix.fix if rendered_fix else direct_fix,
        trial=rendered_fix.trial if rendered_fix else None,
    )


def _is_block(document: Document, violation: Violation) -> bool:
    """Return True if the whole value is wrong, and the value begins on a line below its key."""
    whole = violation.rule == "wrong-type" or violation.type == "FieldValueTooMany"
    if not whole or not violation.path or not isinstance(document.at(violation.path), dict | list):
        return False
    return document.locate(violation.path).line > document.locate(violation.path, key=True).line


class _Sentence(Struct, frozen=True):
    """The API server's sentence about a violation, as lint reports it."""

    message: str
    """The message of the finding."""
    related: tuple[Related, ...]
    """Further places of the same violation."""
    api: Api | None
    """The server's error; None if it has no type."""


def _server_sentence(document: Document, violation: Violation) -> _Sentence:
    """Return the server's own sentence; causes begin with their field, as kubectl prints them.

    The server repeats a CEL expression with all its issues in several lines. In its place, the
    first issue is the sentence, and the other issues become further places.
    """
    message = violation.message
    if violation.field and violation.type and violation.type.startswith("FieldValue"):
        message = f"{violation.field}: {message}"
    short = re.sub(_SYNTAX, _example, message)
    if short != message:
        return _Sentence(short, (), _api_error(violation, message))
    if violation.issues:
        first, *further = violation.issues
        places = [
            (_short(issue), document.locate(violation.path, offset=issue.offset))
            for issue in further
        ]
        related = tuple(Related(text, position) for text, position in places[:_MAX_FURTHER])
        error = Api(violation.type or "", violation.field, message)
        return _Sentence(_describe_issue(first), related, error)
    return _Sentence(message, (), _api_error(violation, violation.detail))


def _api_error(violation: Violation, message: str | None) -> Api | None:
    """Return the server's error; None if the violation has no type."""
    return Api(violation.type, violation.field, message) if violation.type else None


_SYNTAX = r" ?\((?:e\.g\. +('[^()]*?'), )?regex used for validation is '.*?'\)(?=$|; |\n)"
"""The pattern of a name that follows the sentence which describes it:
k8s.io/apimachinery/pkg/util/validation RegexError.
"""


def _example(syntax: re.Match[str]) -> str:
    """Return only the example of a pattern, since a page of regular expressions would hide it."""
    return f" (such as {' '.join(syntax[1].split())})" if syntax[1] else ""


def _describe_issue(issue: Issue) -> str:
    if issue.offset is not None:
        return f"the expression does not compile: {_short(issue)}"
    return (
        f"the expression {issue.message}"
        if issue.message.startswith("must ")
        else f"the expression: {issue.message}"
    )


def _short(issue: Issue) -> str:
    return issue.message.replace(" (in container '')", "")


def _help(document: Document, violation: Violation, target: Target) -> str | None:
    if violation.nearest:
        return (
            None if violation.nearest in violation.message else f"did you mean {violation.nearest}?"
        )
    sentence = hint(document, violation, target)
    if sentence is None and violation.allowed and violation.allowed[-1] not in violation.message:
        return f"allowed: {', '.join(violation.allowed)}"
    return sentence


def from_advice(rule: registry.Rule, advice: Advice) -> Located:
    """Return a finding of one of dractl's own rules."""
    document = advice.subject.document
    start, end = advice.span or (None, 0)
    position = _misspelt_value(document, advice) or document.locate(
        advice.path, key=advice.key, offset=start
    )
    if start is not None and end > start:
        last = document.locate(advice.path, offset=end - 1)
        if last.file == position.file:  # its end may be in another file
            position = Position(
                position.file, position.line, position.column, last.end_line, last.end_column
            )
    rendered_fix = fix_advice(document, advice.fix) if advice.fix and document.rendered else None
    direct_fix = replacement(document, advice.fix) if advice.fix and document.editable else None
    return _locate(
        rule,
        document,
        advice.path,
        position,
        advice.message,
        severity=advice.severity or rule.severity,
        confidence=advice.confidence,
        help=advice.help,
        related=tuple(
            Related(description, other.document.locate(path))
            for description, other, path in advice.related
        ),
        fix=rendered_fix.fix if rendered_fix else direct_fix,
        trial=rendered_fix.trial if rendered_fix else None,
    )


def _misspelt_value(document: Document, advice: Advice) -> Position | None:
    """Return the place of a misspelt value that is written in another file, such as in a variable.
    None unless advice replaces the whole value, since the value may otherwise be right.
    """
    fix = advice.fix
    if fix is None or fix.key or fix.span is not None or fix.path != advice.path or advice.key:
        return None
    spot = document.source(advice.path) if document.rendered else None
    return spot.document.locate(spot.path) if spot is not None else None


def _locate(
    rule: registry.Rule,
    document: Document,
    path: Path,
    position: Position,
    message: str,
    trial: Document | None = None,
    **others: Any,
) -> Located:
    finding = Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        position=position,
        document=document.index,
        path=yaml_path(path),
        object=ObjectRef(document.api_version, document.kind, document.namespace, document.name),
        origin=document.origin or document.rendered,
        excerpt=document.excerpt(position),
        key=document.locate(path, key=True),
        **others,
    )
    return Located(finding, path, document.text, document.built, trial=trial)
