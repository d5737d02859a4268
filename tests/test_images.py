"""Base images are pinned by the digests that a registry gives, or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIRST, SECOND = "sha256:" + "a1" * 32, "sha256:" + "b2" * 32
FILE = (
    "FROM python:3.13 AS build\nRUN pip install x\n\nFROM debian:13\nCOPY --from=build /opt /opt\n"
)
PINNED = FILE.replace("python:3.13", f"python:3.13@{FIRST}").replace(
    "debian:13", f"debian:13@{SECOND}"
)


def pinned(folder: Path, text: str, *answers: tuple[str, str]) -> tuple[int, str]:
    """Exit code and the Dockerfile afterwards, where ``docker`` runs a line of a shell for each image."""
    cases = "".join(f"*' {image} '*) {line};;\n" for image, line in answers)
    (folder / "docker").write_text(f'#!/bin/sh\ncase "$* " in\n{cases}*) exit 9;;\nesac\n')
    (folder / "docker").chmod(0o755)
    (folder / "Dockerfile").write_text(text)
    done = subprocess.run(
        ["sh", str(ROOT / "tools" / "pin_images.sh"), str(folder / "Dockerfile")],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    return done.returncode, (folder / "Dockerfile").read_text()


@pytest.mark.parametrize("text", [FILE, PINNED.replace("a1", "c3")])
def test_the_digests_of_the_registry_are_written(text: str, tmp_path: Path) -> None:
    answers = ("python:3.13", f"echo {FIRST}"), ("debian:13", f"echo {SECOND}")
    assert pinned(tmp_path, text, *answers) == (0, PINNED)


@pytest.mark.parametrize(
    "line", ["exit 1", "echo", "echo sha256:1234", f"echo {SECOND}0", "echo latest"]
)
def test_nothing_is_written_without_all_digests(line: str, tmp_path: Path) -> None:
    code, text = pinned(tmp_path, FILE, ("python:3.13", f"echo {FIRST}"), ("debian:13", line))
    assert code != 0
    assert text == FILE


def test_the_base_images_of_the_project_are_found(tmp_path: Path) -> None:
    text = (ROOT / "Dockerfile").read_text()
    images = [
        line.split()[1].partition("@")[0] for line in text.splitlines() if line.startswith("FROM ")
    ]
    code, after = pinned(
        tmp_path, text, *((image, f"echo {FIRST}") for image in dict.fromkeys(images))
    )
    assert code == 0
    assert after.count(f"@{FIRST}") == len(images) > 0
