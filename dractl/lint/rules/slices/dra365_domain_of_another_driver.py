"""A driver publishes an attribute in the domain of another driver, or in one that nobody owns.

## What it does

Looks at the domains of attributes and capacities: one of a driver that dractl knows, or one without
a dot.

## Why is this bad

The owner of a domain decides what its names mean. If the other driver changes the name or its type,
constraints over both drivers fail, and neither of the two shows why. A domain without a dot belongs
to nobody and can collide.

## How to fix

Publish an attribute that has a standard name under this name (`resource.kubernetes.io/numaNode`),
and every other attribute in the driver's own domain.

## Seen in

dra.cpu and sriovnetwork.k8snetworkplumbingwg.io publish `dra.net/numaNode`, so that a constraint
can compare it with dra.net's; composite-dra-driver publishes in the domain `composite`.

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
   - name: cpu-0
     attributes:
-      dra.net/numaNode: {int: 0}
+      resource.kubernetes.io/numaNode: {int: 0}
```

## Source

k8s.io/api/resource/v1/types.go QualifiedName: the domain belongs to the project that defines the
name
"""

from dractl.facts.drivers import names as driver_names
from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "info"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    others = frozenset(driver_names())
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        driver = subject.slice.driver
        for device in subject.devices:
            for field in ("attributes", "capacity"):
                for full in mapping(device.fields.get(field)):
                    domain, slash, _ = full.partition("/")
                    if not slash or domain == driver or (driver, full) in reported:
                        continue
                    owner = f"driver {domain}" if domain in others else "nobody: it has no dot"
                    if domain in others or "." not in domain:
                        reported.add((driver, full))
                        yield Advice(
                            subject,
                            (*device.path, field, full),
                            f"the domain of {full} belongs to {owner}",
                            help=f"publish it in the domain of {driver}, or under a standard name",
                            key=True,
                        )
