"""Silence of kubectl, and refusals to users with unusual names, in every command that reads a cluster.

kubectl prints a list, if an empty one, for every ``get`` that succeeds (k8s.io/kubectl
pkg/cmd/get/get.go printGeneric): one that prints nothing has not answered.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.cluster.rights import Rights, Unread
from dractl.errors import InputError
from dractl.inputs import kubectl
from dractl.model import go
from tests.cluster.test_kubectl_behaviours import CALLS, case, install, listed, of, same

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "explain": ["explain"],
    "explain -A": ["explain", "-A"],
    "devices": ["devices"],
    "fit a template": ["fit", "template/one", "-n", "ml"],
    "fit a shape": ["fit", "gpu=1"],
    "plan": ["plan", "gpu=1"],
    "impact": ["impact", "node/node-1", "--drain"],
    "upgrade": ["upgrade", "--to", "1.37"],
    "facts": ["facts", "--cluster"],
    "cel": ["cel", "true", "--devices", "cluster"],
}
SETTINGS_APART = {"facts"}
DRIVER_CALLS = (
    "get resourceslices.resource.k8s.io,",
    "get nodes,pods,daemonsets",
    "get clusterroles.",
)


def run(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command of ``COMMANDS``; return its exit code and its output."""
    code = main([*COMMANDS[name], *([] if name in SETTINGS_APART else ["--isolated"])])
    output = capsys.readouterr()
    return code, re.sub(r"\s+", " ", output.out + output.err)


@pytest.mark.parametrize("pattern", [*CALLS, ""])
@pytest.mark.parametrize("name", COMMANDS)
def test_unprinted_list_is_unknown(
    name: str,
    pattern: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path, same("", case(f"*'{pattern or 'get '}'*"), ""), monkeypatch)
    code, words = run(name, capsys)
    assert code == 3
    assert re.search(r"kubectl get \w+ printed nothing, not even an empty list", words), words


@pytest.mark.parametrize("pattern", DRIVER_CALLS)
def test_check_driver_does_not_take_silence_for_a_driver_without_objects(
    pattern: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    objects = case("*'get resourceslices.'*", listed(*of("ResourceSlice", "DeviceClass")))
    install(tmp_path, same("", case(f"*'{pattern}'*") + objects, ""), monkeypatch)
    assert main(["check-driver", "--cluster", "--isolated"]) == 3
    assert "printed nothing, not even an empty list" in capsys.readouterr().err


def test_check_driver_hides_tokens_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = "error: request with Authorization: Bearer eyJhbGciOi.abc.def was refused"
    install(tmp_path, same("", case("*'get '*", err=error, code=1), ""), monkeypatch)
    assert main(["check-driver", "--cluster", "--isolated"]) == 3
    assert "Bearer ... was refused" in capsys.readouterr().err


def test_comparing_slices_does_not_take_silence_for_a_cluster_without_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, same("", case("*'get '*"), ""), monkeypatch)
    with pytest.raises(InputError, match="printed nothing, not even an empty list"):
        kubectl.list_objects("resourceslices.resource.k8s.io")


USERS = (
    "jane doe",
    'jane "the admin"',
    "CORP\\jane",
    'a" cannot list resource "nodes" in API group "',
    "jane\\",
    "Jürgen <j@example.com>",
    "Bearer abcdefghijk\\",
    "https://issuer.example.com#jane; rm -rf /",
    "--all",
    "\x1b[31mjane\x07",
)
"""Names that an authenticator may hand out (k8s.io/apiserver user.Info has any text)."""


def refusal(user: str, plural: str) -> str:
    """Return forbiddenMessage of k8s.io/apiserver, which quotes the user with %q."""
    return (
        f"Error from server (Forbidden): {plural} is forbidden: User {go.quote(user)} cannot list"
        f' resource "{plural}" in API group "" at the cluster scope'
    )


@pytest.mark.parametrize("user", USERS)
def test_a_refusal_names_the_resource_whatever_the_user_is_called(user: str) -> None:
    result = kubectl.KubectlResult(1, b"", refusal(user, "pods"))
    assert result.refused_resources == {"pods"}
    assert result.user == user


@pytest.mark.parametrize("user", USERS)
def test_forbidden_resources_are_listed_for_any_user_name(
    user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refusal(user, "pods")
    script = case("*'get nodes,'*", listed(*of("Node")), error, 1) + case(
        "*'get pods'*", listed(), error, 1
    )
    install(tmp_path, same("", script, ""), monkeypatch)
    assert main(["devices", "--isolated", "-o", "json"]) == 0
    unread = json.loads(capsys.readouterr().out)["unread"]
    assert [row["resource"] for row in unread] == ["pods"]
    assert main(["explain", "claim/mine", "--isolated"]) == 1
    out = capsys.readouterr().out
    assert "you are not allowed to read pods" in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize("user", USERS)
def test_a_grant_names_a_user_only_if_a_shell_reads_the_name_back(user: str) -> None:
    commands = Rights((Unread("Pod", "pods"),), user).grant_commands("Pod")
    named = user.isprintable() and not user.startswith("-")
    words = shlex.split(commands)
    assert f"--user={user if named else 'NAME'}" in words
    assert words.count("&&") == 1
