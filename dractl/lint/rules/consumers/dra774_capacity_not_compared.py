"""A capacity that Karpenter does not compare.

## What it does

With `--for karpenter`: finds `capacity.requests` for devices that the AWS provider declares, if
Karpenter would launch an instance type whose devices have less than the requested amount. None of
these devices can be shared.

## Why is this bad

Karpenter compares capacities of devices that can be shared, and of no others. So it assumes that
every instance type has enough, and may launch the cheapest one for the pod. kube-scheduler compares
every capacity, and the pod stays pending beside a new node.

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
-          capacity: {requests: {memory: 40Gi}}
+          selectors:
+          - cel:
+              expression: device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0
```

## Source

kubernetes-sigs/karpenter v1.15.0 pkg/scheduling/dynamicresources/consumable_capacity.go
checkCapacity: nothing is compared unless the device allows multiple allocations;
aws/karpenter-provider-aws v1.15.1 pkg/providers/nvidiadra
"""

from collections.abc import Iterator, Mapping

from dractl.facts.autoscalers import DeviceGroup, device_tables
from dractl.lint.model import Advice, Claim, Found, Run
from dractl.lint.provisioning import AUTOSCALER, judge_claims
from dractl.model import Quantity
from dractl.objects import Request, mapping

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("capacity",)
FOR = ("karpenter",)
_HELP = "compare the capacity in a selector, which Karpenter evaluates"


def check(run: Run) -> Found:
    for claim, request in run.requests:
        for name, wanted in _capacity_requests(request).items():
            small = list(_types_with_less(run, claim, name, wanted))
            if small:
                example, amount = small[0]
                yield Advice(
                    claim.subject,
                    (*request.path, "capacity", "requests", name),
                    f"Karpenter does not compare {name}: it may launch {example} ({amount}), where"
                    " the pod stays pending",
                    help=_HELP,
                    key=True,
                    confidence="likely",
                )


def _capacity_requests(request: Request) -> Mapping[str, Quantity]:
    requests = mapping(mapping(request.fields.get("capacity")).get("requests"))
    quantities = {}
    for name, text in requests.items():
        try:
            quantities[str(name)] = Quantity.parse(str(text))
        except ValueError:
            continue  # the API server refuses it
    return quantities


def _types_with_less(
    run: Run, claim: Claim, name: str, wanted: Quantity
) -> Iterator[tuple[str, str]]:
    """Yield the instance types that Karpenter may launch although their devices have less of the
    capacity, each with its amount.
    """
    for instance_type, judgement in (judge_claims(run, [claim]) or {}).items():
        if judgement.verdict != "serves":
            continue
        for group in device_tables()[AUTOSCALER].types[instance_type].groups:
            amount = _amount(group, name)
            if amount is not None and Quantity.parse(amount) < wanted:
                yield instance_type, f"{name} {amount}"


def _amount(group: DeviceGroup, name: str) -> str | None:
    """Return the amount of a capacity of the group's devices, by its full name or its bare name."""
    bare = name.removeprefix(f"{group.driver}/")
    value = group.capacity.get(name) or group.capacity.get(bare)
    return None if value is None else str(value.get("value"))
