"""Exit codes and sentences of explain, devices and fit for each way in which kubectl, or the
cluster behind it, can fail or leave something out.

A fake kubectl on PATH behaves so; its messages are those of kubectl, client-go and the API server.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from dractl.cli.main import main
from dractl.cluster import live
from dractl.errors import InputError
from dractl.inputs import kubectl
from tests.explain.cluster import claim, device, device_class, node, pod, request, slice_of

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = {
    "get resourceslices.": (
        "ResourceSlice",
        "ResourceClaim",
        "DeviceClass",
        "ResourceClaimTemplate",
    ),
    "get nodes,": ("Node", "Pod", "Namespace"),
    "get deployments.": ("Deployment",),
    "get devicetaintrules.": ("DeviceTaintRule",),
    "get events": ("Event",),
}
PLURALS = {
    "ResourceSlice": "resourceslices",
    "ResourceClaim": "resourceclaims",
    "DeviceClass": "deviceclasses",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "Node": "nodes",
    "Pod": "pods",
    "Deployment": "deployments",
    "DeviceTaintRule": "devicetaintrules",
    "Event": "events",
}
LIVES = {"uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z"}
MINE = claim("mine", request("r", "gpu"), metadata=LIVES)
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "ml", "uid": "u2"},
    "spec": {"spec": MINE["spec"]},
}
OBJECTS = [
    node("node-1"),
    slice_of("gpu.example.com", "node-1", device("gpu-0"), device("gpu-1")),
    device_class("gpu", "true"),
    MINE,
    TEMPLATE,
    pod("train-0", {"name": "g", "resourceClaimName": "mine"}, metadata={"uid": "u3"}),
]
VERSION = json.dumps({"serverVersion": {"major": "1", "minor": "36"}})


def of(*kinds: str) -> list[dict[str, Any]]:
    return [item for item in OBJECTS if item["kind"] in kinds]


def listed(*objects: dict[str, Any], **more: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects), **more})


def case(pattern: str, out: str = "", err: str = "", code: int = 0) -> str:
    """Return what the fake does for command lines with ``pattern``, as a case of its shell
    script.
    """
    shown = f"printf '%s\\n' {shlex.quote(out)}; " if out else ""
    output = f"printf '%s\\n' {shlex.quote(err)} >&2; " if err else ""
    return f"  {pattern}) {shown}{output}exit {code};;\n"


def refusal(plural: str, where: str = "at the cluster scope") -> str:
    """Return forbiddenMessage of k8s.io/apiserver
    pkg/endpoints/handlers/responsewriters/errors.go.
    """
    return (
        f'Error from server (Forbidden): {plural} is forbidden: User "me" cannot list resource "{plural}" in API group '
        f'"" {where}'
    )


TIMEOUT = (
    "Error from server (Timeout): the server was unable to return a response in the time allotted"
)


def forbidden(kind: str, *, own: bool = False) -> str:
    """Return the cases that refuse a kind; with ``own`` only outside of namespace ml.

    kubectl prints the other kinds of the call.
    """
    pattern, held = next(pair for pair in CALLS.items() if kind in pair[1])
    left = listed(*of(*(other for other in held if other != kind)))
    narrow = (
        listed(*of(kind)) if own else "",
        "" if own else refusal(PLURALS[kind], 'in the namespace "ml"'),
    )
    return case(f"*'{pattern}'*--all-namespaces*", left, refusal(PLURALS[kind]), 1) + case(
        f"*'get {PLURALS[kind]}'*", *narrow, 0 if own else 1
    )


class Says(Struct, frozen=True):
    """An exit code, and a pattern of the output on either stream."""

    code: int
    pattern: str


class Behaviour(Struct, frozen=True):
    """A behaviour of kubectl, as cases of a shell script or a whole program, and the answers to
    it.
    """

    name: str
    script: str
    explain: Says
    devices: Says
    fit: Says
    program: str | None = None


def same(name: str, script: str, pattern: str, program: str | None = None) -> Behaviour:
    """Return a behaviour for which all three commands end with 3 (the job could not be done)."""
    says = Says(3, pattern)
    return Behaviour(name, script, says, says, says, program)


def ends(err: str, code: int = 1) -> str:
    return case("*", err=err, code=code)


def prints(out: str) -> str:
    return case("*'get nodes,'*", out)


FITS, LISTS, COUNTS = (
    Says(0, "fits on node-1"),
    Says(0, r"gpu\.example\.com +- +2 +2"),
    Says(0, "2 copies fit"),
)
BEHAVIOURS = [
    Behaviour("whole", "", FITS, LISTS, COUNTS),
    same("not on PATH", "", "kubectl is not on PATH", program=""),
    same(
        "another machine's program", "", "cannot be started: Exec format error", program="\x7fELF"
    ),
    same(
        "no interpreter", "", "cannot be started: No such file", program="#!/no/such/interpreter\n"
    ),
    same("killed", "  *) kill -9 $$;;\n", r"ended by signal 9 \(SIGKILL\)"),
    same("crashed", "  *) kill -11 $$;;\n", r"ended by signal 11 \(SIGSEGV\)"),
    same("no message", ends("", 7), "ended with code 7, without a message"),
    same(
        "no kubeconfig",
        ends(
            "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
        ),
        "localhost:8080 was refused(.|\n)*no kubeconfig was found",
    ),
    same(
        "refused",
        ends(
            "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?"
        ),
        "10.0.0.1:6443 was refused(.|\n)*is the cluster running",
    ),
    same(
        "no such host",
        ends(
            "Unable to connect to the server: dial tcp: lookup k8s.corp on 10.0.0.2:53: no such host"
        ),
        "lookup k8s.corp.*no such host(.|\n)*server name in the kubeconfig",
    ),
    same(
        "no such proxy",
        ends(
            "Unable to connect to the server: proxyconnect tcp: dial tcp: lookup proxy.corp: no such host"
        ),
        "lookup proxy.corp(.|\n)*HTTPS_PROXY",
    ),
    same(
        "i/o timeout",
        ends("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout"),
        "i/o timeout(.|\n)*VPN",
    ),
    same(
        "handshake",
        ends("Unable to connect to the server: net/http: TLS handshake timeout"),
        "TLS handshake timeout(.|\n)*in time",
    ),
    same(
        "unknown authority",
        ends("Unable to connect to the server: x509: certificate signed by unknown authority"),
        "unknown authority(.|\n)*does not trust",
    ),
    same(
        "expired",
        ends("Unable to connect to the server: x509: certificate has expired or is not yet valid"),
        "expired(.|\n)*get a new one",
    ),
    same(
        "logged out",
        ends("error: You must be logged in to the server (Unauthorized)"),
        "must be logged in(.|\n)*log in again",
    ),
    same(
        "login helper",
        ends(
            "Error: sso session expired\n"
            "Unable to connect to the server: getting credentials: exec: executable aws failed with exit code 255"
        ),
        "executable aws failed.*It says: .*sso session expired|sso session expired",
    ),
    same(
        "no such context",
        ends('error: context "x" does not exist'),
        'context "x" does not exist(.|\n)*get-contexts',
    ),
    same(
        "bad kubeconfig",
        ends(
            'error: error loading config file "/k": yaml: line 1: did not find expected node content'
        ),
        "error loading config file(.|\n)*config view",
    ),
    same(
        "proxy's page",
        ends(
            "<html><head><title>503 Service Unavailable</title></head>\n<body>\nno\n</body></html>"
        ),
        r"page of HTML \(503 Service Unavailable\)",
    ),
    same(
        "panic",
        ends(
            "panic: runtime error: invalid memory address\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:1",
            2,
        ),
        "panic: runtime error: invalid memory address",
    ),
    same(
        "old kubectl",
        ends("Error: unknown flag: --chunk-size\nSee 'kubectl get --help' for usage."),
        "unknown flag: --chunk-size",
    ),
    same(
        "a token in the error",
        ends(
            "error: request with Authorization: Bearer eyJhbGciOi.abc.def was refused; token=s3cr3t-1"
        ),
        r"Authorization: Bearer \.\.\. was refused; token=\.\.\.(?!(.|\n)*(eyJ|s3cr))",
    ),
    same("endless line", ends("error: " + "x" * 100_000), r"x{200,600} \.\.\."),
    same(
        "server error",
        ends("Error from server (InternalError): etcdserver: request timed out"),
        "etcdserver: request timed out",
    ),
    same(
        "too many requests",
        ends("Error from server (TooManyRequests): the server has received too many requests"),
        "too many requests",
    ),
    same(
        "list expired",
        ends("Error from server (Expired): The provided continue parameter is too old"),
        "continue parameter is too old",
    ),
    same(
        "everything forbidden",
        "  *version*) printf '%s\\n' '"
        + VERSION
        + "';;\n"
        + "  *get*) IFS=,; for name in $2; do printf '%s\\n' "
        '"Error from server (Forbidden): $name is forbidden: User \\"me\\" cannot list resource'
        ' \\"${name%%.*}\\" in API group \\"\\" at the cluster scope" >&2; done; exit 1;;\n',
        "you are not allowed to read pods or claims|is not allowed to list",
    ),
    same(
        "no group",
        case(
            "*'get resourceslices'*",
            err='error: the server doesn\'t have a resource type "resourceslices"',
            code=1,
        ),
        "dynamic resource allocation is off",
    ),
    same(
        "cut short",
        prints('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Node"'),
        "nodes did not print JSON",
    ),
    same(
        "text before the list",
        prints("Logging in with the browser ...\n" + listed(*of("Node", "Pod"))),
        "nodes did not print JSON",
    ),
    same(
        "text after the list",
        prints(listed(*of("Node", "Pod")) + "\nnode-1 Ready"),
        "nodes did not print JSON",
    ),
    same(
        "two lists",
        prints(listed(*of("Node")) + "\n" + listed(*of("Pod"))),
        "nodes did not print JSON",
    ),
    same(
        "page on standard output",
        prints("<html><body>sign in</body></html>"),
        "nodes did not print JSON",
    ),
    same("a table", prints("NAME STATUS\nnode-1 Ready"), "nodes did not print JSON"),
    same(
        "items null",
        prints('{"apiVersion": "v1", "kind": "List", "items": null}'),
        "nodes did not print a list.*without a list of items",
    ),
    same(
        "items a number",
        prints('{"apiVersion": "v1", "kind": "List", "items": 5}'),
        "nodes did not print a list.*without a list of items",
    ),
    same(
        "items no objects",
        prints('{"apiVersion": "v1", "kind": "List", "items": [1]}'),
        "nodes printed a list with items that are no objects",
    ),
    same(
        "a Status",
        prints('{"apiVersion": "v1", "kind": "Status", "status": "Failure"}'),
        "nodes did not print a list of objects, but kind Status",
    ),
    same("no kind", prints('{"items": []}'), "nodes did not print a list of objects"),
    same("an array", prints("[]"), "nodes did not print a list of objects"),
    same("nested deeply", prints("[" * 100_000), "nodes did not print JSON"),
    same(
        "first page",
        prints(listed(*of("Node"), metadata={"continue": "abc"})),
        "nodes printed only a part of the list",
    ),
    same(
        "another kind's list",
        case("*'get '*", json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": of("Node")})),
        "printed a list of kind Node",
    ),
    same(
        "another kind's empty list",
        case("*'get '*", '{"apiVersion": "v1", "kind": "EventList", "items": []}'),
        "printed a list of kind Event",
    ),
    same(
        "objects of another kind",
        case("*'get resourceslices.'*", listed(*of("Pod"))),
        "printed a list of kind Pod",
    ),
    same(
        "an object without a name",
        prints(listed({"apiVersion": "v1", "kind": "Pod", "metadata": None})),
        "nodes printed a list with items that are no objects",
    ),
    same(
        "time-out in the middle, exit code 0",
        case("*'get nodes,'*", listed(*of("Node")), TIMEOUT)
        + case("*'get pods.'*|*'get pods '*", "", TIMEOUT),
        "cannot read pods: .*in the time allotted",
    ),
    same(
        "killed after a refusal",
        f"  *'get nodes,'*|*'get pods '*) printf '%s\\n' {shlex.quote(refusal('pods'))} >&2; kill -9 $$;;\n",
        r"cannot read pods: it was ended by signal 9 \(SIGKILL\)",
    ),
    same(
        "config killed",
        "  *'config view'*) kill -9 $$;;\n",
        "cannot read the kubeconfig: it was ended by signal 9",
    ),
    same(
        "config a page",
        case("*'config view'*", "<html>sign in</html>"),
        "'<html>sign in</html>' as the namespace",
    ),
    same(
        "config with colours",
        case("*'config view'*", "\x1b[31mml"),
        r"\\x1b\[31mml' as the namespace",
    ),
    Behaviour(
        "pods forbidden, and a login helper warns",
        case(
            "*'get nodes,'*",
            listed(*of("Node")),
            f"WARNING: the gcp auth plugin is deprecated\n{refusal('pods')}",
            1,
        )
        + case(
            "*'get pods'*", "", f"WARNING: the gcp auth plugin is deprecated\n{refusal('pods')}", 1
        ),
        Says(1, "may fit on node-1, but you are not allowed to read pods, so who uses the claims"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
    ),
    Behaviour(
        "pods forbidden, exit code 0",
        case("*'get nodes,'*", listed(*of("Node")), refusal("pods"))
        + case("*'get pods'*", "", refusal("pods")),
        Says(1, "may fit on node-1, but you are not allowed to read pods, so who uses the claims"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
    ),
    Behaviour(
        "pods forbidden",
        forbidden("Pod"),
        Says(1, "may fit on node-1, but you are not allowed to read pods, so who uses the claims"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
        Says(0, "not allowed to read pods: what they use on a node is not counted"),
    ),
    Behaviour(
        "other namespaces' pods forbidden",
        forbidden("Pod", own=True),
        Says(1, "may fit on node-1, but you are not allowed to read pods of other namespaces"),
        Says(
            0,
            "not allowed to read pods of other namespaces: what they use on a node is not counted",
        ),
        Says(
            0,
            "not allowed to read pods of other namespaces: what they use on a node is not counted",
        ),
    ),
    Behaviour(
        "claims forbidden",
        forbidden("ResourceClaim"),
        Says(1, r"\? you are not allowed to read ResourceClaims, so devices were not compared"),
        Says(0, "not allowed to read claims: devices in state unknown"),
        Says(
            3,
            "user me is not allowed to list resourceclaims in the whole cluster, which the answer needs",
        ),
    ),
    Behaviour(
        "other namespaces' claims forbidden",
        forbidden("ResourceClaim", own=True),
        Says(1, "may fit on node-1, but you are not allowed to read claims of other namespaces"),
        Says(0, "not allowed to read claims outside of namespace ml"),
        Says(
            3,
            "user me is not allowed to list resourceclaims in the whole cluster, which the answer needs",
        ),
    ),
    Behaviour(
        "slices forbidden",
        forbidden("ResourceSlice"),
        Says(1, r"\? you are not allowed to read ResourceSlices, so devices were not compared"),
        Says(
            3,
            "user me is not allowed to list resourceslices in the whole cluster, which the answer needs",
        ),
        Says(
            3,
            "user me is not allowed to list resourceslices in the whole cluster, which the answer needs",
        ),
    ),
    Behaviour(
        "classes forbidden",
        forbidden("DeviceClass"),
        Says(1, r"\? you are not allowed to read DeviceClasses, so devices were not compared"),
        Says(0, "not allowed to read DeviceClasses"),
        Says(
            3,
            "user me is not allowed to list deviceclasses in the whole cluster, which the answer needs",
        ),
    ),
    Behaviour(
        "templates forbidden",
        forbidden("ResourceClaimTemplate"),
        FITS,
        Says(0, "not allowed to read templates"),
        Says(3, "you are not allowed to read resourceclaimtemplates"),
    ),
    Behaviour(
        "nodes forbidden",
        forbidden("Node"),
        Says(1, "may fit on node-1, but you are not allowed to read nodes"),
        Says(0, "not allowed to read nodes"),
        Says(
            3, "user me is not allowed to list nodes in the whole cluster, which the answer needs"
        ),
    ),
    Behaviour(
        "taint rules forbidden",
        forbidden("DeviceTaintRule"),
        Says(1, "may fit on node-1, but you are not allowed to read DeviceTaintRules"),
        Says(0, "not allowed to read DeviceTaintRules"),
        Says(0, "not allowed to read DeviceTaintRules"),
    ),
    Behaviour(
        "events forbidden",
        forbidden("Event"),
        Says(0, "not allowed to read events"),
        Says(0, "not allowed to read events"),
        Says(0, "not allowed to read events"),
    ),
    Behaviour(
        "workloads forbidden",
        forbidden("Deployment"),
        Says(0, "not allowed to read Deployments"),
        Says(0, "not allowed to read Deployments"),
        Says(0, "not allowed to read Deployments"),
    ),
    Behaviour(
        "no taint rules",
        case(
            "*'get devicetaintrules'*",
            err='error: the server doesn\'t have a resource type "devicetaintrules"',
            code=1,
        ),
        FITS,
        LISTS,
        COUNTS,
    ),
    Behaviour(
        "version refused",
        case("version*", err="error: unknown command", code=1),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
    ),
    Behaviour(
        "version no JSON",
        case("version*", "Client Version: v1.30"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
    ),
    Behaviour(
        "version null",
        case("version*", '{"serverVersion": null}'),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
    ),
    Behaviour(
        "version endless",
        case("version*", json.dumps({"serverVersion": {"major": "1", "minor": "9" * 5000}})),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
        Says(0, "the cluster's version cannot be read: the rules of 1.37 are used"),
    ),
    Behaviour(
        "version with colours",
        case(
            "version*",
            json.dumps(
                {"serverVersion": {"major": "1", "minor": "36", "gitVersion": "v1.36.\x1b[31m"}}
            ),
        ),
        FITS,
        LISTS,
        COUNTS,
    ),
    Behaviour(
        "newer",
        case("version*", '{"serverVersion": {"major": "1", "minor": "99"}}'),
        Says(0, "Kubernetes 1.99 is newer than dractl knows: the rules of 1.38 are used"),
        Says(0, "Kubernetes 1.99 is newer than dractl knows: the rules of 1.38 are used"),
        Says(0, "Kubernetes 1.99 is newer than dractl knows: the rules of 1.38 are used"),
    ),
    Behaviour(
        "older",
        case("version*", '{"serverVersion": {"major": "1", "minor": "32"}}'),
        Says(0, "no scheduler of Kubernetes 1.32: this is what that of 1.34 would do"),
        LISTS,
        Says(0, "no scheduler of Kubernetes 1.32: this is what that of 1.34 would do"),
    ),
    Behaviour(
        "warnings",
        case("*'get nodes,'*", listed(*of("Node", "Pod")), "Warning: v1 Endpoints is deprecated"),
        FITS,
        LISTS,
        COUNTS,
    ),
    Behaviour(
        "byte order mark", prints("\ufeff" + listed(*of("Node", "Pod"))), FITS, LISTS, COUNTS
    ),
    Behaviour(
        "an empty cluster",
        case("*get*", listed()),
        Says(0, "nothing is pending in namespace ml"),
        Says(0, "no device is published"),
        Says(3, "there is no ResourceClaimTemplate at all"),
    ),
    *(
        same(f"nothing for {kinds[0]}", case(f"*'{pattern}'*"), "printed nothing, not even an")
        for pattern, kinds in CALLS.items()
    ),
    same("nothing", case("*"), "printed nothing, not even an empty list"),
    same(
        "nothing beside a refusal",
        case("*'get nodes,'*", "", refusal("pods"), 1)
        + case("*'get pods'*", "", refusal("pods"), 1)
        + case("*'get nodes.'*|*'get nodes '*"),
        "kubectl get nodes printed nothing",
    ),
    same(
        "no longer served",
        case(
            "*'get resourceslices'*",
            err='Error from server (NotFound): Unable to list "resource.k8s.io/v1,'
            ' Resource=resourceslices": the server could not find the requested resource',
            code=1,
        ),
        "the cluster serves no resourceslices",
    ),
]
COMMANDS = {
    "explain": ["explain"],
    "devices": ["devices"],
    "fit": ["fit", "template/one", "-n", "ml"],
}


def install(folder: Path, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    program = folder / "kubectl"
    text = f'#!/bin/sh\ncase "$*" in\n{behaviour.script}' + "".join(
        [
            case("*'config view'*", "ml"),
            case("version*", VERSION),
            *(case(f"*'{pattern}'*", listed(*of(*held))) for pattern, held in CALLS.items()),
            case("*'get '*", listed()),
        ]
    )
    if behaviour.program != "":
        program.write_text(f"{text}esac\n" if behaviour.program is None else behaviour.program)
        program.chmod(0o755)


ROWS = [
    pytest.param(behaviour, command, id=f"{behaviour.name}-{command}")
    for behaviour in BEHAVIOURS
    for command in COMMANDS
]


@pytest.mark.parametrize(("behaviour", "command"), ROWS)
def test_every_behaviour_has_its_exit_code_and_its_sentence(
    behaviour: Behaviour,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path, behaviour, monkeypatch)
    code = main([*COMMANDS[command], "--isolated"])
    output = capsys.readouterr()
    expected = getattr(behaviour, command)
    words = re.sub(r"\s+", " ", output.out + output.err)
    assert re.search(expected.pattern, words), words
    assert code == expected.code
    assert "Traceback" not in words
    assert "internal error" not in words
    assert len(output.err) < 2000


@pytest.mark.parametrize("command", COMMANDS)
def test_a_silent_kubectl_times_out(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(kubectl, "_TIMEOUT_SECONDS", 0.3)
    install(
        tmp_path, same("hangs", "", "", program="#!/bin/sh\nexec /bin/sleep 600\n"), monkeypatch
    )
    assert main([*COMMANDS[command], "--isolated"]) == 3
    assert "kubectl did not answer within 0.3 seconds" in capsys.readouterr().err


def find_behaviour(name: str) -> Behaviour:
    return next(behaviour for behaviour in BEHAVIOURS if behaviour.name == name)


@pytest.mark.parametrize(
    ("name", "arguments", "resource"),
    [
        ("pods forbidden", ["explain"], "pods"),
        ("pods forbidden", ["explain", "claim/mine"], "pods"),
        ("events forbidden", ["explain"], "events"),
        ("events forbidden", ["explain", "pod/train-0"], "events"),
        ("workloads forbidden", ["devices"], "deployments.apps"),
        ("taint rules forbidden", ["fit", "template/one"], "devicetaintrules.resource.k8s.io"),
    ],
)
def test_json_lists_the_unread_resources(
    name: str,
    arguments: list[str],
    resource: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path, find_behaviour(name), monkeypatch)
    main([*arguments, "--isolated", "-o", "json"])
    assert resource in [
        entry["resource"] for entry in json.loads(capsys.readouterr().out)["unread"]
    ]


@pytest.mark.parametrize("name", ["version refused", "newer"])
@pytest.mark.parametrize(
    "arguments", [["explain", "pod/train-0"], ["devices"], ["fit", "template/one"]]
)
def test_json_marks_an_assumed_release(
    name: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path, find_behaviour(name), monkeypatch)
    main([*arguments, "--isolated", "-o", "json"])
    assert json.loads(capsys.readouterr().out)["kubernetesVersionAssumed"] is True
    main([*arguments, "--isolated", "-o", "json", "--kubernetes-version", "1.36"])
    assert not json.loads(capsys.readouterr().out).get("kubernetesVersionAssumed")


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        (
            "Pod",
            "it is unknown whether anything in namespace ml is pending: you are not allowed to read pods;",
        ),
        (
            "ResourceClaim",
            "it is unknown whether anything in namespace ml is pending: you are not allowed to read resourceclaims;",
        ),
    ],
)
def test_nothing_is_pending_only_if_pods_and_claims_were_read(
    kind: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nothing = case("*'get resourceslices.'*", listed(*of("ResourceSlice"))) + case(
        "*'get nodes,'*", listed(*of("Node"))
    )
    install(tmp_path, same("", forbidden_with_nothing(kind) + nothing, ""), monkeypatch)
    assert main(["explain", "--isolated"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(output)
    assert "kubectl create clusterrole" in out
    assert main(["explain", "--isolated", "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["subjects"] == []
    assert answer["unread"][0]["resource"].startswith(PLURALS[kind])


def forbidden_with_nothing(kind: str) -> str:
    pattern = next(pattern for pattern, held in CALLS.items() if kind in held)
    error = refusal(PLURALS[kind])
    return case(f"*'{pattern}'*--all-namespaces*", listed(), error, 1) + case(
        f"*'get {PLURALS[kind]}'*", "", error, 1
    )


def test_reading_one_namespace_does_not_count_as_reading_all_pods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = case("*'get nodes,'*", listed(*of("Node")), refusal("pods"), 1) + case(
        "*'get pods'*", listed()
    )
    install(
        tmp_path,
        same("", own + case("*'get resourceslices.'*", listed(*of("ResourceSlice"))), ""),
        monkeypatch,
    )
    assert main(["explain", "--isolated", "-A"]) == 1
    assert "you are not allowed to read pods outside of namespace ml" in capsys.readouterr().out
    assert main(["explain", "--isolated", "-n", "ml"]) == 0
    assert "nothing is pending in namespace ml" in capsys.readouterr().out


def test_facts_list_the_parts_without_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        tmp_path, same("", forbidden("ResourceSlice") + forbidden("Pod", own=True), ""), monkeypatch
    )
    assert main(["facts", "--cluster"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("facts ")
    assert " ".join(map(str.strip, others)).startswith(
        "not compared, as you are not allowed to read them: resourceslices.resource.k8s.io, pods outside of namespace ml"
    )
    assert main(["facts", "--cluster", "-o", "json"]) == 0
    unread = json.loads(capsys.readouterr().out)["unread"]
    assert unread == [
        {"resource": "resourceslices.resource.k8s.io", "seen": "unseen", "why": "forbidden"},
        {"resource": "pods", "namespace": "ml", "seen": "part", "why": "forbidden"},
    ]


def test_other_unread_resources_are_noted_beside_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = case("*'get resourceslices.'*", listed(*of("ResourceSlice"))) + case(
        "*'get nodes,'*", listed(*of("Node"))
    )
    install(tmp_path, same("", forbidden("Event") + nothing, ""), monkeypatch)
    assert main(["explain", "--isolated"]) == 0
    assert (
        "no claim is unallocated, but you are not allowed to read events" in capsys.readouterr().out
    )


# -- nothing is left behind --


def lives(process: int) -> bool:
    """True if a process runs; False for one that has ended, waited for or not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


HELPER = "#!/bin/sh\n/bin/sleep 600 &\necho $! > {}/helper\nwait\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_login_helper_is_left_after_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubectl, "_TIMEOUT_SECONDS", 1)
    install(tmp_path, same("helper", "", "", program=HELPER.format(tmp_path)), monkeypatch)
    with pytest.raises(InputError, match="did not answer"):
        kubectl.run(live.Login(), ["version"])
    helper = int((tmp_path / "helper").read_text())
    _wait_until(lambda: not lives(helper))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_no_login_helper_is_left_after_a_signal(
    number: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, same("helper", "", "", program=HELPER.format(tmp_path)), monkeypatch)
    environment = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "dractl", "explain", "--isolated"]
    # A shell's background jobs ignore SIGINT, and so would what they start.
    heard = functools.partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.DEVNULL, preexec_fn=heard
    ) as process:
        _wait_until(
            lambda: (
                (tmp_path / "helper").is_file() and (tmp_path / "helper").read_text().endswith("\n")
            )
        )
        helper = int((tmp_path / "helper").read_text())
        assert lives(helper)
        process.send_signal(number)
        assert process.wait() == code
    _wait_until(lambda: not lives(helper))


def _wait_until(done: Callable[[], bool]) -> None:
    """Waits for what happens in another process: a test that fails never ends by itself, but by pytest's limit."""
    while not done():
        time.sleep(0.01)
