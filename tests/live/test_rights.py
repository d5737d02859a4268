"""explain for a user who may read one namespace, against a real API server with RBAC."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conftest import whole_dir
from tests.live.plane import Plane, oracle, until
from tests.live.test_explain import SMALL, apply, cluster, dractl, one_gpu, set_up, tear_down, wait  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

OWN = "pods,resourceclaims,resourceclaimtemplates,events,persistentvolumeclaims,resourcequotas"
ROLES = Path(__file__).resolve().parents[2] / "deploy" / "clusterrole.yaml"
AS = ("--as", "system:serviceaccount:ml:dev", "-n", "ml")


@pytest.fixture
def user(cluster: Any) -> Iterator[Any]:  # noqa: F811
    """Two GPUs, one of them held in a namespace that ml:dev does not see, and a pod of ml that wants both."""
    both = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 2}}]}
    template = {
        **SMALL[-1],
        "metadata": {"name": "two", "namespace": "ml"},
        "spec": {"spec": {"devices": both}},
    }
    theirs = {**SMALL[-1], "metadata": {"name": "one", "namespace": "eval"}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "eval"}}
    set_up(
        cluster, [*SMALL, space, template, theirs, pod("eval", "holder", "one")], ("ml", "train-0")
    )
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(pod("ml", "train-0", "two")))
    assert not wait(cluster, "ml", "train-0", scheduled=False)
    cluster.kubectl("create", "serviceaccount", "dev", "-n", "ml", check=False)
    cluster.kubectl("create", "role", "dev", "-n", "ml", "--verb=get,list", f"--resource={OWN}")
    cluster.kubectl(
        "create", "rolebinding", "dev", "-n", "ml", "--role=dev", "--serviceaccount=ml:dev"
    )
    yield cluster
    for kind in ("clusterrole", "clusterrolebinding"):
        names = cluster.kubectl("get", kind, "-o", "name").stdout.split()
        for name in names:
            if "/dractl" in name or name.endswith("/devices"):
                cluster.kubectl("delete", name)
    cluster.kubectl("delete", "role,rolebinding", "dev", "-n", "ml")
    tear_down(cluster)


def pod(namespace: str, name: str, template: str) -> dict[str, Any]:
    spec = one_gpu()
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": template}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def answer(cluster: Any, name: str = "pod/train-0") -> dict[str, Any]:  # noqa: F811
    code, out = dractl(cluster, "explain", name, *AS, "-o", "json")
    assert code == 1
    found: dict[str, Any] = json.loads(out)
    return found


def refusal(cluster: Any, *arguments: str) -> str:  # noqa: F811
    """Return what dractl prints if the user may not even read what the answer needs."""
    done = subprocess.run(
        [sys.executable, "-m", "dractl", *arguments],
        env={**os.environ, "PATH": f"{cluster.dir}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    return done.stderr


def rights_of(cluster: Any, role: str) -> set[tuple[str, str]]:  # noqa: F811
    """Return the groups and resources that a ClusterRole of the server allows to get and list."""
    rules = json.loads(cluster.kubectl("get", "clusterrole", role, "-o", "json").stdout)["rules"]
    assert all(sorted(rule["verbs"]) == ["get", "list"] for rule in rules)
    return {
        (group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def unread_resources(found: dict[str, Any]) -> list[str]:
    """Return the forbidden resources on which the answer depends."""
    return [one["resource"] for one in found["unread"] if "effect" in one]


def test_one_namespace_and_nothing_of_the_cluster(user: Any) -> None:
    found = answer(user)
    assert found["verdict"] == "undecided"
    assert "0/1 nodes are available: 1 cannot allocate all claims" in found["headline"]
    assert "you are not allowed to read ResourceSlices and DeviceClasses" in found["headline"]
    assert unread_resources(found) == [
        "resourceslices.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
        "nodes",
    ]


def test_causes_within_the_namespace_are_found(user: Any) -> None:
    user.kubectl("create", "-f", "-", stdin=json.dumps(pod("ml", "typo", "twoo")))
    found = answer(user, "pod/typo")
    assert (found["verdict"], found["reasons"][0]["code"]) == ("blocked", "template-missing")
    assert found["reasons"][0]["nearest"] == "two"


def test_claims_of_other_namespaces_hold_seemingly_free_devices(user: Any) -> None:
    user.kubectl(
        "create",
        "clusterrole",
        "devices",
        "--verb=get,list",
        "--resource=resourceslices,deviceclasses,nodes",
    )
    user.kubectl(
        "create",
        "clusterrolebinding",
        "devices",
        "--clusterrole=devices",
        "--serviceaccount=ml:dev",
    )
    found = answer(user)
    assert found["verdict"] == "undecided"
    assert found["headline"].startswith("may fit on node-1, but the scheduler says")
    assert unread_resources(found) == [
        "devicetaintrules.resource.k8s.io",
        "resourceclaims.resource.k8s.io",
        "pods",
    ]


def test_printed_commands_allow_reading_cluster_scoped_kinds(user: Any) -> None:
    """Claims and pods of others stay theirs: no administrator allows them to a user of one namespace."""
    apply(user, answer(user)["next"][-1]["command"])
    found = answer(user)
    assert unread_resources(found) == ["resourceclaims.resource.k8s.io", "pods"]
    assert found["headline"].startswith("may fit on node-1, but the scheduler says")
    assert [one["name"] for one in found["nodes"]] == ["node-1"]


@pytest.mark.parametrize("role", ["dractl", "dractl-devices"])
def test_printed_commands_grant_the_deployed_role(user: Any, role: str) -> None:
    """They grant what deploy/clusterrole.yaml grants of the resources that this server serves, and
    take nothing from a role that was made from that file.
    """
    commands = (
        refusal(user, "explain", "-A", "--as", "jane").partition("can allow it: ")[2]
        if role == "dractl"
        else answer(user)["next"][-1]["command"]
    )
    assert f"create clusterrole {role} " in commands
    apply(user, commands)
    granted = rights_of(user, role)
    user.kubectl("delete", "clusterrole", role)
    user.kubectl("create", "-f", str(ROLES))
    names = user.kubectl("api-resources", "-o", "name", "--verbs=get,list").stdout.split()
    served = {(group, name) for name, _, group in (line.partition(".") for line in names)}
    deployed = rights_of(user, role)
    assert granted == deployed & served
    apply(user, commands.partition(" && ")[0])
    assert rights_of(user, role) == deployed


def test_devices_without_the_claims_of_others(user: Any) -> None:
    """The device that a pod of eval holds is not called free."""
    user.kubectl(
        "create",
        "clusterrole",
        "devices",
        "--verb=get,list",
        "--resource=resourceslices,deviceclasses,nodes",
    )
    user.kubectl(
        "create",
        "clusterrolebinding",
        "devices",
        "--clusterrole=devices",
        "--serviceaccount=ml:dev",
    )
    code, out = dractl(user, "devices", *AS[:2], "-o", "json")
    assert code == 0
    found = json.loads(out)
    assert [one["state"] for one in found["devices"]] == ["unknown", "unknown"]
    assert {"resource": "resourceclaims.resource.k8s.io"} in [
        {"resource": one["resource"]} for one in found["unread"]
    ]
    code, out = dractl(user, "devices", "-o", "json")
    assert sorted(one["state"] for one in json.loads(out)["devices"]) == ["free", "held"]


def list_recordings() -> list[Path]:
    """The situations that are asked with the rights of one namespace; tests/explain/test_on_call_other.py has those
    that need no cluster."""
    shared = whole_dir()
    found = (
        sorted((shared / "conformance" / "oncall-other").glob("*/truth.json"))
        if shared is not None
        else []
    )
    return [truth.parent for truth in found if "--as" in json.loads(truth.read_text())["args"]]


@pytest.mark.parametrize("folder", list_recordings(), ids=lambda folder: folder.name)
def test_cause_named_by_an_engineer_is_in_the_answer(folder: Path) -> None:
    """The dump is what an administrator saw; the user has its Role. What is to be changed is the user's own."""
    module = oracle()
    if module is None:
        pytest.skip("the cluster program is not built")
    truth = json.loads((folder / "truth.json").read_text())
    with Plane(module) as plane:
        plane.load(yaml.load((folder / "dump.yaml").read_bytes(), yaml.CSafeLoader)["items"])
        until(
            lambda: all(plane.tried(p) for p in plane.pods()), 10
        )  # a pod without its claim is not tried at all
        done = plane.dractl("explain", *truth["args"])
    text = " ".join((done.stdout + done.stderr).lower().split())
    for idea in (*truth["says"], *(truth["does"] or ())):
        assert any(wording in text for wording in idea), (idea, text)
    assert NEXT[folder.name] in text


NEXT = {
    "301-rbac-template-name-typo": "kubectl patch deployment infer -n ml --type=json",
    "303-rbac-taint-message-only": "add the toleration to the pod's manifest",
}
