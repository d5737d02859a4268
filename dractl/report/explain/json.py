"""explain as JSON: ``dractl/explain/v1``, one object, or several under ``subjects``."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from dractl.cluster.coverage import Unread
from dractl.cluster.origin import NO_ORIGIN, Origin
from dractl.explain.answer import Explanation, Obstacle, SchedulerAnswer, plain
from dractl.explain.fleet.groups import Group
from dractl.facts import current
from dractl.program import invocation
from dractl.report.alignment.json import alignment_json
from dractl.report.explain import groups as explain_groups

SCHEMA = "dractl/explain/v1"


def render(
    explanations: Sequence[Explanation],
    *,
    listed: bool,
    groups: Sequence[Group] = (),
    unread: Sequence[Unread] = (),
    origin: Origin = NO_ORIGIN,
) -> str:
    """Return one answer as an object. With ``listed`` (the user named no subject, or several),
    return all answers under ``subjects``. Beside them are ``groups``, the groups of pods that the
    user asked about, everything that is ``unread``, and the command of this run.
    """
    answers = [as_json(explanation) for explanation in explanations]
    whole: dict[str, Any] = (
        {"schema": SCHEMA, "subjects": answers} if listed else {"schema": SCHEMA, **answers[0]}
    )
    whole["facts"] = current().to_json()
    if origin_value := origin.to_json():
        whole["input"] = origin_value
    if command := invocation():
        whole["command"] = command
    if groups:
        whole["groups"] = [explain_groups.as_json(group) for group in groups]
    if rows := _list_unread(unread, whole.get("unread", ())):
        whole["unread"] = rows
    return json.dumps(whole, indent=2, ensure_ascii=False)


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return one answer as a plain value."""
    e = explanation
    return {
        "subject": {
            "kind": e.subject.kind,
            "namespace": e.subject.namespace,
            "name": e.subject.name,
            "podClaims": dict(e.subject.pod_claims),
        },
        **({"alike": list(e.alike), "workload": e.workload} if e.alike else {}),
        "verdict": e.verdict,
        "headline": e.headline,
        "kubernetesVersion": e.release,
        "kubernetesVersionAssumed": e.release_assumed,
        "schedulerMessage": e.scheduler_message,
        **({"scheduler": _scheduler(e)} if e.scheduler is not None or e.words else {}),
        **({"nodesExpected": to_builtins(e.expected_nodes)} if e.expected_nodes else {}),
        **({"when": e.when} if e.when else {}),
        "reasons": plain(e.reasons),
        **({"obstacles": [_obstacle(item) for item in e.obstacles]} if e.obstacles else {}),
        "nodes": [
            {
                "name": n.name,
                "verdict": n.verdict,
                **({"like": list(n.like)} if n.like else {}),
                "reasons": plain(n.reasons),
                "funnel": [_stage(s) for s in n.funnel],
                "allocation": plain(n.allocation),
            }
            for n in e.nodes
        ],
        "funnel": [_stage(s) for s in e.funnel],
        "conflict": None if e.conflict is None else _conflict(e),
        "fixes": [
            {
                "title": f.title,
                "effect": f.effect,
                "rank": f.rank,
                "changes": plain(f.changes),
                **({"tried": plain(f.tried)} if f.tried else {}),
                **({"commands": [str(step) for step in f.steps]} if f.steps else {}),
                "verified": not e.unread,
                "nodes": list(f.nodes),
                **({"pods": plain(f.relief)} if f.relief else {}),
                **({"parts": list(f.parts)} if f.parts else {}),
            }
            for f in e.fixes
        ],
        **({"next": plain(e.all_next)} if e.all_next else {}),
        "notes": list(e.notes),
        **({"alignment": [alignment_json(item) for item in e.alignment]} if e.alignment else {}),
        **({"unread": [part.row.as_json(part.effect) for part in e.unread]} if e.unread else {}),
        **(
            {"devices": plain(e.devices), "drivers": plain(e.drivers)}
            if e.subject.kind == "Node"
            else {}
        ),
    }


def _scheduler(e: Explanation) -> dict[str, Any]:
    """Return the pod's scheduler and kube-scheduler's newest message; null stands for unknown
    values.
    """
    words: dict[str, Any] = {}
    if e.words is not None:
        words = {"said": e.words.message, "at": e.words.at or None, "agrees": e.words.agrees}
    return {**words, **(_scheduler_facts(e.scheduler) if e.scheduler is not None else {})}


def _scheduler_facts(scheduler: SchedulerAnswer) -> dict[str, Any]:
    return {
        "name": scheduler.name,
        "title": scheduler.title,
        "kubeScheduler": scheduler.kube_scheduler,
        "runs": scheduler.runs,
        "allocatesClaims": scheduler.allocates_claims,
        **{
            name: value
            for name, value in plain(scheduler).items()
            if name not in ("name", "title", "kubeScheduler", "runs", "allocatesClaims")
        },
    }


def _list_unread(
    unread: Sequence[Unread], named: Sequence[Mapping[str, str]]
) -> list[Mapping[str, str]]:
    """Return the rows of an answer, followed by the rows of ``unread`` that the answer lacks."""
    places = {(row["resource"], row.get("namespace", "")) for row in named}
    others = (row for row in unread if (row.resource, row.namespace) not in places)
    return [*named, *(row.as_json() for row in others)]


def _obstacle(obstacle: Obstacle) -> dict[str, Any]:
    return {
        "kind": obstacle.kind,
        "object": obstacle.object or None,
        "want": obstacle.want,
        "have": obstacle.have,
        "nodes": list(obstacle.nodes),
        "code": obstacle.code,
    }


def _stage(stage: Any) -> dict[str, Any]:
    return {
        "request": stage.request,
        "stage": stage.stage,
        "kept": stage.kept,
        "of": stage.of,
        "detail": stage.detail,
        **({"claim": stage.claim} if stage.claim else {}),
        **({"nodes": stage.nodes} if stage.nodes else {}),
    }


def _conflict(explanation: Explanation) -> dict[str, Any]:
    conflict = explanation.conflict
    assert conflict is not None
    return {
        "node": conflict.node,
        "requests": list(conflict.requests),
        "constraints": list(conflict.constraints),
        "places": [
            {"attribute": p.attribute, "value": p.value, "free": dict(p.free), "all": dict(p.all)}
            for p in conflict.places
        ],
    }
