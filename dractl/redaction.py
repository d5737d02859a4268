"""Secrets in words of other programs: kubectl, kubelets, drivers and login helpers."""

import re

_MARKS = ("earer ", "EARER ", "asic ", "BASIC ", "=", "://", "eyJ")
"""The texts without which there is no secret: looking for them costs little."""
_PATTERN = r"""(?ix)
    (?P<name>
        \b(?:bearer|basic)\ +
      | (?:token|password|passwd|secret|api[_-]?key)=
      | ://[^\s/:@]{0,100}:(?=[^\s/@]{1,500}@)
    )
    (?:"[^"]{8,}"|[^\s"',;&@]{8,})
    | \beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]+
    """
"""A secret behind its name, in an address, or as a JSON Web Token, of eight characters or more."""


def redact(text: str) -> str:
    """Replace text that looks like a token or a password by three dots."""
    if not any(mark in text for mark in _MARKS):
        return text
    return re.sub(_PATTERN, _shorten, text)


def _shorten(secret: re.Match[str]) -> str:
    return f"{secret['name'] or ''}..."
