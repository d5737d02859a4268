"""Makes the section of a rule's page that shows the API server's messages about the mistake.

    python tools/server_messages.py SHARED      the folder that holds conformance/

writes ``server_messages.json``: messages of kube-apiserver 1.37.1, one of each form, by the rule
that lint reports for the same document. The page also has the messages about the rule's own
example. The site's search looks for pasted words in headings first, so each message is a heading.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dractl.lint import lint, registry
from dractl.lint.finding import Finding
from dractl.manifests import load
from dractl.model import Target
from tools.make_rule_table import SHOWN, findings

RECORDED = Path(__file__).parent / "server_messages.json"
RELEASE = SHOWN[-1]
HEADING = "## What the API server prints"
MAX_FORMS = 12
"""The number of messages on a page."""

_SYNTAX = re.compile(r" \(e\.g\. .*|:? ?\(?regex used for validation is .*")
"""The end of a sentence about a malformed name, which repeats the sentence as a pattern."""
_ENCODED = re.compile(r" \([0-9a-f]{20,}.*\)$")
_VALUES = re.compile(
    r'(?<=value: |found: )("(\\.|[^"\\])*"|[\w.]*\{.*?\}(?=:)|[^\s:,]+)|"[^"]*"|\[[^]]*\]|\d+'
)
"""The parts that differ between messages of one form."""


def section(rule: registry.Rule) -> list[str]:
    """Return the paragraphs of the section; none if the rule is not about the API server."""
    reported = [] if rule.compares_snapshots else findings(rule, RELEASE)
    examples = [text for finding in reported if (text := message(finding)) is not None]
    recorded = json.loads(RECORDED.read_text("utf-8")).get(rule.code, [])
    forms = {form(text): text for text in reversed((*examples, *recorded))}
    texts = list(forms.values())[::-1][:MAX_FORMS]
    return [HEADING, *(f"### `` {text} ``" for text in texts)] if texts else []


def message(finding: Finding) -> str | None:
    """Return the API server's message as kubectl prints it; None if the server accepts the
    object, or cannot decode it.
    """
    api, subject = finding.api, finding.object
    if api is None or subject is None or not api.type.startswith("FieldValue"):
        return None
    text = api.message or finding.message
    return shorten(f'The {subject.kind} "{subject.name or ""}" is invalid: {text}')


def shorten(text: str) -> str:
    """Return the first line of a message, without patterns and encoded documents."""
    return _ENCODED.sub("", _SYNTAX.sub("", text.splitlines()[0])).strip()


def form(text: str) -> str:
    """Return a message without its values and the path above the field."""
    cause = text.partition(" is invalid: ")[2] or text
    return re.sub(r"^\S*?(\w+)(?=(\W\W)?: )", r"\1", _VALUES.sub("", cause))


def recorded_messages(shared: Path) -> dict[str, list[str]]:
    """Return one message of each form by the rule that reports its document."""
    forms: dict[str, dict[str, str]] = {}
    for document, text in rejections(shared / "conformance" / "validation"):
        report = lint(load(["-"], stdin=document.encode()), Target.of(RELEASE))
        codes = {finding.code for finding in report.findings if finding.severity == "error"}
        if len(codes) == 1 and " is invalid: [" not in text:
            short = shorten(text)
            forms.setdefault(codes.pop(), {}).setdefault(form(short), short)
    return {code: list(texts.values())[:MAX_FORMS] for code, texts in sorted(forms.items())}


def rejections(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each document that the server rejects when it is created, and its message."""
    cases = {case["id"]: case for case in map(json.loads, (folder / "cases.jsonl").open())}
    for verdict in map(json.loads, (folder / f"verdicts-{RELEASE}.jsonl").open()):
        case = cases[verdict["id"]]
        if verdict["gates"] == "default" and not verdict["accepted"] and "update" not in case:
            yield case["yaml"], verdict["message"]


if __name__ == "__main__":
    RECORDED.write_text(
        json.dumps(recorded_messages(Path(sys.argv[1])), indent=1, ensure_ascii=False) + "\n"
    )
