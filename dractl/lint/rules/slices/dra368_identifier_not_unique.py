"""Several devices have the same UUID.

## What it does

Compares the attribute `uuid` of the devices of a driver on a node.

## Why is this bad

People select a single device by its UUID, and track its repair by it. If all devices of a node have
the same one, a selector for a device matches all of them.

## How to fix

Publish the identifier that the hardware or its library has for the device; if there is none, leave
the attribute out.

## Seen in

tpu.google.com 0.2 seeds the UUID with the name of the node: all chips of a node have the same one.

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
     attributes:
       uuid: {string: GPU-1}
   - name: gpu-1
     attributes:
-      uuid: {string: GPU-1}
+      uuid: {string: GPU-2}
```

## Source

kubernetes-sigs/dra-driver-google-tpu@f5a9d8c cmd/tpu-dra-kubeletplugin/util.go
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.pools import node_of, pools
from dractl.objects import Device, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    first: dict[tuple[str, str, str], tuple[Device, Manifest, str]] = {}
    reported: set[tuple[str, str, str]] = set()
    for pool in pools(run):
        for subject in pool.slices:
            for device in subject.devices:
                name, uuid = _find_uuid(device, pool.driver)
                key = (pool.driver, node_of(subject), uuid)
                other, other_subject, other_name = first.setdefault(key, (device, subject, name))
                # Partitions of a device may have the UUID of the whole device.
                shared = device.fields.get("consumesCounters") or key in reported
                if uuid and other is not device and not shared:
                    reported.add(key)
                    yield Advice(
                        subject,
                        (*device.path, "attributes", name, "string"),
                        f"{device.name} and {other.name} have the same {name}, {uuid}",
                        help="publish the identifier of the device itself, or none",
                        confidence="likely",
                        related=(
                            (other.name, other_subject, (*other.path, "attributes", other_name)),
                        ),
                    )


def _find_uuid(device: Device, driver: str) -> tuple[str, str]:
    """Return the name and the value of a device's UUID; "" without one."""
    for name in ("uuid", f"{driver}/uuid"):
        value = text(mapping(device.attributes.get(name)).get("string"))
        if value:
            return name, value
    return "", ""
