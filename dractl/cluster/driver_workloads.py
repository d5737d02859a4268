"""The workloads that a DRA driver consists of: its kubelet plugin on each node, its controller, and
the Deployments that it makes.

A driver is recognised by its own name in a pod template (an argument, an environment variable, the
folder of its socket), or else by its image in the facts, but never by the name of a DaemonSet
alone. The workloads of an unknown driver are searched for on the nodes for which it publishes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from dractl.cluster.state import ClusterState
from dractl.facts.autoscalers import is_aws_type
from dractl.facts.drivers import driver as facts_about, names
from dractl.facts.images import images_of
from dractl.views import Node, Pod, Workload

_PLUGIN_WORDS = frozenset({"dra"})
"""Words in the name or labels of a DaemonSet by which its authors call it a DRA driver."""
_FAILURES = frozenset({"FailedPrepareDynamicResources", "Failed"})
"""Reasons of the kubelet's events about pods whose claims it cannot prepare, or whose containers it
cannot start.
"""
_WORD = re.compile(r"[a-z0-9]+")
_PCI_VENDORS = {"nvidia": "10de", "amd": "1002", "intel": "8086", "huawei": "19e5"}
"""The PCI vendor ids in the labels of node-feature-discovery (pci-10de.present)."""


_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_ACCELERATOR_DRIVER = re.compile(r"(?:gpu|tpu|npu|neuron|gaudi|compute-domain)\.")
_ACCELERATED_FAMILY = re.compile(r"(?:f|g|p|inf|trn|dl|vt)\d")
"""The beginning of AWS's instance types with accelerators (EC2 naming conventions)."""


class DriverWorkloads(Struct, frozen=True):
    """The workloads of a driver, as far as the input has them."""

    driver: str
    daemon_sets: tuple[Workload, ...] = ()
    """The DaemonSets that run the driver's kubelet plugin."""
    deployments: tuple[Workload, ...] = ()
    """The driver's controller, and the Deployments that the driver creates for claims."""
    pods: tuple[Pod, ...] = ()
    """The pods of the driver's kubelet plugin."""
    is_inferred: bool = False
    """True if no object names the driver, but the DaemonSet runs on the nodes with the driver's
    devices, and the DaemonSet's name or labels call it a DRA driver.
    """

    @property
    def are_known(self) -> bool:
        """True if the input has any workload of the driver."""
        return bool(self.daemon_sets or self.pods)

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return the pods of the kubelet plugin on a node; pods that are not being deleted come
        first.
        """
        pods = [pod for pod in self.pods if node in (pod.node_name, pod.target_node)]
        return tuple(sorted(pods, key=lambda pod: bool(pod.deletion_timestamp)))


def find_driver_workloads(
    state: ClusterState, driver: str, publishing_nodes: Collection[str]
) -> DriverWorkloads:
    """Find the workloads of a driver. ``publishing_nodes`` are the nodes of its slices."""
    daemon_sets = tuple(_workloads(state, "DaemonSet"))
    plugins = _plugins_by_name(driver, daemon_sets) or _plugins_by_image(driver, daemon_sets)
    deployments = tuple(
        deployment
        for deployment in _workloads(state, "Deployment")
        if _has_image(driver, deployment.template_pod)
    )
    pods = _pods_of(state, plugins) or tuple(
        pod
        for pod in state.pods.values()
        if (pod.controller is None or pod.controller.kind != "ReplicaSet")
        and not _is_made_for_claims(driver, pod.labels)
        and (_names_driver(driver, pod) or _has_image(driver, pod))
    )
    if plugins or pods:
        return DriverWorkloads(driver, plugins, deployments, pods)
    inferred = tuple(
        daemon_set
        for daemon_set in daemon_sets
        if publishing_nodes
        and _calls_itself_driver(daemon_set)
        and not any(_has_image(name, daemon_set.template_pod) for name in names())
        and {pod.node_name for pod in _pods_of(state, (daemon_set,))} >= {*publishing_nodes}
    )
    pods = _pods_of(state, inferred)
    return DriverWorkloads(driver, inferred, deployments, pods, is_inferred=bool(inferred))


def is_equipped(node: Node, driver: str) -> bool:
    """Return True if the labels of a node name the vendor of a driver's devices.

    Labels about CPUs do not count, and neither do labels which say that something is absent.
    """
    vendor = driver.removesuffix(".com").rpartition(".")[2].lower()
    words = {vendor, _PCI_VENDORS.get(vendor, vendor)}
    return any(
        not words.isdisjoint(_WORD.findall(f"{key}={value}".lower()))
        for key, value in node.labels.items()
        if "cpu" not in key and str(value).lower() not in ("false", "0", "no", "none")
    )


def lacks_hardware(node: Node, driver: str) -> bool:
    """Return True if the instance type of a node shows that it has no accelerator for a driver.

    AWS names the families of instances with accelerators f, g, p, inf, trn, dl and vt.
    """
    instance_type = str(node.labels.get(_INSTANCE_TYPE, ""))
    return (
        _ACCELERATOR_DRIVER.match(driver) is not None
        and is_aws_type(instance_type)
        and _ACCELERATED_FAMILY.match(instance_type) is None
    )


def list_failing_drivers(state: ClusterState) -> tuple[str, ...]:
    """Return the drivers of claims whose pods the kubelet cannot start, according to the kubelet's
    events.
    """
    failing = {
        (key[0], event.regarding.name)
        for key, event in state.events.items()
        if event.reason in _FAILURES and event.regarding.kind == "Pod"
    }
    drivers = (
        device.driver
        for pod in sorted(failing)
        for key in state.claims_of_pod(pod)
        for device in state.claim(key).allocated_devices
    )
    return tuple(dict.fromkeys(drivers))


def list_objects(drivers: Iterable[str]) -> dict[str, str]:
    """Return the custom kinds whose objects explain faults of drivers, with their resources."""
    return {
        kind: resource
        for driver in drivers
        if driver in names()
        for kind, resource in facts_about(driver).objects.items()
    }


def describe_workload(workload: Workload) -> str:
    """Return ``DaemonSet namespace/name``."""
    return f"{workload.kind or 'DaemonSet'} {'/'.join(filter(None, workload.key))}"


def _workloads(state: ClusterState, kind: str) -> Iterator[Workload]:
    for key, raw in state.objects(kind).items():
        yield Workload(raw, key)


def _plugins_by_name(driver: str, daemon_sets: tuple[Workload, ...]) -> tuple[Workload, ...]:
    return tuple(one for one in daemon_sets if _names_driver(driver, one.template_pod))


def _plugins_by_image(driver: str, daemon_sets: tuple[Workload, ...]) -> tuple[Workload, ...]:
    return tuple(
        one
        for one in daemon_sets
        if _has_image(driver, one.template_pod)
        and not _is_made_for_claims(driver, one.template_pod.labels)
    )


def _pods_of(state: ClusterState, daemon_sets: tuple[Workload, ...]) -> tuple[Pod, ...]:
    owners = {(one.key[0], one.key[1]) for one in daemon_sets}
    return tuple(
        pod
        for key, pod in state.pods.items()
        if pod.controller is not None
        and pod.controller.kind == "DaemonSet"
        and (key[0], pod.controller.name) in owners
    )


def _is_made_for_claims(driver: str, labels: Mapping[str, Any]) -> bool:
    """Return True if a driver makes pods with these labels for its claims."""
    return driver in names() and not labels.keys().isdisjoint(facts_about(driver).made_pods)


def _has_image(driver: str, pod: Pod) -> bool:
    return not pod.image_names.isdisjoint(images_of(driver))


def _names_driver(driver: str, pod: Pod) -> bool:
    """Return True if a pod gets the driver's name, or mounts the folder of the driver's socket."""
    pattern = _token(driver)
    values = (value for _, value in pod.environment)
    return any(pattern.search(text) for text in (*pod.arguments, *values, *pod.host_paths))


@cache
def _token(driver: str) -> re.Pattern[str]:
    """Return a pattern that finds the driver's name as a whole, but not as a part of another
    driver's name.
    """
    return re.compile(rf"(?<![\w.-]){re.escape(driver)}(?![\w-]|\.\w)")


def _calls_itself_driver(daemon_set: Workload) -> bool:
    texts = [daemon_set.key[1], *daemon_set.template_pod.labels.values()]
    texts += daemon_set.labels.values()
    words = {word for text in texts if isinstance(text, str) for word in re.split(r"[-._/]", text)}
    return not words.isdisjoint(_PLUGIN_WORDS)
