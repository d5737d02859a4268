"""Changes that are played, beside what impact says before: taints on a control plane, drains and restarts on a node.

``pytest -m node tests/live/test_impact.py -k finalizer`` plays one of them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests.live.impact_evictions import SITUATIONS, Situation, record
from tests.live.impact_plays import PLAYS, Play, TwoNodes, carry_out
from tests.live.node import lacking
from tests.live.plane import RELEASE, oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def node() -> Iterator[TwoNodes]:
    why = lacking()
    if why:
        pytest.skip(f"no real node: {why}")
    with TwoNodes() as running:
        yield running


@pytest.mark.node
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_outcome_on_a_node_matches_impact(node: TwoNodes, play: Play) -> None:
    outcome = carry_out(node, play)
    assert not outcome.differences(), outcome.said


@pytest.fixture(scope="module")
def kubectl() -> Iterator[Callable[..., str]]:
    module = oracle()
    if module is None:
        pytest.skip("no control plane: it is not built")
    with module.Cluster(RELEASE) as cluster:

        def run(*arguments: str, stdin: str = "", check: bool = True) -> str:
            done = cluster.kubectl(*arguments, stdin=stdin, check=check)
            return str(done.stdout)

        yield run


@pytest.mark.live
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_pods_deleted_by_the_controller_match_impact(
    kubectl: Callable[..., str],
    situation: Situation,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = record(kubectl, situation)
    for name, text in (("dump.yaml", found.dump), ("change.json", found.change)):
        (tmp_path / name).write_text(text)
    files = (str(tmp_path / "change.json"), "-f", str(tmp_path / "dump.yaml"))
    main(["impact", *files, "-o", "json", "--isolated", "-q"])
    said = json.loads(capsys.readouterr().out)
    assert not found.differences(said, situation.watched), said
