"""A container requests a class as an extended resource, which the release does not know.

## What it does

Finds `deviceclass.resource.kubernetes.io/CLASS` in requests and limits, for a release whose
scheduler does not serve it from a DeviceClass: the feature gate DRAExtendedResource is off, as by
default up to 1.35, or the release is 1.34, which knows only names in `extendedResourceName`.

## Why is this bad

Without the gate the scheduler looks for a node that has such a resource, and there is none: the pod
stays pending. 1.34 with the gate leaves the resource to DRA, but makes no claim for it: the pod
runs without any device.

## Example

With `--kubernetes-version 1.35`:

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      limits: {deviceclass.resource.kubernetes.io/gpu.example.com: 1}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimName: gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
```

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go, and
dynamicresources/extended/util.go of 1.34 (DeviceClassMapping)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import IMPLICIT_PREFIX

SEVERITY = "warning"
KINDS = ("Pod template",)
_GATE = "DRAExtendedResource"


def check(run: Run) -> Found:
    target = run.target
    on = target.enabled(_GATE)
    if on and target.has("implicit-extended-names"):
        return
    if on:
        message = (
            f"kube-scheduler {target.release} makes no claim for NAME: the pod runs without a "
            "device"
        )
    else:
        message = (
            f"no node of {target.release} has NAME: feature gate {_GATE} is off, and classes are "
            "no resources"
        )
    for pod in run.pods:
        for paths, name in pod.implicit_classes:
            yield Advice(
                pod.subject,
                paths[0],
                message.replace("NAME", f"{IMPLICIT_PREFIX}{name}"),
                help=f"request class {name} in a claim; Kubernetes 1.36 has the gate on by default",
                key=True,
            )
