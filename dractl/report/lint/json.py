"""``dractl lint -o json``: the document ``dractl/lint/v1``."""

import json

from dractl.facts import current
from dractl.lint.finding import Report


def render(report: Report) -> str:
    """Return the whole report, with the pack of facts that it uses; ``schemas/dractl/lint-v1.json``
    is its schema.
    """
    document = {**report.to_json(), "facts": current().to_json()}
    # A file's text can contain a lone surrogate ("\\ud800" in JSON), which no encoding can write:
    # it stays escaped.
    text = json.dumps(document, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, indent=1)
    return text
