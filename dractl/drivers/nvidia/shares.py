"""``gpu.nvidia.com`` with ``--consumable-shares``: GPUs and MIG devices that several claims hold at
once.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{consumable_shares,main}.go
(KEP 5075).
"""

from typing import Any

from dractl.drivers.nvidia.names import NAME
from dractl.drivers.profile import Options
from dractl.drivers.values import binary_quantity, decimal_quantity
from dractl.errors import UsageError
from dractl.model import Quantity

_STEP = 1 << 20
_MAX_DIGITS = 9


def parse_shares(options: Options) -> str | None:
    """Return the option's value: ``memory``, ``unlimited`` or a number; None if it is not set or
    ``disabled``.
    """
    value = options.setting(NAME, "consumableShares") or "disabled"
    number = value.isdecimal() and len(value) <= _MAX_DIGITS and int(value) > 0
    if value not in ("disabled", "memory", "unlimited") and not number:
        raise UsageError(
            f"{NAME}: consumableShares must be disabled, memory, unlimited or a positive number,"
            f" not {value!r}"
        )
    if value == "disabled":
        return None
    return value


def apply_shares(device: dict[str, Any], shares: str) -> dict[str, Any]:
    """Return the device of applyConsumableShares: its memory is given out in steps of a MiB, and it
    has ``shares`` if they are counted.
    """
    shareable = {**device, "allowMultipleAllocations": True}
    capacity = device.get("capacity", {})
    if "memory" not in capacity:
        return shareable
    size = binary_quantity(Quantity.parse(capacity["memory"]["value"]).value() // _STEP * _STEP)
    step = binary_quantity(_STEP)
    default, least = (size, step) if shares == "memory" else ("0", "0")
    policy = {"default": default, "validRange": {"min": least, "max": size, "step": step}}
    shareable["capacity"] = {**capacity, "memory": {"value": size, "requestPolicy": policy}}
    if shares.isdecimal():
        count = decimal_quantity(int(shares))
        policy = {"default": "1", "validRange": {"min": "1", "max": count, "step": "1"}}
        shareable["capacity"]["shares"] = {"value": count, "requestPolicy": policy}
    return shareable
