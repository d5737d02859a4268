"""A request names an unknown class.

## What it does

If the devices come from a cluster, or from a dump with device classes, looks up the classes of requests there and in
the run. Needs `--devices`.

## Why is this bad

The claim is accepted, and the pod stays pending until somebody creates the class.

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources ("device class ... does not exist")
"""

from functools import cache

from dractl.lint.inventory import meant
from dractl.lint.model import Advice, Found, Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")


def check(run: Run) -> Found:
    if run.devices is None or not run.devices.classes:
        return
    known = run.class_names | set(run.devices.classes)
    near = cache(lambda name: meant(name, known, "the classes are"))
    for claim, request in run.requests:
        name = request.device_class
        if name and name not in known:
            yield Advice(
                claim.subject,
                (*request.path, "deviceClassName"),
                f"unknown device class {name}",
                help=near(name),
                confidence="likely",
            )
