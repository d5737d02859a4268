"""explain on the random cases of the allocator that cannot be allocated: there is a reason, and upstream's own
allocator allocates after every fix that is printed.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dractl.allocation import AllocatedState, Features
from dractl.explain import ClusterState, Explainer, find
from dractl.explain.answer import Create, Delete, Patch
from dractl.explain.changes import apply
from dractl.explain.cluster import add
from dractl.explain.pods import enter
from dractl.report.explain_json import plain
from tests.conftest import shared_dir

RELEASES = ("1.34", "1.35", "1.36", "1.37")
SAMPLE = 20
# v0.35.4 shares the big decimal of a fractional amount (0.5Gi) between sums, so that it grows with every sum; dractl's
# allocator adds as the API says.
KNOWN = {("1.35", "all-00054")}


def cases(release: str) -> list[dict[str, Any]]:
    """The cases that upstream's allocator refuses."""
    root = shared_dir()
    path = root / f"conformance/allocator-random/{release}.jsonl" if root else None
    if path is None or not path.exists():
        return []
    read = [json.loads(line) for line in path.read_text().splitlines()]
    return [case for case in read if case["expected"]["verdict"] != "allocated"]


def program(release: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(os.environ.get("DRACTL_ORACLE_DIR", cache / "dractl-oracle")) / f"allocator-{release}"


def cluster(case: dict[str, Any]) -> ClusterState:
    """A case as the objects of a cluster: its claims belong to one pod, what is held belongs to claims of others."""
    objects: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Node", **case["node"]}]
    for kind, key in (("ResourceSlice", "slices"), ("DeviceClass", "classes"), ("ResourceClaim", "claims")):
        objects += [{"apiVersion": "resource.k8s.io/v1", "kind": kind, **value} for value in case.get(key) or ()]
    objects += holders(case)
    entries = [{"name": f"c{i}", "resourceClaimName": c["metadata"]["name"]} for i, c in enumerate(case["claims"])]
    namespace = case["claims"][0]["metadata"]["namespace"]
    metadata = {"name": "asking", "namespace": namespace, "uid": "1"}
    objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"resourceClaims": entries}})
    kinds: dict[str, Any] = {}
    for value in objects:
        add(kinds, value, "default")
    return ClusterState(kinds)


def holders(case: dict[str, Any]) -> list[dict[str, Any]]:
    capacity = case.get("allocatedCapacity") or {}
    shares = {text.rpartition("/")[0] for text in case.get("allocatedSharedDeviceIDs") or ()} | set(capacity)
    found = [(text, {}) for text in case.get("allocatedDevices") or ()]
    found += [(text, {"shareID": "s", "consumedCapacity": capacity.get(text, {})}) for text in sorted(shares)]
    made = []
    for number, (text, more) in enumerate(found):
        driver, _, rest = text.partition("/")
        pool, _, device = rest.rpartition("/")
        result = {"request": "r", "driver": driver, "pool": pool, "device": device, **more}
        status = {"allocation": {"devices": {"results": [result]}}}
        metadata = {"name": f"held-{number}", "namespace": "others"}
        made.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": metadata,
                "spec": {},
                "status": status,
            }
        )
    return made


def question(state: ClusterState, features: Features, case: dict[str, Any], name: str) -> dict[str, Any]:
    """The oracle's question about a changed cluster."""
    pod = next(value for key, value in state.all("Pod").items() if key[1] == "asking")
    held = AllocatedState.from_claims(state.claims, features)
    claims = [dict(c.value) for c in enter(state, pod, anew=True).claims if c.value is not None]
    return {
        **{k: v for k, v in case.items() if k in ("features", "celFeatures", "release")},
        "name": name,
        "node": next(iter(state.all("Node").values())),
        "claims": [{"metadata": c["metadata"], "spec": c["spec"]} for c in claims],
        "classes": list(state.all("DeviceClass").values()),
        "slices": list(state.all("ResourceSlice").values()),
        "allocatedDevices": sorted(map(str, held.devices)),
        "allocatedSharedDeviceIDs": [f"{device}/s" for device in sorted(map(str, held.shared))],
        "allocatedCapacity": {str(d): {k: str(v) for k, v in a.items()} for d, a in held.capacity.items()},
        "timeoutMs": 60000,
    }


def check(release: str, chosen: list[dict[str, Any]]) -> tuple[list[str], int]:
    """What is wrong, and how many fixes were verified."""
    wrong: list[str] = []
    questions: list[dict[str, Any]] = []
    for case in chosen:
        features = Features(
            release,
            frozenset(case["features"]),
            frozenset(case["celFeatures"]) if "celFeatures" in case else None,
        )
        if features.behaviour is None or not case["claims"] or (release, case["name"]) in KNOWN:
            continue
        state = cluster(case)
        (asking,) = find(state, "pod/asking", None)
        answer = Explainer(state, features).explain(asking)
        if not answer.reasons:
            wrong.append(f"{case['name']}: {answer.verdict} without a reason ({case['expected'].get('error')})")
        for fix in answer.fixes:
            if not all(isinstance(c, Patch | Delete | Create) for c in fix.changes) or not fix.changes:
                continue
            changed = apply(state, fix.changes)
            name = f"{case['name']}: {fix.title} {json.dumps(plain(fix.changes))}"
            questions.append(question(changed, features, case, name))
    if not program(release).exists():
        return wrong, 0
    lines = "\n".join(json.dumps(q) for q in questions)
    done = subprocess.run([str(program(release))], input=lines, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        verdict = json.loads(line)
        if verdict["verdict"] != "allocated":
            wrong.append(f"{verdict['name']}: {verdict['verdict']} {verdict.get('error', '')}")
    return wrong, len(questions)


@pytest.mark.parametrize("release", RELEASES)
def test_a_sample_of_refused_cases_has_reasons_and_true_fixes(release: str, record_property: Any) -> None:
    chosen = cases(release)[::SAMPLE]
    if not chosen:
        pytest.skip("no conformance data")
    wrong, _ = check(release, chosen)
    record_property("cases", len(chosen))
    assert wrong == []


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_every_refused_case_has_reasons_and_true_fixes(release: str, record_property: Any) -> None:
    chosen = cases(release)
    if not chosen:
        pytest.skip("no conformance data")
    wrong, _ = check(release, chosen)
    record_property("cases", len(chosen))
    assert wrong == []
