"""Writes tests/data/recorded, a fixed sample of the recorded verdicts that every checkout has.

    python tools/sample_conformance.py SHARED        the folder that holds conformance/

The layout is that of the complete data, which tests use if they find it. At most 4 MB.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "tests" / "data" / "recorded" / "conformance"
LIMIT = 4_000_000  # bytes
LINES = 24  # one of as many lines
FOLDERS = {"scheduling": 12, "capacity": 4, "oncall": 8, "impact": 4}


def main(shared: Path) -> None:
    data = shared / "conformance"
    shutil.rmtree(TARGET, ignore_errors=True)
    for release in ("1.34", "1.35", "1.36", "1.37"):
        lines(data / "allocator-random" / f"{release}.jsonl", data)
        lines(data / "cel" / f"verdicts-{release}.jsonl", data)
    lines(data / "cel" / "cases.jsonl", data)
    whole(data / "cel" / "devices.json", data)
    allocator(data)
    whole(data / "allocator-slow.jsonl", data)
    lines(data / "karpenter" / "cases.jsonl", data)
    documents(data)
    for kind, every in FOLDERS.items():
        folders(data / kind, every, data)
    size = sum(path.stat().st_size for path in TARGET.rglob("*") if path.is_file())
    print(f"{size / 1e6:.1f} MB in {TARGET}")
    if size > LIMIT:
        sys.exit(f"more than {LIMIT / 1e6:.0f} MB")


def put(path: Path, data: Path, content: bytes) -> None:
    target = TARGET / path.relative_to(data)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def whole(path: Path, data: Path) -> None:
    put(path, data, path.read_bytes())


def lines(path: Path, data: Path) -> None:
    """Write every 24th line; lines of files that belong together stay together."""
    put(path, data, b"".join(path.read_bytes().splitlines(keepends=True)[::LINES]))


def allocator(data: Path) -> None:
    """Write every 24th case of each variant of upstream's suite, with the released answer."""
    folder = data / "allocator"
    chosen = set()
    for name in ("experimental", "incubating", "stable"):
        lines(folder / f"{name}.jsonl", data)
        kept = (TARGET / "allocator" / f"{name}.jsonl").read_bytes().splitlines()
        chosen |= {(json.loads(line)["name"], name) for line in kept}
    path = folder / "released-1.37.jsonl"
    rows = [(line, json.loads(line)) for line in path.read_bytes().splitlines(keepends=True)]
    put(path, data, b"".join(line for line, row in rows if (row["name"], row["channel"]) in chosen))


def documents(data: Path) -> None:
    """Write every 24th document that API servers judged, with the answer of each server."""
    folder = data / "validation"
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_bytes().splitlines()]
    chosen = {case["id"] for case in cases[::LINES]}
    for path in [folder / "cases.jsonl", *sorted(folder.glob("verdicts-*.jsonl"))]:
        kept = [
            line
            for line in path.read_bytes().splitlines(keepends=True)
            if json.loads(line)["id"] in chosen
        ]
        put(path, data, b"".join(kept))
    whole(folder / "gates.json", data)


def folders(root: Path, every: int, data: Path) -> None:
    for folder in sorted(path for path in root.iterdir() if path.is_dir())[::every]:
        for path in sorted(folder.iterdir()):
            whole(path, data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
