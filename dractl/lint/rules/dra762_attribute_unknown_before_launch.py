"""An attribute that is unknown before a node is launched.

## What it does

With `--for karpenter` or `--for cluster-autoscaler`: finds selectors that compare what only a running node knows,
such as UUIDs, serial numbers and MAC addresses; for Karpenter also PCI addresses and roots, there in constraints too.

## Why is this bad

Before it launches a node, Karpenter allocates from the cloud provider's description of the instance type. It compares
an attribute that is unknown by then only if the provider declares which devices share its value. Cluster Autoscaler
assumes that a new node has the devices of the node group's other nodes, so it adds nodes for a claim that none of them
can satisfy.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors:
          - cel: {expression: 'device.attributes["gpu.nvidia.com"].uuid == "GPU-4cf8db2d"'}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors:
          - cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'}
```

## Source

kubernetes-sigs/karpenter designs/dra-scheduling.md (Attribute Bindings) and
pkg/scheduling/dynamicresources/constraint.go (2266468); kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md
(Node provisioning) (55c37cd)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run
    from dractl.objects import Expression


SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("selectors", "matchAttribute")
FOR = ("karpenter", "cluster-autoscaler")
_OF_ONE_DEVICE = frozenset({"uuid", "parentuuid", "serial", "serialnumber", "mac"})
_OF_ONE_NODE = frozenset({"pcibusid", "pciebusid", "pciaddress", "pcieroot", "pciroot"})


def check(run: Run) -> Iterator[Advice]:
    karpenter = "karpenter" in run.consumers
    unknown = _OF_ONE_DEVICE | _OF_ONE_NODE if karpenter else _OF_ONE_DEVICE
    who = "Karpenter" if karpenter else "Cluster Autoscaler"
    for subject, expression in run.expressions:
        for name, start, end in _names(run, expression):
            if name.lower() in unknown:
                yield Advice(
                    subject,
                    expression.path,
                    f"{name} is not known before a node is launched: {who} cannot tell that a new node would have it",
                    help="select by what all nodes of an instance type have in common",
                    offset=start,
                    end=end,
                    confidence="possible",
                )
    for claim in run.claims if karpenter else ():
        for constraint in claim.constraints:
            name = constraint.attribute.rpartition("/")[2]
            if constraint.kind == "matchAttribute" and name.lower() in unknown:
                yield Advice(
                    claim.subject,
                    (*constraint.path, "matchAttribute"),
                    f"{name} is not known before a node is launched: Karpenter launches one only if the cloud provider "
                    "declares which devices of an instance type share it",
                    confidence="possible",
                    severity="info",
                )


def _names(run: Run, expression: Expression) -> Iterator[tuple[str, int, int]]:
    for lookup in run.program(expression).lookups:
        if lookup.kind == "attributes" and lookup.name is not None and not lookup.tested:
            yield lookup.name, lookup.start, lookup.end
