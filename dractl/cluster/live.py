"""A live cluster, read through ``kubectl get -o json``: whatever kubectl can log in to, explain can read.

Several kubectl run side by side, each for one kind. What the verdict depends on must be readable; what only adds to the
answer may be forbidden, and is then named in a note.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from dractl.cluster.kinds import KINDS
from dractl.cluster.state import ClusterState, add, maps_at, text_at
from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.cluster.state import Key

_TIMEOUT = 60  # seconds for each kubectl; it gives up by itself after --request-timeout
_AT_ONCE = 4
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Login:
    """Which cluster, as kubectl is told: ``--context``, ``--kubeconfig``; None: kubectl's own choice."""

    context: str | None = None
    kubeconfig: str | None = None

    @property
    def arguments(self) -> list[str]:
        chosen = {"--context": self.context, "--kubeconfig": self.kubeconfig}
        return [word for option, value in chosen.items() if value for word in (option, value)]


@dataclass(frozen=True, slots=True)
class Live:
    """What was read. ``namespace`` is that of the kubeconfig; ``notes`` say what could not be read; ``kinds`` are those
    that the words of the question stand for."""

    state: ClusterState
    namespace: str
    notes: tuple[str, ...]
    kinds: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Query:
    """One ``kubectl get``. ``vital``: the verdict depends on it; ``without``: what the answer lacks if not."""

    resource: str
    namespaced: bool = True
    vital: bool = True
    without: str = ""
    options: tuple[str, ...] = ()


_QUERIES = (
    _Query("resourceslices.resource.k8s.io", namespaced=False),
    _Query("resourceclaims.resource.k8s.io"),
    _Query("deviceclasses.resource.k8s.io", namespaced=False),
    _Query("nodes", namespaced=False),
    _Query("pods", vital=False, without="pods of other namespaces: what they take of a node is not counted"),
    _Query("resourceclaimtemplates.resource.k8s.io", vital=False, without="templates"),
    _Query("devicetaintrules.resource.k8s.io", namespaced=False, vital=False, without="DeviceTaintRules"),
    _Query("namespaces", namespaced=False, vital=False, without="labels of namespaces"),
    _Query("resourcequotas", vital=False, without="quotas"),
    _Query(
        "events",
        vital=False,
        without="events",
        options=("--field-selector=reason=FailedResourceClaimCreation",),
    ),
    _Query(
        "events",
        vital=False,
        without="events",
        options=("--field-selector=reason=FailedPrepareDynamicResources",),
    ),
)
# As kubectl names them, so that nobody else's kind of the same name is read.
_WORKLOADS = {
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "ReplicaSet": "replicasets.apps",
    "Job": "jobs.batch",
    "CronJob": "cronjobs.batch",
}
_GENERATIONS = 4  # of owners between a workload and its pods: RayJob, RayCluster; CronJob, Job


def read(
    login: Login,
    *,
    namespace: str | None = None,
    everywhere: bool = False,
    workloads: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Live:
    """Reads a cluster. ``namespace`` is that of the question, used where reading all namespaces is forbidden, or
    ``everywhere``; ``workloads`` are the words for kinds with pods of their own that are asked about (``deploy``,
    ``lws``): only these are read, and what stands between them and their pods. ``tell`` hears what is being read.

    Raises InputError, with what to do, where kubectl is missing, cannot log in, or may not read what the verdict needs.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise InputError(
            "kubectl is not on PATH", hint="install kubectl, or explain a dump: dractl explain -f dump.yaml"
        )
    base = [program, *login.arguments]
    tell("asking the cluster for its version")
    version, configured = _finish([_start([*base, "version", "-o", "json"]), _start(_namespace_command(base))])
    if version.code != 0 and _unreachable(version.errors):
        raise _failed("reach the cluster", version.errors)
    where = namespace or configured.output.decode(errors="replace").strip() or "default"
    kinds: dict[str, dict[Key, Mapping[str, Any]]] = {}
    notes: list[str] = []
    for start in range(0, len(_QUERIES), _AT_ONCE):
        queries = _QUERIES[start : start + _AT_ONCE]
        resources = ", ".join(query.resource.partition(".")[0] for query in queries)
        tell(f"reading {resources} ({start + len(queries)} of {len(_QUERIES)})")
        finished = _finish([_start(_command(base, query)) for query in queries])
        for query, result in zip(queries, finished, strict=True):
            _take(kinds, notes, base, query, result, where)
    scope = None if everywhere else where
    named: dict[str, str] = {}
    for word in workloads:
        tell(f"reading {word}")
        found = _workloads(base, _WORKLOADS.get(KINDS.get(word.lower(), ""), word), scope, notes)
        named |= {word.lower(): text_at(item, "kind") for item in found[:1]}
        for item in found:
            add(kinds, item, where)
    if workloads:
        _between(kinds, notes, base, scope, where, tell)
    return Live(ClusterState(kinds, release=_release(version.output)), where, tuple(notes), named)


def _command(base: Sequence[str], query: _Query, namespace: str | None = None) -> list[str]:
    scope = [] if not query.namespaced else ["-n", namespace] if namespace else ["--all-namespaces"]
    limits = [f"--chunk-size={_CHUNK}", "--request-timeout=30s", "--ignore-not-found"]
    return [*base, "get", query.resource, *scope, "-o", "json", *limits, *query.options]


def _namespace_command(base: Sequence[str]) -> list[str]:
    return [*base, "config", "view", "--minify", "-o", "jsonpath={..namespace}"]


def _take(
    kinds: dict[str, dict[Key, Mapping[str, Any]]],
    notes: list[str],
    base: Sequence[str],
    query: _Query,
    result: _Result,
    namespace: str,
) -> None:
    """Puts what a query gave where it belongs, or says what is missing."""
    if result.code != 0 and "doesn't have a resource type" in result.errors:
        if query.vital:
            name = query.resource.partition(".")[0]
            raise InputError(
                f"the cluster serves no {name}: dynamic resource allocation is off, or its API group is not enabled",
                hint="kubectl api-resources --api-group=resource.k8s.io shows what it serves",
            )
        return  # a kind that this release does not have
    if result.code != 0 and "Forbidden" in result.errors and not query.vital:
        notes.append(f"not allowed to read {query.without}")
        if not query.namespaced:
            return
        (result,) = _finish([_start(_command(base, query, namespace))])
        if result.code != 0 and "Forbidden" in result.errors:
            return
    if result.code != 0:
        raise _failed(f"read {query.resource.partition('.')[0]}", result.errors)
    for item in _items(query.resource, result):
        add(kinds, item, namespace)


def _items(resource: str, result: _Result) -> list[dict[str, Any]]:
    if not result.output.strip():
        return []  # nothing found
    try:
        return [item for item in json.loads(result.output).get("items", []) if isinstance(item, dict)]
    except (ValueError, AttributeError) as error:
        raise InputError(f"kubectl get {resource} did not print JSON: {error}") from error


def _workloads(base: Sequence[str], resource: str, namespace: str | None, notes: list[str]) -> list[dict[str, Any]]:
    """All objects of a kind; none of a kind that the cluster does not have, or that may not be read."""
    (result,) = _finish([_start(_command(base, _Query(resource), namespace))])
    if result.code != 0 and "doesn't have a resource type" in result.errors:
        return []
    if result.code != 0 and "Forbidden" in result.errors:
        notes.append(f"not allowed to read {resource}: their pods can be asked about one by one")
        return []
    if result.code != 0:
        raise _failed(f"read {resource.partition('.')[0]}", result.errors)
    return _items(resource, result)


def _between(
    kinds: dict[str, dict[Key, Mapping[str, Any]]],
    notes: list[str],
    base: Sequence[str],
    scope: str | None,
    namespace: str,
    tell: Callable[[str], None],
) -> None:
    """Reads the owners of pods, and theirs, as far as their kinds are not there yet."""
    known = {"Node"}  # owns the pods that its kubelet makes from files
    newest = [value for key, value in kinds.get("Pod", {}).items() if scope in (None, key[0])]
    for _ in range(_GENERATIONS):
        owners = {
            (text_at(owner, "kind"), text_at(owner, "apiVersion"))
            for value in newest
            for owner in maps_at(value, "metadata", "ownerReferences")
        }
        wanted = sorted(pair for pair in owners if pair[0] not in known and not kinds.get(pair[0]))
        newest = [value for kind, _ in owners for value in kinds.get(kind, {}).values() if kind not in known]
        for kind, api_version in wanted:
            tell(f"reading {kind}")
            group, _, version = api_version.rpartition("/")
            found = _workloads(base, ".".join(filter(None, (kind.lower(), version, group))), scope, notes)
            newest += found
            for item in found:
                add(kinds, item, namespace)
        known |= {kind for kind, _ in owners}
        if not newest:
            return


def _release(output: bytes) -> str | None:
    try:
        server = json.loads(output).get("serverVersion", {})
    except (ValueError, AttributeError):
        return None
    major, minor = text_at(server, "major"), re.match(r"\d+", text_at(server, "minor"))
    return f"{major}.{minor[0]}" if major.isdigit() and minor else None


# -- running kubectl --


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]


@dataclass(frozen=True, slots=True)
class _Result:
    code: int
    output: bytes
    errors: str


def _start(command: list[str]) -> _Running:
    # Files, not pipes: several large answers arrive at the same time, and nobody reads them until all are there.
    output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    return _Running(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors), output, errors)


def _finish(running: Sequence[_Running]) -> list[_Result]:
    results = []
    try:
        for one in running:
            try:
                code = one.process.wait(_TIMEOUT)
            except subprocess.TimeoutExpired:
                raise InputError(
                    f"kubectl did not answer within {_TIMEOUT} seconds",
                    hint="is the cluster reachable? try: kubectl get nodes",
                ) from None
            one.output.seek(0)
            one.errors.seek(0)
            results.append(_Result(code, one.output.read(), one.errors.read().decode(errors="replace")))
    finally:
        for one in running:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
            one.output.close()
            one.errors.close()
    return results


_UNREACHABLE = (
    ("connection refused", "is the cluster running, and the kubeconfig's address right?"),
    ("no such host", "the server's name in the kubeconfig cannot be resolved"),
    ("i/o timeout", "the server does not answer: is the VPN up?"),
    ("Client.Timeout", "the server does not answer in time: is the VPN up?"),
    ("TLS handshake timeout", "the server does not answer in time"),
    ("must be logged in", "the login has expired or is missing: log in again, then try kubectl get nodes"),
    ("Unauthorized", "the login has expired or is missing: log in again, then try kubectl get nodes"),
    ("certificate has expired", "the certificate in the kubeconfig has expired: fetch a new one"),
    ("x509", "the server's certificate is not trusted by the kubeconfig"),
    ("getting credentials", "the kubeconfig's login program failed: run kubectl get nodes to see it"),
    ("no configuration has been provided", "set KUBECONFIG or --kubeconfig, or explain a dump with -f"),
    ("does not exist", "kubectl config get-contexts shows the contexts"),
)


def _unreachable(errors: str) -> bool:
    return any(mark in errors for mark, _ in _UNREACHABLE)


def _failed(what: str, errors: str) -> InputError:
    """One clear message from what kubectl said."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and not re.match(r"^[EWI]\d{4} ", line)]
    said = (lines or [line.strip() for line in errors.splitlines() if line.strip()] or ["it said nothing"])[-1]
    said = said.removeprefix("error: ").removeprefix("Error from server ")
    hint = next((hint for mark, hint in _UNREACHABLE if mark in errors), None)
    if hint is None and "orbidden" in errors:
        hint = (
            "explain needs to get and list resourceslices, resourceclaims, deviceclasses and nodes in the whole cluster"
        )
    return InputError(f"kubectl cannot {what}: {said}", hint=hint)
