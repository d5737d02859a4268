"""A capacity of a device is zero or negative.

## What it does

Checks the values of capacities. A zero beside other capacities that are positive is accepted: MIG
devices have no encoders.

## Why is this bad

The API server does not check them. Nothing can be allocated from such a capacity.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
     capacity:
-      memory: {value: "0"}
+      memory: {value: 80Gi}
```

## Source

kubernetes/kubernetes pkg/apis/resource/validation/validation.go (validateDeviceCapacity) takes any
quantity
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping, quantity

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    for subject in run.of("ResourceSlice"):
        for device in subject.devices:
            capacities = mapping(device.fields.get("capacity"))
            signs = {name: _sign(_value(capacity)) for name, capacity in capacities.items()}
            for name, capacity in capacities.items():
                value = _value(capacity)
                # A MIG device has 0 encoders and 14 multiprocessors, and its driver publishes both
                # on purpose.
                if signs[name] < 0 or (signs[name] == 0 and max(signs.values()) == 0):
                    path = (
                        *device.path,
                        "capacity",
                        name,
                        *(["value"] if isinstance(capacity, dict) else []),
                    )
                    yield Advice(
                        subject,
                        path,
                        f"{device.name} has {value if value is not None else 0} of {name}",
                        help="remove the capacity, or publish how much the device has",
                        confidence="likely",
                    )


def _value(capacity: object) -> object:
    return capacity.get("value") if isinstance(capacity, dict) else capacity


def _sign(value: object) -> int:
    amount = quantity(value)
    # The decoder reports a value that is not a quantity, so such a value counts as positive here.
    return amount.sign() if amount is not None else int(value is not None)
