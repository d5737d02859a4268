"""Labels that the node of a described machine certainly has, and the components that set them.

The kubelet sets the operating system and the architecture, cloud providers the instance type.
Machine files have the labels that Karpenter, GKE and AKS document for an instance type. GPU Feature
Discovery's labels follow from NVML's answers (NVIDIA/k8s-device-plugin@1b826acc6
internal/lm/resource.go: baseLabeler, newArchitectureLabels). Labels that depend on the cluster,
such as the zone, the node pool and the node's name, are not known: a machine file can add them.
"""

import re

from dractl.machines import mig
from dractl.machines.layout import Layout, size
from dractl.machines.products import Product

ARCH, INSTANCE_TYPE = "kubernetes.io/arch", "node.kubernetes.io/instance-type"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""The values of :data:`ARCH`, and the kernel's names for them."""

_SETTERS = {
    "karpenter.k8s.aws/": "Karpenter",
    "karpenter.azure.com/": "Karpenter",
    "cloud.google.com/": "GKE",
    "kubernetes.azure.com/": "AKS",
    "nvidia.com/gpu.present": "NVIDIA GPU Operator",
    "nvidia.com/gpu.": "GPU Feature Discovery",
}
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_OUTSIDE = re.compile(r"[^A-Za-z0-9\-_. ]")


def setter(key: str) -> str | None:
    """Return the component that sets a label; None if every cluster has the label."""
    return next((name for prefix, name in _SETTERS.items() if key.startswith(prefix)), None)


def is_key(key: object) -> bool:
    """Return True if this can be the key of a label (apimachinery/pkg/util/validation
    IsQualifiedName).
    """
    domain, slash, name = str(key).rpartition("/")
    return bool(_NAME.match(name) and (not slash or (len(domain) <= 253 and _DOMAIN.match(domain))))


def is_value(value: object) -> bool:
    """Return True if this can be the value of a label (apimachinery/pkg/util/validation
    IsValidLabelValue).
    """
    return isinstance(value, str) and (not value or _NAME.match(value) is not None)


def labels_of_layout(layout: Layout) -> dict[str, str]:
    """Return the labels of a machine's node."""
    labels = {"kubernetes.io/os": "linux"}
    kind = layout.settings.get("instanceType")
    if kind is not None:
        labels[INSTANCE_TYPE] = kind
    architecture = architecture_of(layout)
    if architecture is not None:
        labels[ARCH] = architecture
    return {**labels, **_gpu_labels(layout), **layout.labels}


def architecture_of(layout: Layout) -> str | None:
    """Return ``amd64`` or ``arm64``: the machine's label, else the architecture of a product that
    exists with one architecture only.
    """
    products = (product.facts.get("arch") for product in layout.products)
    return layout.labels.get(ARCH) or next(filter(None, products), None)


def _gpu_labels(layout: Layout) -> dict[str, str]:
    """Return the labels of GPU Feature Discovery if all NVIDIA GPUs are alike and none is in MIG
    mode.
    """
    gpus = [product for product in layout.products if product.kind == "nvidia"]
    if len({gpu.name for gpu in gpus}) != 1 or mig.is_on(layout.settings.get("mig")):
        return {}
    gpu = gpus[0]
    major, minor = gpu.facts["compute"].split(".")
    labels = {
        "product": "-".join(_OUTSIDE.sub("", gpu.facts["name"]).split()),
        "count": str(len(gpus)),
        "compute.major": major,
        "compute.minor": minor,
        "family": _family(int(major), int(minor)),
        "present": "true",
    }
    memory = _mib(layout, gpu)
    if memory is not None:
        labels["memory"] = str(memory)
    return {f"nvidia.com/gpu.{key}": value for key, value in labels.items()}


def _mib(layout: Layout, gpu: Product) -> int | None:
    asked = layout.settings.get("gpuMemory")
    total = size(asked) if asked is not None else gpu.memory_bytes
    return total >> 20 if total is not None else None


def _family(major: int, minor: int) -> str:
    """Return the family of an architecture (getArchFamily in resource.go)."""
    if major == 7:
        return "volta" if minor < 5 else "turing"
    if major == 8:
        return "ampere" if minor < 9 else "ada-lovelace"
    return {9: "hopper", 10: "blackwell", 12: "blackwell", 13: "rubin"}.get(major, "undefined")
