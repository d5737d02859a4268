"""A claim asks for admin access, which only labelled namespaces allow.

## What it does

Finds `adminAccess: true` where the claim's namespace is not part of the input. If it is, DRA119
reports a missing label. A claim or template without a namespace is reported only if no namespace of
the repository has the label, and no kustomization adds it; it is a warning if the repository
defines namespaces.

## Why is this bad

In a namespace without the label the API server rejects the claim, and the claims of a template.

## Example

```diff
+apiVersion: v1
+kind: Namespace
+metadata:
+  name: observability
+  labels: {resource.kubernetes.io/admin-access: "true"}
+---
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: monitoring, namespace: observability}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com, allocationMode: All, adminAccess: true}
```

## Source

kubernetes/kubernetes pkg/registry/resource/resourceclaim/strategy.go (AuthorizedForAdmin)
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("adminAccess",)
UNLESS = ("DRA119",)


def check(run: Run) -> Found:
    domain = (
        "resource.kubernetes.io"
        if run.target.has("admin-access-kubernetes-io")
        else "resource.k8s.io"
    )
    # ``namespaces`` contains None if some namespace has the label: an object that names no
    # namespace may be meant for that one.
    lacking = bool(run.namespaces) and None not in run.namespaces
    for claim, request in run.requests if run.target.enabled("DRAAdminAccess") else ():
        namespace = claim.subject.namespace
        if request.fields.get("adminAccess") is True and namespace not in run.namespaces:
            namespace_text = (
                f"namespace {namespace}" if namespace else "the namespace of this object"
            )
            likely = lacking and not namespace
            yield Advice(
                claim.subject,
                (*request.path, "adminAccess"),
                f'{namespace_text} needs the label {domain}/admin-access: "true"',
                severity="warning" if likely else None,
                confidence="likely" if likely else "possible",
            )
