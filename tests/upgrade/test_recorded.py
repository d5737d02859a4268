"""Every difference between the recorded verdicts of two releases is predicted from the older one, and nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.cluster import ClusterState
from dractl.cluster.sources import from_objects
from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED, parse_gates
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade import placing, server
from tests.conformance.test_allocator import replay
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

LEFT_OUT = {
    "freed-but-not-tried-again": "the scheduler hangs: the message is that of an attempt before, in every release",
    "shared-claim-same-node": "each release allocated the claim itself: one of 1.35 has no allocationTimestamp, and no "
    "further pod can use it in 1.36 (test_placing.py predicts it, test_live.py plays it)",
}
"""Recorded schedulings that are not an upgrade's, with the reason."""
OF_WHAT_IS_STORED = {
    "rc-v1beta1-update-invalid": "1.35 says that the stored spec is immutable before anything else",
    "rpsr-v1alpha3-update-driver": "the changed object is accepted, but the stored one is immutable",
}
"""Updates whose verdict depends on the stored object as well, with the reason."""
STORED_WITHOUT_EFFECT = {
    "tolerations": "no device is tainted without DRADeviceTaints: features.DeviceTaints in allocator_stable.go",
    "distinctAttribute": "matchAttribute beside it is the only one that counts (NewAllocator in allocator_stable.go); "
    "a constraint without matchAttribute is refused once this is dropped",
}
"""Fields that servers of 1.34 store and its schedulers ignore with the default gates, with the reason (in
k8s.io/dynamic-resource-allocation v0.34.13 structured/internal/stable)."""
STEPS = list(pairwise(COMPARED))


def change(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str] | None:
    """The level and the kind of what differs between two recorded verdicts; None if nothing does."""
    if before["accepted"] and after["accepted"]:
        old, new = (
            {path for path in verdict.get("dropped") or () if path.startswith("spec")}
            for verdict in (before, after)
        )
        if lost := {path.rpartition(".")[2] for path in new - old}:
            ignored = before["gates"] == "default" and lost <= STORED_WITHOUT_EFFECT.keys()
            return ("changes" if ignored else "breaks", "field-dropped")
        return None if old == new else ("changes", "field-kept")
    if before["accepted"] != after["accepted"]:
        return ("breaks", "refused") if before["accepted"] else ("changes", "accepted")
    if "ServerPanic" in (
        before["reason"],
        after["reason"],
    ):  # what dractl says there is what 1.37 says
        return None
    return None if causes(before) == causes(after) else ("info", "refused-otherwise")


def causes(verdict: dict[str, Any]) -> set[tuple[str, str | None]]:
    if verdict["code"] != 422:
        return {(verdict["reason"], None)}
    return {(cause["type"], cause["field"]) for cause in verdict["causes"]}


@pytest.mark.parametrize("gates", ["default", "all"])
@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_differing_verdicts_of_servers_are_reported(
    step: tuple[str, str], gates: str, shared: Path, record_property: Any
) -> None:
    folder = shared / "conformance" / "validation"
    switched = json.loads((folder / "gates.json").read_bytes()) if gates == "all" else {}
    targets = [Target.of(release, parse_gates(switched.get(release, ""))) for release in step]
    recorded = (
        [json.loads(line) for line in (folder / f"verdicts-{r}.jsonl").read_bytes().splitlines()]
        for r in step
    )
    verdicts = [
        {verdict["id"]: verdict for verdict in said if verdict["gates"] == gates}
        for said in recorded
    ]
    counted: Counter[tuple[str, str] | None] = Counter()
    wrong = {}
    for case in map(json.loads, (folder / "cases.jsonl").read_bytes().splitlines()):
        before, after = (found.get(case["id"]) for found in verdicts)
        if before is None or after is None or "update" in case:
            continue
        inputs = load(["-"], stdin=case["yaml"].encode())
        if any(item.refused for item in inputs.broken):
            assert change(before, after) is None
            continue
        document = inputs.documents[-1]
        labels = {
            d.name: d.value["metadata"].get("labels", {})
            for d in inputs.documents
            if d.kind == "Namespace"
        }
        item = server.Input(document.value, tuple(document.faults))
        found = list(server.differences([item], *targets, labels, {}))
        expected = change(before, after)
        counted[expected] += 1
        if {(one.level, one.code) for one in found} != _codes(expected):
            wrong[case["id"]] = (expected, [(one.level, one.code, one.message) for one in found])
    record_property("cases", counted.total())
    assert not wrong
    assert counted.total() - counted[None] > (40 if WHOLE else 0)


@pytest.mark.parametrize("gates", ["default", "all"])
@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_differing_verdicts_of_servers_on_updates_are_reported(
    step: tuple[str, str], gates: str, shared: Path
) -> None:
    """The changed object, as a manifest that is applied again, tells what the servers of both releases say."""
    folder = shared / "conformance" / "validation"
    switched = json.loads((folder / "gates.json").read_bytes()) if gates == "all" else {}
    targets = [Target.of(release, parse_gates(switched.get(release, ""))) for release in step]
    recorded = (
        [json.loads(line) for line in (folder / f"verdicts-{r}.jsonl").read_bytes().splitlines()]
        for r in step
    )
    verdicts = [
        {verdict["id"]: verdict for verdict in said if verdict["gates"] == gates}
        for said in recorded
    ]
    updates = [
        case
        for case in map(json.loads, (folder / "cases.jsonl").read_bytes().splitlines())
        if "update" in case
    ]
    wrong = {}
    for case in updates:
        before, after = (found.get(case["id"]) for found in verdicts)
        if before is None or after is None:
            continue
        (document,) = load(["-"], stdin=case["update"].encode()).documents
        found = server.differences(
            [server.Input(document.value, tuple(document.faults))], *targets, {}, {}
        )
        said = {(one.level, one.code) for one in found}
        if said != _codes(change(before, after)):
            wrong[case["id"]] = (change(before, after), said)
    assert wrong.keys() <= OF_WHAT_IS_STORED.keys()
    assert all(expected is not None and expected[0] == "info" for expected, _ in wrong.values())
    assert len(updates) >= 36 * WHOLE


def scheduled(recorded: dict[str, Any], outcome: placing.Outcome) -> bool:
    """True if an outcome is what a scheduler did: the same verdict, the same devices on its node, the same message."""
    if outcome.fits != recorded["scheduled"]:
        return False
    if outcome.fits:
        given = [d for claim in recorded["allocation"] or [] for d in claim.get("devices", [])]
        want = {f"{d['driver']}/{d['pool']}/{d['device']}" for d in given}
        found = outcome.nodes.get(recorded["node"])
        if any(claim.allocated for claim in outcome.attempt.claims):
            return found is not None
        return found is not None and want == {
            name.partition(": ")[2] for name in placing.devices_on(outcome, found.name)
        }
    want_text, text = (
        re.sub(r"node-\d+", "node-N", said or "")
        for said in (recorded["message"], outcome.scheduler_message)
    )
    return not want_text or want_text == text


@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_differing_results_of_schedulers_are_reported(
    step: tuple[str, str], shared: Path, record_property: Any
) -> None:
    """From the objects of the older release alone: what the newer scheduler did with the pod."""
    counted: Counter[str] = Counter()
    wrong = {}
    for file in sorted((shared / "conformance" / "scheduling").glob("*/expected.json")):
        expected = json.loads(file.read_bytes())
        if not expected["releases"].keys() >= set(step) or not expected.get("pod"):
            continue
        if file.parent.name in LEFT_OUT:
            continue
        before, after = (expected["releases"][release] for release in step)
        objects = file.parent / before.get("objects", "objects.json")
        state = ClusterState.from_documents(load([str(objects)], relevant_only=False).documents)
        recorded = zip((before, after), step, strict=True)
        outcomes = [
            found for each in recorded if (found := _outcome(state, expected, *each)) is not None
        ]
        if not outcomes:  # another scheduler's pod
            assert not before["message"]
            continue
        found = placing.compare_outcomes(*outcomes)
        change = (before["scheduled"], after["scheduled"])
        counted["same" if change[0] == change[1] else "differs"] += 1
        levels = {(True, False): "breaks", (False, True): "changes"}
        if change in levels and (found is None or found.level != levels[change]):
            wrong[file.parent.name] = (change, found)
        same_objects = before.get("objects") == after.get(
            "objects"
        )  # the same holders on the same nodes
        if not (
            scheduled(after, outcomes[1])
            if same_objects
            else after["scheduled"] == outcomes[1].fits
        ):
            wrong[file.parent.name] = (
                after["scheduled"],
                after["message"],
                outcomes[1].fits,
                outcomes[1].scheduler_message,
            )
    record_property("cases", counted.total())
    assert not wrong
    assert counted["differs"] >= {"1.34": 6, "1.35": 2, "1.36": 1}[step[0]] * WHOLE


@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_hanging_scheduler_proves_nothing_of_a_release(step: tuple[str, str], shared: Path) -> None:
    """The pod fits for both; its recorded message is the same, but for words."""
    folder = shared / "conformance" / "scheduling" / "freed-but-not-tried-again"
    if not folder.is_dir():
        pytest.skip("not in the sample of the recorded data")
    expected = json.loads((folder / "expected.json").read_bytes())
    recorded = [expected["releases"][release] for release in step]
    assert not any(one["scheduled"] for one in recorded)
    state = ClusterState.from_documents(
        load([str(folder / "objects.json")], relevant_only=False).documents
    )
    outcomes = [_outcome(state, expected, *each) for each in zip(recorded, step, strict=True)]
    assert [one is not None and one.fits for one in outcomes] == [True, True]
    assert placing.compare_outcomes(*outcomes) is None


def _outcome(
    state: ClusterState, expected: dict[str, Any], recorded: dict[str, Any], release: str
) -> placing.Outcome:
    gates = {
        **(recorded.get("featureGates") or {}),
        **(recorded.get("schedulerFeatureGates") or {}),
    }
    key = (expected["pod"]["namespace"], expected["pod"]["name"])
    name = f"Pod/{'/'.join(key)}"
    subject = next(
        (one for one in placing.list_subjects(state, ClusterState({})) if name in one.objects), None
    )
    if subject is None:
        return None
    subject = replace(subject, key=key, pod=state.get("Pod", key))
    return placing.find_outcome(Scheduler(state, Features.for_release(release, gates)), subject)


@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_differing_results_of_allocators_are_reported(
    step: tuple[str, str], shared: Path, record_property: Any
) -> None:
    """The cases that are the same objects for both releases: verdict, devices and text of the newer allocator."""
    before, after = (
        {case["name"]: case for case in map(json.loads, file.read_bytes().splitlines())}
        for file in (
            shared / "conformance" / "allocator-random" / f"{release}.jsonl" for release in step
        )
    )
    counted: Counter[str] = Counter()
    wrong = {}
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if any(
            old.get(part) != new.get(part)
            for part in ("node", "claims", "classes", "slices", *HELD)
        ):
            continue
        differs = replayed(old) != replayed(new)
        counted["differs" if differs else "same"] += 1
        found = placing.compare_outcomes(
            _allocation(old, step[0]), _allocation(old | {"features": new["features"]}, step[1])
        )
        if (
            differs if found is None else not differs and found.code != "other-message"
        ):  # which preemption is part of
            wrong[name] = (old["expected"], new["expected"], found)
    record_property("cases", counted.total())
    assert not wrong
    assert counted["differs"] >= 3 * WHOLE


HELD = ("allocatedDevices", "allocatedSharedDeviceIDs", "allocatedCapacity")


def replayed(case: dict[str, Any]) -> tuple[str, str | None, list[list[str]]]:
    """Return a scheduler's view of an allocator's verdict: fits, its text, its devices."""
    expected = case["expected"]
    devices = [
        f"{device['request']}: {device['driver']}/{device['pool']}/{device['device']}"
        for result in expected.get("results") or []
        for device in result["devices"].get("results") or []
    ]
    return expected["verdict"] == "allocated", expected.get("error"), sorted(devices)


def _allocation(case: dict[str, Any], release: str) -> placing.Outcome:
    claims = [replay.explicit(claim) for claim in case["claims"]]
    entries = [
        {"name": f"c{n}", "resourceClaimName": claim["metadata"]["name"]}
        for n, claim in enumerate(claims)
    ]
    pod = {
        "metadata": {"name": "pod", "namespace": "ns", "uid": "u"},
        "spec": {"resourceClaims": entries},
    }
    api = {"apiVersion": "resource.k8s.io/v1"}
    state = from_objects(
        [
            {"apiVersion": "v1", "kind": "Node", **case["node"]},
            {"apiVersion": "v1", "kind": "Pod", **pod},
            *({**api, "kind": "ResourceClaim", **claim} for claim in claims),
            *({**api, "kind": "DeviceClass", **each} for each in case.get("classes") or ()),
            *({**api, "kind": "ResourceSlice", **each} for each in case.get("slices") or ()),
        ]
    )
    features = Features(
        release,
        frozenset(case["features"]),
        case.get("celFeatures") and frozenset(case["celFeatures"]),
    )
    scheduler = Scheduler(state, features)
    scheduler.allocator = scheduler.allocator.replace(state=replay.state_of(case))
    (subject,) = (
        one for one in placing.list_subjects(state, ClusterState({})) if one.pod is not None
    )
    return placing.find_outcome(scheduler, subject)


def _codes(expected: tuple[str, str] | None) -> set[tuple[str, str]]:
    return set() if expected is None else {expected}
