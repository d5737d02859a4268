"""A device that several claims can share has a capacity without a request policy.

## What it does

Finds capacities without `requestPolicy` of devices with `allowMultipleAllocations`.

## Why is this bad

A request that names no amount consumes the whole capacity. So the first claim that asks for "one
device" leaves nothing for the others, although the device is published as shared. It is a warning
if another capacity of the device has a policy.

## How to fix

Publish a policy with the `default` for such requests, and with a range or list of the amounts that
the driver can serve.

## Seen in

dra.cpu groups CPUs without a policy: a claim that names no amount takes all CPUs of the NUMA node.
gpu.nvidia.com at 9593204 (0.5, alpha) gives `memory` of a MIG device a policy, but none to its
engines, so the first claim takes all of them.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-cpu}
 spec:
   driver: cpu.acme.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: numa-0
     allowMultipleAllocations: true
     capacity:
-      cpu: {value: "32"}
+      cpu:
+        value: "32"
+        requestPolicy:
+          default: "1"
+          validRange: {min: "1", step: "1"}
```

## Source

KEP-5075; k8s.io/api/resource/v1/types.go DeviceCapacity; kubernetes-sigs/dra-driver-cpu@de98098
pkg/driver/dra_hooks.go
"""

from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Run
from dractl.objects import Device, mapping, quantity

SEVERITY = "info"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    if not run.target.enabled("DRAConsumableCapacity"):
        return
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        for device in subject.devices:
            names = [
                name
                for name in _list_names_without_policy(device)
                if (subject.slice.driver, name) not in reported
            ]
            if not names:
                continue
            reported.update((subject.slice.driver, name) for name in names)
            # A policy for another capacity shows that the device is meant to be shared. Without a
            # policy for this one, the first claim takes all of it, so the device cannot be shared.
            is_shared_by_another = len(names) < len(device.capacity)
            yield Advice(
                subject,
                (*device.path, "capacity", names[0]),
                f"a request that names no {' or '.join(names)} consumes all of it on {device.name}",
                help="publish a requestPolicy with the default of such a request",
                key=True,
                severity="warning" if is_shared_by_another else None,
            )


def _list_names_without_policy(device: Device) -> list[str]:
    """Return the capacities of a shared device that one request uses up by default."""
    if device.fields.get("allowMultipleAllocations") is not True:
        return []
    return [
        name
        for name, capacity in device.capacity.items()
        if mapping(capacity).get("requestPolicy") is None
        and (amount := quantity(mapping(capacity).get("value"))) is not None
        and amount.sign() > 0
    ]
