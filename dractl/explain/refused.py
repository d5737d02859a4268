"""Claims and templates of manifests that the API server would refuse."""

from collections.abc import Iterator

from dractl.allocation import Features
from dractl.cluster.state import ClusterState, Key, maps_at, text_at
from dractl.explain.ask import CLAIMS, Question
from dractl.model import Target
from dractl.validation import validate


def refused(state: ClusterState, features: Features, question: Question) -> Iterator[str]:
    """A sentence for each claim or template of the subject that no server has seen, and would refuse."""
    written: list[tuple[str, Key]] = [(question.kind, question.key)] if question.kind in CLAIMS else []
    for reference in maps_at(question.value, "spec", "resourceClaims"):
        for kind, field_name in (
            ("ResourceClaim", "resourceClaimName"),
            ("ResourceClaimTemplate", "resourceClaimTemplateName"),
        ):
            if text_at(reference, field_name):
                written.append((kind, (question.key[0], text_at(reference, field_name))))
    target = Target(features.release, features.on)
    for kind, key in dict.fromkeys(written):
        value = state.get(kind, key)
        if value is None or text_at(value, "metadata", "uid"):
            continue
        violation = next((v for v in validate(value, target) if v.type is not None), None)
        if violation is not None:
            where = f"{violation.field}: " if violation.field else ""
            yield f"the API server would refuse {kind} {key[1]}: {where}{violation.message} (dractl lint says where)"
