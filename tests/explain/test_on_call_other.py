"""Situations of a real control plane that are asked in other ways than by a pod and a dump: every idea that
``truth.json`` wants is in the answer that a person reads. Those with ``--as`` need a live cluster (tests/live)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main
from tests.conftest import whole_dir

if TYPE_CHECKING:
    from pathlib import Path


def list_recordings() -> list[Path]:
    shared = whole_dir()
    found = (
        sorted((shared / "conformance" / "oncall-other").glob("*/truth.json"))
        if shared is not None
        else []
    )
    return [truth.parent for truth in found if "--as" not in json.loads(truth.read_text())["args"]]


@pytest.mark.parametrize("folder", list_recordings(), ids=lambda folder: folder.name)
def test_answer_has_the_cause_named_by_an_engineer(folder: Path, capsys: Any) -> None:
    truth = json.loads((folder / "truth.json").read_text())
    args = list(truth["args"])
    if "-f" in args:
        args[args.index("-f") + 1] = str(folder / args[args.index("-f") + 1])
    else:
        args += ["-f", str(folder / "dump.yaml")]
    main(["explain", *args, "--isolated", "--kubernetes-version", "1.37"])
    said = capsys.readouterr()
    text = (
        " ".join((said.out + said.err).lower().split())
        .replace(str(folder).lower(), "")
        .replace("describe.txt", "")
    )
    for idea in (*truth["says"], *(truth["does"] or ())):
        assert any(wording in text for wording in idea), (idea, text)
