"""A selector matches no device.

## What it does

Evaluates the selectors of a class, then those of a request, and reports the first selector that
leaves no device. Needs `--devices`. Classes that are not among the devices are handled as in
DRA751.

## Why is this bad

If these are all devices of the cluster, the claim is never allocated.

## Source

k8s.io/dynamic-resource-allocation/structured
"""

from dractl.lint.funnels import funnels
from dractl.lint.inventory import values_read
from dractl.lint.model import Advice, Found, Run, spot

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


def check(run: Run) -> Found:
    for funnel in funnels(run):
        for step in funnel.steps:
            judged = step.before - len(step.failed)
            if judged and not step.after and (funnel.guessed or not step.failed):
                none = "the only device" if judged == 1 else f"none of the {judged} devices"
                program = run.program(step.expression)
                yield Advice(
                    funnel.subject,
                    step.expression.path,
                    f"{none} left {'does not match' if judged == 1 else 'matches'} this selector",
                    help=values_read(program, step.devices),
                    span=spot(program),
                    confidence="possible" if funnel.guessed else "likely",
                )
                break
