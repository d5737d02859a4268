"""Reports of earlier runs on the same input, in files of the user's cache directory.

The key of a report covers all of its inputs: the names and contents of all files that may concern
DRA, the kustomizations around them, the release and its gates, the configuration, and the code of
dractl itself. So a cached report is never wrong. Reports on a repository with objects of Flux or
Argo CD are not cached.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from dractl import __version__
from dractl.cel_library import why_not
from dractl.facts.pack import BUILT_IN, current
from dractl.lint.finding import Report
from dractl.lint.findings import Terms
from dractl.lint.store import Store, digest_of_parts
from dractl.manifests import Skipped
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import Relevant
from dractl.program import program_name

_FORMAT = "1"


class Cache:
    """The reports in a folder, which is created for the first one."""

    def __init__(self, folder: str) -> None:
        self._store = Store(folder, "lint", _FORMAT)

    @property
    def empty(self) -> bool:
        """True if no report is stored."""
        return self._store.empty

    def get(self, key: str) -> Report | None:
        """Return the report stored under a key."""
        try:
            return msgspec.json.decode(self._store.get(key) or b"", type=Report)
        except msgspec.MsgspecError:
            return None

    def put(self, key: str, report: Report) -> None:
        """Store a report."""
        with suppress(UnicodeEncodeError):  # the name of a file is not UTF-8
            self._store.put(key, msgspec.json.encode(report))


def digests_of(read: Relevant, kustomizations: Kustomizations) -> list[str]:
    """Return the digests of the files that matter, and of the kustomizations around them."""
    digests = [str(read.files)]
    if read.appliers:  # no cached report fits: the applied objects can come from any file
        digests.append(os.urandom(16).hex())
    folders: set[str] = set()
    for item in read.examined:
        if isinstance(item, Skipped):
            digests.append(repr(item))
            continue
        content = item.content
        identity = (content.name, content.named, content.on_disk, content.chart, item.is_meant)
        name = repr(identity).encode(errors="surrogatepass")
        digests.append(digest_of_parts([name, content.data]))
        folder = kustomizations.folder(content.name)
        if folder not in folders:
            folders.add(folder)
            around = kustomizations.kustomizations_above(folder)
            digests += (
                repr((folder, item.folder, sorted(item.resources), sorted(item.patches)))
                for item in around
            )
    return digests


def _pack() -> str:
    """Return the digest of the pack of facts; empty for the built-in one, which is part of the
    code.
    """
    chosen = current()
    return "" if chosen.origin == BUILT_IN else chosen.digest


def key_of(terms: Terms, digests: Sequence[str]) -> str:
    """Return the key of a report that uses no devices, for an input with these digests."""
    target, config = terms.target, terms.config
    parts = (
        _FORMAT,
        __version__,
        _code(),
        program_name(),
        why_not(),
        _pack(),
        sorted(terms.versions.items()),
        target.release,
        sorted(target.gates),
        None if config.codes is None else sorted(config.codes),
        [(pattern, sorted(codes)) for pattern, codes in config.per_file],
        sorted(config.known.items()),
        sorted(config.severities.items()),
        terms.assumed,
        sorted(terms.consumers),
        digests,
    )
    return digest_of_parts([repr(parts).encode()])


def _code() -> str:
    """Return a digest of dractl's code, since a version stays the same while somebody works on
    it.
    """
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = []
    folders = [top]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:  # inside an archive
            return "".join(str(os.stat(path).st_mtime_ns) for path in _archive(top))
        for entry in entries:
            if entry.name.endswith((".py", ".md", ".json", ".yaml")):
                status = entry.stat()
                files.append((entry.path, status.st_mtime_ns, status.st_size))
            elif entry.is_dir() and entry.name != "__pycache__":
                folders.append(entry.path)
    return digest_of_parts([repr(sorted(files)).encode()])


def _archive(path: str) -> Iterator[str]:
    """Yield the file of a zip application that contains a module."""
    while path != os.path.dirname(path):
        if os.path.isfile(path):
            yield path
            return
        path = os.path.dirname(path)
