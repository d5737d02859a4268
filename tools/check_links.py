"""Checks the links of the built documentation site: ``python tools/check_links.py [build/html]``.

Each address within the site must be one of its files, and each fragment an ``id`` in that file. No
page may load anything from another site. ``mkdocs build --strict`` reads only Markdown, neither
HTML in pages nor the additions of the theme.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """The addresses, the things that are loaded, and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        loads = tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload")
        if "src" in values:
            self.loads.append(values["src"])
        if "href" in values:
            (self.loads if loads else self.links).append(values["href"])


def broken_links(site: Path) -> Iterator[str]:
    """Yield a line for each address of a page that leads nowhere, and for each thing loaded from
    elsewhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        at = path.relative_to(site)
        for link in dict.fromkeys((*page.loads, *page.links)):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads and url.scheme != "data":
                    yield f"{at}: loads {link} from another site"
                continue
            goal = target(site, path, unquote(url.path))
            anchors = pages[goal].anchors if goal in pages else None
            if not goal.is_file():
                yield f"{at}: {link} is no file of the site"
            elif url.fragment and anchors is not None and unquote(url.fragment) not in anchors:
                yield f"{at}: {link}: {goal.relative_to(site)} has no such anchor"


def target(site: Path, page: Path, path: str) -> Path:
    """Return the file that a web server shows for ``path`` on ``page``."""
    if not path:
        return page
    start = site if path.startswith("/") else page.parent
    goal = (start / path.lstrip("/")).resolve()
    return goal / "index.html" if path.endswith("/") or goal.is_dir() else goal


def main(arguments: list[str]) -> int:
    site = Path(arguments[0] if arguments else ROOT / "build" / "html").resolve()
    if not (site / "index.html").is_file():
        print(f"{site}: no site is built there; run mkdocs build --strict", file=sys.stderr)
        return 3
    lines = list(broken_links(site))
    print(*lines, f"{len(lines)} broken links in {site}", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
