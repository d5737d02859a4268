"""A selector fails on a device.

## What it does

Evaluates each selector as the scheduler does: the selectors of a class on all devices, and the
selectors of a request on the devices of its class that earlier selectors accept. Needs `--devices`.
If the devices come without classes, the classes that the drivers install are used. For your own
classes, a finding is reported only if it holds for all devices of the drivers that the selector
names.

## Why is this bad

One error on one device stops the scheduling of the pod on all nodes.

## Source

k8s.io/dynamic-resource-allocation/structured
"""

from dractl.lint.funnels import funnels
from dractl.lint.inventory import describe_published
from dractl.lint.model import Advice, Found, Run, spot

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


def check(run: Run) -> Found:
    for funnel in funnels(run):
        for step in funnel.steps:
            if step.failed and (len(step.failed) == step.before or not funnel.guessed):
                device, error = step.failed[0]
                program = run.program(step.expression)
                yield Advice(
                    funnel.subject,
                    step.expression.path,
                    f"the selector fails on {len(step.failed)} of {step.before} devices, first "
                    f"on {device}: {error}",
                    help=describe_published(program, step.failed),
                    span=spot(program, error.partition("no such key: ")[2]),
                    severity="warning" if funnel.guessed else None,
                    confidence="possible" if funnel.guessed else "likely",
                )
