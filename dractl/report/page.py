"""The frame that all HTML pages share: palette, style sheet, tables and lists.

A page loads nothing from elsewhere, follows the reader's light or dark scheme, and can be read on a
phone.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape

from dractl.facts import current

# Blue, violet and orange remain distinct with every common form of colour blindness, and words
# repeat their meaning.
PALETTE = """
--ink: #1b1f24; --soft: #59636e; --paper: #ffffff; --box: #f3f5f8; --card: #ffffff; --edge: #c3cad3;
--gpu: #0b5cad; --nic: #7a3fd0; --nvme: #a15c00; --other: #7b8794; --warn: #a33b00; --bad: #b3261e; --good: #1a7f37;
""".strip()
DARK = """
--ink: #e6e9ee; --soft: #9aa4b2; --paper: #14171c; --box: #1c2129; --card: #242a34; --edge: #414a57;
--gpu: #5aa9f5; --nic: #b08cf5; --nvme: #e0a63a; --other: #8a94a3; --warn: #ff9d5c; --bad: #ff8a80; --good: #6fdd8b;
""".strip()
FONT = 'ui-sans-serif, system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif'
MONO = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'

_QUOTED = re.compile(r"`([^`\n]+)`")
_STYLE = f"""
:root {{ color-scheme: light dark; {PALETTE} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
* {{ box-sizing: border-box; }} [hidden] {{ display: none; }}
body {{ margin: 0 auto; padding: 16px 20px 72px; max-width: 1500px; color: var(--ink); background: var(--paper);
  font: 14px/1.45 {FONT}; overflow-wrap: anywhere; }}
h1 {{ font-size: 18px; margin: 0 0 4px; }} h2 {{ font-size: 15px; margin: 28px 0 8px; }}
h3, h4, h5 {{ font-size: 13px; margin: 0; }} p {{ margin: 0 0 4px; }}
ul {{ margin: 6px 0; padding-left: 20px; }} dt {{ font-weight: 600; }} dd {{ margin: 0 0 8px; }}
.soft {{ color: var(--soft); }} .strong {{ font-weight: 600; }} .mono, code {{ font-family: {MONO}; font-size: 12px; }}
.bad {{ color: var(--bad); }} .good {{ color: var(--good); }} .warn {{ color: var(--warn); }}
.w {{ white-space: nowrap; }}
code {{ background: var(--box); padding: 0 3px; }} summary {{ cursor: pointer; color: var(--soft); }}
.wide {{ overflow-x: auto; }} table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ padding: 3px 12px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge);
  overflow-wrap: break-word; }}
td.n {{ text-align: right; white-space: nowrap; }}
.about {{ position: fixed; inset: auto 0 0 0; padding: 8px 20px; max-height: 40vh; overflow: auto; font-size: 12px;
  background: var(--box); border-top: 1px solid var(--edge); }} .about:empty {{ display: none; }}
@media (max-width: 44rem) {{ table.rows tr {{ display: flex; flex-wrap: wrap; gap: 2px 12px; padding: 4px 0;
  border-bottom: 1px solid var(--edge); }} table.rows td {{ border: 0; padding: 0; }}
  table.rows th, table.rows td:empty {{ display: none; }} table.rows td.n:first-child + td {{ flex: 1 1 70%; }} }}
@media print {{ :root {{ color-scheme: light; {PALETTE} }} body {{ max-width: none; padding: 0; }}
  * {{ print-color-adjust: exact; }} .about, .screen {{ display: none !important; }}
  .wide {{ overflow: visible; }} pre {{ white-space: pre-wrap; }}
  details::details-content {{ content-visibility: visible; }}
  h1, h2, h3 {{ break-after: avoid; }} tr, li, dd, svg {{ break-inside: avoid; }} }}
""".strip()


def page(title: str, parts: Iterable[str], style: str = "", script: str = "") -> str:
    """Return a complete HTML document; ``style`` and ``script`` are the page's own."""
    end = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}\n{style.strip()}</style></head>\n"
        f"<body>\n{chr(10).join(filter(None, parts))}\n"
        f"<p class=soft>{escape(current().title)}</p>\n{end}</body></html>\n"
    )


def cell(text: str, kind: str = "") -> str:
    """Return a cell of text; ``kind`` is its class."""
    return f'<td class="{kind}">{prose(text)}</td>' if kind else f"<td>{prose(text)}</td>"


def prose(text: str) -> str:
    """Return plain text as HTML in which the parts between backquotes are code."""
    return _QUOTED.sub(r"<code>\1</code>", escape(text))


def table(rows: Iterable[str], head: Sequence[str] = (), kind: str = "") -> str:
    """Return a table from rows, each given as the text of its cells.

    On a narrow page the table scrolls separately; if its kind is ``rows``, the cells of a row are
    placed below each other.
    """
    titles = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(f"<tr>{row}</tr>" for row in ([titles] if head else []))
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    look = f' class="{kind}"' if kind else ""
    return f'<div class="wide" tabindex="0"><table{look}>\n{lines}{body}</table></div>'


def texts(rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Return the rows of plain text for :func:`table`."""
    return ("".join(map(cell, row)) for row in rows)


def bullets(items: Sequence[str]) -> str:
    """Return a list of texts."""
    return f"<ul>{''.join(f'<li>{prose(text)}</li>' for text in items)}</ul>" if items else ""
