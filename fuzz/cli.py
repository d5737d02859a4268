"""Code that targets share: the examples, and a run of the command line on files."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fuzz.mutate import of_leaves, of_tree

if TYPE_CHECKING:
    import random

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
LINK = b"link to: "
answered: Counter[bool] = Counter()
"""The number of runs of the command line: True for answers, False for refused inputs."""


@cache
def manifests() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(EXAMPLES.glob("*/*.yaml")))


@cache
def scenes() -> tuple[tuple[Any, ...], ...]:
    """Return the objects of each folder of the examples, which belong together."""
    folders: dict[Path, list[Any]] = {}
    for path in sorted(EXAMPLES.glob("*/*.yaml")):
        parts = yaml.safe_load_all(path.read_bytes())
        folders.setdefault(path.parent, []).extend(
            item for item in parts if isinstance(item, dict) and "kind" in item
        )
    return tuple(map(tuple, folders.values()))


@cache
def documents() -> tuple[Any, ...]:
    return tuple(item for scene in scenes() for item in scene)


def damaged_scene(dice: random.Random) -> list[Any]:
    """Return up to 100 objects of a few folders, one to five of them damaged. Most of these keep their
    shape: a reader refuses a dump with one object that it cannot read.
    """
    items = [item for scene in dice.sample(scenes(), 3) for item in scene]
    items = dice.sample(items, min(len(items), 100))
    for at in dice.sample(range(len(items)), min(len(items), dice.randint(1, 5))):
        items[at] = (of_tree if dice.random() < 0.1 else of_leaves)(items[at], dice)
    return items


def run_cli(arguments: list[str], files: dict[str, bytes]) -> None:
    """Run the command line on files, in this process. Raises every exception that is not a clear
    error.

    A file whose content begins with ``LINK`` is a symbolic link to the rest of it.
    """
    from dractl.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if data.startswith(LINK):
                path.symlink_to(data.removeprefix(LINK).decode())
            else:
                path.write_bytes(data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([argument.replace("DIR", folder) for argument in arguments])
        answered[code in (0, 1)] += 1
        if (
            code not in (0, 1, 2, 3)
            or "internal error" in err.getvalue()
            or "Traceback" in err.getvalue()
        ):
            raise AssertionError(f"exit code {code}: {err.getvalue()[-2000:]}")
