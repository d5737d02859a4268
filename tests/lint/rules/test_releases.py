"""Rules whose answer depends on the release, as schedulers of the releases were seen to behave."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found


@pytest.mark.parametrize(
    ("release", "said"), [("1.36", "every device"), ("1.37", "taints no device")]
)
def test_taint_rule_without_selector_has_the_behaviour_of_the_release(
    release: str, said: str
) -> None:
    version = "v1" if release == "1.37" else "v1beta2"
    text = f"apiVersion: resource.k8s.io/{version}\nkind: DeviceTaintRule\nmetadata: {{name: a}}\n"
    (advice,) = found(text + "spec: {taint: {key: a, effect: NoSchedule}}\n", "DRA511", release)
    assert said in advice.message


@pytest.mark.parametrize(("release", "fatal"), [("1.36", False), ("1.37", True)])
def test_a_negative_amount_is_an_error_of_the_scheduler_from_1_37_on(
    release: str, fatal: bool
) -> None:
    text = claim("gpu gpu.example.com {capacity: {requests: {memory: -1Gi}}}")
    (advice,) = found(text, "DRA706", release)
    assert ("capacity value is negative" in advice.message) == fatal
