"""Many subjects at once: equal replicas have one answer, and one failure does not end the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import PatchError
from dractl.errors import InputError
from dractl.explain import Explainer, everything, explain_each
from tests.explain.cluster import claim, device, device_class, node, pod, request, slice_of, state_of

if TYPE_CHECKING:
    from dractl.explain import Explanation, Question

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")


class Failing(Explainer):
    """Fails for pods whose name begins with ``bad``."""

    def explain(self, question: Question) -> Explanation:
        if question.key[1] == "bad-input":
            raise InputError("the claim has no spec", hint="look at it")
        if question.key[1] == "bad":
            raise PatchError("there is nothing at 'resourceClaimName'")
        return super().explain(question)


def replica(name: str, owner: str = "web-1", count: int = 4, **spec: Any) -> tuple[dict[str, Any], ...]:
    made = pod(name, {"name": "g", "resourceClaimName": f"of-{name}"}, spec=spec)
    made["metadata"] |= {
        "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": True, "uid": "u"}],
        "labels": {"pod-template-hash": "1"},
    }
    entry = made["spec"]["resourceClaims"][0]
    entry.pop("resourceClaimName")
    entry["resourceClaimTemplateName"] = "t"
    made["status"] = {"phase": "Pending", "resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"of-{name}"}]}
    return made, claim(f"of-{name}", request("r", "gpu", count))


def asked(*objects: dict[str, Any], kind: type[Explainer] = Explainer, alike: bool = True) -> list[Explanation]:
    state = state_of(GPU, node("a"), slice_of("gpu.example.com", "a", device("gpu-0")), *objects)
    return explain_each(kind(state, Features.for_release("1.37")), everything(state, None), alike=alike)


def test_equal_replicas_have_one_answer() -> None:
    objects = (*replica("a"), *replica("b"), *replica("c"))
    (answer,) = asked(*objects)
    assert answer.alike == ("b", "c")
    assert answer.title == "deployment ml/web (3 pods)"
    assert len(asked(*objects, alike=False)) == 3


@pytest.mark.parametrize("other", [replica("b", count=5), replica("b", "api-1"), replica("b", nodeSelector={"x": "y"})])
def test_what_differs_is_answered_by_itself(other: tuple[dict[str, Any], ...]) -> None:
    assert all(not answer.alike for answer in asked(*replica("a"), *other))


def test_one_failure_leaves_the_others_their_answers() -> None:
    answers = asked(
        *(pod(name, {"name": "g", "resourceClaimName": "c"}) for name in ("bad", "bad-input", "good")),
        claim("c", request("r", "gpu")),
        kind=Failing,
    )
    found = {answer.subject.name: answer for answer in answers}
    assert found["good"].verdict == "allocatable"
    assert found["bad"].verdict == "undecided"
    assert "nothing at 'resourceClaimName'" in found["bad"].headline
    assert (found["bad-input"].headline, found["bad-input"].notes) == (
        "cannot be explained: the claim has no spec",
        ("look at it",),
    )


def test_an_error_about_the_only_subject_is_raised() -> None:
    with pytest.raises(InputError):
        asked(pod("bad-input", {"name": "g", "resourceClaimName": "c"}), claim("c", request("r", "gpu")), kind=Failing)
