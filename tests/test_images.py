"""The contents of the image, and its base images, which are pinned by a registry's digests or not
at all.
"""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tools import fetch_helm

ROOT = Path(__file__).resolve().parent.parent
FIRST, SECOND = "sha256:" + "a1" * 32, "sha256:" + "b2" * 32
FILE = (
    "FROM python:3.13 AS build\nRUN pip install x\n\nFROM debian:13\nCOPY --from=build /opt /opt\n"
)
PINNED = FILE.replace("python:3.13", f"python:3.13@{FIRST}").replace(
    "debian:13", f"debian:13@{SECOND}"
)


def pinned(folder: Path, text: str, *answers: tuple[str, str]) -> tuple[int, str]:
    """Run the script with a fake ``docker``, which runs a line of shell for each image; return the
    exit code and the Dockerfile afterwards.
    """
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


def test_image_has_the_programs_of_lint_and_explain() -> None:
    """Without helm and kustomize, a job in the image would succeed without reading the charts."""
    last = (ROOT / "Dockerfile").read_text().split("\nFROM ")[-1]
    copied = {Path(path).name for path in re.findall(r"^COPY --from=\w+ (\S+)", last, re.MULTILINE)}
    assert copied == {"dractl", "helm", "kustomize", "kubectl"}


def test_a_runner_can_start_a_shell_in_the_image() -> None:
    """GitLab starts ``sh -c`` in the image, which an ENTRYPOINT would take for arguments."""
    text = (ROOT / "Dockerfile").read_text()
    assert "\nENTRYPOINT" not in text
    assert text.endswith('CMD ["dractl"]\n')


def test_the_gitlab_job_fails_if_charts_are_skipped() -> None:
    job = yaml.safe_load((ROOT / "deploy" / "gitlab" / "dractl.gitlab-ci.yml").read_text())
    lint = job["dractl-lint"]
    assert lint["image"].rpartition("/")[2] == "dractl:$DRACTL_VERSION"
    assert any(line.startswith("dractl lint --fail-on-skipped ") for line in lint["script"])


def archive(program: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo("linux-arm64/helm")
        member.size = len(program)
        tar.addfile(member, io.BytesIO(program))
    return out.getvalue()


def test_helm_is_taken_from_an_archive_with_the_known_checksum() -> None:
    found = archive(b"a program")
    checksum = hashlib.sha256(found).hexdigest()
    assert fetch_helm.unpack(found, "arm64", checksum) == b"a program"
    with pytest.raises(ValueError, match=f"has SHA-256 {checksum}, not {'0' * 64}"):
        fetch_helm.unpack(found, "arm64", "0" * 64)


def test_helm_is_known_for_every_platform_of_the_image() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    (platforms,) = re.findall(r"platforms: (\S+)", workflow)
    assert {name.removeprefix("linux/") for name in platforms.split(",")} == set(
        fetch_helm.CHECKSUMS
    )
    assert set(fetch_helm.ARCHITECTURES.values()) == set(fetch_helm.CHECKSUMS)
