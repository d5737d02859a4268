"""Decodes bytes to text, and checks text that a recursive parser of YAML or JSON
could not handle.
"""

import codecs
import re
from functools import cache
from hashlib import blake2b

MAX_DEPTH = 200
"""The maximum depth of a document. The API server allows 10,000, but no object is nearly as deep,
and our functions recurse.
"""
MAX_KEYS = 100_000
"""The maximum number of keys in a map. An API server accepts requests of 3 MiB (k8s.io/apiserver
pkg/server/config.go MaxRequestBodyBytes), and no object of Kubernetes has nearly as many keys.
"""

_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r"))
_PART = 1 << 16  # number of characters that are copied at a time
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


@cache
def _not_yaml() -> re.Pattern[str]:
    """Compile, on first use, the pattern of characters that YAML does not allow: compiling such a
    large set takes milliseconds.
    """
    return re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def digest(data: bytes) -> str:
    """Return a digest that identifies the bytes of a file."""
    return blake2b(data, digest_size=32).hexdigest()


def decode(data: bytes) -> str:
    """Decode UTF-8, or the encoding of a byte order mark; invalid bytes become lone surrogates (see
    bad_character).
    """
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def bad_character(text: str, start: int, end: int) -> tuple[int, str, str | None] | None:
    """Return the first character that YAML does not allow, in the words of go-yaml's reader:
    offset, message, hint.
    """
    # Most text is ASCII; this check is four times as fast as a search for bad characters.
    if text.isascii() and len(text[start:end].encode().translate(None, _CONTROLS)) == end - start:
        return None
    match = _not_yaml().search(text, start, end)
    if match is None:
        return None
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        return match.start(), f"invalid UTF-8: byte 0x{code - 0xDC00:02x}", "save the file as UTF-8"
    hint = None
    if code == 0 and text.count("\0", start, end) * 3 > end - start:
        hint = "this looks like UTF-16 without a byte order mark: save the file as UTF-8"
    return match.start(), f"control characters are not allowed: U+{code:04X}", hint


def brackets_nest_deeply(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if the brackets of a part may nest deeper than MAX_DEPTH. False is certain, but
    strings with brackets can cause a wrong True.

    All characters except brackets are deleted. Then the innermost pairs are deleted MAX_DEPTH
    times; each step is one pass in C.
    """
    end = len(text) if end is None else end
    parts = (text[at : min(at + _PART, end)] for at in range(start, end, _PART))
    remainder = b"".join(
        part.encode("utf-8", "replace").translate(None, _NOT_BRACKETS) for part in parts
    )
    for _ in range(MAX_DEPTH):
        if not remainder:
            return False
        shorter = remainder.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(remainder):
            break
        remainder = shorter
    return bool(remainder)
