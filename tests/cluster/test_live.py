"""A cluster through kubectl: a fake kubectl on PATH replays what a real one prints, errors included."""

from __future__ import annotations

import io
import json
import re
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dractl.cli import terminal
from dractl.cli.main import main
from dractl.cluster import live
from dractl.errors import InputError, UsageError
from dractl.explain import find_subjects
from dractl.inputs import kubectl as kubectls
from tests.cli.test_terminal import AtOnce
from tests.explain.cluster import claim, device_class, node, pod, request, slice_of

FAKE = """#!{python}
import json, pathlib, sys
answers = json.loads(pathlib.Path({answers!r}).read_text())
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(arguments) + "\\n")
told = " ".join(arguments)
if "get" not in arguments:
    answer = next((answer for name, answer in answers.items() if name in told), {{}})
    sys.stdout.write(answer.get("out", ""))
    sys.stderr.write(answer.get("err", ""))
    sys.exit(answer.get("code", 0))
items, code, is_list = [], 0, True
for resource in arguments[arguments.index("get") + 1].split(","):
    asked = "get " + resource.partition(".")[0]
    answer = next((answer for name, answer in answers.items() if asked in (name, name[:-1])), {{}})
    everywhere = "--all-namespaces" in told
    asked_so_far = pathlib.Path({log!r}).read_text().count(resource)
    if "before" in answer and asked_so_far == 1:
        answer = answer["before"]
    if "later" in answer and asked_so_far > 2:
        answer = answer["later"]
    if answer.get("only_all") and not everywhere:
        answer = {{}}
    if answer.get("only_own"):
        answer = {{"code": answer["code"], "err": answer["err"]}} if everywhere else {{"out": answer["out"]}}
    sys.stderr.write(answer.get("err", ""))
    code = answer.get("code", 0) or code
    if answer.get("out", "{{").startswith("{{"):
        items += json.loads(answer.get("out", "{{}}")).get("items", [])
    else:
        sys.stdout.write(answer["out"])
        is_list = False
if is_list:
    print(json.dumps({{"apiVersion": "v1", "kind": "List", "items": items}}))
sys.exit(code)
"""
VERSION = {"out": json.dumps({"serverVersion": {"major": "1", "minor": "36+"}})}
FORBIDDEN = (
    'Error from server (Forbidden): {0} is forbidden: User "me" cannot list resource "{0}" in API group "" '
    "at the cluster scope\n"
)


def listed(*objects: dict[str, Any]) -> dict[str, str]:
    return {"out": json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})}


def workload(
    api_version: str, kind: str, name: str, owner: tuple[str, str, str] | None = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
    if owner is not None:
        metadata["ownerReferences"] = [
            dict(zip(("apiVersion", "kind", "name"), owner, strict=True))
        ]
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


WHOLE = {
    "version": VERSION,
    "config view": {"out": "ml"},
    "get nodes": listed(node("node-1")),
    "get resourceslices": listed(slice_of("d", "node-1")),
    "get deviceclasses": listed(device_class("c", "true")),
    "get resourceclaims": listed(claim("held", request("r", "c"))),
    "get pods": listed(pod("train-0")),
}


class Kubectl:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        monkeypatch.setenv("PATH", str(folder))

    def answers(self, **changed: dict[str, Any]) -> None:
        """The answers of a whole cluster, but for ``changed`` (``pods={...}``)."""
        named = {
            name if name in WHOLE else f"get {name}": answer for name, answer in changed.items()
        }
        answers = {**WHOLE, **named}
        (self.folder / "answers").write_text(json.dumps(answers))
        program = self.folder / "kubectl"
        program.write_text(
            FAKE.format(
                python=sys.executable, answers=str(self.folder / "answers"), log=str(self.log)
            )
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    return Kubectl(tmp_path, monkeypatch)


def test_a_cluster_is_read_with_its_objects_and_release(kubectl: Kubectl) -> None:
    kubectl.answers()
    cluster = live.read(live.Login("prod", "/k"))
    assert cluster.state.release == "1.36"
    assert cluster.namespace == "ml"
    assert set(cluster.state.kinds) == {
        "Node",
        "ResourceSlice",
        "DeviceClass",
        "ResourceClaim",
        "Pod",
    }
    assert cluster.notes == ()
    assert all(call[:4] == ["--context", "prod", "--kubeconfig", "/k"] for call in kubectl.calls)
    gets = [call for call in kubectl.calls if "get" in call]
    assert all("--chunk-size=500" in call and call[call.index("-o") + 1] == "json" for call in gets)


def test_only_resources_of_the_verdict_are_fetched(kubectl: Kubectl) -> None:
    kubectl.answers()
    live.read(live.Login())
    assert not {name.partition(".")[0] for name in resources_queried(kubectl)} & {
        "secrets",
        "configmaps",
        "all",
    }


DOMAINS = "computedomains.resource.nvidia.com"


def domain_objects() -> dict[str, Any]:
    """The answers about a pod whose channel of a ComputeDomain cannot be prepared."""
    allocated = claim("c", request("r", "c"))
    result = {"request": "r", "driver": "compute-domain.nvidia.com", "pool": "n", "device": "d"}
    allocated["status"] = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "train-0", "uid": "u"}],
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "train-0"},
        "reason": "FailedPrepareDynamicResources",
        "message": "x",
    }
    return {"resourceclaims": listed(allocated), "events": listed(event)}


def test_objects_of_drivers_are_only_fetched_where_one_is_at_fault(kubectl: Kubectl) -> None:
    kubectl.answers()
    live.read(live.Login())
    assert DOMAINS not in resources_queried(kubectl)


def test_a_compute_domain_is_fetched_where_its_claim_is_not_prepared(kubectl: Kubectl) -> None:
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "cd", "namespace": "ml"},
    }
    kubectl.answers(**domain_objects(), computedomains=listed(domain))
    cluster = live.read(live.Login())
    assert DOMAINS in resources_queried(kubectl)
    assert cluster.state.get("ComputeDomain", ("ml", "cd")) is not None


def test_forbidden_compute_domain_is_a_row_of_unread(kubectl: Kubectl) -> None:
    refused = {"err": FORBIDDEN.format("computedomains"), "code": 1}
    kubectl.answers(**domain_objects(), computedomains=refused)
    state = live.read(live.Login(), partly=True).state
    assert [row.kind for row in state.rights.unread] == ["ComputeDomain"]


@pytest.mark.parametrize(
    "reason",
    ["FailedPrepareDynamicResources", "FailedMount", "FailedCreatePodSandBox", "Unhealthy"],
)
def test_events_of_the_kubelet_about_a_pod_are_fetched(kubectl: Kubectl, reason: str) -> None:
    """Explain reads these warnings about a pod that is on its node."""
    kubectl.answers()
    live.read(live.Login())
    selectors = [
        word
        for call in kubectl.calls
        for word in call
        if word.startswith("--field-selector=type=Warning")
    ]
    assert selectors
    assert not any(f"reason!={reason}" in selector for selector in selectors)


@pytest.mark.parametrize(
    ("errors", "message", "hint"),
    [
        (
            "error: You must be logged in to the server (Unauthorized)\n",
            "logged in",
            "log in again",
        ),
        (
            "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout\n",
            "i/o timeout",
            "VPN",
        ),
        (
            "The connection to the server 10.0.0.1:6443 was refused: connect: connection refused\n",
            "refused",
            "running",
        ),
        (
            "The connection to the server localhost:8080 was refused - did you ...?\n",
            "refused",
            "no kubeconfig",
        ),
        ("error: stat /nowhere: no such file or directory\n", "/nowhere", "--kubeconfig"),
        (
            "Session expired: corp-login\nUnable to connect: getting credentials: exec: x failed with exit code 1\n",
            "exit code 1. It says: Session expired: corp-login",
            "log in first",
        ),
        ('error: context "prod" does not exist\n', "does not exist", "get-contexts"),
        (
            "Unable to connect to the server: x509: certificate has expired or is not yet valid\n",
            "expired",
            "certificate",
        ),
    ],
)
def test_an_unreachable_cluster_is_one_clear_message(
    kubectl: Kubectl, errors: str, message: str, hint: str
) -> None:
    kubectl.answers(version={"err": errors, "code": 1})
    with pytest.raises(InputError) as raised:
        live.read(live.Login())
    assert message in raised.value.message
    assert "\n" not in raised.value.message
    assert hint in (raised.value.hint or "")


def test_a_long_message_of_kubectl_is_cut(kubectl: Kubectl) -> None:
    error = f"Unable to connect to the server: {'x' * 500}: i/o timeout\n"
    kubectl.answers(version={"err": error, "code": 1})
    with pytest.raises(InputError) as raised:
        live.read(live.Login())
    assert str(raised.value).endswith(f"{'x' * 400} ...")
    assert "x" * 500 not in str(raised.value)


def test_resources_of_the_verdict_must_be_readable(kubectl: Kubectl) -> None:
    kubectl.answers(resourceclaims={"err": FORBIDDEN.format("resourceclaims"), "code": 1})
    with pytest.raises(InputError, match="resourceclaims") as raised:
        live.read(live.Login())
    assert "kubectl create clusterrole" in (raised.value.hint or "")


ONE_NAMESPACE = {
    name: {"err": FORBIDDEN.format(name), "code": 1, "only_all": True}
    for name in ("pods", "resourceclaims", "resourceclaimtemplates")
}


def test_resources_readable_in_one_namespace_are_read_there(kubectl: Kubectl) -> None:
    """Resources of the whole cluster are missing for a user of one namespace."""
    hidden = ("resourceslices", "deviceclasses", "nodes", "devicetaintrules")
    refused = {name: {"err": FORBIDDEN.format(name), "code": 1} for name in hidden}
    kubectl.answers(**refused, **ONE_NAMESPACE)
    cluster = live.read(live.Login(), namespace="team", partly=True)
    rights = cluster.state.rights
    assert {
        one.kind
        for one in rights.unreadable("ResourceSlice", "DeviceClass", "Node", "DeviceTaintRule")
    } == {"ResourceSlice", "DeviceClass", "Node", "DeviceTaintRule"}
    assert {
        (one.kind, one.namespace)
        for one in rights.readable_in_namespace("Pod", "ResourceClaim", "ResourceClaimTemplate")
    } == {("Pod", "team"), ("ResourceClaim", "team"), ("ResourceClaimTemplate", "team")}
    assert rights.user == "me"
    assert cluster.notes == (
        "only namespace team is looked at: you are not allowed to read pods of other namespaces",
    )
    assert len(kubectl.calls) <= 12


def test_a_user_without_rights_to_pods_and_claims_gets_an_error(kubectl: Kubectl) -> None:
    kubectl.answers(
        **{
            name: {"err": FORBIDDEN.format(name), "code": 1}
            for name in ("pods", "resourceclaims", "events")
        }
    )
    with pytest.raises(
        InputError, match="you are not allowed to read pods or claims in namespace team"
    ) as raised:
        live.read(live.Login(), namespace="team", partly=True)
    assert "--user=me" in (raised.value.hint or "")
    with pytest.raises(InputError, match="in all namespaces or in namespace team alone"):
        live.read(live.Login(), namespace="team", everywhere=True, partly=True)


def test_kubectl_gets_the_user_to_impersonate(kubectl: Kubectl) -> None:
    kubectl.answers()
    live.read(live.Login(user="jane", groups=("ml", "dev")))
    options = ["--as", "jane", "--as-group", "ml", "--as-group", "dev"]
    assert all(call[: len(options)] == options for call in kubectl.calls)


def test_pods_of_other_namespaces_may_be_forbidden(kubectl: Kubectl) -> None:
    kubectl.answers(pods={"err": FORBIDDEN.format("pods"), "code": 1, "only_all": True})
    cluster = live.read(live.Login(), namespace="team")
    assert any("pods of other namespaces" in note for note in cluster.notes)
    assert any(
        call[call.index("get") + 1 : call.index("get") + 4] == ["pods", "-n", "team"]
        for call in kubectl.calls
        if "get" in call
    )


def test_unreadable_resources_make_one_note(kubectl: Kubectl) -> None:
    refused = ("resourcequotas", "persistentvolumes", "storageclasses")
    kubectl.answers(**{name: {"err": FORBIDDEN.format(name), "code": 1} for name in refused})
    cluster = live.read(live.Login(), namespace="team")
    assert cluster.notes == ("not allowed to read quotas, volumes, StorageClasses",)
    assert "Node" in cluster.state.kinds  # the rest of the same call is read all the same


def test_a_cluster_takes_few_calls(kubectl: Kubectl) -> None:
    kubectl.answers()
    live.read(live.Login())
    assert len(kubectl.calls) <= 8


def test_a_login_program_runs_once_before_all_other_calls(kubectl: Kubectl) -> None:
    kubectl.answers(**{"config view": {"out": "team\ncorp-login"}})
    assert live.read(live.Login()).namespace == "team"
    assert [call[0] for call in kubectl.calls[:3]] == ["config", "version", "get"]


def test_the_context_is_the_current_one_of_kubectl(kubectl: Kubectl) -> None:
    """Its name alone is asked for: an address may have a user and a password in it."""
    kubectl.answers(**{"config view": {"out": "team\n\narn:aws:eks:eu-1:1:cluster/prod"}})
    assert live.read(live.Login()).context == "arn:aws:eks:eu-1:1:cluster/prod"
    (asked,) = (call for call in kubectl.calls if "view" in call)
    assert re.findall(r"\{\.([^}]*)\}", asked[-1]) == [
        ".namespace",
        "users[*].user.exec.command",
        "current-context",
    ]
    assert "--raw" not in asked
    # client-go's jsonpath parser (parseQuote) refuses a string that goes over a line break.
    assert "\n" not in asked[-1]
    kubectl.answers(**{"config view": {"out": "team\n\n\x1b[2J"}})
    assert live.read(live.Login()).context == ""


def program(kubectl: Kubectl, script: str) -> None:
    path = kubectl.folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_messages_of_a_login_program_are_shown_while_it_waits(
    kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kubectls, "_PROGRESS_SECONDS", 0.05)
    done = tmp_path / "done"
    program(
        kubectl,
        f"echo 'open https://login.example.com' >&2\nwhile [ ! -e {done} ]; do /bin/sleep 0.05; done\n",
    )
    output: list[str] = []

    def progress(text: str) -> None:
        output.append(text)
        if text.startswith("kubectl says"):
            done.touch()

    assert [
        result.code for result in kubectls.run(live.Login(), ["version"], progress=progress)
    ] == [0]
    assert output[-1] == "kubectl says: open https://login.example.com"


def test_the_last_message_of_a_kubectl_is_shown_at_the_time_limit(
    kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubectls, "_TIMEOUT_SECONDS", 1)
    program(kubectl, "echo 'open https://login.example.com' >&2\nexec /bin/sleep 60\n")
    with pytest.raises(
        InputError, match=r"within 1 seconds; it says: open https://login\.example\.com"
    ) as raised:
        kubectls.run(live.Login(), ["version"])
    assert "log in first" in (raised.value.hint or "")


def test_a_claim_created_during_the_read_is_read_again(kubectl: Kubectl) -> None:
    made = pod(
        "p",
        status={
            "phase": "Pending",
            "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
        },
    )
    claims = {
        **listed(claim("p-g", request("r", "c"))),
        "before": listed(claim("other", request("r", "c"))),
    }
    kubectl.answers(pods=listed(made), resourceclaims=claims)
    assert live.read(live.Login()).state.get("ResourceClaim", ("ml", "p-g")) is not None
    kubectl.answers(pods=listed(made))  # deleted for good
    assert live.read(live.Login()).state.get("ResourceClaim", ("ml", "p-g")) is None


def test_a_pod_deleted_during_the_read_is_left_out(kubectl: Kubectl) -> None:
    """Its claim was deleted with it: the pod is listed, the claim no longer is."""
    status = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
    }
    gone, stays = (
        pod(name, status=status, metadata={"uid": f"uid-{name}"}) for name in ("gone", "stays")
    )
    kubectl.answers(pods={**listed(gone, stays), "later": listed(stays)})
    assert set(live.read(live.Login()).state.objects("Pod")) == {("ml", "stays")}


def test_a_cluster_without_objects_of_a_kind_covers_the_kind(kubectl: Kubectl) -> None:
    kubectl.answers(
        resourceclaimtemplates={"err": FORBIDDEN.format("resourceclaimtemplates"), "code": 1}
    )
    state = live.read(live.Login(), partly=True).state
    assert state.covers("PriorityClass")
    assert not state.objects("PriorityClass")
    assert not state.covers("ResourceClaimTemplate")
    assert state.read_at is not None


def test_a_release_without_taint_rules_is_no_error(kubectl: Kubectl) -> None:
    missing = 'error: the server doesn\'t have a resource type "devicetaintrules"\n'
    kubectl.answers(devicetaintrules={"err": missing, "code": 1})
    assert live.read(live.Login()).notes == ()


def test_a_cluster_without_dra_is_an_error(kubectl: Kubectl) -> None:
    missing = 'error: the server doesn\'t have a resource type "resourceslices"\n'
    kubectl.answers(resourceslices={"err": missing, "code": 1})
    with pytest.raises(InputError, match="dynamic resource allocation"):
        live.read(live.Login())


def test_output_other_than_json_is_an_error(kubectl: Kubectl) -> None:
    kubectl.answers(nodes={"out": "NAME STATUS"})
    with pytest.raises(InputError, match="did not print JSON"):
        live.read(live.Login())


def test_a_missing_kubectl_is_an_error_with_an_alternative(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="not on PATH") as raised:
        live.read(live.Login())
    assert "-f" in (raised.value.hint or "")


# -- what is output meanwhile --


class Screen(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("on_terminal", "quiet", "is_shown"),
    [(True, False, True), (False, False, False), (True, True, False)],
)
def test_progress_is_shown_on_a_terminal_only(
    kubectl: Kubectl,
    monkeypatch: pytest.MonkeyPatch,
    on_terminal: bool,
    quiet: bool,
    is_shown: bool,
) -> None:
    kubectl.answers()
    screen = Screen(on_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(threading, "Timer", AtOnce)
    terminal.be_quiet(quiet)
    try:
        with terminal.progress() as progress:
            live.read(live.Login(), progress=progress)
    finally:
        terminal.be_quiet(False)
    output = screen.getvalue()
    assert ("reading" in output) is is_shown
    assert output.endswith("\x1b[1A\x1b[2K") if is_shown else not output  # the line is erased


# -- workloads --

OWNED_BY = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web-1"}
WEB = {
    "deployments": listed(workload("apps/v1", "Deployment", "web")),
    "replicasets": listed(
        workload("apps/v1", "ReplicaSet", "web-1", owner=("apps/v1", "Deployment", "web"))
    ),
    "pods": listed(pod("web-1-x", metadata={"ownerReferences": [OWNED_BY], "uid": "uid-web"})),
}


def resources_queried(kubectl: Kubectl) -> list[str]:
    return [
        word
        for call in kubectl.calls
        if "get" in call
        for word in call[call.index("get") + 1].split(",")
    ]


def test_only_words_for_custom_workloads_are_read(kubectl: Kubectl) -> None:
    kubectl.answers(**WEB)
    cluster = live.read(live.Login())
    assert {"deployments.apps", "replicasets.apps"} <= set(resources_queried(kubectl))
    (question,) = find_subjects(cluster.state, "deploy/web", "ml", cluster.kinds)
    assert question.key == ("ml", "web-1-x")


def test_a_custom_kind_of_the_cluster_is_read(kubectl: Kubectl) -> None:
    owner = {"kind": "TrainSet", "apiVersion": "example.com/v1", "name": "t"}
    kubectl.answers(
        trs=listed(workload("example.com/v1", "TrainSet", "t")),
        pods=listed(pod("t-0", metadata={"ownerReferences": [owner], "uid": "uid-t"})),
    )
    cluster = live.read(live.Login(), workloads=["trs"])
    (question,) = find_subjects(cluster.state, "trs/t", "ml", cluster.kinds)
    assert question.key == ("ml", "t-0")


def test_a_word_for_no_kind_of_the_cluster_is_refused(kubectl: Kubectl) -> None:
    kubectl.answers(
        foo={"err": 'error: the server doesn\'t have a resource type "foo"\n', "code": 1}
    )
    cluster = live.read(live.Login(), workloads=["foo"])
    with pytest.raises(UsageError, match="foo"):
        find_subjects(cluster.state, "foo/x", "ml", cluster.kinds)


def test_forbidden_workloads_are_noted(kubectl: Kubectl) -> None:
    kubectl.answers(**{**WEB, "replicasets": {"err": FORBIDDEN.format("replicasets"), "code": 1}})
    cluster = live.read(live.Login(), workloads=["deploy"])
    assert any("ReplicaSets" in note for note in cluster.notes)


def test_pending_pods_of_other_namespaces_are_counted(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = {"name": "g", "resourceClaimName": "held"}
    kubectl.answers(**{"config view": {"out": "default"}, "pods": listed(pod("train-0", uses))})
    assert main(["explain", "--isolated"]) == 0
    output = capsys.readouterr()
    assert "nothing is pending in namespace default" in output.out
    assert "1 is pending in ml: -A shows all" in output.err


def test_pods_name_a_forbidden_owner(kubectl: Kubectl) -> None:
    kubectl.answers(**{**WEB, "replicasets": {"err": FORBIDDEN.format("replicasets"), "code": 1}})
    cluster = live.read(live.Login(), workloads=["rs"])
    (question,) = find_subjects(cluster.state, "rs/web-1", "ml", cluster.kinds)
    assert question.key == ("ml", "web-1-x")
    with pytest.raises(InputError, match="no replicaset web-2"):
        find_subjects(cluster.state, "rs/web-2", "ml", cluster.kinds)


def test_a_file_beside_a_cluster_is_the_only_subject(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whatever the namespace of the kubeconfig, and whatever else is pending."""
    uses = {"name": "g", "resourceClaimName": "held"}
    kubectl.answers(**{"config view": {"out": "default"}, "pods": listed(pod("other", uses))})
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod("mine", uses)))
    main(["explain", "--isolated", str(path), "--devices", "cluster", "-o", "json"])
    assert [one["subject"]["name"] for one in json.loads(capsys.readouterr().out)["subjects"]] == [
        "mine"
    ]


def test_lint_and_cel_apply_the_release_of_the_cluster_of_the_devices(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kubectl.answers()
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(claim("a", request("r", "c"))))
    assert main(["lint", "--isolated", str(path), "--devices", "cluster"]) == 0
    assert "for Kubernetes 1.36 (from the cluster)\n" in capsys.readouterr().out
    main(["cel", "--isolated", "true", "--devices", "cluster"])
    assert "Kubernetes 1.36 (from the cluster)" in capsys.readouterr().out


def test_a_cluster_without_pending_pods_has_a_short_answer(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers(pods=listed(), resourceclaims=listed())
    assert main(["explain", "--isolated", "-A"]) == 0
    assert capsys.readouterr().out.startswith("nothing is pending: ")


WAITING = pod("train-1", {"name": "gpu", "resourceClaimName": "gpu"})
BY_KARPENTER = node("node-1", labels={"karpenter.sh/nodepool": "gpu"})
NODE_POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "gpu"},
    "spec": {},
}


def test_node_pools_are_read_where_a_pod_with_claims_waits(kubectl: Kubectl) -> None:
    kubectl.answers(nodes=listed(BY_KARPENTER), pods=listed(WAITING), nodepools=listed(NODE_POOL))
    cluster = live.read(live.Login())
    assert set(cluster.state.objects("NodePool")) == {("", "gpu")}


def test_node_pools_are_not_asked_for_without_karpenter_or_without_claims(kubectl: Kubectl) -> None:
    kubectl.answers(pods=listed(WAITING))
    live.read(live.Login())
    kubectl.answers(nodes=listed(BY_KARPENTER))
    live.read(live.Login())
    assert not [call for call in kubectl.calls if "nodepools.karpenter.sh" in call]


def test_forbidden_node_pools_are_reported(kubectl: Kubectl) -> None:
    refused = {"code": 1, "err": FORBIDDEN.format("nodepools.karpenter.sh")}
    kubectl.answers(nodes=listed(BY_KARPENTER), pods=listed(WAITING), nodepools=refused)
    notes = live.read(live.Login()).notes
    assert [note for note in notes if note.startswith("nodepools.karpenter.sh cannot be read")]


def test_the_words_of_cluster_autoscaler_are_read_where_a_pod_with_claims_waits(
    kubectl: Kubectl,
) -> None:
    """They are Normal events, of which others are not read."""
    kubectl.answers(pods=listed(WAITING))
    live.read(live.Login())
    asked = {word for call in kubectl.calls for word in call if "reason=" in word}
    assert "--field-selector=reason=NotTriggerScaleUp" in asked
    assert "--field-selector=reason=TriggeredScaleUp" in asked


def test_the_words_of_cluster_autoscaler_are_not_asked_for_without_claims(kubectl: Kubectl) -> None:
    kubectl.answers()
    live.read(live.Login())
    assert not [call for call in kubectl.calls if any("ScaleUp" in word for word in call)]
