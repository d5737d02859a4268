"""``npu.huawei.com``: Ascend NPUs of openFuyao's plugin, as quotations of its commits show them.

Source: openFuyao/npu-dra-plugin@a091c786 Ascend-npu-dra-plugin/internal/profiles/npu.
"""

from dractl.drivers.agent import Agent

NAME = "npu.huawei.com"


PROFILE = Agent(NAME)
