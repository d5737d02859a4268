"""The requirements of the Kubernetes AI Conformance programme that a cluster's objects can show.

github.com/cncf/k8s-ai-conformance, docs/AIConformance-1.35.md: "dra_support" (MUST: the DRA APIs)
and "driver_runtime_management" (SHOULD). The checklist of 1.37 has no entry for the APIs any more,
because every conformant cluster serves them by then.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from dractl.model.abbreviation import abbreviate
from dractl.objects import newest, slice_of
from dractl.probes.services import Check
from dractl.views import Node, View

_DRA_RESOURCES = ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")

# Extended resources and labels of nodes with accelerators.
_ACCELERATOR_RESOURCES = (
    "nvidia.com/",
    "amd.com/",
    "gpu.intel.com/",
    "habana.ai/",
    "google.com/tpu",
    "aws.amazon.com/neuron",
)
_ACCELERATOR_LABELS = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_1002.present",
    "feature.node.kubernetes.io/pci-1200_1da3.present",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
)


def cluster_checks(
    served: Iterable[str],
    classes: Iterable[Mapping[str, Any]],
    slices: Iterable[Mapping[str, Any]],
    nodes: Iterable[Mapping[str, Any]],
) -> tuple[Check, ...]:
    """Return the checks of a cluster.

    ``served`` are the resources of resource.k8s.io/v1; the other arguments are objects as served.
    """
    slices = list(slices)
    return (
        _check_api(set(served)),
        _check_classes(list(classes)),
        *_check_pools(slices),
        *_check_nodes(slices, list(nodes)),
    )


def _check_api(served: set[str]) -> Check:
    missing = [kind for kind in _DRA_RESOURCES if kind not in served]
    if not missing:
        return Check("resource.k8s.io/v1", "ok", f"serves {', '.join(_DRA_RESOURCES)}")
    advice = "upgrade to Kubernetes 1.34 or later, or enable the API with --runtime-config"
    return Check("resource.k8s.io/v1", "missing", f"not served: {', '.join(missing)}", advice)


def _check_classes(classes: list[Mapping[str, Any]]) -> Check:
    names = sorted(View(device_class).name for device_class in classes)
    if names:
        return Check("DeviceClasses", "ok", abbreviate(names, 6))
    return Check(
        "DeviceClasses", "missing", "none", "install a DRA driver: drivers come with their classes"
    )


def _check_pools(slices: list[Mapping[str, Any]]) -> Iterable[Check]:
    """Check that all slices of each pool's newest generation are there."""
    by_driver: dict[str, list[str]] = defaultdict(list)
    pools = newest(map(slice_of, slices), lambda item: item.identity)
    for (driver, name), members in sorted(pools.items()):
        announced = max(item.announced for item in members)
        state = (
            f"{name} ({len(members)} of {announced} slices)" if len(members) != announced else ""
        )
        by_driver[driver].append(state)
    if not by_driver:
        yield Check(
            "pools",
            "missing",
            "no ResourceSlice in the cluster",
            "install a DRA driver on nodes with devices",
        )
    for driver, states in by_driver.items():
        broken = [state for state in states if state]
        if broken:
            advice = (
                "check the driver's pod on that node: the scheduler does not use incomplete pools"
            )
            yield Check(
                "pools", "missing", f"{driver}: incomplete: {', '.join(broken[:5])}", advice
            )
        else:
            plural = "" if len(states) == 1 else "s"
            yield Check("pools", "ok", f"{driver}: {len(states)} complete pool{plural}")


def _check_nodes(
    slices: list[Mapping[str, Any]], nodes: list[Mapping[str, Any]]
) -> Iterable[Check]:
    publishing_nodes = {slice_of(item).node for item in slices}
    silent_nodes = []
    accelerated_nodes = 0
    for node in map(Node, nodes):
        if _has_accelerator(node):
            accelerated_nodes += 1
            if node.name not in publishing_nodes:
                silent_nodes.append(node.name)
    if silent_nodes:
        advice = "check that the DRA driver's DaemonSet selects and tolerates these nodes"
        shown = ", ".join(silent_nodes[:5]) + (" ..." if len(silent_nodes) > 5 else "")
        yield Check(
            "nodes with accelerators",
            "missing",
            f"{len(silent_nodes)} of {accelerated_nodes} publish nothing: {shown}",
            advice,
        )
    elif accelerated_nodes:
        yield Check("nodes with accelerators", "ok", f"all {accelerated_nodes} publish devices")
    else:
        advice = "install node-feature-discovery or a device plugin, which label such nodes"
        yield Check(
            "nodes with accelerators", "unknown", "no node is labelled as having any", advice
        )


def _has_accelerator(node: Node) -> bool:
    """Return True if a node has resources of a device plugin, or labels, for an accelerator."""
    resources = [name for name, count in node.capacity.items() if str(count) != "0"]
    return any(name.startswith(_ACCELERATOR_RESOURCES) for name in resources) or any(
        node.labels.get(label, "false") not in ("false", "") for label in _ACCELERATOR_LABELS
    )
