"""Code that targets share: the examples, and a run of the command line on files."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
LINK = b"link to: "
answered: Counter[bool] = Counter()
"""The number of runs of the command line: True for answers, False for refused inputs."""


@cache
def manifests() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(EXAMPLES.glob("*/*.yaml")))


@cache
def documents() -> tuple[Any, ...]:
    return tuple(
        item
        for data in manifests()
        for item in yaml.safe_load_all(data)
        if isinstance(item, dict) and "kind" in item
    )


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
