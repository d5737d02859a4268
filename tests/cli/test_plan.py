"""``dractl plan`` on the command line: verdicts, formats, exit codes and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from dractl.cli.main import main
from tests.explain.cluster import claim, request
from tests.planning.cluster import DRIVER, machine, objects, running, waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "dractl" / "plan-v1.json").read_text("utf-8")
)
MOVABLE = (
    machine("a", 2),
    machine("b", 2),
    running("x", "StatefulSet/x", "a", 0),
    running("y", "", "b", 0),
    waiting(2),
)
STUCK = (machine("a", 2), running("x", "StatefulSet/x", "a", 0), waiting(2))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run ``plan`` on a dump; return exit code, output and errors."""

    def plan(parts: Sequence[Any], *words: str) -> tuple[int, str, str]:
        dump = tmp_path / "dump.json"
        items = {"apiVersion": "v1", "kind": "List", "items": objects(*parts)}
        dump.write_text(json.dumps(items))
        code = main(["plan", *words, "-f", str(dump), "--isolated", "-n", "ml"])
        out, err = capsys.readouterr()
        return code, out, err

    return plan


@pytest.mark.parametrize(
    ("parts", "words", "verdict", "code"),
    [
        (MOVABLE, ("pod/wanted",), "plan", 0),
        (MOVABLE[:-1], (f"{DRIVER}=2",), "plan", 0),
        (MOVABLE[:-1], ("template/t2",), "plan", 0),
        (MOVABLE, ("template/t2",), "none", 1),  # pod wanted is ahead of it
        (MOVABLE, (f"{DRIVER}=1",), "fits", 0),
        (MOVABLE, ("template/t1", "--replicas", "2"), "fits", 0),
        (MOVABLE, ("pod/x",), "fits", 0),
        (STUCK, ("pod/wanted",), "none", 1),
        (STUCK, ("pod/wanted", "--exit-zero"), "none", 0),
        (STUCK, ("pod/wanted", "--end"), "plan", 0),
        (MOVABLE, ("pod/wanted", "--keep", "!app"), "none", 1),
    ],
)
def test_verdicts(
    run: Any, parts: Sequence[Any], words: tuple[str, ...], verdict: str, code: int
) -> None:
    exit_code, out, _ = run(parts, *words, "-o", "json")
    report = json.loads(out)
    Draft202012Validator(SCHEMA).validate(report)
    assert (report["verdict"], exit_code) == (verdict, code)


def test_steps_of_the_report(run: Any) -> None:
    _, out, _ = run(MOVABLE, "pod/wanted", "-o", "json")
    report = json.loads(out)
    (step,) = report["steps"]
    assert step["move"] == "ml/x"
    assert (step["owner"], step["from"], step["to"]) == ("StatefulSet/ml/x", "a", "b")
    assert (report["moved"], report["ended"]) == (1, 0)
    assert report["places"] == {"ml/x": "b", "ml/wanted": "a"}


def test_text_has_the_commands_in_their_order(run: Any) -> None:
    _, out, _ = run(MOVABLE, "pod/wanted")
    commands = [line.strip() for line in out.splitlines() if "kubectl" in line]
    assert [line.split("kubectl ")[1].split()[0] for line in commands] == [
        "cordon",
        "create",
        "wait",
        "wait",
        "wait",
        "uncordon",
    ]
    assert "/api/v1/namespaces/ml/pods/x/eviction" in commands[1]
    assert "move pod ml/x of StatefulSet/ml/x from a to b" in out


def test_page_has_the_devices_before_and_after(run: Any) -> None:
    code, out, _ = run(MOVABLE, "pod/wanted", "-o", "html")
    assert code == 0
    before, after = out.split("<h2>After</h2>")
    assert "<h2>Before</h2>" in before
    assert 'data-state="copy"' not in before.split("<h2>Before</h2>")[1]
    assert after.count('data-state="copy"') == 2


def test_hopeless_subject_is_explained(run: Any) -> None:
    code, out, _ = run((*MOVABLE[:-1], waiting(8)), "pod/wanted", "-o", "json")
    report = json.loads(out)
    assert (code, report["verdict"]) == (1, "none")
    (reason,) = report["why"]
    assert "8" in reason
    assert "may move" not in reason


def test_budget_without_pods_is_a_note(run: Any) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "idle", "namespace": "ml"},
        "spec": {"selector": {"matchLabels": {"app": "gone"}}},
    }
    _, out, _ = run((*MOVABLE, budget), "pod/wanted")
    assert "PodDisruptionBudget ml/idle selects no pod" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name what has to fit"),
        (("pod/nobody",), "no pod nobody"),
        (("node/a",), "node/a is a node"),
        (("pod/wanted", "--keep", "a b"), "--keep cannot read"),
        (("pod/wanted", "--replicas", "-1"), "--replicas"),
        (("pod/wanted", "-o", "svg"), "svg"),
    ],
)
def test_bad_words(run: Any, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(MOVABLE, *words)
    assert code in (2, 3)
    assert not out
    assert message in err


@pytest.mark.parametrize(
    "damage",
    [
        lambda claim: claim["status"].pop("allocation"),
        lambda claim: claim["status"].pop("reservedFor"),
        lambda claim: claim["status"]["reservedFor"].append({"resource": "pods", "name": "gone", "uid": "u"}),
        lambda claim: claim["status"]["allocation"]["devices"]["results"][0].update(device="gone"),
        lambda claim: claim["status"]["allocation"]["devices"]["results"][0].update(pool="b"),
        lambda claim: claim["metadata"].update(ownerReferences=[]),
        lambda claim: claim["status"]["allocation"].update(nodeSelector=None),
    ],
)  # fmt: skip
def test_claims_contradicting_their_pods_are_no_crash(run: Any, damage: Any) -> None:
    pod, claim = json.loads(json.dumps(running("x", "StatefulSet/x", "a", 0)))
    damage(claim)
    code, out, _ = run(
        (machine("a", 2), machine("b", 1), [pod, claim], waiting(2)), "pod/wanted", "-o", "json"
    )
    Draft202012Validator(SCHEMA).validate(json.loads(out))
    assert code in (0, 1)


def test_explain_names_the_command(
    run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = waiting(2)
    subject["status"]["resourceClaimStatuses"] = [{"name": "gpus", "resourceClaimName": "w"}]
    owner = {"kind": "Pod", "name": "wanted", "uid": "uid-wanted", "controller": True}
    its_claim = claim("w", request("gpu", DRIVER, 2), metadata={"ownerReferences": [owner]})
    for parts, named in ((MOVABLE, True), (STUCK, False)):
        run((*parts[:-1], subject, its_claim), "pod/wanted")
        main(["explain", "pod/wanted", "-n", "ml", "-f", str(tmp_path / "dump.json"), "--isolated", "-o", "json"])  # fmt: skip
        report = json.loads(capsys.readouterr().out)
        commands = [step.get("command", "") for step in report.get("next", ())]
        assert any(c.endswith("plan pod/wanted -n ml") for c in commands) is named


def test_template_that_fits_nowhere_is_explained_by_its_devices(run: Any) -> None:
    code, out, _ = run((machine("a", 2),), "template/t3")
    assert code == 1
    assert "wants 3 devices" in out
    assert "kube-controller-manager" not in out
