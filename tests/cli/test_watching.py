"""``--watch`` reports at once and after each change, and not otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.cli.watching import changes

if TYPE_CHECKING:
    from pathlib import Path


def test_a_change_of_any_file_is_seen_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a")
    seen: list[str] = []
    steps = iter(
        [
            lambda: seen.append("nothing"),
            lambda: (tmp_path / "a.yaml").write_text("longer"),
            lambda: seen.append("nothing"),
            lambda: (tmp_path / "b.yaml").write_text("new"),
            lambda: (tmp_path / "a.yaml").unlink(),
        ]
    )

    class Enough(Exception):
        pass

    def wait() -> None:
        step = next(steps, None)
        if step is None:
            raise Enough
        step()

    with pytest.raises(Enough):
        seen.extend("change" for _ in changes([str(tmp_path)], wait))
    assert seen == ["change", "nothing", "change", "nothing", "change", "change"]


def test_watching_ends_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    (tmp_path / "a.yaml").write_text("kind: ResourceClaim\n")
    assert main(["lint", "--isolated", "--watch", str(tmp_path / "a.yaml")]) == 130
    assert "DRA801" in capsys.readouterr().out
    assert main(["lint", "--isolated", "--watch", "-"]) == 2
