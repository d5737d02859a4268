"""``npu.rebellions.ai``: Rebellions NPUs, as ``rbln-smi -j`` lists them.

Source: RBLN-SW/rbln-k8s-dra-driver@dd9af1b cmd/npu-kubelet-plugin/state.go (enumerateNpuDevices);
RBLN-SW/rblnlib-go pkg/device, pkg/rblnsmi.
"""

from dractl.drivers.agent import Agent

NAME = "npu.rebellions.ai"


PROFILE = Agent(NAME)
