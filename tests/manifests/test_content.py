"""Reading of files, whatever their names are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cli.main import main
from dractl.manifests.content import read_file

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_name_with_a_null_byte_is_of_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert read_file(str(tmp_path / "a")) == b"x"
    assert read_file(str(tmp_path / "a\0")) is None


def test_a_resource_with_a_null_byte_is_no_internal_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kustomization.yaml").write_text('resources: ["a\\0.yaml"]\n')
    main(["lint", "--isolated", str(tmp_path)])
    assert "internal error" not in capsys.readouterr().err
