"""PCIe links that run below the capability of both of their ends.

A link has two ends: the function, and the port above it. A card with 16 lanes cannot be faster in a
slot with 8; but if it uses 8 lanes in a slot with 16, it is not seated well, or a lane is broken.
"""

from msgspec import Struct

from dractl.topology.levels import endpoints
from dractl.topology.machine import Machine, PciDevice


class SlowLink(Struct, frozen=True):
    """A link that is slower than the slower of its two ends allows."""

    device: PciDevice
    width: int
    possible_width: int
    """The maximum width of the narrower end, in lanes."""
    speed: float
    possible_speed: float
    """The maximum speed of the slower end, in GT/s."""
    port: str | None = None
    """The address of the port above; None if the tree does not show it."""

    @property
    def narrow(self) -> bool:
        """True if lanes are missing, as opposed to speed only."""
        return self.width < self.possible_width

    @property
    def text(self) -> str:
        """Describe the slow link and what to check."""
        gpu = self.device.kind == "gpu"
        if self.narrow:
            rate = f"x{self.width}, although the device and its slot can do x{self.possible_width}"
        else:
            rate = (
                f"{self.speed:g} GT/s, although the device and its slot can do"
                f" {self.possible_speed:g} GT/s"
            )
        # nvidia-smi(1), "PCIe Generation": the current link generation and width may be reduced
        # when the GPU is idle.
        advice = (
            "check again under load: idle GPUs may slow their link"
            if gpu
            else "reseat the card or check the slot"
        )
        return f"the PCIe link runs at {rate}; {advice}"


def slow_links(machine: Machine) -> tuple[SlowLink, ...]:
    """Return the slow links of GPUs, NICs, NVMe controllers and accelerators."""
    links = (_slow(device, machine) for device in endpoints(machine))
    return tuple(link for link in links if link is not None)


def has_link(device: PciDevice) -> bool:
    """Return True if the kernel shows the width and speed of the function's link."""
    return device.link_width is not None and device.link_speed is not None


def _slow(device: PciDevice, machine: Machine) -> SlowLink | None:
    if device.link_width is None or device.link_speed is None:
        return None
    port = machine.pci.get(device.bridges[-1]) if device.bridges else None
    ends = (device, port) if port is not None else (device,)
    widths = [end.max_link_width for end in ends if end.max_link_width]
    speeds = [end.max_link_speed for end in ends if end.max_link_speed]
    width, speed = min(widths, default=device.link_width), min(speeds, default=device.link_speed)
    if device.link_width >= width and device.link_speed >= speed:
        return None
    return SlowLink(
        device, device.link_width, width, device.link_speed, speed, port.bdf if port else None
    )
