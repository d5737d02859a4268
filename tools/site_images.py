"""A hook of mkdocs that gives each picture of the site its size, so that the text below it does not
move when it arrives.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_IMAGE = re.compile(r'<img (?![^>]*\bwidth=)(?=[^>]*\bsrc="([^":]+)")')
_VIEW_BOX = re.compile(rb'<svg[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"')
_PNG_MARK = b"\x89PNG\r\n\x1a\n"


def on_page_content(text: str, page: Any, config: Any, **_: Any) -> str:
    """Return the page's HTML, each picture of the site with its width and height."""

    def add_size(match: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(page.url, unquote(html.unescape(match[1]))))
        width, height = read_size(Path(config["docs_dir"], place).read_bytes())
        return f'<img width="{width}" height="{height}" '

    return _IMAGE.sub(add_size, text)


def read_size(picture: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG or SVG picture, in pixels. Raises ValueError."""
    if picture.startswith(_PNG_MARK):  # https://www.w3.org/TR/png: IHDR is the first chunk
        return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")
    if box := _VIEW_BOX.search(picture[:2000]):
        return round(float(box[1])), round(float(box[2]))
    msg = "neither a PNG nor an SVG with a viewBox that begins at 0 0"
    raise ValueError(msg)
