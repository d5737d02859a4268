"""explain on the random cases of the allocator that cannot be allocated: there is a reason, and upstream's own
allocator allocates after every fix that is printed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import AllocatedState, Features
from dractl.cluster import ClusterState
from dractl.cluster.changes import apply
from dractl.cluster.state import add_object
from dractl.explain import Explainer, Options, find_subjects
from dractl.report.explain.json import plain
from dractl.scheduler.pre_enqueue import pre_enqueue
from tests.conftest import SAMPLE, shared_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.explain import Explanation

RELEASES = ("1.34", "1.35", "1.36", "1.37")
# 1.35: v0.35.4 refuses a fractional amount (0.5Gi) where it grants the larger 1Gi; dractl adds as the API says.
# 1.34: an invalid pool is an error only if the search reaches it, and v0.34.4 walks pools in random order.
KNOWN = {("1.35", "all-00054"), ("1.34", "default-00403")}


def cases(release: str) -> list[dict[str, Any]]:
    """The cases that upstream's allocator refuses."""
    root = shared_dir()
    path = root / f"conformance/allocator-random/{release}.jsonl"
    if not path.exists():
        return []
    read = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [case for case in read if case["expected"]["verdict"] != "allocated"]


def program(release: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return (
        Path(os.environ.get("DRACTL_ORACLE_DIR", cache / "dractl-oracle")) / f"allocator-{release}"
    )


def cluster(case: dict[str, Any]) -> ClusterState:
    """A case as the objects of a cluster: its claims belong to one pod, what is held belongs to claims of others."""
    objects: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Node", **case["node"]}]
    for kind, key in (
        ("ResourceSlice", "slices"),
        ("DeviceClass", "classes"),
        ("ResourceClaim", "claims"),
    ):
        objects += [
            {"apiVersion": "resource.k8s.io/v1", "kind": kind, **value}
            for value in case.get(key) or ()
        ]
    objects += holders(case)
    entries = [
        {"name": f"c{i}", "resourceClaimName": c["metadata"]["name"]}
        for i, c in enumerate(case["claims"])
    ]
    namespace = case["claims"][0]["metadata"]["namespace"]
    metadata = {"name": "asking", "namespace": namespace, "uid": "1"}
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"resourceClaims": entries},
        }
    )
    kinds: dict[str, Any] = {}
    for value in objects:
        add_object(kinds, value, "default")
    return ClusterState(kinds)


def holders(case: dict[str, Any]) -> list[dict[str, Any]]:
    capacity = case.get("allocatedCapacity") or {}
    shares = {text.rpartition("/")[0] for text in case.get("allocatedSharedDeviceIDs") or ()} | set(
        capacity
    )
    found = [(text, {}) for text in case.get("allocatedDevices") or ()]
    found += [
        (text, {"shareID": "s", "consumedCapacity": capacity.get(text, {})})
        for text in sorted(shares)
    ]
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


def question(
    state: ClusterState, features: Features, case: dict[str, Any], name: str
) -> dict[str, Any]:
    """The oracle's question about a changed cluster."""
    pod = next(value for key, value in state.objects("Pod").items() if key[1] == "asking")
    held = AllocatedState.from_claims(state.decoded_claims, features)
    claims = [
        dict(c.value) for c in pre_enqueue(state, pod, recreated=True).claims if c.value is not None
    ]
    return {
        **{k: v for k, v in case.items() if k in ("features", "celFeatures", "release")},
        "name": name,
        "node": next(iter(state.objects("Node").values())),
        "claims": [{"metadata": c["metadata"], "spec": c["spec"]} for c in claims],
        "classes": list(state.objects("DeviceClass").values()),
        "slices": list(state.objects("ResourceSlice").values()),
        "allocatedDevices": sorted(map(str, held.devices)),
        "allocatedSharedDeviceIDs": [f"{device}/s" for device in sorted(map(str, held.shared))],
        "allocatedCapacity": {
            str(d): {k: str(v) for k, v in a.items()} for d, a in held.capacity.items()
        },
        "timeoutMs": 60000,
    }


def replay_cases(
    release: str, chosen: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], ClusterState, Features]]:
    """The cases that a release answers, as clusters."""
    for case in chosen:
        cel = frozenset(case["celFeatures"]) if "celFeatures" in case else None
        features = Features(release, frozenset(case["features"]), cel)
        if (
            features.behaviour is not None
            and case["claims"]
            and (release, case["name"]) not in KNOWN
        ):
            yield case, cluster(case), features


def answer(state: ClusterState, features: Features, fixes: int) -> Explanation:
    (asking,) = find_subjects(state, "pod/asking", None)
    return Explainer(state, features, Options(fixes=fixes)).explain(asking)


def list_unexplained(release: str, chosen: list[dict[str, Any]]) -> list[str]:
    answers = (
        (case, answer(state, features, 0))
        for case, state, features in replay_cases(release, chosen)
    )
    return [
        f"{case['name']}: {a.verdict} ({case['expected'].get('error')})"
        for case, a in answers
        if not a.reasons
    ]


def questions(release: str, chosen: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return the questions to the oracle: every case after every fix that is printed for it."""
    for case, state, features in replay_cases(release, chosen):
        for fix in answer(state, features, 8).fixes:
            gate = re.fullmatch(r"enable the feature gate (\w+)", fix.title)
            changes = fix.tried or fix.changes
            assert changes or gate, f"{case['name']}: {fix.title}"
            made = question(
                apply(state, changes),
                features,
                case,
                f"{case['name']}: {fix.title} {plain(changes)}",
            )
            yield {**made, "features": [*made["features"], *(gate.groups() if gate else ())]}


def fixes_that_fail(release: str, chosen: list[dict[str, Any]]) -> list[str]:
    if not program(release).exists():
        pytest.skip(f"{program(release)} is not built")
    lines = "\n".join(json.dumps(q) for q in questions(release, chosen))
    done = subprocess.run(
        [str(program(release))], input=lines, capture_output=True, text=True, check=True
    )
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(verdicts) == lines.count("\n") + 1
    return [
        f"{v['name']}: {v['verdict']} {v.get('error', '')}"
        for v in verdicts
        if v["verdict"] != "allocated"
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_a_sample_of_refused_cases_has_reasons(
    release: str, shared: Path, record_property: Any
) -> None:
    chosen = cases(release)[::SAMPLE]
    assert list_unexplained(release, chosen) == []
    record_property("cases", len(chosen))


@pytest.mark.oracle
@pytest.mark.parametrize("release", RELEASES)
def test_upstream_allocates_after_the_fixes_of_a_sample(release: str, shared: Path) -> None:
    assert fixes_that_fail(release, cases(release)[::SAMPLE]) == []


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_every_refused_case_has_reasons(release: str, shared: Path, record_property: Any) -> None:
    chosen = cases(release)
    assert list_unexplained(release, chosen) == []
    record_property("cases", len(chosen))


@pytest.mark.conformance
@pytest.mark.oracle
@pytest.mark.parametrize("release", RELEASES)
def test_upstream_allocates_after_every_fix(release: str, shared: Path) -> None:
    assert fixes_that_fail(release, cases(release)) == []
