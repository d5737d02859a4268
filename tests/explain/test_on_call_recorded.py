"""Every recorded on-call situation: the ideas of ``truth.json`` are in what is said first, and in what is offered; no
change that did damage when it was applied is offered (``never``)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main
from tests.conftest import whole_dir

if TYPE_CHECKING:
    from pathlib import Path

_LINK = 100  # bytes of a dump that is only the path of another one


def list_recordings() -> list[Path]:
    shared = whole_dir()
    return (
        sorted(f.parent for f in (shared / "conformance" / "oncall").glob("*/truth.json"))
        if shared
        else []
    )


@pytest.mark.parametrize("folder", list_recordings(), ids=lambda folder: folder.name)
def test_the_answer_has_the_cause_and_the_cure_of_an_engineer(folder: Path, capsys: Any) -> None:
    truth = json.loads((folder / "truth.json").read_text())
    namespace, _, name = truth["pod"].partition("/")
    dump = next(folder.glob("dump.yaml*"))
    if dump.stat().st_size < _LINK:
        dump = folder / dump.read_text()
    gates = ["--feature-gates", truth["gates"]] if truth.get("gates") else []
    asked = [
        f"pod/{name}",
        "-n",
        namespace,
        "-f",
        str(dump),
        "-o",
        "json",
        "--kubernetes-version",
        "1.37",
        *gates,
    ]
    main(["explain", *asked, "--isolated"])
    answer = json.loads(capsys.readouterr().out)
    reasons, fixes = answer["reasons"], answer["fixes"]
    shown = (answer, *reasons[:2], *fixes[:2])
    said = join_texts([answer["headline"], [r["message"] for r in reasons[:2]], answer["notes"]])
    done = join_texts(
        [[[f["title"], f["effect"]] for f in fixes[:2]], [x.get("next") for x in shown]]
    )
    offered = join_texts(
        [
            [[f["title"], f["effect"]] for f in fixes],
            [x.get("next") for x in (answer, *reasons, *fixes)],
        ]
    )
    assert [
        idea
        for idea in truth["says"]
        if not any(contains_wording(wording, said) for wording in idea)
    ] == []
    assert [
        idea
        for idea in truth["does"] or ()
        if not any(contains_wording(wording, done) for wording in idea)
    ] == []
    assert [wording for wording in truth.get("never", ()) if wording.lower() in offered] == []
    assert truth.get("verdict") in (None, answer["verdict"])


def join_texts(value: Any) -> str:
    """All texts of a part of the report, in lower case."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return " | ".join(map(join_texts, value))
    return "" if value is None else str(value).lower()


def contains_wording(wording: str, text: str) -> bool:
    """True if a text has a wording; a number has to stand alone."""
    return (
        bool(re.search(rf"(?<![\w.]){wording}(?![\w.]*\w)", text))
        if wording.isdigit()
        else wording in text
    )
