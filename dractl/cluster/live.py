"""A live cluster as a :class:`ClusterState`, read through kubectl in a few parallel calls.

What may not be listed in the whole cluster is read in one namespace; what may not be listed there either is missing.
``ClusterState.rights`` has both.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.cluster import kubectl
from dractl.cluster.kinds import KINDS_BY_WORD
from dractl.cluster.kubectl import KubectlResult, Login
from dractl.cluster.podgroups import group_resource
from dractl.cluster.rights import Rights, Unread
from dractl.cluster.schedulers import config_maps, group_name, identify
from dractl.cluster.shell import is_safe_name
from dractl.cluster.state import ClusterState, Key, add_object, at, maps_at, text_at
from dractl.errors import InputError
from dractl.views import DEFAULT_SCHEDULER, Pod

__all__ = ["Live", "Login", "read"]


class Live(Struct, frozen=True):
    """A cluster's objects. ``namespace`` is that of the kubeconfig, ``notes`` name what else may not be read, and
    ``kinds`` maps the words of the question to the kinds that the cluster has for them."""

    state: ClusterState
    namespace: str
    notes: tuple[str, ...]
    kinds: Mapping[str, str]
    context: str = ""
    """Of the kubeconfig, as kubectl names it."""


class _Resource(Struct, frozen=True):
    """A resource to read: its name with its group, its kind, and what a note calls it. ``vital``: without it devices
    cannot be compared."""

    name: str
    kind: str
    note_name: str = ""
    namespaced: bool = True
    vital: bool = False

    @property
    def plural(self) -> str:
        """The name without its group."""
        return self.name.partition(".")[0]


class _Call(Struct, frozen=True):
    """Resources that one kubectl reads together."""

    resources: tuple[_Resource, ...]
    options: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of what it prints."""
        return frozenset(resource.kind for resource in self.resources)


_NARROW_PODS_NOTE = "pods of other namespaces: what they use on a node is not counted"
_HIDDEN_PODS_NOTE = "pods: what they use on a node is not counted"
# Warnings of the scheduler repeat the pod's condition, and back-off repeats the state of the container.
_REPEATED_REASONS = ("FailedScheduling", "BackOff")
_EVENTS = _Resource("events", "Event", "events")
_CALLS = (
    _Call(
        (
            _Resource(
                "resourceslices.resource.k8s.io", "ResourceSlice", namespaced=False, vital=True
            ),
            _Resource("resourceclaims.resource.k8s.io", "ResourceClaim", vital=True),
            _Resource(
                "deviceclasses.resource.k8s.io",
                "DeviceClass",
                "DeviceClasses",
                namespaced=False,
                vital=True,
            ),
            _Resource(
                "resourceclaimtemplates.resource.k8s.io", "ResourceClaimTemplate", "templates"
            ),
        )
    ),
    _Call(
        (
            _Resource("nodes", "Node", "nodes", namespaced=False, vital=True),
            _Resource("pods", "Pod", _NARROW_PODS_NOTE),
            _Resource("namespaces", "Namespace", "labels of namespaces", namespaced=False),
            _Resource("resourcequotas", "ResourceQuota", "quotas"),
            _Resource("limitranges", "LimitRange", "LimitRanges"),
            _Resource("persistentvolumeclaims", "PersistentVolumeClaim", "volume claims"),
            _Resource("persistentvolumes", "PersistentVolume", "volumes", namespaced=False),
            _Resource(
                "storageclasses.storage.k8s.io", "StorageClass", "StorageClasses", namespaced=False
            ),
            _Resource(
                "priorityclasses.scheduling.k8s.io",
                "PriorityClass",
                "PriorityClasses",
                namespaced=False,
            ),
            _Resource("poddisruptionbudgets.policy", "PodDisruptionBudget", "PodDisruptionBudgets"),
        )
    ),
    _Call(
        (
            _Resource("deployments.apps", "Deployment", "Deployments"),
            _Resource("replicasets.apps", "ReplicaSet", "ReplicaSets"),
            _Resource("statefulsets.apps", "StatefulSet", "StatefulSets"),
            _Resource("daemonsets.apps", "DaemonSet", "DaemonSets"),
            _Resource("jobs.batch", "Job", "Jobs"),
            _Resource("cronjobs.batch", "CronJob", "CronJobs"),
            _Resource(
                "horizontalpodautoscalers.autoscaling",
                "HorizontalPodAutoscaler",
                "HorizontalPodAutoscalers",
            ),
        )
    ),
    _Call(
        (
            _Resource(
                "devicetaintrules.resource.k8s.io",
                "DeviceTaintRule",
                "DeviceTaintRules",
                namespaced=False,
            ),
        )
    ),
    _Call(
        (_EVENTS,),
        (
            f"--field-selector=type=Warning,{','.join(f'reason!={reason}' for reason in _REPEATED_REASONS)}",
        ),
    ),
    _Call((_EVENTS,), ("--field-selector=reason=DeviceTaintManagerEviction",)),
)
VITAL = frozenset(resource.kind for call in _CALLS for resource in call.resources if resource.vital)
_EXPLAINED_KINDS = VITAL | {"Pod", "ResourceClaimTemplate", "DeviceTaintRule"}
_VERSION_COMMAND = ("version", "-o", "json")
# The namespace of the context, the program that logs in, if there is one, and the context: no
# address, no secret.
_CONFIG_COMMAND = (
    "config",
    "view",
    "--minify",
    "-o",
    'jsonpath={..namespace}{"\\n"}{.users[*].user.exec.command}{"\n"}{.current-context}',
)
_MAX_VERSION_CHARS = 100  # characters of a version
_MAX_OWNER_GENERATIONS = (
    4  # of owners between a workload and its pods: RayJob, RayCluster; CronJob, Job
)


def read(
    login: Login,
    *,
    namespace: str | None = None,
    everywhere: bool = False,
    partly: bool = False,
    vital: frozenset[str] = VITAL,
    workloads: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Live:
    """Reads a cluster. ``namespace`` is that of the question, used where listing all namespaces is forbidden, or
    ``everywhere``; ``workloads`` are words for custom kinds that are asked about (``lws``): these are read too, and the
    kinds between them and their pods. ``progress`` is called with what is being read.

    ``partly``: the caller answers from what may be read (``state.rights``). Else the kinds of ``vital`` must be
    readable in the whole cluster: all that devices are compared with, or less.

    Raises InputError, with what to do, if kubectl is missing, cannot log in, or may not read what is needed.
    """
    progress("reading the cluster")
    began = time.time()
    calls = [
        kubectl.build_get(",".join(r.name for r in call.resources), None, *call.options)
        for call in _CALLS
    ]
    (configured,) = kubectl.run(login, _CONFIG_COMMAND, progress=progress)
    if configured.code < 0:  # another code: there may be none, as in a pod
        raise kubectl.command_error("read the kubeconfig", configured)
    lines = [*configured.output.decode(errors="replace").split("\n"), "", ""]
    own_namespace, program, context = (line.strip() for line in lines[:3])
    if own_namespace and not is_safe_name(own_namespace):
        raise InputError(
            f"kubectl config view printed {own_namespace[:80]!r} as the namespace",
            hint=kubectl.WRAPPER_HINT,
        )
    alone = 1 if program else 0  # it asks for a login once, and not in each call
    commands = [_VERSION_COMMAND, *calls]
    first = kubectl.run(login, *commands[:alone], progress=progress)
    version, *results = [*first, *kubectl.run(login, *commands[alone:], progress=progress)]
    if version.code != 0 and kubectl.is_unreachable(version.errors):
        raise kubectl.command_error("reach the cluster", version)
    where = namespace or own_namespace or "default"
    reading = _Reading(login, where, {}, {}, [], [], set())
    reading.add_results(_CALLS, results)
    rights = reading.rights()
    _check_rights(rights, where, frozenset() if partly else vital, everywhere=everywhere)
    reading.reread_inconsistent()
    scope = None if everywhere and not rights.namespaced_only("Pod") else where
    named: dict[str, str] = {}
    for word in workloads:
        if KINDS_BY_WORD.get(word.lower()) is not None:
            continue
        progress(f"reading {word}")
        found = reading.read_optional(word, scope)
        named |= {word.lower(): text_at(item, "kind") for item in found[:1]}
    reading.read_owners(scope, progress)
    for resource in dict.fromkeys(
        filter(None, map(group_resource, map(Pod, reading.kinds.get("Pod", {}).values())))
    ):
        reading.read_optional(
            resource, scope, "Workload" if resource.startswith("workloads") else "PodGroup"
        )
    reading.read_schedulers(scope)
    notes = dict.fromkeys((*_unread_notes(rights, partly=partly), *reading.notes))
    state = ClusterState(
        reading.kinds,
        release=_parse_release(version.output),
        rights=reading.rights(),
        read_at=began,
    )
    return Live(state, where, tuple(notes), named, context if context.isprintable() else "")


def _check_rights(
    rights: Rights, namespace: str, vital: frozenset[str], *, everywhere: bool
) -> None:
    """Raises InputError if what may be read is too little. Without anything ``vital`` pods or claims are enough."""
    unread = [one for one in rights.unread if one.kind in vital]
    if not vital and len(rights.unreadable("Pod", "ResourceClaim")) == 2:
        tried = (
            f"in all namespaces or in namespace {namespace} alone"
            if everywhere
            else f"in namespace {namespace}"
        )
        raise InputError(
            f"neither pods nor claims may be read {tried}",
            hint="-n NAMESPACE asks about another one; an administrator can allow it: "
            + rights.grant_commands("Pod", "ResourceClaim"),
        )
    if not unread:
        return
    names = ", ".join(one.resource.partition(".")[0] for one in unread)
    user = f"user {rights.user}" if rights.user else "this user"
    raise InputError(
        f"{user} may not list {names} in the whole cluster, which the answer needs",
        hint=f"an administrator can allow it: {rights.grant_commands(*vital)}",
    )


def _unread_notes(rights: Rights, *, partly: bool) -> list[str]:
    """What may not be read, but for what an answer from what may be read (``partly``) speaks of itself."""
    if partly and rights.namespaced_only("Pod"):
        (pods,) = rights.namespaced_only("Pod")
        notes = [
            f"only namespace {pods.namespace} is looked at: pods of other namespaces may not be read"
        ]
    else:
        notes = []
    hidden = {one.kind for one in rights.unread if not one.namespace or one.kind == "Pod"}
    refused = [
        _HIDDEN_PODS_NOTE
        if resource.kind == "Pod" and rights.unreadable("Pod")
        else resource.note_name
        for call in _CALLS
        for resource in call.resources
        if resource.kind in hidden
        and resource.note_name
        and not (partly and resource.kind in _EXPLAINED_KINDS)
    ]
    return [
        *notes,
        *([f"not allowed to read {', '.join(dict.fromkeys(refused))}"] if refused else []),
    ]


class _Reading(Struct, frozen=True):
    """What has been read so far, what may not be read, whom the API server refused, and notes; they grow with each
    answer."""

    login: Login
    namespace: str
    kinds: dict[str, dict[Key, Mapping[str, Any]]]
    unread: dict[Unread, None]
    users: list[str]
    notes: list[str]
    unserved: set[str]
    """Kinds that this release does not have."""

    def rights(self) -> Rights:
        """Return what may not be read, of all that is read of a cluster."""
        served = {
            resource.kind: resource.name
            for call in _CALLS
            for resource in call.resources
            if resource.kind not in self.unserved
        }
        return Rights(tuple(self.unread), next(iter(self.users), ""), served)

    def add_results(self, calls: Sequence[_Call], results: Sequence[KubectlResult]) -> None:
        """Adds what the calls printed. What may not be listed in the whole cluster is asked for in one namespace."""
        narrower: list[_Call] = []
        for call, result in zip(calls, results, strict=True):
            left = self._add_result(call, result)
            if left.resources:
                narrower.append(left)
        commands = [
            kubectl.build_get(
                ",".join(r.name for r in call.resources), self.namespace, *call.options
            )
            for call in narrower
        ]
        for call, result in zip(
            narrower, kubectl.run(self.login, *commands) if commands else (), strict=True
        ):
            self._add_namespaced_result(call, result)

    def reread_inconsistent(self) -> None:
        """Reads pods and claims once more if a pod names a claim that was not listed: the claim may have been created
        between the calls that list them. Now pods come first, by one kubectl. Of those whose claims are still missing
        the ones that are gone by then are left out: claims are deleted with their pods."""
        if not self._pods_with_missing_claims() or {one.kind for one in self.unread} & {
            "Pod",
            "ResourceClaim",
        }:
            return
        both = {r.kind: r for call in _CALLS for r in call.resources}
        names = both["Pod"].name, both["ResourceClaim"].name
        (result,) = kubectl.run(self.login, kubectl.build_get(",".join(names)))
        if result.code != 0:
            return
        for kind in ("Pod", "ResourceClaim"):
            self.kinds[kind] = {}
        self._add_objects(kubectl.parse_list("pods", result, ("Pod", "ResourceClaim")))
        torn = self._pods_with_missing_claims()
        if not torn:
            return
        (result,) = kubectl.run(self.login, kubectl.build_get(names[0]))
        if result.code == 0:
            there = {
                text_at(pod, "metadata", "uid")
                for pod in kubectl.parse_list("pods", result, ("Pod",))
            }
            for key in torn:
                if text_at(self.kinds["Pod"][key], "metadata", "uid") not in there:
                    del self.kinds["Pod"][key]

    def _pods_with_missing_claims(self) -> list[Key]:
        """The pods that still wait for a node, and have a generated claim that is not among the claims, or on its way
        out."""
        claims = self.kinds.get("ResourceClaim", {})
        return [
            (namespace, name)
            for (namespace, name), pod in self.kinds.get("Pod", {}).items()
            if Pod(pod).is_pending
            and any(
                (namespace, claim) not in claims
                or at(claims[namespace, claim], "metadata", "deletionTimestamp")
                for made in maps_at(pod, "status", "resourceClaimStatuses")
                if (claim := text_at(made, "resourceClaimName"))
            )
        ]

    def _add_result(self, call: _Call, result: KubectlResult) -> _Call:
        """Adds what one call printed, and returns what is to be read in one namespace. If it failed for another reason
        than that something is forbidden, asks for each of its resources alone to learn which."""
        if result.code == 0 or result.refused_resources:
            self._add_objects(kubectl.parse_list(call.resources[0].plural, result, call.kinds))
            if result.refused_resources:
                self.users.append(result.user)
            refused = [
                resource
                for resource in call.resources
                if resource.plural in result.refused_resources
            ]
            self._record_unread(resource for resource in refused if not resource.namespaced)
            for resource in call.resources:  # known, be there any or none
                if resource not in refused:
                    self.kinds.setdefault(resource.kind, {})
            return _Call(
                tuple(resource for resource in refused if resource.namespaced), call.options
            )
        if len(call.resources) == 1:
            self._record_unserved(call.resources[0], result)
            return _Call(())
        alone = [_Call((resource,), call.options) for resource in call.resources]
        results = kubectl.run(
            self.login,
            *(kubectl.build_get(each.resources[0].name, None, *each.options) for each in alone),
        )
        left = [self._add_result(each, one) for each, one in zip(alone, results, strict=True)]
        return _Call(tuple(resource for each in left for resource in each.resources), call.options)

    def _add_namespaced_result(self, call: _Call, result: KubectlResult) -> None:
        if result.code != 0 and not result.refused_resources:
            raise kubectl.command_error(
                f"read {call.resources[0].plural} in namespace {self.namespace}", result
            )
        self._add_objects(kubectl.parse_list(call.resources[0].plural, result, call.kinds))
        self._record_unread(
            resource for resource in call.resources if resource.plural in result.refused_resources
        )
        self._record_unread(
            (r for r in call.resources if r.plural not in result.refused_resources), self.namespace
        )

    def _record_unread(self, resources: Iterable[_Resource], namespace: str = "") -> None:
        self.unread.update(
            (Unread(resource.kind, resource.name, namespace), None) for resource in resources
        )

    def _record_unserved(self, resource: _Resource, result: KubectlResult) -> None:
        """Raises InputError unless this release does not have the resource and can do without it."""
        if not result.is_unknown_type:
            raise kubectl.command_error(f"read {resource.plural}", result)
        if resource.vital:
            raise InputError(
                f"the cluster serves no {resource.plural}: dynamic resource allocation is off, or its API group "
                "is not enabled",
                hint="kubectl api-resources --api-group=resource.k8s.io lists what it serves",
            )
        self.unserved.add(resource.kind)

    def read_optional(
        self, resource: str, scope: str | None, kind: str = ""
    ) -> list[dict[str, Any]]:
        """Reads all objects of a resource; none if the cluster does not have it or it may not be read. With ``kind``
        it is known afterwards that there is none of it."""
        (result,) = kubectl.run(self.login, kubectl.build_get(resource, scope))
        if result.is_unknown_type:
            return []
        if result.is_forbidden:
            self.notes.append(f"not allowed to read {resource}: ask about their pods one by one")
            self.unread[Unread(kind or resource, resource)] = None
            return []
        if result.code != 0:
            raise kubectl.command_error(f"read {resource.partition('.')[0]}", result)
        found = kubectl.parse_list(resource, result, (kind,) if kind else ())
        if kind:
            self.kinds.setdefault(kind, {})
        self._add_objects(found)
        return found

    def read_schedulers(self, scope: str | None) -> None:
        """Read the groups that pending pods of other schedulers name, and the configuration of
        second kube-schedulers where a pod names a scheduler that nobody knows."""
        pods = [pod for pod in self.kinds.get("Pod", {}).values() if Pod(pod).is_pending]
        state = ClusterState(self.kinds)
        names = {Pod(pod).scheduler_name for pod in pods} - {DEFAULT_SCHEDULER}
        schedulers = {name: identify(state, name).facts for name in names}
        groups = {
            facts.group.resource
            for pod in pods
            if (facts := schedulers.get(Pod(pod).scheduler_name)) is not None
            and facts.group is not None
            and group_name(pod, facts)
        }
        for resource in sorted(groups):
            command = kubectl.build_get(resource, scope)
            if not self._read_silently(command, resource, "PodGroup"):
                self.notes.append(f"{resource} cannot be read: its scheduler's words are missing")
        if None in schedulers.values():
            for namespace, name in config_maps(state):
                option = f"--field-selector=metadata.name={name}"
                command = kubectl.build_get("configmaps", namespace, option)
                self._read_silently(command, "configmaps", "ConfigMap")

    def _read_silently(self, command: list[str], resource: str, kind: str) -> bool:
        """Read objects that an answer can do without; False if they cannot be read."""
        (result,) = kubectl.run(self.login, command)
        if result.code == 0:
            self._add_objects(kubectl.parse_list(resource, result, (kind,)))
        return result.code == 0

    def read_owners(self, scope: str | None, progress: Callable[[str], None]) -> None:
        """Reads the custom kinds that own pods, and their owners, for a few generations."""
        known = {"Node"}  # owns the pods that its kubelet makes from files
        newest = [
            value for key, value in self.kinds.get("Pod", {}).items() if scope in (None, key[0])
        ]
        for _ in range(_MAX_OWNER_GENERATIONS):
            owners = {
                (text_at(owner, "kind"), text_at(owner, "apiVersion"))
                for value in newest
                for owner in maps_at(value, "metadata", "ownerReferences")
            }
            wanted = sorted(
                (kind, version)
                for kind, version in owners
                if kind not in known
                and not self.kinds.get(kind)
                and not _is_always_read(kind, version)
            )
            newest = [
                value
                for kind, _ in owners
                if kind not in known
                for value in self.kinds.get(kind, {}).values()
            ]
            for kind, api_version in wanted:
                progress(f"reading {kind}")
                group, _, version = api_version.rpartition("/")
                resource = ".".join(filter(None, (kind.lower(), version, group)))
                if is_safe_name(
                    resource
                ):  # an API server takes any text here, and kubectl reads "--raw=..." as an option
                    newest += self.read_optional(resource, scope)
            known |= {kind for kind, _ in owners}
            if not newest:
                return

    def _add_objects(self, objects: Sequence[dict[str, Any]]) -> None:
        for item in objects:
            add_object(self.kinds, item, self.namespace)


def _is_always_read(kind: str, api_version: str) -> bool:
    """True for a kind that is read of every cluster: it was refused, or there is none."""
    group = api_version.rpartition("/")[0]
    return any(
        resource.kind == kind and resource.name.partition(".")[2] == group
        for call in _CALLS
        for resource in call.resources
    )


def _parse_release(output: bytes) -> str | None:
    try:
        server = at(json.loads(output), "serverVersion")
    except (ValueError, RecursionError):
        return None
    major, minor = (
        text_at(server, "major"),
        re.match(r"\d{1,4}(?!\d)", text_at(server, "minor"), re.ASCII),
    )
    if re.fullmatch(r"\d{1,4}", major, re.ASCII) is None or minor is None:
        return None
    version, named = text_at(server, "gitVersion").removeprefix("v"), f"{major}.{minor[0]}"
    return (
        version
        if version.startswith(f"{named}.")
        and is_safe_name(version)
        and len(version) <= _MAX_VERSION_CHARS
        else named
    )
