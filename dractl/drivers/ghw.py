"""PCI functions as github.com/jaypipes/ghw lists them, with which drivers find network cards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.topology.machine import PciDevice

# pkg/pci/address: domains of up to five digits.
_LISTED = re.compile(r"1?[0-9a-f]{0,4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")


def is_network(pci: PciDevice) -> bool:
    """Whether the function is listed, as one of class 02, network controller."""
    return (pci.class_code or "").startswith("0x02") and _LISTED.match(pci.bdf) is not None
