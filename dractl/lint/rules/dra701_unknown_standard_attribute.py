"""A standard attribute is misspelt.

## What it does

Compares the attributes in constraints, in selectors and in the devices of slices with those that
Kubernetes defines: `resource.kubernetes.io/pcieRoot`, `pciBusID` and `numaNode`. A release that is
not out yet may define more: there, it is a warning without a fix.

## Why is this bad

Nobody checks that an attribute exists. A device without it never satisfies a constraint, so the pod
stays pending forever; a selector fails with an error.

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

from msgspec.structs import replace

from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.standard import STANDARD, STANDARD_DOMAIN, guess_standard
from dractl.objects import mapping, text
from dractl.validation.previews import preview_of

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
            meant = guess_standard(domain, name) if slash else None
            if meant:
                advice = Advice(
                    claim.subject,
                    path,
                    f"unknown attribute {written}; did you mean {meant}?",
                    help=f"Kubernetes defines {_KNOWN}",
                    fix=Replacement(path, meant, safe=True),
                )
                yield _soften_in_preview(advice, run, written, meant)
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
    """Yield one advice for each slice and name, since a driver uses the same names for all of its
    devices.
    """
    for subject in run.of("ResourceSlice"):
        seen: set[str] = set()
        for device in subject.devices:
            for key in mapping(device.fields.get("attributes")):
                if key in seen or not isinstance(key, str) or "/" not in key:
                    continue
                seen.add(key)
                domain, _, name = key.partition("/")
                meant = guess_standard(domain, name)
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
        for lookup in run.program(expression).lookups:
            if lookup.kind != "attributes" or lookup.name is None:
                continue
            meant = guess_standard(lookup.domain, lookup.name)
            if not meant:
                continue
            domain, _, name = meant.partition("/")
            wrong_domain = lookup.domain != domain
            span, right = (lookup.domain_span, domain) if wrong_domain else (lookup.name_span, name)
            advice = Advice(
                subject,
                expression.path,
                f"unknown attribute {lookup.full_name}; did you mean {meant}?",
                help=f"Kubernetes defines {_KNOWN}",
                span=span,
                fix=Replacement(expression.path, right, span=span, safe=True),
            )
            yield _soften_in_preview(advice, run, lookup.full_name, meant)


def _soften_in_preview(advice: Advice, run: Run, written: str, meant: str) -> Advice:
    """Return a warning without a fix for an attribute that a preview may define."""
    preview = preview_of(run.target)
    if preview is None or not written.startswith(f"{STANDARD_DOMAIN}/"):
        return advice
    message = f"attribute {written}: {preview.unknown} (the nearest that is known: {meant})"
    return replace(advice, message=message, severity="warning", confidence="likely", fix=None)
