"""A request names an unknown class.

## What it does

If the devices come from a cluster, or from a dump with device classes, looks up the classes of
requests there and in the run. Needs `--devices`.

## Why is this bad

The claim is accepted, and the pod stays pending until somebody creates the class.

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources ("device class ... does not
exist")
"""

from functools import cache

from dractl.lint.inventory import suggest_name
from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import classes

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")


def check(run: Run) -> Found:
    if run.devices is None or not run.devices.classes:
        return
    class_names = run.class_names | set(run.devices.classes)
    installed = classes()
    near = cache(lambda name: suggest_name(name, class_names, "the classes are"))
    for claim, request in run.requests:
        name = request.device_class
        if name and name not in class_names:
            yield Advice(
                claim.subject,
                (*request.path, "deviceClassName"),
                f"unknown device class {name}",
                help=f"the driver {installed[name].driver} installs it"
                # The cluster has a class of that name, so it is no misspelling
                if name in installed
                else near(name),
                confidence="likely",
            )
