"""An attribute or capacity has a name in a domain of Kubernetes that Kubernetes does not define.

## What it does

Looks at the names of devices in `kubernetes.io`, `k8s.io` and their subdomains. Misspelt standard
attributes are DRA701.

## Why is this bad

These domains belong to Kubernetes. A later release may define the same name with another type or
meaning, and selectors that were written for the driver then change their meaning for all drivers.

## How to fix

Publish the attribute in the domain of the driver, beside the present one for a release or two.

## Seen in

dra.memory publishes `resource.kubernetes.io/pageSize` and `hugeTLB`, dra.nvme
`resource.kubernetes.io/cpuSocketID`.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-memory}
 spec:
   driver: memory.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: memory-0
     attributes:
-      resource.kubernetes.io/pageSize: {string: 4Ki}
+      memory.example.com/pageSize: {string: 4Ki}
```

## Source

k8s.io/api/resource/v1/types.go QualifiedName; KEP-4381 and KEP-6072 define what is in
`resource.kubernetes.io`
"""

from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Run
from dractl.lint.standard import STANDARD, STANDARD_DOMAIN, guess_standard
from dractl.objects import mapping
from dractl.validation.previews import preview_of

SEVERITY = "warning"
KINDS = ("ResourceSlice",)
_DOMAINS = ("kubernetes.io", "k8s.io")


def check(run: Run) -> Found:
    if preview_of(run.target) is not None:
        return  # a preview may define more attributes
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        for device in subject.devices:
            for field in ("attributes", "capacity"):
                for full in mapping(device.fields.get(field)):
                    domain, slash, name = full.partition("/")
                    if not slash or not _is_reserved(domain) or domain == subject.slice.driver:
                        continue
                    if (domain == STANDARD_DOMAIN and name in STANDARD) or guess_standard(
                        domain, name
                    ):
                        continue
                    if (subject.slice.driver, full) not in reported:
                        reported.add((subject.slice.driver, full))
                        yield Advice(
                            subject,
                            (*device.path, field, full),
                            f"{domain} belongs to Kubernetes, which does not define {name}",
                            help=f"publish it as {subject.slice.driver}/{name}",
                            key=True,
                        )


def _is_reserved(domain: str) -> bool:
    """Return True for a domain of Kubernetes itself, not of a subproject's driver."""
    return domain in _DOMAINS or domain == STANDARD_DOMAIN or domain == "resource.k8s.io"
