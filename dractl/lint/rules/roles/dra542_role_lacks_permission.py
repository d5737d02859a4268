"""A role lacks a permission that a DRA driver needs.

## What it does

Looks at roles that may create or update ResourceSlices, as a driver does to publish its devices.
Such a driver lists, watches, creates, updates and deletes slices; on a node it also gets its Node
and the claims that it prepares. Permissions in other roles of the same account count, as far as the
input has these roles. A role that allows get on neither Nodes nor claims may belong to a
controller; the finding is then an info, unless a DaemonSet runs as the account.

## Why is this bad

The API server refuses the request: the driver publishes no devices, or fails to prepare each claim,
and the pods do not start.

## Example

```diff
 apiVersion: rbac.authorization.k8s.io/v1
 kind: ClusterRole
 metadata: {name: gpu-driver}
 rules:
+- apiGroups: [""]
+  resources: [nodes]
+  verbs: [get]
 - apiGroups: [resource.k8s.io]
   resources: [resourceclaims]
   verbs: [get]
 - apiGroups: [resource.k8s.io]
   resources: [resourceslices]
   verbs: [list, watch, create, update, delete]
```

## Source

k8s.io/dynamic-resource-allocation v0.37.1 resourceslice/resourceslicecontroller.go (initInformer,
syncPool) and kubeletplugin/draplugin.go (getResourceClaims);
rh-ecosystem-edge/kernel-module-management#1840
"""

from dractl.lint.driver_roles import faults_of_roles
from dractl.lint.model import Advice, Found, Run
from dractl.validation.roles import ROLES

SEVERITY = "warning"
KINDS = ROLES


def check(run: Run) -> Found:
    for subject, fault in faults_of_roles(run):
        if fault.kind != "status":
            yield Advice(
                subject,
                fault.path,
                fault.message,
                help=fault.help,
                severity=None if fault.sure else "info",
                confidence="likely" if fault.sure else "possible",
            )
