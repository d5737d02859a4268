"""``npu.furiosa.ai``: FuriosaAI NPUs. The driver is not open source: its documents are the only
source.

Source: image furiosaai/furiosa-dra-driver:2026.1.1; furiosa-ai/helm-charts@cb66c5b; FuriosaAI's
installation guide.
"""

from dractl.drivers.agent import Agent

NAME = "npu.furiosa.ai"


PROFILE = Agent(NAME)
