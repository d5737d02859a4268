"""A taint rule has no device selector.

## What it does

Finds DeviceTaintRules without `deviceSelector`.

## Why is this bad

From 1.37 on, such a rule taints no device, as the API documents. Up to 1.36, it taints every device
of every driver. An empty selector (`{}`) taints all of them in every release.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceTaintRule
 metadata: {name: hot}
 spec:
+  deviceSelector: {driver: gpu.example.com}
   taint: {key: gpu.example.com/hot, effect: NoSchedule}
```

## Source

k8s.io/api/resource/v1 DeviceTaintRuleSpec; k8s.io/dynamic-resource-allocation/resourceslice/tracker
of 0.36 and 0.37;

"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("DeviceTaintRule",)


def check(run: Run) -> Found:
    effect = "it taints no device"
    if run.target.has("empty-rule-taints-all"):
        effect = "up to 1.36 it taints every device of every driver, from 1.37 on none"
    for subject in run.of("DeviceTaintRule"):
        if subject.spec.get("deviceSelector") is None:
            yield Advice(
                subject,
                ("spec",),
                f"the rule has no deviceSelector: {effect}",
                help="select devices: deviceSelector has driver, pool and device",
                key=True,
            )
