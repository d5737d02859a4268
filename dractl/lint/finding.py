"""Findings of lint: one value per finding, as in the JSON of ``dractl lint -o json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.cel_library import why_not
from dractl.manifests import Position, Skipped

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "likely", "possible"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
"""All severities, the lowest first."""


class ObjectRef(Struct, frozen=True):
    """The Kubernetes object of a finding; fields missing in the document are None."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.kind, name) if part)

    def to_json(self) -> dict[str, Any]:
        members = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {key: value for key, value in members.items() if value is not None}


class Api(Struct, frozen=True):
    """The error of the API server."""

    type: str
    """The type of the cause."""
    field: str | None = None
    """The field path, as the server spells it; None if the server names none."""
    message: str | None = None
    """The server's message, if the finding has a shorter one."""

    def to_json(self) -> dict[str, Any]:
        members = {"type": self.type, "field": self.field, "message": self.message}
        return {key: value for key, value in members.items() if value is not None}


class Related(Struct, frozen=True):
    """Another place related to a finding, such as the first of two equal names."""

    message: str
    position: Position


class Edit(Struct, frozen=True):
    """Replaces the text of a range of a file; an empty range inserts."""

    position: Position
    text: str


class TextFix(Struct, frozen=True):
    """Edits that fix a finding. A safe fix changes only values that certainly were not intended."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = False


class Finding(Struct, frozen=True):
    """One error, and its place."""

    code: str
    name: str
    severity: Severity
    message: str
    position: Position
    document: int
    path: str
    """The YAML path in the document as it was written."""
    object: ObjectRef
    confidence: Confidence = "certain"
    help: str | None = None
    related: tuple[Related, ...] = ()
    api: Api | None = None
    """The error of the API server, if it would report the finding too."""
    origin: str | None = None
    fix: TextFix | None = None
    excerpt: str = ""
    """The source line of ``position``, for formats that show it; the JSON leaves it out."""
    key: Position | None = None
    """The place of the key in a template or a patch, where an ignore comment counts as well; the
    JSON leaves it out.
    """
    releases: tuple[str, ...] = ()
    """The releases that report the finding, if several releases are checked and not all report
    it.
    """

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The files and lines at which an ignore comment counts. A string of several lines cannot
        contain comments, and text that a template or a kustomization inserts is written in another
        file.
        """
        places = (self.position, self.key) if self.key is not None else (self.position,)
        return list(dict.fromkeys((place.file, place.line) for place in places))

    @property
    def fingerprint(self) -> str:
        """Identifies the finding independently of its line: a hash of code, object and path."""
        subject = self.object
        parts = (self.code, subject.kind, subject.namespace, subject.name, self.path)
        return sha256(
            "\0".join(part or "" for part in parts).encode("utf-8", "surrogatepass")
        ).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:
        """Return the finding's object in ``dractl/lint/v1``; empty members are left out."""
        members: dict[str, Any] = {
            "code": self.code,
            "name": self.name,
            "severity": self.severity,
            "confidence": self.confidence,
            "message": self.message,
            **_place(self.position),
            "document": self.document,
            "path": self.path,
            "object": self.object.to_json(),
            "fingerprint": self.fingerprint,
        }
        if self.help:
            members["help"] = self.help
        if self.releases:
            members["releases"] = list(self.releases)
        if self.related:
            members["related"] = [
                {"message": item.message, **_place(item.position)} for item in self.related
            ]
        if self.api:
            members["api"] = self.api.to_json()
        if self.origin:
            members["origin"] = self.origin
        if self.fix:
            edits = [{**_place(edit.position), "text": edit.text} for edit in self.fix.edits]
            members["fix"] = {"title": self.fix.title, "safe": self.fix.safe, "edits": edits}
        return members


class Report(Struct, frozen=True):
    """The findings of one run of lint, in the order of the inputs, and its terms."""

    findings: tuple[Finding, ...]
    kubernetes_version: str
    release_from: str = ""
    """The file or the variable that named the release, or ``default``."""
    files: int = 0
    documents: int = 0
    """The number of documents that concern DRA."""
    suppressed: int = 0
    """The number of findings that comments, the configuration's ignores or a baseline suppress."""
    skipped: tuple[Skipped, ...] = ()
    """The files that were not read, such as templates, with the reason."""
    digests: Mapping[str, str] = MappingProxyType({})
    """The digest of each file in which the findings are; only a file with this digest may be
    edited.
    """
    notes: tuple[str, ...] = ()
    """Notes on facts that were ignored because the input shows otherwise."""

    def number_of(self, severity: Severity) -> int:
        """Return the number of findings with exactly this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def reaches(self, severity: Severity) -> bool:
        """Return True if any finding is at least as severe as ``severity``."""
        return any(
            SEVERITIES.index(f.severity) >= SEVERITIES.index(severity) for f in self.findings
        )

    def from_severity(self, severity: Severity) -> Report:
        """Return the report without less severe findings; a note counts them."""
        lowest = SEVERITIES.index(severity)
        remaining = tuple(f for f in self.findings if SEVERITIES.index(f.severity) >= lowest)
        hidden = len(self.findings) - len(remaining)
        if not hidden:
            return self
        findings = "1 finding is" if hidden == 1 else f"{hidden:,} findings are"
        note = f"{findings} less severe than {severity} and not shown"
        return replace(self, findings=remaining, notes=(*self.notes, note))

    @property
    def unchecked(self) -> str | None:
        """The reason why selectors were not compiled, costed or tried on devices; None if they
        were.
        """
        return why_not() if self.documents else None

    def to_json(self) -> dict[str, Any]:
        """Return the report in ``dractl/lint/v1``."""
        unchecked = self.unchecked
        return {
            "schema": "dractl/lint/v1",
            "kubernetesVersion": self.kubernetes_version,
            "findings": [finding.to_json() for finding in self.findings],
            **({"notes": list(self.notes)} if self.notes else {}),
            "summary": {
                "files": self.files,
                "documents": self.documents,
                "errors": self.number_of("error"),
                "warnings": self.number_of("warning"),
                "infos": self.number_of("info"),
                "suppressed": self.suppressed,
                "skipped": [{"file": item.file, "why": item.why} for item in self.skipped],
                **(
                    {}
                    if unchecked is None
                    else {"unchecked": f"selectors and derived attributes: {unchecked}"}
                ),
            },
        }


def _place(position: Position) -> dict[str, Any]:
    return {
        "file": position.file,
        "line": position.line,
        "column": position.column,
        "endLine": position.end_line,
        "endColumn": position.end_column,
    }


def yaml_path(path: Iterable[str | int]) -> str:
    """Return a path for people: ``spec.devices.requests[0].name``; keys with dots or slashes are in
    brackets.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and step.replace("_", "a").replace("-", "a").isalnum():
            text += f".{step}" if text else step
        else:
            text += f"[{step}]"
    return text
