"""A target for the room inputs: folders that contain dumps of several days and of two clusters."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

from fuzz.cli import LINK, documents, run_cli
from fuzz.mutate import ODD_VALUES, of_bytes, of_leaves, of_tree

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

FOLDERS = (
    "2026-11-01", "2026-11-02", "monday", "prod/2026-11-01", "test/2026-11-01", "-o", "a b", "\x1b[31m", "::error::",
    "n" * 200, "cluster-resources", "é", "namespaces/media",
)  # fmt: skip
NAMES = (
    "dump.json", "pods.json", "resourceslices.json", "all.yaml", "a.json.gz", "a.tar", "a.tgz", "version.json",
    "kustomization.yaml", "Chart.yaml", ".gitignore", "events.json", "-f.json", "no-ending", "a.txt",
)  # fmt: skip
LINKS = ("/etc/passwd", "/dev/zero", "/dev/stdin", "..", ".", "missing", "/proc/self/environ")
TIMES = ("2026-11-01T08:00:00Z", "2026-11-02T08:00:00Z", "9999-12-31T23:59:59Z", "yesterday")
QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("explain", "-f", "DIR"),
    ("explain", "-f", "DIR", "-A", "-o", "json"),
    ("devices", "-f", "DIR"),
    ("devices", "-f", "DIR", "--by", "namespace", "-o", "csv"),
    ("fit", "gpu=1", "-f", "DIR"),
    ("lint", "DIR"),
    ("lint", "DIR", "--devices", "DIR"),
    ("render", "--hardware", "dgx-h100", "--diff", "DIR"),
    ("upgrade", "-f", "DIR", "--from", "1.34", "--to", "1.36"),
    ("upgrade", "DIR", "--from", "1.36", "--to", "1.37"),
    ("migrate", "DIR"),
    ("cel", "device.driver == 'gpu.example.com'", "DIR"),
)


def dumps(dice: random.Random) -> None:
    """Answer from a folder with dumps of several days: they have the same objects, changed, under
    odd names and in odd places.
    """
    files: dict[str, bytes] = {}
    for folder in dice.sample(FOLDERS, dice.randint(1, 4)):
        name = dice.choice(NAMES)
        files[f"{folder}/{name}"] = _written(name, _day(dice), dice)
    if dice.random() < 0.2:
        files[f"{dice.choice(FOLDERS)}/link.json"] = LINK + dice.choice(LINKS).encode()
    run_cli([*dice.choice(QUESTIONS), "--isolated"], files)


def _day(dice: random.Random) -> bytes:
    """Return a dump of one day: the examples with times, versions and owners of that day."""
    share = dice.choice((0.0, 0.1, 0.3))
    damage = of_tree if dice.random() < 0.3 else of_leaves
    items: list[Any] = []
    for item in dice.sample(documents(), dice.randint(1, len(documents()))):
        version = str(dice.randint(1, 9)) if dice.random() < 0.9 else dice.choice(ODD_VALUES)
        stamp = {"creationTimestamp": dice.choice(TIMES), "resourceVersion": version}
        stamped = {**item, "metadata": {**item.get("metadata", {}), **stamp}}
        items.append(damage(stamped, dice) if dice.random() < share else stamped)
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()


def _written(name: str, data: bytes, dice: random.Random) -> bytes:
    """Return the bytes of a file: packed if the ending of its name requires that, and sometimes
    damaged.
    """
    if name.endswith(".gz"):
        data = gzip.compress(data, 1)
    elif name.endswith((".tar", ".tgz")):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz" if name.endswith("gz") else "w") as tar:
            for number in range(dice.randint(1, 3)):
                entry = tarfile.TarInfo(f"{dice.choice(('', '../', '/', 'prod/'))}{number}.json")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        data = stream.getvalue()
    return of_bytes(data, dice) if dice.random() < 0.1 else data


TARGETS: tuple[Callable[[random.Random], None], ...] = (dumps,)
