"""``tenstorrent.com``: Tenstorrent chips, as the fabric manager's agent lists them.

Source: tenstorrent/tt-dra-driver@1b6fe48 internal/profiles/tenstorrent/tenstorrent.go.
"""

from __future__ import annotations

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Capacity, Catalogue, device_class

NAME = "tenstorrent.com"

# boardNames of the driver, by the number in boardType
_BOARDS = (
    "e75",
    "e150",
    "e300",
    "n150",
    "n300",
    "p100",
    "p150",
    "p300",
    "galaxy",
    "galaxy-wormhole",
    "galaxy-blackhole",
    "quasar",
    "unknown",
)

CATALOGUE = Catalogue(
    title="Tenstorrent chips",
    source="tenstorrent/tt-dra-driver@1b6fe48 internal/profiles/tenstorrent/tenstorrent.go",
    versions=("main",),
    released="main",
    attributes=(
        Attribute("vendor", "string", "always tenstorrent", values=("tenstorrent",)),
        Attribute("chipID", "int", "number of the chip"),
        Attribute("trayID", "int", "number of the tray"),
        Attribute("asicLocation", "int", "place of the chip on its tray"),
        Attribute("boardType", "int", "number of the board type"),
        Attribute("boardName", "string", "name of the board type", values=_BOARDS),
        Attribute("chipArch", "string", "architecture of the chip"),
        Attribute("uniqueID", "string", "unique id of the chip"),
        Attribute("chipCount", "int", "the chip and the remote chips that it serves"),
        Attribute("pciAddress", "string", "PCI address", when="where the agent knows it"),
        Attribute("remoteChipIDs", "string", "numbers of the remote chips, joined by commas", when="with remote chips"),
        Attribute(
            "remoteUniqueIDs", "string", "unique ids of the remote chips, joined by commas", when="with remote chips"
        ),
    ),
    capacities=(Capacity("memory", "memory of the chip and its remote chips", when="where the agent knows it"),),
    notes=(
        "devices are named tt-<chipID>, one per chip that the host reaches; the first of a tray adopts remote ones",
        "newer sources also publish whole trays with shared counters; dractl does not render those",
    ),
)

PROFILE = Agent(
    NAME,
    CATALOGUE,
    (device_class(NAME, f"device.driver == '{NAME}'", extendedResourceName="tenstorrent.com/chip"),),
)
