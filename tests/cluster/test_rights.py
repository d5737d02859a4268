"""What may not be read, and the commands that allow it."""

from __future__ import annotations

import pytest

from dractl.cluster.rights import WHOLE, Rights, Unread
from dractl.cluster.state import ClusterState

SLICES = Unread("ResourceSlice", "resourceslices.resource.k8s.io")
CLASSES = Unread("DeviceClass", "deviceclasses.resource.k8s.io")
CLAIMS = Unread("ResourceClaim", "resourceclaims.resource.k8s.io", "ml")
PODS = Unread("Pod", "pods")


@pytest.mark.parametrize(
    ("user", "binding"),
    [
        ("jane", "dractl --clusterrole=dractl --user=jane"),
        ("jane doe", "dractl --clusterrole=dractl --user='jane doe'"),
        ("oidc:$(id)", "dractl --clusterrole=dractl --user='oidc:$(id)'"),
        (
            "system:serviceaccount:ml:dev",
            "dractl-ml-dev --clusterrole=dractl --serviceaccount=ml:dev",
        ),
        ("", "dractl --clusterrole=dractl --user=NAME"),
    ],
)
def test_the_commands_name_the_user(user: str, binding: str) -> None:
    grant = Rights((SLICES, CLASSES), user).grant
    role, _, bound = grant.partition(" && ")
    assert (
        role
        == "kubectl create clusterrole dractl --verb=get,list --resource=resourceslices,deviceclasses"
    )
    assert bound == f"kubectl create clusterrolebinding {binding}"


def test_a_user_of_one_namespace_gets_no_right_to_what_is_in_others() -> None:
    """Devices, classes and nodes are enough for a whole answer about what is their own."""
    assert "--resource=resourceslices " in Rights((SLICES, CLAIMS), "jane").grant
    assert Rights((CLAIMS,), "jane").grant == ""


def test_whoever_reads_the_whole_cluster_gets_what_is_missing() -> None:
    assert "--resource=resourceslices,pods " in Rights((SLICES, PODS), "jane").grant


def test_whoever_may_read_everything_needs_no_command() -> None:
    assert WHOLE.grant == ""


def test_nowhere_and_in_one_namespace() -> None:
    rights = Rights((SLICES, CLAIMS))
    assert rights.hidden("ResourceSlice", "ResourceClaim", "Pod") == (SLICES,)
    assert rights.narrow("ResourceSlice", "ResourceClaim", "Pod") == (CLAIMS,)


def test_a_changed_cluster_is_as_hidden_as_before() -> None:
    rights = Rights((SLICES,))
    state = ClusterState({}, rights=rights)
    assert state.replace("Pod", ("ml", "a"), {}).rights is rights
    assert state.with_objects({}).rights is rights
    assert ClusterState({}).merged(state).rights is rights
    assert state.merged(ClusterState({})).rights is rights
