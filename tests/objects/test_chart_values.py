"""Pods that charts of bjw-s' common library make from values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.objects.chart_values import chart_pods

if TYPE_CHECKING:
    from dractl.objects import PodSpec


def made(values: dict[str, Any], **spec: Any) -> dict[str, PodSpec[None]]:
    pods = chart_pods(None, {"kind": "HelmRelease", "spec": {"values": values, **spec}})
    return {str(pod.path[-1]): pod for pod in pods}


def container(*claims: str, **fields: Any) -> dict[str, Any]:
    return {"image": {}, "resources": {"claims": [{"name": name} for name in claims]}, **fields}


def test_the_claims_of_a_controller_take_precedence_over_those_of_all() -> None:
    pods = made(
        {
            "defaultPodOptions": {"resourceClaims": [{"name": "all"}]},
            "controllers": {
                "one": {"containers": {"app": container("all")}},
                "two": {
                    "pod": {"resourceClaims": [{"name": "own"}]},
                    "containers": {"app": container("own")},
                },
                "three": {"pod": {"resourceClaims": []}, "containers": {"app": container()}},
            },
        }
    )
    values = ("spec", "values")
    assert {name: list(pod.claims) for name, pod in pods.items()} == {
        "one": [((*values, "defaultPodOptions", "resourceClaims", 0), {"name": "all"})],
        "two": [((*values, "controllers", "two", "pod", "resourceClaims", 0), {"name": "own"})],
        "three": [((*values, "defaultPodOptions", "resourceClaims", 0), {"name": "all"})],
    }
    assert [path for path, _ in pods["one"].uses] == [
        (*values, "controllers", "one", "containers", "app", "resources", "claims", 0)
    ]


def test_disabled_controllers_and_containers_make_no_pods() -> None:
    pods = made(
        {
            "controllers": {
                "off": {"enabled": False, "containers": {"app": container("gpu")}},
                "on": {
                    "initContainers": {"init": container("gpu")},
                    "containers": {"app": container(), "side": container("gpu", enabled=False)},
                },
            }
        }
    )
    assert [(path[-4], use["name"]) for path, use in pods["on"].uses] == [("init", "gpu")]
    assert list(pods) == ["on"]


def test_values_of_a_subchart_are_found() -> None:
    assert list(
        made({"server": {"controllers": {"main": {"containers": {"main": container("gpu")}}}}})
    ) == ["main"]


def test_values_added_from_elsewhere_are_unknown() -> None:
    values = {"controllers": {"main": {"containers": {"main": container("gpu")}}}}
    assert made(values, valuesFrom=[{"kind": "ConfigMap", "name": "more"}]) == {}


def test_other_charts_have_other_controllers() -> None:
    assert made({"controllers": {"main": {"containers": [container()]}, "replicas": 1}}) == {}


def test_pods_without_claims_are_left_out() -> None:
    assert made({"controllers": {"main": {"containers": {"main": {"image": {}}}}}}) == {}
