"""Words of real kube-schedulers about pending pods, beside the sentence that dractl computes.

Where the words are newer than every object of the recorded cluster, both say the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.cluster.clock import newest_change
from dractl.manifests import load
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.condition import find_unchecked_parts
from dractl.scheduler.words import SchedulerWords, compare_words, find_scheduler_words
from tests.conftest import SAMPLE

RELEASE = "1.37"
MAX_DUMP_BYTES = 3_000_000
"""Clusters of hundreds of nodes say nothing that smaller ones do not, and take minutes."""
CHANGED_SINCE = {"freed-but-not-tried-again"}
"""The devices were freed after the last attempt, by deletions, which leave no time behind."""


def disagreement(dump: Path, pod: tuple[str, str], gates: dict[str, bool]) -> str:
    """Return words that are newer than the objects, and the computed ones that differ."""
    documents = load([str(dump)], relevant_only=False).documents
    scheduler = Scheduler(
        ClusterState.from_documents(documents), Features.for_release(RELEASE, gates)
    )
    view = scheduler.snapshot.pod(scheduler.state.pod(pod).raw)
    words = find_scheduler_words(scheduler.state, view) if view.is_pending else None
    if words is None:
        return ""
    attempt = scheduler.attempt_pod(view.raw)
    agrees = compare_words(scheduler, view, words, attempt, complete=True)
    if agrees is True or (agrees is None and not is_comparable(scheduler, words)):
        return ""
    return f"{words.message} | {attempt.message}"


def is_comparable(scheduler: Scheduler, words: SchedulerWords) -> bool:
    if words.message.startswith("pod group is unschedulable"):
        return False  # of the group, not of the pod
    return words.at[:19] > newest_change(scheduler.state)[:19] and not find_unchecked_parts(
        words.message
    )


def gates_of(text: str) -> dict[str, bool]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {name: value == "true" for name, _, value in pairs}


def oncall_differences(folder: Path, step: int) -> list[str]:
    differences = []
    for truth_file in sorted(folder.glob("*/truth.json"))[::step]:
        truth = json.loads(truth_file.read_bytes())
        dumps = [truth_file.parent / name for name in ("dump.yaml", "dump.yaml.gz")]
        dump = next(path for path in dumps if path.exists())
        if dump.stat().st_size > MAX_DUMP_BYTES:
            continue
        namespace, _, name = truth["pod"].partition("/")
        text = disagreement(dump, (namespace, name), gates_of(truth.get("gates") or ""))
        differences += [f"{truth_file.parent.name}: {text}"] if text else []
    return differences


def scheduling_differences(folder: Path, step: int) -> list[str]:
    differences = []
    for file in sorted(folder.glob("*/expected.json"))[::step]:
        expected = json.loads(file.read_bytes())
        recorded = expected["releases"].get(RELEASE)
        if recorded is None or not expected.get("pod") or expected["id"] in CHANGED_SINCE:
            continue
        gates = {
            **(recorded.get("featureGates") or {}),
            **(recorded.get("schedulerFeatureGates") or {}),
        }
        pod = (expected["pod"]["namespace"], expected["pod"]["name"])
        dump = file.parent / recorded.get("objects", "objects.json")
        text = disagreement(dump, pod, gates)
        differences += [f"{expected['id']}: {text}"] if text else []
    return differences


def test_dractl_computes_a_sample_of_recorded_messages(whole: Path) -> None:
    assert oncall_differences(whole / "conformance/oncall", SAMPLE) == []


def test_dractl_computes_a_sample_of_recorded_conditions(shared: Path) -> None:
    assert scheduling_differences(shared / "conformance/scheduling", SAMPLE) == []


@pytest.mark.conformance
def test_dractl_computes_all_recorded_messages(whole: Path) -> None:
    assert oncall_differences(whole / "conformance/oncall", 1) == []
    assert oncall_differences(whole / "conformance/node", 1) == []


@pytest.mark.conformance
def test_dractl_computes_all_recorded_conditions(shared: Path) -> None:
    assert scheduling_differences(shared / "conformance/scheduling", 1) == []
