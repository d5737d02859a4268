"""A selector treats an attribute as a single value that drivers may publish as a list.

## What it does

Reports comparisons of attributes that an option of the driver turns into lists (KEP-5491), such as
`resource.kubernetes.io/numaNode`, for releases whose API has lists (feature gate
DRAListTypeAttributes).

## Why is this bad

A device that is near two NUMA nodes is published with `ints: [0, 1]`. `== 0` is then false, and `<`
an error, which stops the scheduling of the pod on all nodes. `includes(0)`, which needs the feature
gate too, works with both forms.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: nic
       exactly:
         deviceClassName: dranet
         selectors:
         - cel:
-            expression: 'device.attributes["resource.kubernetes.io"].?numaNode.orValue(-1) == 0'
+            expression: 'device.attributes["dra.net"].?virtual.orValue(true) == false'
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`; KEP-5491
"""

from dractl.lint.model import Found, Run
from dractl.lint.published import reads

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    if not run.target.has("list-attributes"):
        return
    for read in reads(run):
        row = read.row
        for comparison in read.program.comparisons:
            if row is not None and row.list_with and comparison.lookup == read.lookup:
                yield read.advice(
                    f"{read.driver.name} publishes {row.name} as a list if configured to and if "
                    "the feature gate DRAListTypeAttributes is on: the comparison then fails",
                    confidence="possible",
                    span=comparison.span,
                )
