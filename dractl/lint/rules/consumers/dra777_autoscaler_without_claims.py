"""A Cluster Autoscaler that launches no nodes for claims.

## What it does

With `--for cluster-autoscaler`: reads the version, the provider and the flags of a Deployment that
runs Cluster Autoscaler. It finds a version before 1.35 without
`--enable-dynamic-resource-allocation=true`, a version from 1.35 on with `=false`, and a provider
that expects no devices of a node group without nodes.

## Why is this bad

Before 1.35 Cluster Autoscaler ignores claims by default; from 1.35 on it does not start if claims
are switched off. A node group without nodes stays without them if its provider expects no devices
there.

## Example

```diff
 apiVersion: apps/v1
 kind: Deployment
 metadata: {name: cluster-autoscaler}
 spec:
   selector: {matchLabels: {app: cluster-autoscaler}}
   template:
     metadata: {labels: {app: cluster-autoscaler}}
     spec:
       containers:
       - name: cluster-autoscaler
         image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.5
         command:
         - ./cluster-autoscaler
         - --cloud-provider=hetzner
-        - --enable-dynamic-resource-allocation=false
+        - --enable-dynamic-resource-allocation=true
```

## Source

kubernetes/autoscaler cluster-autoscaler/config/flags/flags.go of cluster-autoscaler-1.34.5 and
cluster-autoscaler-1.36.1; kubernetes/autoscaler#10199 (the pack of facts, cluster-autoscaler.json)
"""

from dractl.autoscaler.cluster_autoscaler import find_claim_limit
from dractl.lint.model import Advice, Found, Run
from dractl.objects import items, mapping
from dractl.objects.cluster_autoscaler import read_cluster_autoscaler

SEVERITY = "warning"
KINDS = ("Deployment",)
FOR = ("cluster-autoscaler",)


def check(run: Run) -> Found:
    for pod in run.pods:
        for number, container in enumerate(items(pod.fields.get("containers"))):
            settings = read_cluster_autoscaler(mapping(container))
            limit = None if settings is None else find_claim_limit(settings)
            if settings is not None and limit is not None:
                place = settings.argument or ("image",)
                yield Advice(
                    pod.subject,
                    (*pod.item_path("containers", number), *place),
                    limit.reason,
                    help=limit.fix,
                    severity="error" if limit.verdict == "never" else None,
                )
