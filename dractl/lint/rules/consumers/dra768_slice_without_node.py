"""Devices that are not on one node.

## What it does

With `--for cluster-autoscaler`: finds ResourceSlices whose devices are not on one node, by
`nodeSelector`, `allNodes` or `perDeviceNodeSelection`.

## Why is this bad

Cluster Autoscaler expects a new node to bring only devices of that node. For a claim that only
other devices satisfy, it launches nodes that do not help, or none.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpus}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
-  allNodes: true
+  nodeName: node-1
   devices:
   - name: gpu-0
     attributes: {model: {string: A}}
   - name: gpu-1
     attributes: {model: {string: A}}
```

## Source

kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md (Limitations, Caveats) (55c37cd)
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceSlice",)
FOR = ("cluster-autoscaler",)
_ELSEWHERE = ("nodeSelector", "allNodes", "perDeviceNodeSelection")


def check(run: Run) -> Found:
    for subject in run.of("ResourceSlice"):
        field = next((name for name in _ELSEWHERE if subject.spec.get(name)), None)
        if field is not None and not subject.spec.get("nodeName"):
            yield Advice(
                subject,
                ("spec", field),
                "Cluster Autoscaler supports devices of one node only: a new node brings none "
                "of these",
                key=True,
            )
