"""Recorded clusters and what real kube-schedulers did with them ($DRACTL_SHARED/conformance/scheduling).

A verdict is right when the pod is scheduled or not, as recorded. A scheduled pod gets the recorded devices. Of any
other the first reason is the recorded cause, what is to blame is named, the message is the scheduler's, and a fix is
found that is not larger than the one that was proven there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.explain import Explainer, find_subjects
from dractl.manifests import load
from dractl.report.explain.json import as_json
from tests.conftest import SAMPLE, shared_dir

RELEASES = ("1.34", "1.35", "1.36", "1.37")
FITS = ("allocated", "allocatable")
# Of a scheduler that hangs there is only the message that another release wrote before (freed-but-not-tried-again).
OTHER_RELEASE_WROTE = {"freed-but-not-tried-again"}


def cases() -> list[tuple[Path, str]]:
    root = shared_dir()
    folders = sorted((root / "conformance/scheduling").glob("*/expected.json"))
    return [
        (f.parent, r)
        for f in folders
        for r in RELEASES
        if r in json.loads(f.read_bytes())["releases"]
    ]


CASES = cases()


def check(folder: Path, release: str) -> list[str]:
    """Return the errors in the answer about one cluster at one release."""
    expected = json.loads((folder / "expected.json").read_bytes())
    recorded = expected["releases"][release]
    answer = explain(folder, expected, recorded, release)
    if (answer["verdict"] in FITS) != recorded["scheduled"]:
        return [f"verdict {answer['verdict']}, scheduled: {recorded['scheduled']}"]
    if recorded["scheduled"]:
        return devices(answer, recorded)
    return [
        *reasons(answer, expected),
        *message(answer, expected, recorded),
        *fixes(answer, expected, release),
    ]


def explain(
    folder: Path, expected: dict[str, Any], recorded: dict[str, Any], release: str
) -> dict[str, Any]:
    kind, name = ("pod", expected["pod"]) if expected.get("pod") else ("claim", expected["claim"])
    path = folder / recorded.get("objects", "objects.json")
    state = ClusterState.from_documents(load([str(path)], relevant_only=False).documents)
    gates = {
        **(recorded.get("featureGates") or {}),
        **(recorded.get("schedulerFeatureGates") or {}),
    }
    (question,) = find_subjects(state, f"{kind}/{name['name']}", name["namespace"])
    return as_json(Explainer(state, Features.for_release(release, gates)).explain(question))


def devices(answer: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    given = [d for claim in recorded["allocation"] or [] for d in claim.get("devices", [])]
    want = sorted((d["driver"], d["pool"], d["device"]) for d in given)
    found = [
        sorted((d["driver"], d["pool"], d["device"]) for d in n["allocation"])
        for n in answer["nodes"]
        if n["name"] == recorded["node"]
    ]
    return [] if found == [want] else [f"devices {found}, recorded {want}"]


def reasons(answer: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    allowed = [expected["reason"], *(expected.get("alsoTrue") or [])]
    code = answer["reasons"][0]["code"] if answer["reasons"] else None
    wrong = [] if code in allowed else [f"reason {code}, recorded {allowed}"]
    text = json.dumps([answer["reasons"], answer["nodes"], answer["fixes"]])
    blamed = expected.get("blamed") or {}
    for key in (
        "podClaim",
        "request",
        "requests",
        "class",
        "template",
        "nearest",
        "holders",
        "rules",
        "devices",
        "taint",
    ):
        value = blamed.get(key)
        names = [value] if isinstance(value, str) else value
        for name in names if isinstance(names, list) else ():
            short = name if key in ("devices", "taint") else name.rpartition("/")[2]
            if short not in text:
                wrong.append(f"{key} {name} is not named")
    return wrong


def message(
    answer: dict[str, Any], expected: dict[str, Any], recorded: dict[str, Any]
) -> list[str]:
    if expected["id"] in OTHER_RELEASE_WROTE:
        return []
    # An error names the node whose filter was the first to fail, which is a race.
    want, found = (
        re.sub(r"node-\d+", "node-N", text or "")
        for text in (recorded["message"], answer["schedulerMessage"])
    )
    return [] if want == found else [f"message {found!r}, recorded {want!r}"]


def size(changes: list[dict[str, Any]]) -> tuple[int, int]:
    return len(changes), sum(len(change.get("json", [1])) for change in changes)


def drop_recreation(changes: list[dict[str, Any]], subject: dict[str, str]) -> list[dict[str, Any]]:
    """Changes but for the recreation of the subject, a pod, which spares it the back-off of kube-controller-manager: it
    tries a refused claim again after ever longer pauses. The recorded fixes wait."""
    full_name = f"{subject['kind']}/{subject['namespace']}/{subject['name']}"
    if not any(change.get("delete") == full_name for change in changes):
        return changes
    return [
        c
        for c in changes
        if c.get("delete") != full_name and c.get("create", {}).get("kind") != "Pod"
    ]


def fixes(answer: dict[str, Any], expected: dict[str, Any], release: str) -> list[str]:
    fix = expected.get("fix") or {}
    if not fix.get("verified", {}).get(release):
        return []
    offered = [drop_recreation(found["changes"], answer["subject"]) for found in answer["fixes"]]
    if any(size(changes) <= size(fix["changes"]) for changes in offered):
        return []
    return [f"no fix as small as: {fix['description']}"]


def label(case: tuple[Path, str]) -> str:
    return f"{case[0].name}-{case[1]}"


@pytest.mark.parametrize("case", CASES[::SAMPLE], ids=label)
def test_a_sample_of_recorded_clusters(case: tuple[Path, str], record_property: Any) -> None:
    assert check(*case) == []
    record_property("cases", 1)


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_every_recorded_cluster(release: str, shared: Path, record_property: Any) -> None:
    mine = [case for case in CASES if case[1] == release]
    wrong = {label(case): found for case in mine if (found := check(*case))}
    record_property("cases", len(mine))
    assert wrong == {}
