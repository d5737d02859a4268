"""Kueue does not start with the device classes in its configuration.

## What it does

Checks `resources.deviceClassMappings` as Kueue does when it starts: at most 16 mappings are
allowed, with 1 to 8 classes each. A resource may occur only once; a class may occur in several
mappings only if each of them counts a different counter. A source needs one kind, a name, a driver
and an expression that compiles. The configuration may be a file of its own, the text in a
ConfigMap, or `managerConfig.controllerManagerConfigYaml` of the chart's values.

## Why is this bad

Kueue exits with "invalid configuration", and no job is admitted any more.

## Example

```diff
 apiVersion: config.kueue.x-k8s.io/v1beta2
 kind: Configuration
 resources:
   deviceClassMappings:
   - name: example.com/gpus
     deviceClassNames: [gpu.example.com]
   - name: example.com/all-gpus
-    deviceClassNames: [gpu.example.com]
+    deviceClassNames: [other-gpu.example.com]
```

## Source

kubernetes-sigs/kueue pkg/config/validation.go validateDeviceClassMappings,
validateDeviceClassSource (ff69552e79)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.validation.kueue import find_kueue_faults, source_selectors

SEVERITY = "error"
KINDS = ("",)


def check(run: Run) -> Found:
    for subject in run.of(""):
        for fault in find_kueue_faults(subject.value):
            yield Advice(
                subject,
                fault.path,
                f"Kueue does not start: {fault.message}",
                help=f"switch {fault.gate} on, or leave the source out" if fault.gate else None,
                severity="warning" if fault.gate else None,
                confidence="possible" if fault.gate else "certain",
            )
        for expression in source_selectors(subject.value):
            program = run.program(expression)
            if program.admission == "invalid":
                messages = [issue.message for issue in program.issues] or [program.error or ""]
                yield Advice(
                    subject,
                    expression.path,
                    f"Kueue does not start: the expression does not compile: {'; '.join(messages)}",
                )
