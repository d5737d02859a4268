"""A taint rule applies to every device of the cluster.

## What it does

Finds DeviceTaintRules whose `deviceSelector` is empty.

## Why is this bad

All devices of all drivers are tainted; with the effect `NoExecute` every pod that uses one is
evicted.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceTaintRule
 metadata: {name: hot}
 spec:
-  deviceSelector: {}
+  deviceSelector: {driver: gpu.example.com}
   taint: {key: gpu.example.com/hot, effect: NoSchedule}
```

## Source

k8s.io/api/resource/v1 DeviceTaintRuleSpec
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "warning"
KINDS = ("DeviceTaintRule",)


def check(run: Run) -> Found:
    for subject in run.of("DeviceTaintRule"):
        selector = subject.spec.get("deviceSelector")
        if selector is not None and not any(
            value is not None for value in mapping(selector).values()
        ):
            yield Advice(
                subject,
                ("spec", "deviceSelector"),
                "the deviceSelector is empty: the rule taints every device of every driver",
                help="select devices: deviceSelector has driver, pool and device",
            )
