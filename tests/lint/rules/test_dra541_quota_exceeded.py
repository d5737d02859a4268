"""DRA541 quota-exceeded.

The numbers are those of claimEvaluator.Usage.
"""

from __future__ import annotations

import pytest

from tests.lint.written import DEVICES, claim, documents, found, pod, template


def quota(hard: str, more: str = "", namespace: str = "") -> str:
    where = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q{where}}}\nspec:\n  hard: {{{hard}}}\n{more}"


COUNT = "count/resourceclaims.resource.k8s.io"
TWO = claim("gpu gpu.example.com {count: 2}", name="two")
THREE_REPLICAS = "replicas: 3\n"


@pytest.mark.parametrize(
    ("hard", "text", "said"),
    [
        (f"{DEVICES}: 1", TWO, "2 devices of class gpu.example.com, its limit is 1"),
        (f"{DEVICES}: 2", TWO, None),
        (f"{DEVICES}: 3", documents(TWO, TWO.replace("two", "three")), "4 devices"),
        (f"{DEVICES}: 31", claim("gpu gpu.example.com {allocationMode: All}"), "32 devices"),
        (f"{DEVICES}: 32", claim("gpu gpu.example.com {allocationMode: All}"), None),
        (f"{DEVICES}: 1", claim("gpu other.example.com {count: 2}"), None),
        (
            f"{DEVICES}: 5",
            documents(template(TWO), pod("a:two", kind="Deployment", spec=THREE_REPLICAS)),
            "6 devices",
        ),
        (
            f"{DEVICES}: 6",
            documents(template(TWO), pod("a:two", kind="Deployment", spec=THREE_REPLICAS)),
            None,
        ),
        (f"{DEVICES}: 1", documents(TWO, pod("a=two")), "2 devices"),  # shared, not copied
        (f"{DEVICES}: 1", template(TWO), None),  # nobody has it made
        (f"{COUNT}: 1", documents(TWO, claim("gpu a", name="b")), "2 claims, its limit is 1"),
        (f"{COUNT}: 2", pod("a:elsewhere", kind="StatefulSet", spec=THREE_REPLICAS), "3 claims"),
        (f"{COUNT}: 0, cpu: 1", claim("gpu a"), "1 claims, its limit is 0"),
    ],
)
def test_quota_is_charged_as_by_the_server(hard: str, text: str, said: str | None) -> None:
    advice = found(documents(quota(hard), text), "DRA541")
    assert [finding.severity for finding in advice] == (["warning"] if said else [])
    assert said is None or said in advice[0].message


def test_of_alternatives_the_most_of_each_class_is_charged() -> None:
    text = claim("gpu gpu.example.com").replace(
        "exactly: {deviceClassName: gpu.example.com}",
        "firstAvailable: [{name: a, deviceClassName: gpu.example.com, count: 4}, "
        "{name: b, deviceClassName: gpu.example.com}, {name: c, deviceClassName: other.example.com}]",
    )
    assert found(documents(quota(f"{DEVICES}: 3"), text), "DRA541")
    assert not found(documents(quota(f"{DEVICES}: 4"), text), "DRA541")


def test_quotas_of_other_namespaces_and_of_scopes_do_not_count() -> None:
    assert not found(documents(quota(f"{DEVICES}: 1", namespace="other"), TWO), "DRA541")
    assert not found(
        documents(quota(f"{DEVICES}: 1", "  scopes: [NotTerminating]\n"), TWO), "DRA541"
    )


def test_existing_claims_of_a_pod_are_counted_once() -> None:
    made = TWO.replace(
        "{name: two}",
        "{name: p-a-x, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}",
    )
    text = documents(quota(f"{DEVICES}: 2"), template(TWO), pod("a:two"), made)
    assert not found(text, "DRA541")
