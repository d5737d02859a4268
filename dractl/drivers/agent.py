"""Drivers whose devices only a vendor's agent knows. Such a driver is rendered from the devices
that a machine file reports.
"""

from collections.abc import Callable
from typing import Any

from dractl.drivers import reported
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.topology.machine import Machine


def keep_as_listed(device: dict[str, Any]) -> dict[str, Any]:
    """Return the device unchanged, as the file has it."""
    return device


class Agent(Known, frozen=True):
    """The profile of a driver whose devices only a vendor's agent knows."""

    shape: Callable[[dict[str, Any]], dict[str, Any]] = keep_as_listed
    """A function that completes a device with the fields that the driver always adds."""

    def present(self, machine: Machine) -> bool:
        return any(item.driver == self.name for item in machine.reported)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        devices = [
            self.shape(device) for device in reported.devices(machine, self.name, self.catalogue)
        ]
        if not devices:
            notice = (
                f"{self.name}: only its own agent knows the devices; list them as `reported` in a"
                " machine file"
            )
            return Inventory(notices=(notice,))
        return Inventory(single_slice(devices))


def make_shareable(device: dict[str, Any], policies: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a device that several claims can hold at once, with the request policies of its
    capacities.

    A policy's ``all`` stands for the whole capacity of the device.
    """
    capacity = {
        name: (
            {**value, "requestPolicy": _fill_in(policies[name], value["value"])}
            if name in policies
            else value
        )
        for name, value in device.get("capacity", {}).items()
    }
    return {
        **device,
        "allowMultipleAllocations": True,
        **({"capacity": capacity} if capacity else {}),
    }


def _fill_in(policy: Any, whole: str) -> Any:
    if isinstance(policy, dict):
        return {key: _fill_in(value, whole) for key, value in policy.items()}
    return whole if policy == "all" else policy


def steps(
    least: str, step: str, *, default: str = "all", most: str | None = "all"
) -> dict[str, Any]:
    """Return the policy of a capacity that is given out in steps between ``least`` and ``most``."""
    valid = {"min": least, **({"max": most} if most is not None else {}), "step": step}
    return {"default": default, "validRange": valid}
