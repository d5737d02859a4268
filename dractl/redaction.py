"""Secrets in the output of other programs: kubectl, kubelets, drivers and login helpers."""

import re

_MARKS = ("earer ", "EARER ", "asic ", "BASIC ", "=", "://", "eyJ")
"""Every text with a secret contains one of these strings; a search for them is fast."""
_PATTERN = r"""(?ix)
    (?P<name>
        \b(?:bearer|basic)\ +
      | (?:token|password|passwd|secret|api[_-]?key)=
      | ://[^\s/:@]{0,100}:(?=[^\s/@]{1,500}@)
    )
    (?:"[^"]{8,}"|[^\s"',;&@]{8,})
    | \beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]+
    """
"""A pattern for a secret of eight or more characters: after its name, in an address, or as a JSON
Web Token.
"""


def redact(text: str) -> str:
    """Replace parts of a text that look like a token or a password by three dots."""
    if not any(mark in text for mark in _MARKS):
        return text
    return re.sub(_PATTERN, _shorten, text)


def _shorten(secret: re.Match[str]) -> str:
    return f"{secret['name'] or ''}..."
