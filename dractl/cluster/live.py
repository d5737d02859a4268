"""A live cluster as a :class:`ClusterState`, read through kubectl in a few parallel calls.

A resource that the user is not allowed to list in the whole cluster is read in one namespace; if
that is not allowed either, it is left out. ``ClusterState.rights`` lists all such resources.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.cluster.coverage import Coverage, Unread
from dractl.cluster.driver_workloads import list_failing_drivers, list_objects
from dractl.cluster.kinds import KINDS_BY_WORD
from dractl.cluster.podgroups import group_resource
from dractl.cluster.rights import Rights, plural_of
from dractl.cluster.role import list_role_resources
from dractl.cluster.schedulers import config_maps, group_name, identify
from dractl.cluster.shell import is_safe_name
from dractl.cluster.state import ClusterState, Key, add_object
from dractl.errors import InputError
from dractl.inputs import kubectl
from dractl.inputs.kubectl import KubectlResult, Login
from dractl.model.paths import at, text_at
from dractl.objects.cluster_autoscaler import SCALE_UP_REASONS
from dractl.views import DEFAULT_SCHEDULER, Claim, Node, Pod, View
from dractl.views.node_pool import NODE_POOL_KINDS, POOL_LABEL

__all__ = ["Live", "Login", "read"]


class Live(Struct, frozen=True):
    """A cluster as it was read."""

    state: ClusterState
    namespace: str
    """The namespace of the question, or of the kubeconfig."""
    notes: tuple[str, ...]
    """Notes on unreadable resources that the answer itself does not mention."""
    kinds: Mapping[str, str]
    """The kinds that the cluster serves for words in the question."""
    context: str = ""
    """The context of the kubeconfig, as kubectl names it."""


class _Resource(Struct, frozen=True):
    """A resource to read."""

    name: str
    """The resource's name with its group."""
    kind: str
    note_name: str = ""
    """The name in notes; "" if notes never name the resource."""
    namespaced: bool = True
    is_vital: bool = False
    """True if devices cannot be compared without the resource."""

    @property
    def plural(self) -> str:
        """The name without its group."""
        return self.name.partition(".")[0]


class _Call(Struct, frozen=True):
    """Resources that are read together by one call of kubectl."""

    resources: tuple[_Resource, ...]
    options: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the objects that the call prints."""
        return frozenset(resource.kind for resource in self.resources)

    @property
    def plurals(self) -> frozenset[str]:
        """The names of the resources without their groups."""
        return frozenset(resource.plural for resource in self.resources)

    def command(self, namespace: str | None = None) -> list[str]:
        """Return the kubectl command that reads the resources in a namespace, or everywhere."""
        names = ",".join(resource.name for resource in self.resources)
        return kubectl.build_get(names, namespace, *self.options)


class _Configuration(Struct, frozen=True):
    """The kubeconfig's answers about the context in use."""

    namespace: str
    login_program: str
    """The program that performs the login, "" if there is none."""
    context: str


_NARROW_PODS_NOTE = "pods of other namespaces: what they use on a node is not counted"
_HIDDEN_PODS_NOTE = "pods: what they use on a node is not counted"
_NOT_REPEATED = ("reason!=FailedScheduling", "reason!=BackOff")
"""Field selectors that exclude events which repeat the condition of a pod or the state of a
container.
"""
_EVENTS = _Resource("events", "Event", "events")
_CALLS = (
    _Call(
        (
            _Resource(
                "resourceslices.resource.k8s.io", "ResourceSlice", namespaced=False, is_vital=True
            ),
            _Resource("resourceclaims.resource.k8s.io", "ResourceClaim", is_vital=True),
            _Resource(
                "deviceclasses.resource.k8s.io",
                "DeviceClass",
                "DeviceClasses",
                namespaced=False,
                is_vital=True,
            ),
            _Resource(
                "resourceclaimtemplates.resource.k8s.io", "ResourceClaimTemplate", "templates"
            ),
        )
    ),
    _Call(
        (
            _Resource("nodes", "Node", "nodes", namespaced=False, is_vital=True),
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
    _Call((_EVENTS,), (",".join(("--field-selector=type=Warning", *_NOT_REPEATED)),)),
    _Call((_EVENTS,), ("--field-selector=reason=DeviceTaintManagerEviction",)),
)
VITAL = frozenset(
    resource.kind for call in _CALLS for resource in call.resources if resource.is_vital
)
_EXPLAINED_KINDS = VITAL | {"Pod", "ResourceClaimTemplate", "DeviceTaintRule"}
_VERSION_COMMAND = ("version", "-o", "json")
# The output: the namespace of the context, the login program if there is one, and the context. It
# contains no address and no secret.
_CONFIG_COMMAND = (
    "config",
    "view",
    "--minify",
    "-o",
    'jsonpath={..namespace}{"\\n"}{.users[*].user.exec.command}{"\\n"}{.current-context}',
)
_MAX_VERSION_CHARS = 100
_MAX_OWNER_GENERATIONS = 4
"""The maximum number of owners between a workload and its pods: RayJob, RayCluster; CronJob,
Job.
"""


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
    """Read a cluster.

    ``namespace`` is the namespace of the question, unless the question is about ``everywhere``. A
    resource that the user is not allowed to list in all namespaces is read in that namespace.
    ``workloads`` are words in the question for custom kinds (``lws``). Objects of these kinds are
    read, too, as well as the kinds between them and their pods. ``progress`` gets the names of the
    resources that are being read.

    With ``partly``, the caller can answer from the readable objects (``state.rights``). Otherwise
    the kinds of ``vital`` must be readable in the whole cluster; by default these are all kinds
    that devices are compared with.

    Raises InputError, with what to do, if kubectl is missing, cannot log in, or is not allowed to
    read needed objects.
    """
    progress("reading the cluster")
    started = time.time()
    configuration = _read_configuration(login, progress)
    version, *results = _run_calls(login, configuration, progress)
    if version.code != 0 and kubectl.is_unreachable(version.errors):
        raise kubectl.command_error("reach the cluster", version)
    own_namespace = namespace or configuration.namespace or "default"
    reading = _Reading(login, own_namespace, {}, {}, [], [], set(), [])
    reading.add_results(_CALLS, results)
    rights = reading.rights()
    _check_rights(rights, own_namespace, frozenset() if partly else vital, everywhere=everywhere)
    reading.reread_inconsistent()
    scope = None if everywhere and not rights.readable_in_namespace("Pod") else own_namespace
    kinds = reading.read_workloads(workloads, scope, progress)
    reading.read_owners(scope, progress)
    reading.read_groups(scope)
    reading.read_schedulers(scope)
    reading.read_node_pools()
    reading.read_scale_ups()
    reading.read_driver_objects()
    notes = dict.fromkeys((*_unread_notes(rights, partly=partly), *reading.notes))
    release, context = _parse_release(version.output), configuration.context
    state = ClusterState(
        reading.kinds,
        release=release,
        rights=reading.rights(),
        coverage=Coverage("unseen", dict.fromkeys(reading.kinds, "whole")),
        read_at=started,
    )
    return Live(state, own_namespace, tuple(notes), kinds, context if context.isprintable() else "")


def read_release(login: Login) -> str | None:
    """Read the API server's version, such as ``1.37.1``; None if kubectl does not print it."""
    (result,) = kubectl.run(login, _VERSION_COMMAND)
    return _parse_release(result.output)


def _read_configuration(login: Login, progress: Callable[[str], None]) -> _Configuration:
    (result,) = kubectl.run(login, _CONFIG_COMMAND, progress=progress)
    if result.code < 0:  # any other code may mean that there is no kubeconfig, as in a pod
        raise kubectl.command_error("read the kubeconfig", result)
    lines = [*result.output.decode(errors="replace").split("\n"), "", ""]
    configuration = _Configuration(*(line.strip() for line in lines[:3]))
    if configuration.namespace and not is_safe_name(configuration.namespace):
        raise InputError(
            f"kubectl config view printed {configuration.namespace[:80]!r} as the namespace",
            hint=kubectl.WRAPPER_HINT,
        )
    return configuration


def _run_calls(
    login: Login, configuration: _Configuration, progress: Callable[[str], None]
) -> list[KubectlResult]:
    """Return the result of the version command, and one for each of ``_CALLS``."""
    commands = [_VERSION_COMMAND, *(call.command() for call in _CALLS)]
    # A login program runs once before the parallel calls, so that it asks for a login only once.
    first = 1 if configuration.login_program else 0
    results = kubectl.run(login, *commands[:first], progress=progress)
    return [*results, *kubectl.run(login, *commands[first:], progress=progress)]


def _check_rights(
    rights: Rights, namespace: str, vital: frozenset[str], *, everywhere: bool
) -> None:
    """Raise InputError if the user is not allowed to read enough.

    If no kind is ``vital``, pods or claims are enough.
    """
    if not vital and len(rights.unreadable("Pod", "ResourceClaim")) == 2:
        tried = (
            f"in all namespaces or in namespace {namespace} alone"
            if everywhere
            else f"in namespace {namespace}"
        )
        raise InputError(
            f"you are not allowed to read pods or claims {tried}",
            hint="-n NAMESPACE asks about another one; an administrator can allow it: "
            + rights.grant_commands("Pod", "ResourceClaim"),
        )
    unread = [resource for resource in rights.unread if resource.kind in vital]
    if not unread:
        return
    names = ", ".join(plural_of(resource.resource) for resource in unread)
    user = f"user {rights.printable_user}" if rights.printable_user else "this user"
    raise InputError(
        f"{user} is not allowed to list {names} in the whole cluster, which the answer needs",
        hint=f"an administrator can allow it: {rights.grant_commands(*vital)}",
    )


def _unread_notes(rights: Rights, *, partly: bool) -> list[str]:
    """Return notes on resources that the user is not allowed to read.

    Answers from a part of the cluster (``partly``) mention some kinds themselves, so there is no
    note on these.
    """
    notes = []
    if partly and rights.readable_in_namespace("Pod"):
        (pods,) = rights.readable_in_namespace("Pod")
        notes.append(
            f"only namespace {pods.namespace} is looked at: you are not allowed to read pods of"
            " other namespaces"
        )
    unread_kinds = {
        resource.kind
        for resource in rights.unread
        if not resource.namespace or resource.kind == "Pod"
    }
    names = dict.fromkeys(
        (
            _HIDDEN_PODS_NOTE
            if resource.kind == "Pod" and rights.unreadable("Pod")
            else resource.note_name
        )
        for call in _CALLS
        for resource in call.resources
        if resource.kind in unread_kinds
        and resource.note_name
        and not (partly and resource.kind in _EXPLAINED_KINDS)
    )
    if names:
        notes.append(f"not allowed to read {', '.join(names)}")
    return notes


class _Reading(Struct, frozen=True):
    """The part of a cluster that has been read so far. Its collections grow with each call."""

    login: Login
    namespace: str
    """The namespace in which to read a resource that the user cannot list everywhere."""
    kinds: dict[str, dict[Key, Mapping[str, Any]]]
    unread: dict[Unread, None]
    """The resources that the user is not allowed to read, in order."""
    users: list[str]
    """The users whom the API server refused."""
    notes: list[str]
    unserved: set[str]
    """Kinds that the API server of this release does not serve."""
    served_names: list[str]
    """The names of the resources that the API server serves; empty until they are needed."""

    def rights(self) -> Rights:
        """Return the user's rights to the resources that dractl reads of a cluster."""
        if self.unread and not self.served_names:
            self.served_names.extend(kubectl.list_served_names(self.login))
        served = {
            resource.kind: resource.name
            for call in _CALLS
            for resource in call.resources
            if resource.kind not in self.unserved
        }
        role = list_role_resources(self.served_names)
        return Rights(tuple(self.unread), next(iter(self.users), ""), served, role)

    def add_results(self, calls: Sequence[_Call], results: Sequence[KubectlResult]) -> None:
        """Add the objects that the calls printed.

        A resource that the user is not allowed to list in the whole cluster is read in one
        namespace.
        """
        refused_calls = [
            refused
            for call, result in zip(calls, results, strict=True)
            if (refused := self._add_result(call, result)).resources
        ]
        if not refused_calls:
            return
        commands = [call.command(self.namespace) for call in refused_calls]
        for call, result in zip(refused_calls, kubectl.run(self.login, *commands), strict=True):
            self._add_namespaced_result(call, result)

    def reread_inconsistent(self) -> None:
        """Read pods and claims once more if a pod names a claim that was not listed.

        The claim may have been created between the calls that list them. This time, one call of
        kubectl reads both, the pods first. If claims are still missing, pods that are gone by then
        are left out, since claims are deleted with their pods.
        """
        unread_kinds = {resource.kind for resource in self.unread}
        if not self._pods_with_missing_claims() or unread_kinds & {"Pod", "ResourceClaim"}:
            return
        resources = {resource.kind: resource for call in _CALLS for resource in call.resources}
        names = resources["Pod"].name, resources["ResourceClaim"].name
        (result,) = kubectl.run(self.login, kubectl.build_get(",".join(names)))
        if result.code != 0:
            return
        for kind in ("Pod", "ResourceClaim"):
            self.kinds[kind] = {}
        self._add_objects(kubectl.parse_list("pods", result, ("Pod", "ResourceClaim")))
        doubtful_pods = self._pods_with_missing_claims()
        if not doubtful_pods:
            return
        (result,) = kubectl.run(self.login, kubectl.build_get(names[0]))
        if result.code == 0:
            uids = {Pod(pod).uid for pod in kubectl.parse_list("pods", result, ("Pod",))}
            for key in doubtful_pods:
                if Pod(self.kinds["Pod"][key]).uid not in uids:
                    del self.kinds["Pod"][key]

    def _pods_with_missing_claims(self) -> list[Key]:
        """Return the pending pods with a generated claim that is missing or being deleted."""
        claims = self.kinds.get("ResourceClaim", {})

        def is_missing(claim: Key) -> bool:
            return claim not in claims or bool(Claim(claims[claim]).deletion_timestamp)

        pods = {key: Pod(raw) for key, raw in self.kinds.get("Pod", {}).items()}
        return [
            key
            for key, pod in pods.items()
            if pod.is_pending
            and any(is_missing((key[0], name)) for name in pod.claim_statuses.values() if name)
        ]

    def _add_result(self, call: _Call, result: KubectlResult) -> _Call:
        """Add the objects of one call, and return the resources to read in one namespace.

        If the call failed for a reason other than missing rights, each of its resources is read
        separately, to find the one that failed.
        """
        if not result.is_answer(call.plurals):
            return self._read_separately(call, result)
        self._add_objects(kubectl.parse_list(call.resources[0].plural, result, call.kinds))
        if result.refused_resources:
            self.users.append(result.user)
        refused = [
            resource for resource in call.resources if resource.plural in result.refused_resources
        ]
        self._record_unread(resource for resource in refused if not resource.namespaced)
        for resource in call.resources:  # the kind is known even if it has no objects
            if resource not in refused:
                self.kinds.setdefault(resource.kind, {})
        return _Call(tuple(resource for resource in refused if resource.namespaced), call.options)

    def _read_separately(self, call: _Call, result: KubectlResult) -> _Call:
        """Read each resource of a failed call, and return those to read in one namespace."""
        if len(call.resources) == 1:
            self._record_unserved(call.resources[0], result)
            return _Call(())
        single_calls = [_Call((resource,), call.options) for resource in call.resources]
        results = kubectl.run(self.login, *(single.command() for single in single_calls))
        refused_calls = [
            self._add_result(single, single_result)
            for single, single_result in zip(single_calls, results, strict=True)
        ]
        resources = (resource for refused in refused_calls for resource in refused.resources)
        return _Call(tuple(resources), call.options)

    def _add_namespaced_result(self, call: _Call, result: KubectlResult) -> None:
        if not result.is_answer(call.plurals):
            raise kubectl.command_error(
                f"read {call.resources[0].plural} in namespace {self.namespace}", result
            )
        self._add_objects(kubectl.parse_list(call.resources[0].plural, result, call.kinds))
        refused = result.refused_resources
        self._record_unread(r for r in call.resources if r.plural in refused)
        self._record_unread((r for r in call.resources if r.plural not in refused), self.namespace)

    def _record_unread(self, resources: Iterable[_Resource], namespace: str = "") -> None:
        self.unread.update(
            (Unread(resource.kind, resource.name, namespace), None) for resource in resources
        )

    def _record_unserved(self, resource: _Resource, result: KubectlResult) -> None:
        """Record that this release does not have a resource.

        Raises InputError if reading the resource failed for another reason, or if dractl cannot
        work without it.
        """
        if not result.is_unknown_type:
            raise kubectl.command_error(f"read {resource.plural}", result)
        if resource.is_vital:
            raise InputError(
                f"the cluster serves no {resource.plural}: dynamic resource allocation is off, or"
                " its API group is not enabled",
                hint="kubectl api-resources --api-group=resource.k8s.io lists what it serves",
            )
        self.unserved.add(resource.kind)

    def read_workloads(
        self, words: Sequence[str], scope: str | None, progress: Callable[[str], None]
    ) -> dict[str, str]:
        """Read objects of the custom kinds that the question names, and return these kinds."""
        kinds = {}
        for word in words:
            if KINDS_BY_WORD.get(word.lower()) is None:
                progress(f"reading {word}")
                for value in self.read_optional(word, scope)[:1]:
                    kinds[word.lower()] = View(value).kind
        return kinds

    def read_groups(self, scope: str | None) -> None:
        """Read the objects of the groups that pods name."""
        pods = map(Pod, self.kinds.get("Pod", {}).values())
        for resource in dict.fromkeys(filter(None, map(group_resource, pods))):
            kind = "Workload" if resource.startswith("workloads") else "PodGroup"
            self.read_optional(resource, scope, kind)

    def read_optional(
        self, resource: str, scope: str | None, kind: str = ""
    ) -> list[dict[str, Any]]:
        """Read all objects of a resource; none if the cluster does not have it or forbids it.

        With ``kind``, the state has the kind even without an object, which shows that none exists.
        """
        (result,) = kubectl.run(self.login, kubectl.build_get(resource, scope))
        if result.is_unknown_type:
            return []
        if result.is_forbidden:
            self.notes.append(f"not allowed to read {resource}: ask about their pods one by one")
            self.unread[Unread(kind or resource, resource)] = None
            return []
        if result.code != 0:
            raise kubectl.command_error(f"read {plural_of(resource)}", result)
        objects = kubectl.parse_list(resource, result, (kind,) if kind else ())
        if kind:
            self.kinds.setdefault(kind, {})
        self._add_objects(objects)
        return objects

    def read_schedulers(self, scope: str | None) -> None:
        """Read objects of other schedulers.

        These are the groups that their pending pods name. If a pod names a scheduler that dractl
        does not know, the configurations of second kube-schedulers are read as well.
        """
        pods = [pod for raw in self.kinds.get("Pod", {}).values() if (pod := Pod(raw)).is_pending]
        state = ClusterState(self.kinds)
        names = {pod.scheduler_name for pod in pods} - {DEFAULT_SCHEDULER}
        schedulers = {name: identify(state, name).facts for name in names}
        groups = {
            facts.group.resource
            for pod in pods
            if (facts := schedulers.get(pod.scheduler_name)) is not None
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

    def read_node_pools(self) -> None:
        """Read Karpenter's objects if Karpenter runs the cluster's nodes and a pod with claims
        waits.
        """
        nodes = map(Node, self.kinds.get("Node", {}).values())
        if not self._has_waiting_claims() or not any(POOL_LABEL in node.labels for node in nodes):
            return
        for resource, kind in NODE_POOL_KINDS.items():
            if not self._read_silently(kubectl.build_get(resource, None), resource, kind):
                self.notes.append(
                    f"{resource} cannot be read: dractl cannot tell whether a node comes"
                )
        nominated = kubectl.build_get("events", None, "--field-selector=reason=Nominated")
        self._read_silently(nominated, "events", "Event")

    def read_scale_ups(self) -> None:
        """Read the words of Cluster Autoscaler if a pod with claims waits.

        Cluster Autoscaler may run outside the cluster, such as in a cloud's control plane.
        """
        if not self._has_waiting_claims():
            return
        commands = [
            kubectl.build_get("events", None, f"--field-selector=reason={reason}")
            for reason in SCALE_UP_REASONS
        ]
        for result in kubectl.run(self.login, *commands):
            if result.code == 0:
                self._add_objects(kubectl.parse_list("events", result, ("Event",)))

    def _has_waiting_claims(self) -> bool:
        """Return True if a pod with claims is pending."""
        pods = map(Pod, self.kinds.get("Pod", {}).values())
        return any(pod.is_pending and pod.claim_references for pod in pods)

    def read_driver_objects(self) -> None:
        """Read the drivers' objects about claims, if there are claims that the kubelet cannot
        prepare.
        """
        drivers = list_failing_drivers(ClusterState(self.kinds))
        for kind, resource in list_objects(drivers).items():
            (result,) = kubectl.run(self.login, kubectl.build_get(resource, None))
            if result.is_forbidden:
                self.notes.append(
                    f"not allowed to read {resource}: why a driver waits is not known"
                )
                self.unread[Unread(kind, resource)] = None
            elif result.code == 0:
                self._add_objects(kubectl.parse_list(resource, result, (kind,)))

    def _read_silently(self, command: list[str], resource: str, kind: str) -> bool:
        """Read objects that an answer can do without; return False if they cannot be read."""
        (result,) = kubectl.run(self.login, command)
        if result.code == 0:
            self._add_objects(kubectl.parse_list(resource, result, (kind,)))
        return result.code == 0

    def read_owners(self, scope: str | None, progress: Callable[[str], None]) -> None:
        """Read the custom kinds that own pods, and their owners, for a few generations."""
        visited_kinds = {"Node"}  # a Node owns the pods that its kubelet makes from files
        generation: list[Mapping[str, Any]] = [
            value for key, value in self.kinds.get("Pod", {}).items() if scope in (None, key[0])
        ]
        for _ in range(_MAX_OWNER_GENERATIONS):
            owners = {
                (owner.kind, owner.api_version)
                for value in generation
                for owner in View(value).owners
                if owner.kind not in visited_kinds
            }
            generation = [
                value for kind, _ in owners for value in self.kinds.get(kind, {}).values()
            ]
            unread_owners = sorted(
                (kind, api_version)
                for kind, api_version in owners
                if not self.kinds.get(kind) and not _is_always_read(kind, api_version)
            )
            for kind, api_version in unread_owners:
                progress(f"reading {kind}")
                group, _, version = api_version.rpartition("/")
                resource = ".".join(filter(None, (kind.lower(), version, group)))
                # An owner reference may have any text as its kind, and kubectl would read
                # "--raw=..." as an option.
                if is_safe_name(resource):
                    generation += self.read_optional(resource, scope)
            visited_kinds |= {kind for kind, _ in owners}
            if not generation:
                return

    def _add_objects(self, objects: Sequence[dict[str, Any]]) -> None:
        for value in objects:
            add_object(self.kinds, value, self.namespace)


def _is_always_read(kind: str, api_version: str) -> bool:
    """Return True for a kind that is read in every cluster. If the state lacks such a kind, reading
    it was refused, or it does not exist.
    """
    group = api_version.rpartition("/")[0]
    return any(
        resource.kind == kind and resource.name.partition(".")[2] == group
        for call in _CALLS
        for resource in call.resources
    )


def _parse_release(output: bytes) -> str | None:
    """Parse the API server's version: ``1.37.1``, or only ``1.37`` if the version is longer or
    unusual.
    """
    try:
        server = at(json.loads(output), "serverVersion")
    except (ValueError, RecursionError):
        return None
    major = re.fullmatch(r"\d{1,4}", text_at(server, "major"), re.ASCII)
    minor = re.match(r"\d{1,4}(?!\d)", text_at(server, "minor"), re.ASCII)
    if major is None or minor is None:
        return None
    release, version = f"{major[0]}.{minor[0]}", text_at(server, "gitVersion").removeprefix("v")
    is_usual = version.startswith(f"{release}.") and is_safe_name(version)
    return version if is_usual and len(version) <= _MAX_VERSION_CHARS else release
