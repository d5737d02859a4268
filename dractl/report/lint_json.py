"""``dractl lint -o json``: the document ``dractl/lint/v1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.lint.finding import Report


def render(report: Report) -> str:
    """The whole report; ``schemas/dractl/lint-v1.json`` is its schema."""
    # A file's text can contain a lone surrogate ("\\ud800" in JSON), which no encoding can write: it stays escaped.
    text = json.dumps(report.to_json(), indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(report.to_json(), indent=1)
    return text
