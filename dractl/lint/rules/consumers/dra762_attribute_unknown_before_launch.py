"""An attribute that is unknown before a node is launched.

## What it does

With `--for karpenter` or `--for cluster-autoscaler`: finds selectors that compare what only a
running node knows, such as UUIDs, serial numbers and MAC addresses; for Karpenter also PCI
addresses and roots, there in constraints too. For drivers whose devices Karpenter on AWS describes
(from 1.15 on), finds every attribute that is not in its list, unless an instance type serves the
claim nevertheless, as with a guarded selector. Also finds pods that get such devices through an
extended resource. DRA773 finds the other claims that Karpenter serves with no instance type.

## Why is this bad

Before it launches a node, Karpenter allocates from the cloud provider's description of the instance
type. It compares an attribute that is unknown by then only if the provider declares which devices
share its value. Cluster Autoscaler assumes that a new node has the devices of the node group's
other nodes, so it adds nodes for a claim that none of them can satisfy.

## Example

```diff
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
-          - cel: {expression: 'device.attributes["gpu.nvidia.com"].uuid == "GPU-4cf8db2d"'}
+          - cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'}
```

## Source

aws/karpenter-provider-aws website/content/en/preview/tasks/dra.md (the pack of facts,
consumers.json); kubernetes-sigs/karpenter designs/dra-scheduling.md (Attribute Bindings) and
pkg/scheduling/dynamicresources/constraint.go (2266468); kubernetes/autoscaler
cluster-autoscaler/docs/dra_support.md (Node provisioning) (55c37cd)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dractl.facts.consumers import consumers
from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.provisioning import class_claim, is_served
from dractl.objects import Expression, items, mapping, text

if TYPE_CHECKING:  # only needed for files with selectors
    from dractl.cel.lookups import Lookup

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "Pod template")
FOR = ("karpenter", "cluster-autoscaler")
_OF_ONE_DEVICE = frozenset({"uuid", "parentuuid", "serial", "serialnumber", "mac"})
_OF_ONE_NODE = frozenset({"pcibusid", "pciebusid", "pciaddress", "pcieroot", "pciroot"})
_HELP = "select by what all nodes of an instance type have in common"


def check(run: Run) -> Found:
    karpenter = "karpenter" in run.consumers
    unknown = _OF_ONE_DEVICE | _OF_ONE_NODE if karpenter else _OF_ONE_DEVICE
    autoscaler = "Karpenter" if karpenter else "Cluster Autoscaler"
    for subject, expression in run.expressions:
        for lookup, driver in _lookups(run, expression):
            support = consumers()["karpenter"].drivers.get(driver) if karpenter else None
            if (
                support.selectors.count(lookup.full_name)
                if support
                else str(lookup.name).lower() not in unknown
            ):
                continue
            if support and _is_served(run, subject):
                continue
            name = lookup.name
            knows = f"; of {driver} it compares {', '.join(support.selectors)}" if support else ""
            yield Advice(
                subject,
                expression.path,
                f"{name} is not known before a node is launched: {autoscaler} cannot tell that a "
                "new node would have it",
                help=_HELP + knows,
                span=lookup.span,
                confidence="possible",
            )
    if karpenter:
        yield from _constraints(run, unknown)
        yield from _advise_extended_resources(run)


def _constraints(run: Run, unknown: frozenset[str]) -> Found:
    drivers = consumers()["karpenter"].drivers
    accepted = {
        name for driver in drivers.values() for name in (*driver.selectors, *driver.constraints)
    }
    for claim, constraint in run.constraints:
        name = constraint.attribute.rpartition("/")[2]
        listed = (
            constraint.attribute.partition("/")[0] in drivers
            and constraint.attribute not in accepted
        )
        if (
            constraint.kind == "matchAttribute"
            and (name.lower() in unknown or listed)
            and is_served(run, [claim]) is None  # DRA773 reports what is known to fail
        ):
            yield Advice(
                claim.subject,
                (*constraint.path, "matchAttribute"),
                f"{name} is not known before a node is launched: Karpenter launches one only if "
                "the cloud provider declares which devices of an instance type share it",
                confidence="possible",
                severity="info",
            )


def _is_served(run: Run, subject: Manifest) -> bool:
    """Return True if Karpenter serves a claim, or a claim for one device of a class."""
    return is_served(run, [subject.claim or class_claim(subject)]) is True


def _advise_extended_resources(run: Run) -> Found:
    """Yield advice on extended resources, since Karpenter looks only at the claims of pods, and not
    at the class behind a resource.
    """
    classes = {
        text(subject.spec.get("extendedResourceName")): subject.name
        for subject in run.of("DeviceClass")
    }
    for pod in run.pods:
        for at, container in enumerate(items(pod.fields.get("containers"))):
            limits = mapping(mapping(mapping(container).get("resources")).get("limits"))
            for name in sorted(set(map(str, limits)) & set(classes)):
                message = (
                    f"{name} is served by class {classes[name]}, and Karpenter launches no node "
                    "for that"
                )
                place = (*pod.item_path("containers", at), "resources", "limits", name)
                yield Advice(
                    pod.subject,
                    place,
                    message,
                    help="write a claim",
                    key=True,
                    confidence="possible",
                )


def _lookups(run: Run, expression: Expression) -> Iterator[tuple[Lookup, str]]:
    program = run.program(expression)
    for lookup in program.lookups:
        if lookup.kind == "attributes" and lookup.name is not None and not lookup.tested:
            yield lookup, program.driver or lookup.domain.partition("/")[0]
