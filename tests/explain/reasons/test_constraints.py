"""The sentences about constraints that no set of devices satisfies."""

from __future__ import annotations

from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.phrases import Names, Scope

NUMA_NODE = "resource.kubernetes.io/numaNode"


def test_the_full_sentence_names_the_constraint_on_a_place() -> None:
    conflict = ConstraintConflict(
        constraint=f"matchAttribute {NUMA_NODE}", attribute=NUMA_NODE, counts=(("gpu", 2),)
    )
    assert conflict.sentence(Names(), Scope.ONE) == "no NUMA node has 2 GPUs"
    assert conflict.full_sentence(Names()) == "no NUMA node has 2 GPUs (matchAttribute numaNode)"


def test_a_sentence_about_different_values_names_no_other_constraint() -> None:
    conflict = ConstraintConflict(
        constraint=f"distinctAttribute {NUMA_NODE}", attribute=NUMA_NODE, want=3, have=2
    )
    text = conflict.full_sentence(Names())
    assert text.startswith(f"distinctAttribute {NUMA_NODE} over ")
    assert "matchAttribute" not in text
