"""A device has an attribute or a capacity under its short name and under its full name.

## What it does

Finds names without domain that a device also has in the domain of its driver: `model` and
`gpu.example.com/model`.

## Why is this bad

Both are the same name to a selector, and which of the two values a selector gets changes from one
evaluation to the next.

## How to fix

Publish each name once: without domain, or with the driver's.

## Seen in

No release is known. The API server accepts it, and a capacity that has both names is an error of
the request from Kubernetes 1.38 on.

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
       model: {string: A100}
-      gpu.example.com/model: {string: NVIDIA A100}
```

## Source

k8s.io/dynamic-resource-allocation/cel compile.go, where DeviceMatches fills the names of a domain
from a Go map; kubernetes/kubernetes#142202
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    for subject in run.of("ResourceSlice"):
        prefix = f"{subject.slice.driver}/"
        for device in subject.devices:
            for field, kind in (("attributes", "attribute"), ("capacity", "capacity")):
                names = mapping(device.fields.get(field))
                for name in names:
                    if "/" not in name and prefix + name in names:
                        yield Advice(
                            subject,
                            (*device.path, field, prefix + name),
                            f"{kind} {name} of {device.name} is published twice, as {name} and as"
                            f" {prefix}{name}",
                            help="a selector gets one of the two at random; remove one",
                            key=True,
                            related=(("the other one", subject, (*device.path, field, name)),),
                        )
