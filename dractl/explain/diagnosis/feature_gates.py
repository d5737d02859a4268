"""Notes on feature gates that objects of a cluster prove to be on, if they affect the answer."""

from collections.abc import Iterator, Sequence

from dractl.cluster.gates import GateEvidence, find_gates_in
from dractl.explain.context import Case


def note_gates(case: Case, evidence: Sequence[GateEvidence]) -> Iterator[str]:
    """Yield the gates that objects prove to be on, if the pod's claims or devices need them."""
    if not evidence:
        return
    features = case.scheduler.features
    claims = (claim.value for claim in case.attempt.claims if claim.value is not None)
    slices = case.state.objects("ResourceSlice").values()
    needed = find_gates_in((*claims, *slices), features.release)
    for proof in evidence:
        if proof.gate in needed and features.enabled(proof.gate):
            yield proof.sentence(features.release)
