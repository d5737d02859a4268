"""Causes as values: those of several nodes become one, and JSON shows them flat."""

from __future__ import annotations

import pytest

from dractl.cluster.devices import Holder
from dractl.explain.answer import Reason, reason_of
from dractl.explain.reasons.amounts import AllNeedsUntainted, NotEnoughTogether
from dractl.explain.reasons.base import Cause, merge
from dractl.explain.reasons.claims import SchedulingGated
from dractl.explain.reasons.devices import DeviceInUse
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import Names, Scope
from dractl.explain.reasons.registry import REASONS
from dractl.model.names import RequestRef
from dractl.scheduler import pre_enqueue
from dractl.scheduler.rejection import LabelMismatch, NodeLabel

GPU = RequestRef("ml/c", "gpu")
HELD = (Holder("ml/x", ("gpu.example.com/a/gpu-0",)),)


def in_use(node: str, want: int, have: int) -> DeviceInUse:
    return DeviceInUse(request=GPU, want=want, have=have, free=have, nodes=(node,), holders=HELD)


def test_causes_of_two_nodes_become_one_with_the_numbers_of_the_first() -> None:
    far, near = in_use("a", 4, 0), in_use("b", 4, 3)
    assert far.key == near.key
    merged = merge([near, far])
    assert (merged.have, set(merged.nodes), merged.holders) == (3, {"a", "b"}, HELD)


def test_mode_all_over_several_nodes_names_no_number_of_a_single_node() -> None:
    """Of the three tainted devices two are on one node: "all 2 matching devices; 3 are tainted" would be nonsense."""

    def sentence_of(*nodes: str, tainted: int) -> str:
        taints = (("x:NoSchedule", tainted),)
        return AllNeedsUntainted(request=GPU, want=2, have=0, nodes=nodes, taints=taints).sentence(
            Names(), Scope.ONE
        )

    assert sentence_of("a", tainted=2).endswith(
        "wants all 2 matching devices; 2 are tainted: x:NoSchedule ×2"
    )
    assert sentence_of("a", "b", tainted=3).endswith(
        "wants all matching devices of a node; 3 are tainted: x:NoSchedule ×3"
    )


def test_a_cause_of_several_nodes_has_the_labels_of_each_node() -> None:
    a, b = (
        NodeFilter(
            plugin="NodeAffinity",
            unmet=(LabelMismatch("zone", "c"),),
            labels=(NodeLabel("zone", n),),
            nodes=(n,),
        )
        for n in "ab"
    )
    assert merge([a, b]).labels == (NodeLabel("zone", "a"), NodeLabel("zone", "b"))
    assert merge([a, a]).labels == (NodeLabel("zone", "a"),)


def test_causes_compare_by_their_fields() -> None:
    assert in_use("a", 4, 0) == in_use("a", 4, 0)
    assert len({in_use("a", 4, 0), in_use("a", 4, 0), in_use("b", 4, 0)}) == 2
    with pytest.raises(AttributeError):
        in_use("a", 4, 0).want = 5  # type: ignore[misc]


def test_a_cause_becomes_a_flat_reason() -> None:
    reason = reason_of(SchedulingGated(stop=pre_enqueue.SchedulingGated(("kueue",))), Names())
    held_back = "scheduling is held back by the pod's scheduling gates: kueue"
    assert reason == Reason("scheduling-gated", held_back, held_back, {"found": ("kueue",)})
    several = NotEnoughTogether(requests=(GPU, RequestRef("ml/c", "nic", "fast")), want=3, have=2)
    reason = reason_of(several, Names(), "main")
    assert (reason.facts.get("claim"), reason.request, reason.facts.get("podClaim")) == (
        "ml/c",
        "gpu, nic/fast",
        "main",
    )


def pages(kind: type[Cause]) -> set[str]:
    """The codes of a class and those below it."""
    own = {kind.page.code} if "page" in vars(kind) else set()
    return own.union(*(pages(child) for child in kind.__subclasses__()))


def test_every_code_has_a_page_of_dractl_rule() -> None:
    assert pages(Cause) == set(REASONS)
