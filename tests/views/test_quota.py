"""PodDisruptionBudgets as the eviction API reads them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.views import Pod
from dractl.views.quota import DisruptionBudget


def budget(selector: dict[str, Any] | None, **status: Any) -> DisruptionBudget:
    spec: dict[str, Any] = {"minAvailable": 1}
    if selector is not None:
        spec["selector"] = selector
    metadata = {"name": "keep", "namespace": "ml", "generation": 2}
    return DisruptionBudget({"metadata": metadata, "spec": spec, "status": status})


def pod(namespace: str = "ml", **labels: str) -> Pod:
    return Pod({"metadata": {"name": "a", "namespace": namespace, "labels": labels}})


@pytest.mark.parametrize(
    ("selector", "with_label", "without_labels"),
    [
        # Asked of a server of 1.37: with an empty selector it refused to evict both pods.
        ({}, True, True),
        ({"matchLabels": {"app": "chat"}}, True, False),
        ({"matchLabels": {"app": "other"}}, False, False),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False, True),
        (None, False, False),
    ],
)
def test_selector_of_an_eviction(
    selector: dict[str, Any] | None, with_label: bool, without_labels: bool
) -> None:
    assert budget(selector).selects(pod(app="chat")) is with_label
    assert budget(selector).selects(pod()) is without_labels
    assert not budget(selector).selects(pod("other", app="chat"))


def test_status_of_an_older_spec_is_not_observed() -> None:
    assert budget({}, observedGeneration=2).is_observed
    assert not budget({}, observedGeneration=1).is_observed
    assert not budget({}).is_observed
