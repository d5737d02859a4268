"""DRA705 toleration-without-effect.

Seen on a control plane of 1.37.1, where only the toleration with the effect kept the pod.
"""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found


@pytest.mark.parametrize(
    ("tolerations", "severities"),
    [
        ("{key: a, operator: Exists}", ["info"]),
        ("{key: a, operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists, effect: NoSchedule}", []),
        ("{key: a, operator: Exists}, {key: a, operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists}, {operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists}, {key: b, operator: Exists, effect: NoExecute}", ["info"]),
        ("{key: a, value: x}, {key: a, value: z, effect: NoExecute}", ["info"]),
        ("{key: a, value: x}, {key: a, value: x, effect: NoExecute}", []),
        ("{key: a, operator: Exists, tolerationSeconds: 60}", ["warning"]),
        ("{key: a, operator: Exists}, {key: b, operator: Exists}", ["info"]),
    ],
)
def test_a_toleration_of_every_effect_does_not_keep_a_pod(
    tolerations: str, severities: list[str]
) -> None:
    text = claim(f"gpu gpu.example.com {{tolerations: [{tolerations}]}}")
    assert [finding.severity for finding in found(text, "DRA705")] == severities
