"""Values that a described machine cannot know: its site gives them, or the software of the day."""

from dractl.cel import Program, environment
from dractl.model import Target

SITE_ATTRIBUTES = frozenset(
    {
        "dra.net/alias",
        "dra.net/ifName",
        "dra.net/ipv4",
        "dra.net/ipv6",
        "dra.net/mac",
        "dra.nvme/firmwareRev",
        "gpu.amd.com/driverVersion",
        "gpu.amd.com/driverVersionFull",
        "gpu.nvidia.com/cudaDriverVersion",
        "gpu.nvidia.com/driverVersion",
        "neuron.aws.com/draDriverVersion",
        "neuron.aws.com/neuronDriverVersion",
        "npu.rebellions.ai/driverVersion",
        "npu.rebellions.ai/firmwareVersion",
        "sriovnetwork.k8snetworkplumbingwg.io/PFName",
    }
)
"""Addresses, names of interfaces, and versions of software, by the names that drivers publish."""


def site_attributes_of(driver: str) -> frozenset[str]:
    """Return the attributes of a driver's devices that a described machine cannot know."""
    return frozenset(name for name in SITE_ATTRIBUTES if name.startswith(f"{driver}/"))


def list_site_reads(program: Program) -> tuple[str, ...]:
    """Return the names that an expression reads and a described machine cannot know."""
    reads = {lookup.full_name for lookup in program.lookups}
    return tuple(sorted(SITE_ATTRIBUTES.intersection(filter(None, reads))))


def assume_site_values(text: str, names: frozenset[str], target: Target) -> str:
    """Return an expression as it is where every condition on ``names`` holds."""
    env = environment(target, "stored")
    parts = env.compile(text).conjuncts
    kept = [
        part.text
        for part in parts
        if not any(lookup.full_name in names for lookup in env.compile(part.text).lookups)
    ]
    if len(kept) == len(parts):
        return text
    return " && ".join(kept) or "true"
