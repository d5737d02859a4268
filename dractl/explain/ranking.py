"""From the answers of all nodes to one: which reasons come first."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.explain.answer import Reason
from dractl.explain.reasons import HIDDEN, NOTHING, OUTSIDE, REASONS, STOPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.explain.answer import NodeAnswer
    from dractl.scheduler.verdict import NodeVerdict

EVERYWHERE = STOPPED - 1  # what a filter has against all nodes: nothing else matters until that is mended
_MIXED = 4  # so many different reasons, none of them on most nodes, are called mixed


def rank(nodes: Sequence[NodeAnswer], verdicts: Sequence[NodeVerdict]) -> tuple[Reason, ...]:
    """The reasons of all nodes, the same ones put together: those that got furthest first, then those on most nodes."""
    otherwise = {v.name for v in verdicts if v.allocates and not v.elsewhere}
    wanted = any(not _unwanted(v) for v in verdicts)
    unwanted = {v.name for v in verdicts if wanted and _unwanted(v)}
    merged: dict[tuple[object, ...], Reason] = {}
    reach: dict[tuple[object, ...], float] = {}
    for node in nodes:
        hardest = _hardest(node)
        for position, reason in enumerate(node.reasons):
            key = (
                reason.code,
                reason.pod_claim,
                reason.request,
                reason.constraint,
                reason.selector,
                reason.taint,
                reason.plugin,
                reason.resource,
            )
            merged[key] = _merge(merged[key], reason) if key in merged else reason
            far: float = REASONS[reason.code].reach
            if reason.request is not None and hardest < far < STOPPED:
                far = hardest - 0.1  # this one alone would not be enough
            if reason.code == "node-filter":
                far = _filtered(node.name, otherwise, unwanted)
            if reason.code == "pinned-node" and any(r.code != "pinned-node" for r in node.reasons[position + 1 :]):
                far = 0
            reach[key] = max(reach.get(key, far), far)
    for every, reason in merged.items():
        if reason.code == "node-filter" and len(reason.nodes) == len(verdicts):
            reach[every] = EVERYWHERE
    ordered = sorted(merged, key=lambda k: (-reach[k], -len(merged[k].nodes)))
    reasons = [merged[k] for k in ordered]
    firsts = [n.reasons[0].code for n in nodes if n.reasons and REASONS[n.reasons[0].code].reach > NOTHING]
    codes = Counter(firsts)
    if len(codes) >= _MIXED and max(codes.values()) * 2 <= len(firsts):
        why = f"the nodes have {len(codes)} different reasons"
        # A node that is cordoned is so on purpose: others are nearer.
        near = next((r for r in reasons if r.plugin != "NodeUnschedulable" and r.nodes), reasons[0])
        if near.nodes:
            why += f"; nearest is {near.nodes[0]}: {near.message}"
        reasons.insert(0, Reason("mixed", why, found=tuple(code for code, _ in codes.most_common())))
    return tuple(reasons)


def _hardest(node: NodeAnswer) -> float:
    """How far the pod gets on a node with the request that gets least far."""
    best: dict[tuple[str | None, str], float] = {}
    for reason in node.reasons:
        if reason.request is not None and "," not in reason.request:
            key = (reason.claim, reason.request.partition("/")[0])
            best[key] = max(best.get(key, 0), REASONS[reason.code].reach)
    return min(best.values(), default=STOPPED)


def _unwanted(verdict: NodeVerdict) -> bool:
    """Whether the pod itself has ruled the node out."""
    refused = verdict.rejection
    return refused is not None and (
        refused.plugin in ("NodeAffinity", "NodeName") or refused.texts == ("node(s) didn't match pod affinity rules",)
    )


def _filtered(node: str, otherwise: set[str], unwanted: set[str]) -> float:
    """How far a pod gets on a node that a filter refuses. Where the pod wants other nodes, what these have against it
    counts more, if they have such devices at all."""
    if node not in otherwise:
        return -1
    return HIDDEN - 0.5 if node in unwanted else OUTSIDE


def _merge(a: Reason, b: Reason) -> Reason:
    """One reason for the nodes of both; its numbers are those of the node that lacks least."""
    if _lacking(b) < _lacking(a):
        a, b = b, a
    why = a.message
    if a.code == "node-filter" and why != b.message:  # what one of the nodes has in place of what is wanted
        why = re.sub(r"; the node has [^;)]*", "", why)
    return replace(
        a,
        message=why,
        nodes=tuple(dict.fromkeys((*a.nodes, *b.nodes))),
        devices=tuple(dict.fromkeys((*a.devices, *b.devices))),
        holders=tuple(dict.fromkeys((*a.holders, *b.holders))),
        found=tuple(dict.fromkeys((*a.found, *b.found))),
        rules=tuple(dict.fromkeys((*a.rules, *b.rules))),
        counters=tuple(dict.fromkeys((*a.counters, *b.counters))),
        nearest=a.nearest or b.nearest,
    )


def _lacking(reason: Reason) -> int:
    if isinstance(reason.want, int) and isinstance(reason.have, int):
        return reason.want - reason.have
    return 0
