"""A hook of mkdocs that mends the search of the built site.

lunr 2.3.9 keeps its words in a graph and merges nodes of equal text. The text of a node is made of
letters and ids without a mark between them (``TokenSet.prototype.toString``), so words with digits
can merge two nodes that differ. The search then looks for words that no page has, and every query
with such a digit finds nothing: "0/1 nodes are available", for instance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

AMBIGUOUS = "e=e+s+o.id}return e}"
DISTINCT = 'e=e+s+o.id+","}return e}'
"""The corrected code, with a mark behind each id."""


def on_post_build(config: Any) -> None:
    """Correct the worker of the theme's search; raise if the theme has another one."""
    workers = Path(config["site_dir"], "assets", "javascripts", "workers").glob("search.*.js")
    for path in workers:
        path.write_text(separate_ids(path.read_text("utf-8")), "utf-8")


def separate_ids(worker: str) -> str:
    """Return the worker's code with a mark between the ids of lunr's nodes."""
    if worker.count(AMBIGUOUS) != 1:
        msg = "the theme's search is not that of lunr 2.3.9: look whether it still needs this hook"
        raise ValueError(msg)
    return worker.replace(AMBIGUOUS, DISTINCT)
