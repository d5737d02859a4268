"""Recorded situations, and what becomes of the pod that waits when a printed fix is pasted."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from dractl.views import Pod
from tests.conftest import shared_dir
from tests.live.plane import kin, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.live.plane import Plane

    Raw = Mapping[str, Any]


# What no command can fix: hardware, drivers, volumes, time.
NOTHING_TO_APPLY = {"wait", "no fix", "by hand"}
_EMPTY = 100  # bytes of a dump that has nothing in it


@dataclass(frozen=True)
class Situation:
    """A cluster and the pod that is asked about."""

    name: str
    namespace: str
    pod: str
    file: Path
    gates: Mapping[str, bool] = field(default_factory=dict)

    def objects(self) -> list[dict[str, Any]]:
        text = (
            gzip.decompress(self.file.read_bytes())
            if self.file.suffix == ".gz"
            else self.file.read_bytes()
        )
        value = (
            json.loads(text) if self.file.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)
        )
        found: list[dict[str, Any]] = value["items"]
        return found


@dataclass(frozen=True)
class Outcome:
    """``state`` is ``scheduled`` where the fix was pasted and the pod got a node. ``unsaid`` are pods that had a node,
    have ended since, and that the fix does not name, neither their workload."""

    state: str
    title: str = ""
    script: str = ""
    detail: str = ""
    unsaid: tuple[str, ...] = ()


def oncall() -> list[Situation]:
    found = []
    for truth in (shared_dir() / "conformance" / "oncall").glob("*/truth.json"):
        value = json.loads(truth.read_text())
        namespace, _, pod = value["pod"].partition("/")
        gates = dict(g.split("=") for g in (value.get("gates") or "").split(",") if g)
        on = {k: v.lower() == "true" for k, v in gates.items()}
        dump = next(truth.parent.glob("dump.yaml*"))
        if dump.stat().st_size > _EMPTY:
            found.append(Situation(truth.parent.name, namespace, pod, dump, on))
    return sorted(found, key=lambda s: int(s.name.partition("-")[0]))


def scheduling() -> list[Situation]:
    found = []
    for file in sorted((shared_dir() / "conformance" / "scheduling").glob("*/expected.json")):
        value = json.loads(file.read_text())
        answer = value["releases"].get("1.37")
        pod = value.get("pod")
        if pod is None or answer is None or answer["scheduled"]:
            continue
        objects = file.parent / answer.get("objects", "objects.json")
        gates = {**answer.get("featureGates", {}), **answer.get("schedulerFeatureGates", {})}
        found.append(Situation(file.parent.name, pod["namespace"], pod["name"], objects, gates))
    return found


def fixes(plane: Plane, situation: Situation) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer about the pod, and its fixes."""
    done = plane.dractl("explain", f"pod/{situation.pod}", "-n", situation.namespace, "-o", "json")
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    return answer, answer["fixes"]


def play(plane: Plane, situation: Situation) -> Iterator[Outcome]:
    """Loads a situation, and pastes each of its fixes; the situation is as it was before each of them."""
    offered: list[dict[str, Any]] = []
    number, pasted = 0, True
    while pasted or number < len(offered):
        if pasted:
            plane.load(situation.objects())
            asked = next(p for p in plane.pods() if is_named(p, situation))
            until(lambda: all(plane.tried(p) for p in plane.pods() if is_named(p, situation)), 10)
            if until(lambda asked=asked: asked["metadata"]["uid"] in plane.placed(plane.pods()), 1):
                yield Outcome("not reproduced")
                return
            answer, offered = fixes(plane, situation)
            if not offered:
                yield Outcome("no fix", detail=answer["headline"])
        if number < len(offered):
            outcome = after(plane, "pod", situation.namespace, situation.pod, offered[number])
            yield outcome
        number += 1
        pasted = number < len(offered) and outcome.state not in NOTHING_TO_APPLY


def after(plane: Plane, kind: str, namespace: str, name: str, fix: Raw) -> Outcome:
    """Return the outcome of the pod, or of the workload's pods, after a fix is applied."""
    if not fix["changes"]:
        return Outcome("wait", fix["title"], detail=fix["effect"])
    script = plane.dractl(
        "explain", f"{kind}/{name}", "-n", namespace, "--patch", str(fix["rank"])
    ).stdout
    if not fix.get("commands"):
        return Outcome("by hand", fix["title"], script, fix["effect"])
    theirs = [p for p in plane.pods() if p["metadata"]["namespace"] == namespace]
    # A pod of that name, else one of the workload.
    asked = min(
        (p for p in theirs if p["metadata"]["name"].startswith(name)),
        key=lambda p: p["metadata"]["name"],
    )
    before = plane.pods()
    old = plane.placed(before)
    failed = plane.paste(script)
    if failed:
        return Outcome("refused", fix["title"], script, failed)

    def done() -> bool:
        pods = list(kin(asked, plane.pods()))
        placed = plane.placed(pods)
        return bool(placed - old) or 0 < len(pods) == len(placed)

    said = " ".join([fix["title"], fix["effect"] or "", script])
    if until(done, 20):
        return Outcome(
            "scheduled", fix["title"], script, unsaid=list_ended(before, plane.pods(), asked, said)
        )
    states = [
        (
            p["metadata"]["name"],
            p["metadata"].get("deletionTimestamp"),
            p["spec"].get("nodeName"),
            _scheduling_message(p),
        )
        for p in plane.pods()
        if p["metadata"]["namespace"] == namespace
    ]
    unsaid = list_ended(before, plane.pods(), asked, said)
    return Outcome("pending", fix["title"], script, repr(states), unsaid)


def list_ended(before: Sequence[Raw], now: Sequence[Raw], asked: Raw, said: str) -> tuple[str, ...]:
    """Pods of others than the asked one's workload that ran ``before``, that are gone ``now``, and of which nothing is
    ``said``: neither their name nor that of their workload."""
    left = {p["metadata"]["uid"] for p in now if "deletionTimestamp" not in p["metadata"]}
    own = {p["metadata"]["uid"] for p in kin(asked, before)}
    gone = [
        p for p in before if p["spec"].get("nodeName") and p["metadata"]["uid"] not in left | own
    ]
    return tuple(
        "/".join((p["metadata"]["namespace"], p["metadata"]["name"]))
        for p in gone
        if "deletionTimestamp" not in p["metadata"]
        and p["metadata"]["name"] not in said
        and not any(name in said for _, name in [Pod(p).workload or ("", "\0")])
    )


def is_named(pod: Raw, situation: Situation) -> bool:
    return (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (
        situation.namespace,
        situation.pod,
    )


def _scheduling_message(pod: Raw) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")
