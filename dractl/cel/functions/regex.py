"""Regular expressions are RE2: common/types/string.go, apiserver/pkg/cel/library/regex.go."""

import re
from functools import lru_cache
from typing import Any

from dractl.cel.functions.registry import overload
from dractl.cel.values import CelError
from dractl.cel_library import load_patterns


class BadPattern(Exception):
    """A pattern that Go does not compile. ``str()`` is Go's text."""


@lru_cache(512)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern with google-re2; BadPattern if Go does not compile it."""
    re2 = load_patterns()
    options = re2.Options()
    options.log_errors = False
    options.never_nl = False
    if re.search(r"(?<!\\)(?:\\\\)*\\C", pattern):  # RE2 in C++ supports \C (one byte), Go does not
        raise BadPattern(r"error parsing regexp: invalid escape sequence: `\C`")
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise BadPattern(_go_text(pattern, error)) from None


_TEXTS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "trailing \\": "trailing backslash at end of expression",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid UTF-8": "invalid UTF-8",
}


def _go_text(pattern: str, error: Exception) -> str:
    """Return the wording of regexp/syntax for an error of RE2."""
    detail = error.args[0] if error.args else ""
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    reason, _, argument = text.partition(": ")
    code = _TEXTS.get(reason, reason)
    if code in ("missing closing )", "unexpected )"):
        argument = pattern
    if code == "trailing backslash at end of expression":
        argument = ""
    return f"error parsing regexp: {code}: `{argument}`"


@overload("matches", str, str)
@overload("matches_string", str, str)
def matches(text: str, pattern: str) -> bool:
    try:
        return compile_pattern(pattern).search(text) is not None
    except BadPattern as error:
        raise CelError(str(error)) from None


@overload("string_find_string", str, str)
def find(text: str, pattern: str) -> str:
    match = _search(text, pattern)
    return str(match[0]) if match else ""


def _search(text: str, pattern: str) -> Any:
    try:
        return compile_pattern(pattern).search(text)
    except BadPattern as error:
        raise CelError(f"Illegal regex: {error}") from None


@overload("string_find_all_string", str, str)
@overload("string_find_all_string_int", str, str, int)
def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    _search("", pattern)
    matches: list[str] = []
    previous_end = -1
    for match in compile_pattern(pattern).finditer(text):
        if 0 <= limit <= len(matches):
            break
        # Go skips an empty match right after another match
        if match.start() == match.end() == previous_end:
            continue
        previous_end = match.end()
        matches.append(match[0])
    return matches
