"""A device class has the resource name of a device plugin.

## What it does

Finds classes whose `extendedResourceName` is the resource of a device plugin, such as
`nvidia.com/gpu`. It is an info, or a warning if the class is for other hardware.

## Why is this bad

On a node where the device plugin still runs, it serves the requests, and the class does not: the
scheduler asks the class only where a node has none of the resource allocatable. If the DRA driver
runs there too, both give out the same devices.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.nvidia.com}
 spec:
   selectors:
   - cel: {expression: device.driver == "gpu.nvidia.com"}
-  extendedResourceName: nvidia.com/gpu
+  extendedResourceName: example.com/gpu
```

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins: noderesources/fit.go,
dynamicresources/extendeddynamicresources.go
"""

from dractl.facts.resources import drivers_of, with_plugin
from dractl.lint.model import Advice, Found, Run
from dractl.manifests.templates import chart_of
from dractl.objects import text

SEVERITY = "info"
KINDS = ("DeviceClass",)
FIELDS = ("extendedResourceName",)


def check(run: Run) -> Found:
    path = ("spec", "extendedResourceName")
    for subject in run.of("DeviceClass"):
        name = text(subject.spec.get("extendedResourceName"))
        of_plugin = drivers_of(name) if name else ()
        if not of_plugin:
            continue
        driver = run.driver_of(subject.selectors)
        if driver in with_plugin() and driver not in of_plugin:
            yield Advice(
                subject,
                path,
                f"a device plugin calls the devices of {' or '.join(of_plugin)} {name}; "
                f"this class has those of {driver}",
                help="choose another name",
                severity="warning",
                confidence="likely",
            )
        # In a chart, the class is meant to replace the plug-in.
        elif chart_of(subject.document.file) is None:
            yield Advice(
                subject,
                path,
                f"{name} is also a resource of a device plugin: on nodes where that runs, it "
                "serves the requests, not this class",
                help="remove the device plugin from the nodes whose devices the driver publishes",
                confidence="possible",
            )
