"""The repository that contains files, under the names that sources of Flux and Argo CD have for
it.
"""

import os
import re
from collections.abc import Iterable

from msgspec import Struct

_URL = re.compile(r"(?m)^\s*url\s*=\s*(\S+)\s*$")
_MAX_BYTES = 1024 * 1024
_SCHEME = re.compile(r"(?i)^(?:[a-z][a-z0-9+.-]*://)?(?:[^@/]*@)?")


class Origins(Struct, frozen=True):
    """The addresses of the repository at hand."""

    names: frozenset[str]
    """Owners and names of its remotes, such as ``acme/infra``; none if it has no remote."""

    def has(self, url: str) -> bool:
        """Return False if a URL is the address of another repository. Without remotes this is never
        known, so the result is True.
        """
        return not self.names or not url or _name(url) in self.names


def find_origins(top: str | None) -> Origins:
    """Find the addresses of the repository at a folder."""
    path = os.path.join(top or "", ".git", "config")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_BYTES) if top else ""
    except OSError:
        text = ""
    return make_origins(_URL.findall(text))


def make_origins(urls: Iterable[str]) -> Origins:
    """Return the repository with these addresses."""
    return Origins(frozenset(map(_name, urls)))


def _name(url: str) -> str:
    """Return the owner and the name in a URL, without its host, since mirrors and forks have other
    hosts.
    """
    path = _SCHEME.sub("", url).replace(":", "/").removesuffix("/").removesuffix(".git")
    return "/".join(path.split("/")[-2:]).lower()
