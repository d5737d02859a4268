"""``npu.furiosa.ai``: FuriosaAI NPUs. The driver is not open source: its documents are the only source.

Source: image furiosaai/furiosa-dra-driver:2026.1.1; furiosa-ai/helm-charts@cb66c5b; FuriosaAI's installation guide.
"""

from __future__ import annotations

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Catalogue, device_class

NAME = "npu.furiosa.ai"

CATALOGUE = Catalogue(
    title="FuriosaAI NPUs (partly known)",
    source="furiosa-ai/helm-charts@cb66c5b, FuriosaAI's installation guide",
    versions=("2026.1",),
    released="2026.1",
    complete=False,
    attributes=(Attribute("uuid", "string", "UUID in upper case, without a prefix"),),
    notes=(
        "nothing more is public: the source is closed",
        "the guide says that NUMA node, driver and firmware version can be selected, but not by which attributes",
        "devices are named npuN; the name of the DeviceClass can be configured",
    ),
)

PROFILE = Agent(NAME, CATALOGUE, (device_class(NAME, f"device.driver == '{NAME}'"),))
