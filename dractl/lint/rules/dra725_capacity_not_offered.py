"""A request for a capacity that the driver does not publish.

## What it does

Looks up the names in `capacity.requests` in the catalogue of the driver. Up to Kubernetes 1.37
names are compared as they are written: a driver that publishes `memory` does not publish
`gpu.example.com/memory`. From 1.38 on both are the same capacity, and a request that has both is an
error.

## Why is this bad

The scheduler skips devices without the requested capacity, and nothing reports it: the pod stays
pending.

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
         deviceClassName: hami-core-gpu.project-hami.io
-        capacity: {requests: {hami-core-gpu.project-hami.io/memory: 10Gi}}
+        capacity: {requests: {memory: 10Gi}}
```

## Source

k8s.io/dynamic-resource-allocation structured/internal/incubating/consumable_capacity.go
(requestsContainNonExistCapacity); k8s.io/api v0.38.0-alpha.2 resource/v1/types.go
(CapacityRequirements); the catalogues of dractl/drivers, each with its driver's source: `dractl
rule DRIVER`
"""

from dractl.facts import Capacity
from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.published import driver_of_run, selections
from dractl.model.names import strip_domain
from dractl.model.nearest import nearest_names
from dractl.program import program_name

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("capacity",)


def check(run: Run) -> Found:
    if not run.target.enabled("DRAConsumableCapacity"):
        return  # the field is dropped, which DRA802 reports
    for selection in selections(run):
        request, known_driver = (
            selection.request,
            selection.devices.driver if selection.devices else None,
        )
        if (
            request is None
            or known_driver is None
            or not known_driver.fact.complete
            or known_driver.fact.extension
        ):
            continue
        domain = known_driver.name if run.target.has("capacity-names-of-driver") else None
        rows = {row.name: row for row in known_driver.fact.capacities}
        same = {strip_domain(domain, name): row for name, row in rows.items()}
        written: dict[str, str] = {}
        for key in request.capacity:
            path = (*request.path, "capacity", "requests", key)
            first = written.setdefault(strip_domain(domain, key), key)
            if first != key:
                yield Advice(
                    selection.subject,
                    path,
                    f"no device satisfies this: {first} and {key} are the same capacity of "
                    f"{known_driver.name}",
                    help="leave one of them out",
                    key=True,
                )
                continue
            row = same.get(strip_domain(domain, key))
            if row is not None and not (
                row.devices and selection.types and not {*row.devices} & {*selection.types}
            ):
                continue
            meant = _guess_capacity(key, rows) if row is None else None
            advice = Advice(
                selection.subject,
                path,
                "no device satisfies this: "
                f"{_explain(known_driver.name, key, row, meant, selection.types)}",
                help=f"`{program_name()} rule {known_driver.name}` lists what its devices have "
                f"({known_driver.known_to})",
                key=True,
                confidence="likely",
                fix=Replacement(path, meant, key=True) if meant else None,
            )
            yield driver_of_run(run, known_driver).soften(advice)


def _explain(
    driver: str, key: str, row: Capacity | None, meant: str | None, types: tuple[str, ...]
) -> str:
    if row is not None:
        return (
            f"{driver} publishes {key} of devices of type {', '.join(row.devices)}, not "
            f"{', '.join(types)}"
        )
    if meant is None:
        return f"{driver} publishes no capacity {key}"
    if meant.rpartition("/")[2] == key.rpartition("/")[2]:
        return (
            f"{driver} publishes this capacity as {meant}, and names are compared as they are "
            "written"
        )
    return f"{driver} publishes no capacity {key}; did you mean {meant}?"


def _guess_capacity(key: str, rows: dict[str, Capacity]) -> str | None:
    same = [name for name in rows if name.rpartition("/")[2] == key.rpartition("/")[2]]
    return next(iter(same or nearest_names(key, tuple(rows), most=1)), None)
