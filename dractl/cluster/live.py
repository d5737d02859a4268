"""A live cluster as a :class:`ClusterState`, read through kubectl in a few parallel calls.

What the verdict depends on must be readable; what only adds to the answer may be forbidden, and a note then says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.cluster import kubectl
from dractl.cluster.kinds import KINDS
from dractl.cluster.kubectl import Login, Result
from dractl.cluster.podgroups import resource_of
from dractl.cluster.state import ClusterState, add, maps_at, text_at
from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.cluster.state import Key

__all__ = ["Live", "Login", "read"]


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster's objects. ``namespace`` is that of the kubeconfig, ``notes`` name what may not be read, and ``kinds``
    maps the words of the question to the kinds that the cluster has for them."""

    state: ClusterState
    namespace: str
    notes: tuple[str, ...]
    kinds: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Resource:
    """One resource to read. ``vital``: there is no verdict without it; ``without``: what the answer lacks else."""

    name: str
    without: str = ""
    namespaced: bool = True

    @property
    def vital(self) -> bool:
        return not self.without

    @property
    def plural(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class _Call:
    """Resources that one kubectl reads together."""

    resources: tuple[_Resource, ...]
    options: tuple[str, ...] = ()


_OTHER_PODS = "pods of other namespaces: what they use on a node is not counted"
# Warnings of the scheduler repeat the pod's condition; those of kubelets about containers have nothing to do with DRA.
_NOISE = ("FailedScheduling", "BackOff", "Unhealthy", "FailedMount")
_CALLS = (
    _Call(
        (
            _Resource("resourceslices.resource.k8s.io", namespaced=False),
            _Resource("resourceclaims.resource.k8s.io"),
            _Resource("deviceclasses.resource.k8s.io", namespaced=False),
            _Resource("resourceclaimtemplates.resource.k8s.io", "templates"),
        )
    ),
    _Call(
        (
            _Resource("nodes", namespaced=False),
            _Resource("pods", _OTHER_PODS),
            _Resource("namespaces", "labels of namespaces", namespaced=False),
            _Resource("resourcequotas", "quotas"),
            _Resource("limitranges", "LimitRanges"),
            _Resource("persistentvolumeclaims", "volume claims"),
            _Resource("persistentvolumes", "volumes", namespaced=False),
            _Resource("storageclasses.storage.k8s.io", "StorageClasses", namespaced=False),
            _Resource("priorityclasses.scheduling.k8s.io", "PriorityClasses", namespaced=False),
            _Resource("poddisruptionbudgets.policy", "PodDisruptionBudgets"),
        )
    ),
    _Call(
        (
            _Resource("deployments.apps", "Deployments"),
            _Resource("replicasets.apps", "ReplicaSets"),
            _Resource("statefulsets.apps", "StatefulSets"),
            _Resource("daemonsets.apps", "DaemonSets"),
            _Resource("jobs.batch", "Jobs"),
            _Resource("cronjobs.batch", "CronJobs"),
        )
    ),
    _Call((_Resource("devicetaintrules.resource.k8s.io", "DeviceTaintRules", namespaced=False),)),
    _Call(
        (_Resource("events", "events"),),
        (f"--field-selector=type=Warning,{','.join(f'reason!={reason}' for reason in _NOISE)}",),
    ),
    _Call((_Resource("events", "events"),), ("--field-selector=reason=DeviceTaintManagerEviction",)),
)
_VERSION = ("version", "-o", "json")
_NAMESPACE = ("config", "view", "--minify", "-o", "jsonpath={..namespace}")
_GENERATIONS = 4  # of owners between a workload and its pods: RayJob, RayCluster; CronJob, Job


def read(
    login: Login,
    *,
    namespace: str | None = None,
    everywhere: bool = False,
    workloads: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Live:
    """Reads a cluster. ``namespace`` is that of the question, used where listing all namespaces is forbidden, or
    ``everywhere``; ``workloads`` are words for custom kinds that are asked about (``lws``): these are read too, and the
    kinds between them and their pods. ``tell`` is called with what is being read.

    Raises InputError, with what to do, if kubectl is missing, cannot log in, or may not read what the verdict needs.
    """
    tell("reading the cluster")
    calls = [kubectl.get_command(",".join(r.name for r in call.resources), None, *call.options) for call in _CALLS]
    version, configured, *results = kubectl.run(login, _VERSION, _NAMESPACE, *calls)
    if version.code != 0 and kubectl.unreachable(version.errors):
        raise kubectl.failed("reach the cluster", version.errors)
    where = namespace or configured.output.decode(errors="replace").strip() or "default"
    reading = _Reading(login, where, {}, [], [])
    for call, result in zip(_CALLS, results, strict=True):
        reading.take(call, result)
    scope = None if everywhere else where
    named: dict[str, str] = {}
    for word in workloads:
        if KINDS.get(word.lower()) is not None:
            continue
        tell(f"reading {word}")
        found = reading.optional(word, scope)
        named |= {word.lower(): text_at(item, "kind") for item in found[:1]}
    reading.owners(scope, tell)
    for resource in dict.fromkeys(filter(None, map(resource_of, reading.kinds.get("Pod", {}).values()))):
        reading.optional(resource, scope)
    refused = [f"not allowed to read {', '.join(dict.fromkeys(reading.refused))}"] if reading.refused else []
    notes = (*refused, *dict.fromkeys(reading.notes))
    return Live(ClusterState(reading.kinds, release=_release(version.output)), where, notes, named)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What has been read so far, and what may not be read (``refused``); they grow with each answer."""

    login: Login
    namespace: str
    kinds: dict[str, dict[Key, Mapping[str, Any]]]
    refused: list[str]
    notes: list[str]

    def take(self, call: _Call, result: Result) -> None:
        """Adds what one call printed; if it failed, asks for each of its resources alone to learn which."""
        if result.code == 0:
            self._add(kubectl.items(call.resources[0].plural, result))
            return
        results = [result]
        if len(call.resources) > 1:
            commands = [kubectl.get_command(resource.name, None, *call.options) for resource in call.resources]
            results = kubectl.run(self.login, *commands)
        for resource, one in zip(call.resources, results, strict=True):
            self._take_one(resource, one, call.options)

    def _take_one(self, resource: _Resource, result: Result, options: tuple[str, ...]) -> None:
        if result.unknown_type:
            if resource.vital:
                raise InputError(
                    f"the cluster serves no {resource.plural}: dynamic resource allocation is off, or its API group "
                    "is not enabled",
                    hint="kubectl api-resources --api-group=resource.k8s.io lists what it serves",
                )
            return  # this release does not have the resource
        if result.forbidden and not resource.vital:
            self.refused.append(resource.without)
            if not resource.namespaced:
                return
            (result,) = kubectl.run(self.login, kubectl.get_command(resource.name, self.namespace, *options))
            if result.forbidden:
                return
        if result.forbidden:
            raise _forbidden(resource, result)
        if result.code != 0:
            raise kubectl.failed(f"read {resource.plural}", result.errors)
        self._add(kubectl.items(resource.plural, result))

    def optional(self, resource: str, scope: str | None) -> list[dict[str, Any]]:
        """Reads all objects of a resource; none if the cluster does not have it or it may not be read."""
        (result,) = kubectl.run(self.login, kubectl.get_command(resource, scope))
        if result.unknown_type:
            return []
        if result.forbidden:
            self.notes.append(f"not allowed to read {resource}: ask about their pods one by one")
            return []
        if result.code != 0:
            raise kubectl.failed(f"read {resource.partition('.')[0]}", result.errors)
        found = kubectl.items(resource, result)
        self._add(found)
        return found

    def owners(self, scope: str | None, tell: Callable[[str], None]) -> None:
        """Reads the custom kinds that own pods, and their owners, for a few generations."""
        known = {"Node"}  # owns the pods that its kubelet makes from files
        newest = [value for key, value in self.kinds.get("Pod", {}).items() if scope in (None, key[0])]
        for _ in range(_GENERATIONS):
            owners = {
                (text_at(owner, "kind"), text_at(owner, "apiVersion"))
                for value in newest
                for owner in maps_at(value, "metadata", "ownerReferences")
            }
            wanted = sorted(pair for pair in owners if pair[0] not in known and not self.kinds.get(pair[0]))
            newest = [value for kind, _ in owners if kind not in known for value in self.kinds.get(kind, {}).values()]
            for kind, api_version in wanted:
                tell(f"reading {kind}")
                group, _, version = api_version.rpartition("/")
                newest += self.optional(".".join(filter(None, (kind.lower(), version, group))), scope)
            known |= {kind for kind, _ in owners}
            if not newest:
                return

    def _add(self, objects: Sequence[dict[str, Any]]) -> None:
        for item in objects:
            add(self.kinds, item, self.namespace)


def _forbidden(resource: _Resource, result: Result) -> InputError:
    error = kubectl.failed(f"read {resource.plural}", result.errors)
    needed = ",".join(r.name for call in _CALLS for r in call.resources if r.vital)
    return InputError(
        error.message,
        hint="the verdict needs these in the whole cluster; an administrator can allow it: kubectl create clusterrole "
        f"dractl --verb=get,list --resource={needed},pods",
    )


def _release(output: bytes) -> str | None:
    try:
        server = json.loads(output).get("serverVersion", {})
    except (ValueError, AttributeError):
        return None
    major, minor = text_at(server, "major"), re.match(r"\d+", text_at(server, "minor"))
    return f"{major}.{minor[0]}" if major.isdigit() and minor else None
