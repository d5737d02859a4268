"""No container of the pod uses a claim that the pod has.

## What it does

Compares `resourceClaims` of a pod with `resources.claims` of its containers.

## Why is this bad

The devices are allocated and prepared, but no container gets to see them. For drivers that work on the pod as a
whole, such as those of networks, this is meant.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
```

## Use instead

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
```

## Source

k8s.io/api/core/v1 PodSpec.resourceClaims; api.md section 5.2 and section 6, row 33
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice
from dractl.objects import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run

SEVERITY = "info"
KINDS = ("Pod template",)


def check(run: Run) -> Iterator[Advice]:
    for pod in run.pods:
        used = {text(item.get("name")) for _, item in pod.uses}
        for path, claim in pod.claims:
            name = text(claim.get("name"))
            if name and name not in used:
                yield Advice(
                    pod.subject,
                    (*path, "name"),
                    f"no container uses the claim {name}: it is allocated, but no container is given its devices",
                    help=f"add it to a container: resources: {{claims: [{{name: {name}}}]}}",
                    confidence="possible",
                )
