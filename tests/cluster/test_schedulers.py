"""The schedulers of a cluster, and whether their profiles allocate claims."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dractl.cluster import live
from dractl.cluster.schedulers import as_default, identify, survey_of
from tests.cluster.test_live import FORBIDDEN, Kubectl, kubectl, listed  # noqa: F401
from tests.cluster.test_rights import granted
from tests.explain.cluster import pod, state_of


def configuration(*profiles: dict[str, Any], name: str = "my-scheduler-config") -> dict[str, Any]:
    value = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": {"config.yaml": yaml.safe_dump(value)},
    }


def kube_scheduler(*mounted: str) -> dict[str, Any]:
    volumes = [{"name": name, "configMap": {"name": name}} for name in mounted]
    container = {"name": "s", "image": "x", "command": ["/usr/local/bin/kube-scheduler"]}
    spec = {"containers": [container], "volumes": volumes}
    return pod("second-1", namespace="kube-system", spec=spec, status={"phase": "Running"})


@pytest.mark.parametrize(
    ("plugins", "allocates"),
    [
        ({}, True),
        ({"multiPoint": {"disabled": [{"name": "NodePorts"}]}}, True),
        ({"filter": {"disabled": [{"name": "DynamicResources"}]}}, False),
        ({"preBind": {"disabled": [{"name": "*"}]}}, False),
        ({"score": {"disabled": [{"name": "*"}]}}, True),
        (
            {
                "multiPoint": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "DynamicResources"}],
                }
            },
            True,
        ),
        (
            {
                "multiPoint": {"disabled": [{"name": "*"}]},
                "filter": {"enabled": [{"name": "DynamicResources"}]},
            },
            False,
        ),
    ],
    ids=["default", "other", "filter", "all of one", "score", "chosen", "a part"],
)
def test_a_profile_allocates_claims_unless_it_turns_the_plugin_off(
    plugins: dict[str, Any], allocates: bool
) -> None:
    state = state_of(configuration({"schedulerName": "a", "plugins": plugins}))
    assert [profile.allocates for profile in survey_of(state).profiles] == [allocates]


def test_profiles_without_a_name_are_the_default_scheduler() -> None:
    state = state_of(configuration({}, {"schedulerName": "b"}))
    assert survey_of(state).names == ("default-scheduler", "b")


@pytest.mark.parametrize(
    "text",
    ["kind: KubeSchedulerConfiguration\nprofiles: 3", "{kind: KubeSchedulerConfiguration", "- a"],
)
def test_other_text_has_no_profile(text: str) -> None:
    value = configuration()
    value["data"]["config.yaml"] = text
    assert survey_of(state_of(value)).profiles == ()


def test_other_config_maps_are_not_kept() -> None:
    value = configuration()
    value["data"] = {"key": "value"}
    assert not state_of(value).has("ConfigMap")


def test_pods_and_templates_of_one_scheduler_become_those_of_the_default_one() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": [{"name": "m"}], "schedulerName": "kai"}}},
    }
    mine, other = pod("a", spec={"schedulerName": "kai"}), pod("b", spec={"schedulerName": "b"})
    state = as_default(state_of(mine, other, job), "kai")
    specs = [value["spec"] for value in state.objects("Pod").values()]
    assert [spec.get("schedulerName") for spec in specs] == [None, "b"]
    (changed,) = state.objects("Job").values()
    assert "schedulerName" not in changed["spec"]["template"]["spec"]
    assert job["spec"]["template"]["spec"]["schedulerName"] == "kai"  # type: ignore[index]


# -- a live cluster --


def pod_of_scheduler(name: str, **metadata: Any) -> dict[str, Any]:
    return pod("p", spec={"schedulerName": name}, metadata=metadata)


def resources_read(kubectl: Kubectl) -> set[str]:  # noqa: F811
    gets = [call[call.index("get") + 1] for call in kubectl.calls if "get" in call]
    return {resource for words in gets for resource in words.split(",")}


def test_the_groups_of_other_schedulers_are_read_where_a_pod_names_one(
    kubectl: Kubectl,  # noqa: F811
) -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "ring", "namespace": "ml"},
    }
    subject = pod_of_scheduler("kai-scheduler", annotations={"pod-group-name": "ring"})
    kubectl.answers(pods=listed(subject), podgroups=listed(group))
    state = live.read(live.Login(), everywhere=True).state
    assert state.get("podgroups.scheduling.run.ai", ("ml", "ring")) == group
    assert "podgroups.scheduling.run.ai" in granted("dractl")


def test_forbidden_groups_are_noted(kubectl: Kubectl) -> None:  # noqa: F811
    subject = pod_of_scheduler("volcano", annotations={"scheduling.k8s.io/group-name": "ring"})
    refused = {"err": FORBIDDEN.format("podgroups"), "code": 1}
    kubectl.answers(pods=listed(subject), podgroups=refused)
    notes = live.read(live.Login(), everywhere=True).notes
    assert any("podgroups.scheduling.volcano.sh cannot be read" in note for note in notes)


def test_the_configuration_of_a_second_kube_scheduler_is_read_where_a_name_is_unknown(
    kubectl: Kubectl,  # noqa: F811
) -> None:
    config = configuration({"schedulerName": "gpu-placer"})
    pods = listed(pod_of_scheduler("gpu-placer"), kube_scheduler("my-scheduler-config"))
    kubectl.answers(pods=pods, configmaps=listed(config))
    state = live.read(live.Login(), everywhere=True).state
    scheduler = identify(state, "gpu-placer")
    assert scheduler.is_kube_scheduler
    assert scheduler.workloads[0].target == "Pod/kube-system/second-1"


@pytest.mark.parametrize("name", ["default-scheduler", "kai-scheduler"])
def test_no_config_map_is_read_where_all_names_are_known(
    name: str,
    kubectl: Kubectl,  # noqa: F811
) -> None:
    kubectl.answers(pods=listed(pod_of_scheduler(name), kube_scheduler("my-scheduler-config")))
    live.read(live.Login(), everywhere=True)
    assert "configmaps" not in resources_read(kubectl)


def test_a_live_cluster_shows_the_absence_of_a_scheduler(kubectl: Kubectl) -> None:  # noqa: F811
    kubectl.answers(pods=listed(pod_of_scheduler("volcano")))
    state = live.read(live.Login(), everywhere=True).state
    assert identify(state, "volcano").runs is False
