"""Nothing keeps devices of two kinds together.

## What it does

Finds claims that ask for an accelerator and for a NIC or a disk without a constraint over both, if
the machines have some of them on the same PCIe root and some on different ones. Needs `--devices`
or `--hardware`, and counts how many of the possible pairs of devices are aligned.

## Why is this bad

The scheduler takes the first devices that fit, in the order of the slices. Once one device is in
use, this order no longer pairs devices on the same PCIe root: the pod runs, but its data goes
through the CPU, at half the bandwidth.

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.nvidia.com}
    - name: nic
      exactly: {deviceClassName: dranet}
    constraints:
    - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

k8s.io/dynamic-resource-allocation/structured (the first solution is taken);
kubernetes-sigs/dra-driver-nvidia-gpu#213
"""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from dractl.facts.resources import hardware
from dractl.lint.funnels import candidates
from dractl.lint.inventory import SliceDevice
from dractl.lint.model import Advice, Claim, Found, Run
from dractl.objects import Request

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")

_ROOT = "resource.kubernetes.io/pcieRoot"
_ACCELERATORS = ("gpu", "tpu", "neuron", "gaudi")
_PARTNERS = ("nic", "nvme")


def check(run: Run) -> Found:
    if run.devices is None:
        return
    for claim in run.claims:
        devices = [
            (alternative, candidates(run, claim, alternative)) for alternative in claim.alternatives
        ]
        for (request, first), (partner, second) in combinations(devices, 2):
            if _belong_together(first, second) and not _is_bound(claim, request, partner):
                near, every = _choices(first, second, run.devices.homes)
                if 0 < near < every:
                    requests = f"[{request.reference}, {partner.reference}]"
                    yield Advice(
                        claim.subject,
                        (*partner.path,),
                        f"no constraint keeps {request.reference} and {partner.reference} "
                        f"together: of {every} choices of a device for each, {near} "
                        f"{'is' if near == 1 else 'are'} on one PCIe root",
                        help=(
                            f"add the constraint {{requests: {requests}, matchAttribute: {_ROOT}}}"
                        ),
                        confidence="possible",
                    )


def _belong_together(first: list[SliceDevice], second: list[SliceDevice]) -> bool:
    kinds = {_kind(first), _kind(second)}
    return not kinds.isdisjoint(_ACCELERATORS) and not kinds.isdisjoint(_PARTNERS)


def _kind(devices: list[SliceDevice]) -> str:
    """Return the kind of the first device; empty without one."""
    words = (
        word
        for device in devices[:1]
        for word, drivers in hardware().items()
        if device.driver in drivers
    )
    return next(words, "")


def _is_bound(claim: Claim, first: Request, second: Request) -> bool:
    covered = [
        {target.path for target in claim.targets(item.requests)} for item in claim.constraints
    ]
    return any({first.path, second.path} <= paths for paths in covered)


def _choices(
    first: list[SliceDevice], second: list[SliceDevice], homes: Mapping[tuple[str, str], str]
) -> tuple[int, int]:
    """Count the pairs of devices on one machine: first the pairs on one PCIe root, then all pairs.
    Devices without a root do not count.
    """
    first_roots, second_roots = (
        Counter(
            (homes[device.driver, device.pool], root.value)
            for device in devices
            if (root := device.attribute(_ROOT)) is not None
        )
        for devices in (first, second)
    )
    near = sum(
        count * second_roots[root_of_machine] for root_of_machine, count in first_roots.items()
    )
    nodes = [Counter[str](), Counter[str]()]
    for counts, by_root in zip(nodes, (first_roots, second_roots), strict=True):
        for (node, _), count in by_root.items():
            counts[node] += count
    return near, sum(count * nodes[1][node] for node, count in nodes[0].items())
