"""``npu.huawei.com``: Ascend NPUs of openFuyao's plugin. Its source is not available from a public
host.

Source: openFuyao npu-dra-plugin, the constants that it shares with other repositories.
"""

from dractl.drivers.agent import Agent

NAME = "npu.huawei.com"


PROFILE = Agent(NAME)
