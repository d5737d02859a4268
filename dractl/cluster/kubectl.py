"""kubectl as a subprocess: whatever kubectl can log in to, dractl can read. It only gets and shows, never changes.

The Python client is not used: it takes 200 ms to import, and login plug-ins are kubectl's business.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dractl.errors import InputError
from dractl.patterns import pattern
from dractl.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT = 60  # seconds for each kubectl; it gives up by itself after --request-timeout
_AT_ONCE = 6
# k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage
_REFUSED = pattern(r'User "(?P<user>[^"]*)" cannot list resource "(?P<resource>[^"]+)"')
_LOG = pattern(r"[EWI]\d{4} |Warning: ")  # klog's lines, and warnings of the API server
_LIMITS = ("--chunk-size=500", "--request-timeout=30s", "--ignore-not-found")


@record
class Login:
    """The cluster to ask, and as whom: kubectl's ``--context``, ``--kubeconfig``, ``--as`` and ``--as-group``. None
    leaves the choice to kubectl."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The options of kubectl."""
        chosen = [("--context", self.context), ("--kubeconfig", self.kubeconfig), ("--as", self.user)]
        chosen += [("--as-group", group) for group in self.groups]
        return [word for option, value in chosen if value for word in (option, value)]


@record
class Result:
    """Exit code and output of one kubectl."""

    code: int
    output: bytes
    errors: str

    @property
    def forbidden(self) -> bool:
        """True if the API server refused to show something."""
        return self.code != 0 and "Forbidden" in self.errors

    @property
    def refused(self) -> frozenset[str]:
        """The resources (plural, without their group) that the API server refused to list, if that is all that failed;
        kubectl has printed the others."""
        lines = [line for line in self.errors.splitlines() if line.strip() and not _LOG.match(line)]
        found = [_REFUSED.search(line) for line in lines]
        if self.code == 0 or not all(found):
            return frozenset()
        return frozenset(match["resource"] for match in found if match is not None)

    @property
    def user(self) -> str:
        """The user whom the API server refused."""
        found = _REFUSED.search(self.errors)
        return "" if found is None else found["user"]

    @property
    def unknown_type(self) -> bool:
        """True if the server does not have the resource."""
        return self.code != 0 and "doesn't have a resource type" in self.errors


def run(login: Login, *commands: Sequence[str]) -> list[Result]:
    """Runs several kubectl side by side and returns their results in order.

    Raises InputError if kubectl is not on PATH or does not answer within a minute.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise InputError(
            "kubectl is not on PATH", hint="install kubectl, or explain a dump: dractl explain -f dump.yaml"
        )
    running: list[subprocess.Popen[bytes]] = []

    def one(command: Sequence[str]) -> Result:
        process = subprocess.Popen(
            [program, *login.arguments, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running.append(process)
        output, errors = process.communicate(timeout=_TIMEOUT)
        return Result(process.returncode, output, errors.decode(errors="replace"))

    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                return list(pool.map(one, commands))
            except BaseException:  # a timeout, Ctrl-C: the pool must not wait for the others
                pool.shutdown(wait=False, cancel_futures=True)
                for process in running:
                    process.kill()
                raise
    except subprocess.TimeoutExpired:
        raise InputError(
            f"kubectl did not answer within {_TIMEOUT} seconds",
            hint="is the cluster reachable? try: kubectl get nodes",
        ) from None


def get_command(resources: str, scope: str | None = None, *options: str) -> list[str]:
    """``get`` of one or several resources (``nodes,pods``) in namespace ``scope``, or everywhere."""
    where = ["-n", scope] if scope else ["--all-namespaces"]
    return ["get", resources, *where, "-o", "json", *_LIMITS, *options]


def items(resources: str, result: Result) -> list[dict[str, Any]]:
    """The objects that a ``get`` printed. Raises InputError if its output is not JSON."""
    if not result.output.strip():
        return []  # nothing found
    try:
        return [item for item in json.loads(result.output).get("items", []) if isinstance(item, dict)]
    except (ValueError, AttributeError) as error:
        raise InputError(f"kubectl get {resources} did not print JSON: {error}") from error


def get(resource: str, login: Login | None = None) -> list[dict[str, Any]]:
    """All objects of a resource in the whole cluster. Raises InputError if they cannot be read."""
    (result,) = run(login or Login(), get_command(resource))
    if result.code != 0:
        raise failed(f"read {resource.partition('.')[0]}", result.errors)
    return items(resource, result)


def served(group: str, version: str) -> frozenset[str]:
    """Resources that the API server serves in a version of a group; empty if it does not serve that version."""
    (result,) = run(Login(), ["get", "--raw", f"/apis/{group}/{version}", "--request-timeout=30s"])
    if result.code != 0:
        if "NotFound" in result.errors or "could not find the requested resource" in result.errors:
            return frozenset()
        raise failed(f"read what the API server serves in {group}/{version}", result.errors)
    try:
        resources = json.loads(result.output).get("resources", [])
    except (ValueError, AttributeError) as error:
        raise InputError(f"kubectl get --raw did not print JSON: {error}") from error
    return frozenset(str(item.get("name")) for item in resources)


_UNREACHABLE = (
    ("connection refused", "is the cluster running, and is the address in the kubeconfig right?"),
    ("no such host", "the server name in the kubeconfig cannot be resolved"),
    ("i/o timeout", "the server does not answer: is the VPN up?"),
    ("Client.Timeout", "the server does not answer in time: is the VPN up?"),
    ("TLS handshake timeout", "the server does not answer in time"),
    ("must be logged in", "the login has expired or is missing: log in again, then try kubectl get nodes"),
    ("Unauthorized", "the login has expired or is missing: log in again, then try kubectl get nodes"),
    ("certificate has expired", "the certificate in the kubeconfig has expired: get a new one"),
    ("x509", "the kubeconfig does not trust the server's certificate"),
    ("getting credentials", "the login program of the kubeconfig failed: run kubectl get nodes to see why"),
    ("no configuration has been provided", "set KUBECONFIG or --kubeconfig, or explain a dump with -f"),
    ("does not exist", "kubectl config get-contexts lists the contexts"),
)


def unreachable(errors: str) -> bool:
    """True if kubectl could not reach or log in to the cluster at all."""
    return any(mark in errors for mark, _ in _UNREACHABLE)


def failed(task: str, errors: str) -> InputError:
    """One clear error from what kubectl wrote to standard error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and not _LOG.match(line)]
    last = (lines or [line.strip() for line in errors.splitlines() if line.strip()] or ["no error message"])[-1]
    last = last.removeprefix("error: ").removeprefix("Error from server ")
    hint = next((hint for mark, hint in _UNREACHABLE if mark in errors), None)
    return InputError(f"kubectl cannot {task}: {last}", hint=hint)
