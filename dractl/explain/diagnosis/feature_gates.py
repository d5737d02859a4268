"""Notes on feature gates that affect the answer: on by the proof of objects, or off by default."""

from collections.abc import Iterator, Sequence

from dractl.cluster.gates import TAINT_RULES, GateEvidence, find_gates_in
from dractl.explain.context import Case
from dractl.model.releases import stage


def note_gates(case: Case, evidence: Sequence[GateEvidence]) -> Iterator[str]:
    """Yield the gates that objects prove to be on, if the pod's claims or devices need them, and
    the gate without which the cluster's DeviceTaintRules have no effect.
    """
    features = case.scheduler.features
    has_rules = bool(case.state.objects("DeviceTaintRule"))
    if evidence:
        claims = (claim.value for claim in case.attempt.claims if claim.value is not None)
        slices = case.state.objects("ResourceSlice").values()
        needed = find_gates_in((*claims, *slices), features.release)
        if has_rules:
            needed |= {TAINT_RULES}
        for proof in evidence:
            if proof.gate in needed and features.enabled(proof.gate):
                yield proof.sentence(features.release)
    if has_rules and stage(TAINT_RULES, features.release) and not features.enabled(TAINT_RULES):
        yield (
            f"DeviceTaintRules have no effect here: feature gate {TAINT_RULES} is off in"
            f" Kubernetes {features.release} (if it is on in this cluster: --feature-gates"
            f" {TAINT_RULES}=true)"
        )
