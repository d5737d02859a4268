"""The gathered machines, each unpacked once."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GATHERED = ("32intel64-2p8co2t+8ve", "2pa-pcidomain32bits", "40intel64-2g2n4c+pcilocality")


@pytest.fixture(scope="session")
def gathered(
    whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Path]]:
    """The archive of a name and the tree that it holds; its folder is not always named like the archive."""
    trees: dict[str, Path] = {}

    def find(name: str) -> tuple[Path, Path]:
        archive = whole / "machines" / f"{name}.tar.bz2"
        if name not in trees:
            top = tmp_path_factory.mktemp("gathered")
            with tarfile.open(archive) as tar:
                tar.extractall(top, filter="data")
            (trees[name],) = top.iterdir()
        return archive, trees[name]

    return find
