"""Sets the address of the project: ``python tools/set_address.py OWNER/NAME [--site URL]``.

Until this script is run, the files have the placeholder ``OWNER/dractl``. The script sets the
repository in the site's snippets, the krew manifest, the Homebrew formula and the checks of a
release; the project's URLs in pyproject.toml, which PyPI shows; and the site's address in
mkdocs.yml and in dractl/lint/registry.py, since lint's reports link to the site. Run it again to
move the project.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "OWNER/dractl"
FILES = (
    "SECURITY.md",
    "deploy/gitlab/dractl.gitlab-ci.yml",
    "docs/releasing.md",
    "docs/site/in-ci.md",
    "plugins/dra.yaml",
)
"""The files that name the repository."""


def current(root: Path) -> str:
    """Return the repository that the project is published at, or the placeholder."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", f"https://github.com/{PLACEHOLDER}")
    return str(address).removeprefix("https://github.com/")


def set_address(root: Path, repository: str, site: str) -> None:
    before = current(root)
    for name in FILES:
        text = (root / name).read_text("utf-8")
        text = text.replace(
            f"ghcr.io/{before.lower()}", f"ghcr.io/{before}"
        )  # images' names are in lower case
        text = re.sub(rf"{re.escape(before)}(?![\w-])", repository, text)
        text = text.replace(f"ghcr.io/{repository}", f"ghcr.io/{repository.lower()}")
        (root / name).write_text(text, "utf-8")
    page = f"https://github.com/{repository}"
    urls = (
        f'[project.urls]\nDocumentation = "{site}"\n'
        f'Repository = "{page}"\nChangelog = "{page}/releases"\n\n'
    )
    project = root / "pyproject.toml"
    text = re.sub(r"(?ms)^\[project\.urls\]\n.*?(?=^\[)", "", project.read_text("utf-8"))
    project.write_text(
        text.replace(
            "[project.optional-dependencies]\n", f"{urls}[project.optional-dependencies]\n"
        ),
        "utf-8",
    )
    registry = root / "dractl" / "lint" / "registry.py"
    text = re.sub(
        r'(?m)^DOCUMENTATION = ".*"$', f'DOCUMENTATION = "{site}"', registry.read_text("utf-8")
    )
    registry.write_text(text, "utf-8")
    pages = root / "mkdocs.yml"
    text = re.sub(r"(?m)^(?:site_url|repo_url): .*\n", "", pages.read_text("utf-8"))
    pages.write_text(
        re.sub(r"(?m)^site_name: .*\n", rf"\g<0>site_url: {site}/\nrepo_url: {page}\n", text),
        "utf-8",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", metavar="OWNER/NAME")
    parser.add_argument(
        "--site", metavar="URL", help="the site's address (default: its GitHub Pages)"
    )
    options = parser.parse_args()
    if re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", options.repository) is None:
        parser.error(f"not a repository on GitHub: {options.repository}")
    owner, _, name = options.repository.partition("/")
    set_address(
        ROOT,
        options.repository,
        (options.site or f"https://{owner.lower()}.github.io/{name}").rstrip("/"),
    )
    subprocess.run(["git", "diff", "--stat"], cwd=ROOT, check=False)


if __name__ == "__main__":
    main()
