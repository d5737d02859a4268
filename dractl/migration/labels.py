"""Labels of GPU Feature Discovery as device selectors.

Source: NVIDIA/k8s-device-plugin, internal/lm/{resource,nvml}.go (1b826ac): the product is NVML's
name with dashes for spaces and without other special characters (sanitise), the memory is in MiB,
and the family follows from the compute capability (getArchFamily). If a node offers MIG devices or
shared GPUs as nvidia.com/gpu, the name ends with ``-MIG-<profile>`` or ``-SHARED``.
"""

import re
from functools import cache

PREFIX = "nvidia.com/"
_PRODUCT, _MEMORY = "nvidia.com/gpu.product", "nvidia.com/gpu.memory"
_FAMILY, _PRESENT = "nvidia.com/gpu.family", "nvidia.com/gpu.present"
_ATTRIBUTES = 'device.attributes["gpu.nvidia.com"]'


@cache
def _products() -> dict[str, str]:
    from dractl.machines.products import products  # few pods select a product

    names = [str(product.facts.get("name", "")) for product in products().values()]
    return {
        "-".join(re.sub(r"[^A-Za-z0-9\-_. ]", "", name).split()): name for name in names if name
    }


def split_product(product: str) -> tuple[str, str | None]:
    """Return a product label's GPU and MIG profile."""
    name, _, profile = product.removesuffix("-SHARED").partition("-MIG-")
    return name, profile or None


def selectors(label: str, value: str) -> tuple[str, ...] | None:
    """Return the selectors that choose the same devices as a node label; None if there is no
    corresponding attribute.
    """
    if label == _PRODUCT:
        name = split_product(value)[0]
        product_name = _products().get(name)
        if product_name:
            return (f'{_ATTRIBUTES}.productName == "{product_name}"',)
        return (f'{_ATTRIBUTES}.productName.replace(" ", "-") == "{name}"',)
    if label == _MEMORY and value.isascii() and value.isdecimal() and len(value) < 10:
        memory = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{}Mi"))'
        return (f"{memory.format(int(value))} >= 0 && {memory.format(int(value) + 1)} < 0",)
    if label == _FAMILY:
        return (f'{_ATTRIBUTES}.architecture.lowerAscii().replace(" ", "-") == "{value}"',)
    if label == _PRESENT and value == "true":
        return ()
    return None


def reason_to_keep(label: str) -> str:
    """Return the reason why a node label remains a node selector."""
    if label == "nvidia.com/gpu.count":
        return f"{label} is kept: a selector judges one device, not how many a node has"
    return (
        f"{label} is kept: gpu.nvidia.com publishes no attribute for it, and GPU Feature Discovery"
        " must keep running"
    )
