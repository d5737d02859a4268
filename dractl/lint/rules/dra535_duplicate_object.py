"""Two documents have the same kind, namespace and name.

## What it does

Compares the objects of a file, of a chart, and of the files of one kustomization. Files that merely
share a folder, such as examples, are not compared.

## Why is this bad

kubectl applies both, and the last one wins; kustomize and Helm fail.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel: {expression: 'device.driver == "gpu.example.com"'}
 ---
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
-metadata: {name: gpu.example.com}
+metadata: {name: other.example.com}
 spec:
   selectors:
   - cel: {expression: 'device.driver == "other.example.com"'}
```

## Source

kubernetes-sigs/kustomize api/resmap/reswrangler.go (Append: "may not add resource with an already
registered id")
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.placeholders import holds_placeholder
from dractl.lint.relevance import group
from dractl.manifests.markdown import SUFFIXES

SEVERITY = "warning"
KINDS = (
    "ResourceClaim",
    "ResourceClaimTemplate",
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "ResourcePoolStatusRequest",
    "Pod template",
)


def check(run: Run) -> Found:
    first: dict[tuple[str | None, ...], Manifest] = {}
    for subject in run.subjects:
        document = subject.document
        # Examples in prose are alternatives, of which a user applies one
        if document.file.endswith(SUFFIXES):
            continue
        if (
            not subject.name
            or holds_placeholder(subject.name)
            or holds_placeholder(subject.namespace)
        ):
            continue
        apart = None if run.applied_together else document.file
        key = (group(document.value), document.kind, subject.namespace, subject.name, apart)
        other = first.setdefault(key, subject)
        if other is not subject:
            yield Advice(
                subject,
                ("metadata", "name"),
                f"{document.kind} {subject.name} is defined twice",
                help="rename one of them, or remove it",
                related=(
                    (f"the other {document.kind} {subject.name}", other, ("metadata", "name")),
                ),
            )
