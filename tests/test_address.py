"""The address of the published project is set in one step, and is the same in all files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import dractl
from tools.set_address import FILES, PLACEHOLDER, current, set_address

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = re.compile(
    r"(?:github\.com/|uses: |--repo |ghcr\.io/|githubusercontent\.com/)([\w.-]+/dractl)\b"
)


def published(tmp_path: Path) -> Path:
    """Return a copy of the files in which the address is set."""
    for name in (*FILES, "pyproject.toml", "mkdocs.yml", "dractl/lint/registry.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_file_names_the_same_repository() -> None:
    found = {name: set(SNIPPET.findall((ROOT / name).read_text("utf-8"))) for name in FILES}
    assert found == {name: {current(ROOT)} for name in FILES}


def test_no_other_file_has_the_placeholder() -> None:
    done = subprocess.run(
        ["git", "grep", "--untracked", "-lIF", PLACEHOLDER],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        pytest.skip("not a checkout of git")
    of_tools = {"tools/set_address.py", "tools/fill_krew.sh", "tests/test_address.py"}
    assert set(done.stdout.split()) <= {*FILES, *of_tools}


def test_one_step_sets_all_of_them(tmp_path: Path) -> None:
    root = published(tmp_path)
    set_address(root, "Acme/dra-tools", "https://acme.github.io/dra-tools")
    for name in FILES:
        text = (root / name).read_text("utf-8")
        assert PLACEHOLDER not in text
        assert re.search("acme/dra-tools", text, re.IGNORECASE), name
    page = (root / "docs" / "site" / "in-ci.md").read_text("utf-8")
    assert f"- repo: https://github.com/Acme/dra-tools\n  rev: v{dractl.__version__}\n" in page
    assert f"uses: Acme/dra-tools@v{dractl.__version__}" in page
    assert "oci://ghcr.io/acme/dra-tools:VERSION" in (root / "docs" / "releasing.md").read_text(
        "utf-8"
    )
    krew = yaml.safe_load((root / "plugins" / "dra.yaml").read_text("utf-8"))["spec"]
    addresses = [krew["homepage"], *(platform["uri"] for platform in krew["platforms"])]
    assert all(address.startswith("https://github.com/Acme/dra-tools") for address in addresses)
    assert tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["urls"] == {
        "Documentation": "https://acme.github.io/dra-tools",
        "Repository": "https://github.com/Acme/dra-tools",
        "Changelog": "https://github.com/Acme/dra-tools/releases",
    }
    assert '\nDOCUMENTATION = "https://acme.github.io/dra-tools"\n' in (
        root / "dractl/lint/registry.py"
    ).read_text("utf-8")
    site = yaml.safe_load((root / "mkdocs.yml").read_text("utf-8"))
    assert (site["site_url"], site["repo_url"]) == (
        "https://acme.github.io/dra-tools/",
        "https://github.com/Acme/dra-tools",
    )


def test_moved_project_leaves_nothing_behind(tmp_path: Path) -> None:
    root = published(tmp_path)
    set_address(root, "Acme/dra-tools", "https://acme.github.io/dra-tools")
    set_address(root, "new-owner/dractl", "https://dractl.example.com")
    texts = [path.read_text("utf-8") for path in root.rglob("*") if path.is_file()]
    assert not any(re.search("acme|dra-tools", text, re.IGNORECASE) for text in texts)
    assert 'Documentation = "https://dractl.example.com"' in (root / "pyproject.toml").read_text(
        "utf-8"
    )


@pytest.mark.parametrize("name", ["docs/site/in-ci.md", "deploy/gitlab/dractl.gitlab-ci.yml"])
def test_snippets_name_this_release(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    found = set(re.findall(r"(?:dractl@v|rev: v|dractl/v|DRACTL_VERSION: \")([\d.]+\d)", text))
    assert found == {dractl.__version__}


def test_invalid_repository_name_changes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "set_address.py", "https://github.com/a/b"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "not a repository on GitHub" in done.stderr
