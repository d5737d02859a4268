"""A request asks for a capacity, or an amount of it, that no device has.

## What it does

Checks the devices that the request can get; capacities are compared by their exact name. Needs
`--devices`.

## Why is this bad

Devices without that capacity, or with less of it, are silently skipped.

## Source

k8s.io/dynamic-resource-allocation/structured (consumable capacity)
"""

from dractl.lint.funnels import candidates
from dractl.lint.inventory import nearest_capacity
from dractl.lint.model import Advice, Found, Run
from dractl.objects import quantity

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("capacity",)


def check(run: Run) -> Found:
    for claim, request in run.requests:
        wanted = request.capacity
        devices = candidates(run, claim, request) if wanted else []
        for name, amount in wanted.items() if devices else ():
            values = [value for device in devices if (value := device.capacity(name)) is not None]
            path = (*request.path, "capacity", "requests", name)
            if (
                not values
                and run.devices is not None
                and not run.devices.knows(f"{devices[0].driver}/{name}")
            ):
                continue
            if not values:
                yield Advice(
                    claim.subject,
                    path,
                    f"no device for request {request.reference} has a capacity {name} "
                    f"({len(devices)} checked)",
                    help=nearest_capacity(name, devices),
                    key=True,
                    confidence="likely",
                )
            elif (least := quantity(amount)) is not None and all(value < least for value in values):
                yield Advice(
                    claim.subject,
                    path,
                    f"no device for request {request.reference} has {amount} of {name}",
                    help=f"the largest available is {max(values)}",
                    confidence="likely",
                )
