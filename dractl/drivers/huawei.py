"""``npu.huawei.com``: Ascend NPUs of openFuyao's plugin. Its source is not available from a public host.

Source: openFuyao npu-dra-plugin, the constants that it shares with other repositories.
"""

from __future__ import annotations

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Catalogue

NAME = "npu.huawei.com"
_UNKNOWN = "under conditions that are not public"

CATALOGUE = Catalogue(
    title="Huawei Ascend NPUs (openFuyao, partly known)",
    source="openFuyao npu-dra-plugin, shared constants",
    versions=("main",),
    released="main",
    complete=False,
    attributes=(
        Attribute("numaNode", "int", "NUMA node", when=_UNKNOWN),
        Attribute("vnpuMode", "string", "how the NPU is divided", when=_UNKNOWN, values=("full", "soft", "hard")),
        Attribute(
            "schedulingPolicy",
            "string",
            "how its shares are scheduled",
            when=_UNKNOWN,
            values=("elastic", "fixed-share", "best-effort"),
        ),
    ),
    notes=("nothing more is public: names of devices, other attributes, capacities and classes are not known",),
)

PROFILE = Agent(NAME, CATALOGUE)
