"""A selector reads a domain in which the driver of the class publishes nothing.

## What it does

Compares the domains in a selector with those in which the driver of the request's class publishes
attributes, if class and driver are known.

## Why is this bad

Attributes have the domain of their driver, such as `gpu.nvidia.com`, or that of Kubernetes. In
another domain no device of the class has any: the selector is an error on each of them, or never
matches.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.nvidia.com
         selectors:
         - cel:
-            expression: 'device.attributes["nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
+            expression: device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`
"""

from dractl.lint.model import Found, Replacement, Run
from dractl.lint.published import driver, reads
from dractl.lint.standard import guess_standard

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for read in reads(run):
        lookup, wanted = read.lookup, read.selection.devices
        if (
            wanted is None
            or lookup.domain in wanted.driver.domains
            or read.program.drivers - {wanted.driver.name}
        ):
            continue
        if not wanted.driver.fact.complete or lookup.domain.endswith(f".{wanted.driver.name}"):
            continue
        if (
            "." not in lookup.domain
            or "/" in lookup.domain
            or guess_standard(lookup.domain, lookup.name or "")
        ):
            continue  # DRA603 and DRA604 report the domain, DRA701 a standard attribute
        known_driver, kind = wanted.driver, lookup.kind
        row = known_driver.rows(kind).get(f"{known_driver.name}/{lookup.name}")
        fix = None
        # If the domain is that of another known driver, the class may be the mistake.
        if row is not None and driver(lookup.domain) is None:
            fix = Replacement(read.expression.path, known_driver.name, span=lookup.domain_span)
        message = (
            f"the devices of this class belong to {known_driver.name}, which publishes nothing "
            f"in the domain {lookup.domain}: the selector "
            f"{'never matches' if read.guarded else 'fails on each of them'}"
        )
        message += (
            f", unless {known_driver.fact.extension} adds it" if known_driver.fact.extension else ""
        )
        help_ = (
            f"its domains are {', '.join(sorted(known_driver.domains))} ({read.driver.known_to})"
        )
        yield read.driver.soften(read.advice(message, help_, span=lookup.domain_span, fix=fix))
