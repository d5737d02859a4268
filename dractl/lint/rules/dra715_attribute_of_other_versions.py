"""A selector or constraint reads an attribute that only other versions of the driver publish.

## What it does

Looks up the names in selectors and constraints in the catalogue of the driver and compares the
versions: a warning if the current release no longer publishes the attribute or capacity, an info if
only later versions do.

## Why is this bad

On devices that lack the attribute the selector is an error, which stops the scheduling of the pod
on all nodes; a constraint is never satisfied. NVIDIA's driver, for one, published `index` in its
first release only.

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
-            expression: 'device.attributes["gpu.nvidia.com"].index == 0'
+            expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`
"""

from dractl.lint.finding import Severity
from dractl.lint.model import Found, Run
from dractl.lint.published import KnownDriver, Row, list_compared_devices, reads

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("selectors", "constraints")


def check(run: Run) -> Found:
    for read in reads(run):
        if (
            read.row is not None
            and not read.guarded
            and (judgement := _versions(read.driver, read.row))
        ):
            message, severity = judgement
            yield read.driver.soften(read.advice(message, severity=severity))
    for item in list_compared_devices(run):
        for wanted in {side.driver.name: side for side in item.sides.values()}.values():
            row = wanted.row("attributes", item.attribute)
            if row is not None and (judgement := _versions(wanted.driver, row)):
                message, severity = judgement
                yield item.advice(message, severity=severity)


def _versions(driver: KnownDriver, row: Row) -> tuple[str, Severity] | None:
    last = driver.last_with(row)
    if last is None and not driver.is_later(row):
        return None
    which = (
        f"{'this is judged as' if driver.stated else 'the newest is'} {driver.newest}, read on "
        f"{driver.fact.read}"
    )
    if last is not None:
        return (
            (
                f"{driver.name} no longer publishes {row.name}: {last} was the last release with "
                f"it; {which}"
            ),
            "warning",
        )
    only = f"{driver.name} publishes {row.name} only from {driver.first_with(row)} on"
    seen = driver.release_date(row.since)
    if seen:
        return f"{only}, seen on {seen} and not released yet; {which}", "info"
    return f"{only}; {which}", "warning"
