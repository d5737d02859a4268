"""Places findings in files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.lint import registry
from dractl.lint.finding import Api, Finding, ObjectRef, Related, yaml_path
from dractl.lint.fixes import for_violation, replacement
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
    """A finding with its path; ``number`` counts the documents of the file, and ``text`` is the file's, None if it
    could not be read. ``built``: it was found in an object as a kustomization makes it. ``trial``: the rendered object as
    a fix in another file makes it, until that is proven."""

    finding: Finding
    path: Path = ()
    text: str | None = None
    built: bool = False
    number: int = -1
    trial: Document | None = None

    @property
    def file(self) -> str:
        return self.finding.position.file


def from_broken(broken: Broken) -> Located:
    """A document that could not be read."""
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
    """The API server's finding in a document, or its finding once the errors at which it stops are fixed."""
    violation = remark.violation
    rule = registry.for_violation(violation.rule)
    position = document.locate(
        violation.path, key=violation.key or _is_block(document, violation), offset=violation.offset
    )
    message, related, api = _said(document, violation)
    fixed = fix_violation(document, violation) if document.rendered else None
    own = for_violation(document, violation) if document.editable else None
    return _located(
        rule,
        document,
        violation.path,
        position,
        message,
        severity=remark.severity or rule.severity,
        confidence=remark.confidence,
        help=_help(document, violation, target),
        related=related,
        api=api if remark.server else None,
        fix=fixed.fix if fixed else own,
        trial=fixed.trial if fixed else None,
    )


def _is_block(document: Document, violation: Violation) -> bool:
    """True if a value as a whole is wrong that begins below its key."""
    whole = violation.rule == "wrong-type" or violation.type == "FieldValueTooMany"
    if not whole or not violation.path or not isinstance(document.at(violation.path), dict | list):
        return False
    return document.locate(violation.path).line > document.locate(violation.path, key=True).line


def _said(document: Document, violation: Violation) -> tuple[str, tuple[Related, ...], Api | None]:
    """The server's own sentence; causes begin with their field, as kubectl prints them. For a CEL expression, which the
    server repeats with all its issues in several lines, the first issue; the others are further places."""
    message = violation.message
    if violation.field and violation.type and violation.type.startswith("FieldValue"):
        message = f"{violation.field}: {message}"
    short = _SYNTAX.sub(_example, message)
    if short != message:
        return short, (), Api(violation.type, violation.field, message) if violation.type else None
    if violation.issues:
        first, *further = violation.issues
        places = [
            (_short(issue), document.locate(violation.path, offset=issue.offset))
            for issue in further
        ]
        related = tuple(Related(text, position) for text, position in places[:_MAX_FURTHER])
        return _sentence(first), related, Api(violation.type or "", violation.field, message)
    return (
        message,
        (),
        Api(violation.type, violation.field, violation.detail) if violation.type else None,
    )


_SYNTAX = re.compile(
    r" ?\((?:e\.g\. +('[^()]*?'), )?regex used for validation is '.*?'\)(?=$|; |\n)"
)
"""The syntax of a name behind the sentence that describes it: k8s.io/apimachinery/pkg/util/validation RegexError."""


def _example(syntax: re.Match[str]) -> str:
    """The example alone: a page of regular expressions hides it."""
    return f" (such as {' '.join(syntax[1].split())})" if syntax[1] else ""


def _sentence(issue: Issue) -> str:
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
    known = hint(document, violation, target)
    if known is None and violation.allowed and violation.allowed[-1] not in violation.message:
        return f"allowed: {', '.join(violation.allowed)}"
    return known


def from_advice(rule: registry.Rule, advice: Advice) -> Located:
    """A finding of one of dractl's own rules."""
    document = advice.subject.document
    start, end = advice.span or (None, 0)
    position = document.locate(advice.path, key=advice.key, offset=start)
    if start is not None and end > start:
        last = document.locate(advice.path, offset=end - 1)
        if last.file == position.file:  # else a value of another file ends there
            position = Position(
                position.file, position.line, position.column, last.end_line, last.end_column
            )
    fixed = fix_advice(document, advice.fix) if advice.fix and document.rendered else None
    own = replacement(document, advice.fix) if advice.fix and document.editable else None
    return _located(
        rule,
        document,
        advice.path,
        position,
        advice.message,
        severity=advice.severity or rule.severity,
        confidence=advice.confidence,
        help=advice.help,
        related=tuple(
            Related(what, there.document.locate(path)) for what, there, path in advice.related
        ),
        fix=fixed.fix if fixed else own,
        trial=fixed.trial if fixed else None,
    )


def _located(
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
