"""A standard attribute is misspelt.

## What it does

Compares the attributes in constraints, in selectors and in the devices of slices with those that Kubernetes defines:
`resource.kubernetes.io/pcieRoot`, `pciBusID` and `numaNode`.

## Why is this bad

Nobody checks that an attribute exists. A device without it never satisfies a constraint, so the pod stays pending
forever; a selector fails with an error.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com}
     - name: nic
       exactly: {deviceClassName: nic.example.com}
     constraints:
-    - {requests: [gpu, nic], matchAttribute: resource.kubernbetes.io/pcieRoot}
+    - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

k8s.io/dynamic-resource-allocation/deviceattribute; KEP-6072
"""

from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.standard import STANDARD, STANDARD_DOMAIN, meant_standard
from dractl.objects import mapping, text

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
ALONE = True
FIELDS = ("constraints", "selectors", "attributes")
_KNOWN = ", ".join(f"{STANDARD_DOMAIN}/{name}" for name in STANDARD)


def check(run: Run) -> Found:
    for claim, constraint in run.constraints:
        for field in ("matchAttribute", "distinctAttribute"):
            written = text(constraint.fields.get(field))
            domain, slash, name = written.partition("/")
            path = (*constraint.path, field)
            meant = meant_standard(domain, name) if slash else None
            if meant:
                yield Advice(
                    claim.subject,
                    path,
                    f"unknown attribute {written}; did you mean {meant}?",
                    help=f"Kubernetes defines {_KNOWN}",
                    fix=Replacement(path, meant, safe=True),
                )
            elif domain == STANDARD_DOMAIN and slash and name not in STANDARD:
                yield Advice(
                    claim.subject,
                    path,
                    f"Kubernetes defines no attribute {written}",
                    help=f"it defines {_KNOWN}",
                    severity="warning",
                    confidence="likely",
                )
    yield from _in_selectors(run)
    yield from _in_slices(run)


def _in_slices(run: Run) -> Found:
    """Once a slice and name: drivers write the same names for all their devices."""
    for subject in run.of("ResourceSlice"):
        seen: set[str] = set()
        for device in subject.devices:
            for key in mapping(device.fields.get("attributes")):
                if key in seen or not isinstance(key, str) or "/" not in key:
                    continue
                seen.add(key)
                domain, _, name = key.partition("/")
                meant = meant_standard(domain, name)
                if meant:
                    yield Advice(
                        subject,
                        (*device.path, "attributes", key),
                        f"Kubernetes defines no attribute {key}; did you mean {meant}?",
                        help="constraints and selectors for the standard name will not find it",
                        key=True,
                        severity="warning",
                        confidence="likely",
                    )


def _in_selectors(run: Run) -> Found:
    for subject, expression in run.expressions:
        for found in run.program(expression).lookups:
            if found.kind != "attributes" or found.name is None:
                continue
            meant = meant_standard(found.domain, found.name)
            if not meant:
                continue
            domain, _, name = meant.partition("/")
            wrong_domain = found.domain != domain
            span, right = (found.domain_span, domain) if wrong_domain else (found.name_span, name)
            yield Advice(
                subject,
                expression.path,
                f"unknown attribute {found.full_name}; did you mean {meant}?",
                help=f"Kubernetes defines {_KNOWN}",
                span=span,
                fix=Replacement(expression.path, right, span=span, safe=True),
            )
