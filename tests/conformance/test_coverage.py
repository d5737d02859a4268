"""Recorded dumps of whole clusters: nothing of them is said to be missing from the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from dractl.cluster import ClusterState, sources
from tests.conftest import shared_dir

FAMILIES = ("oncall", "scheduling", "capacity")
WITHOUT_NODES = ("311-dump-without-nodes", "no-nodes")
"""The recorded dumps without nodes: somebody left them out, or there were none, which the
scheduler had not yet said.
"""
LINK = b"../"
"""The beginning of a file that stands for a symbolic link to another dump."""


def dumps() -> list[Path]:
    """Return the recorded dumps of whole clusters."""
    return sorted(
        file
        for family in FAMILIES
        for pattern in ("*/dump.yaml*", "*/objects.json")
        for file in (shared_dir() / "conformance" / family).glob(pattern)
        if file.parent.name not in WITHOUT_NODES and not file.read_bytes().startswith(LINK)
    )


DUMPS = dumps()


@pytest.mark.parametrize("dump", DUMPS, ids=[f"{d.parts[-3]}-{d.parts[-2]}" for d in DUMPS])
def test_a_recorded_dump_shows_the_whole_cluster(dump: Path) -> None:
    documents = sources.read_files([str(dump)]).documents
    assert ClusterState.from_documents(documents).list_unread() == ()
