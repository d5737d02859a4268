"""A role may write the status of claims, but no field of it.

## What it does

Looks at roles with `update` or `patch` on `resourceclaims/status`, for releases in which the API
server also asks for permission on the part that is written: `update` or `patch` on
`resourceclaims/binding` for `status.allocation` and `status.reservedFor`, and for `status.devices`
the same verb with a prefix on `resourceclaims/driver`, which may be limited to the driver's name:
`associated-node:update` on the node of the claim, `arbitrary-node:update` elsewhere. Permissions in
other roles of the same account count, as far as the input has these roles.

## Why is this bad

From Kubernetes 1.36 on the API server refuses each change of the status: a network driver cannot
report the addresses of its devices, and an allocator cannot allocate.

## Example

```diff
 apiVersion: rbac.authorization.k8s.io/v1
 kind: ClusterRole
 metadata: {name: nic-driver}
 rules:
 - apiGroups: [resource.k8s.io]
   resources: [resourceclaims/status]
   verbs: [update]
+- apiGroups: [resource.k8s.io]
+  resources: [resourceclaims/driver]
+  verbs: ["associated-node:update"]
+  resourceNames: [nic.example.com]
```

## Source

kubernetes/kubernetes pkg/registry/resource/utils.go (AuthorizedForBinding,
AuthorizedForDeviceStatus), gate DRAResourceClaimGranularStatusAuthorization;
kubernetes/kubernetes#134947
"""

from dractl.lint.driver_roles import faults_of_roles
from dractl.lint.model import Advice, Found, Run
from dractl.validation.roles import ROLES

SEVERITY = "warning"
KINDS = ROLES


def check(run: Run) -> Found:
    for subject, fault in faults_of_roles(run):
        if fault.kind == "status":
            yield Advice(subject, fault.path, fault.message, help=fault.help, confidence="likely")
