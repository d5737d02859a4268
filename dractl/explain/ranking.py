"""From the answers of all nodes to one: which reasons come first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dractl.explain.answer import Reason
from dractl.explain.reasons import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.explain.answer import NodeAnswer
    from dractl.explain.judge import NodeVerdict

_MIXED = 4  # so many different reasons, none of them on most nodes, are called mixed


def rank(nodes: Sequence[NodeAnswer], verdicts: Sequence[NodeVerdict]) -> tuple[Reason, ...]:
    """The reasons of all nodes, the same ones put together: those that got furthest first, then those on most nodes."""
    otherwise = {v.name for v in verdicts if v.allocates and not v.elsewhere}
    merged: dict[tuple[object, ...], Reason] = {}
    reach: Counter[tuple[object, ...]] = Counter()
    for node in nodes:
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
            far = REASONS[reason.code].reach
            if (
                reason.code in ("node-filter", "extended-resource-unmapped")
                and node.name not in otherwise
                and reason.code == "node-filter"
            ):
                far = -1
            if reason.code == "pinned-node" and any(r.code != "pinned-node" for r in node.reasons[position + 1 :]):
                far = 0
            reach[key] = max(reach[key], far) if key in reach else far
    ordered = sorted(merged, key=lambda k: (-reach[k], -len(merged[k].nodes)))
    reasons = [merged[k] for k in ordered]
    codes = Counter(r.code for node in nodes for r in node.reasons[:1])
    if len(codes) >= _MIXED and max(codes.values()) * 2 <= len(nodes):
        told = ", ".join(f"{code} ×{n}" for code, n in codes.most_common())
        first = f"; nearest is {reasons[0].nodes[0]}: {reasons[0].message}" if reasons and reasons[0].nodes else ""
        reasons.insert(0, Reason("mixed", f"{len(nodes)} nodes, {len(codes)} different reasons ({told}){first}"))
    return tuple(reasons)


def _merge(a: Reason, b: Reason) -> Reason:
    return replace(
        a,
        nodes=tuple(dict.fromkeys((*a.nodes, *b.nodes))),
        devices=tuple(dict.fromkeys((*a.devices, *b.devices))),
        holders=tuple(dict.fromkeys((*a.holders, *b.holders))),
        found=tuple(dict.fromkeys((*a.found, *b.found))),
        rules=tuple(dict.fromkeys((*a.rules, *b.rules))),
        counters=tuple(dict.fromkeys((*a.counters, *b.counters))),
        nearest=a.nearest or b.nearest,
    )
