"""A virtual machine takes a device from a claim or request that it does not have.

## What it does

Checks `gpus` and `hostDevices` of KubeVirt's machines as its webhook does: a device has either
`deviceName`, or both `claimName` and `requestName`; the claim is in `resourceClaims`; no pair of
claim and request occurs twice; and all GPUs come either from device plugins or from claims. If the
claim or template is in the input, the request must be in that claim or template.

## Why is this bad

KubeVirt's webhook refuses the machine. A machine that names a request which the claim does not have
is accepted, but never starts.

## Example

```diff
 apiVersion: kubevirt.io/v1
 kind: VirtualMachineInstance
 metadata: {name: render}
 spec:
   resourceClaims:
   - {name: gpu, resourceClaimTemplateName: one-gpu}
   domain:
     devices:
       gpus:
-      - {name: gpu0, claimName: gpus, requestName: gpu}
+      - {name: gpu0, claimName: gpu, requestName: gpu}
```

## Source

kubevirt/kubevirt pkg/dra/admitter/dra_admitter.go (0157b115) validateCreationDRA,
validateDRADevices
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.lint.model import Advice, Found, PodSpec, Replacement, Run
from dractl.lint.placeholders import holds_placeholder
from dractl.lint.references import requests_of
from dractl.model.nearest import nearest
from dractl.objects import items, mapping, text
from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("Pod template",)
_LISTS = ("gpus", "hostDevices")


class _Device(Struct, frozen=True):
    """A device of a machine."""

    list: str
    path: Path
    name: str
    """``deviceName``: the resource of a device plugin."""
    claim: str
    request: str

    @property
    def is_claimed(self) -> bool:
        return not self.name and bool(self.claim or self.request)


def check(run: Run) -> Found:
    for pod in run.pods:
        if (pod.subject.document.api_version or "").startswith("kubevirt.io/"):
            devices = list(_devices(pod))
            claimed = [device for device in devices if device.is_claimed]
            yield from _sorts(pod, devices)
            yield from _pairs(
                pod, [device for device in claimed if device.claim and device.request]
            )
            for device in claimed:
                yield from _references(run, pod, device)


def _devices(pod: PodSpec) -> Iterator[_Device]:
    listed = mapping(mapping(pod.fields.get("domain")).get("devices"))
    for name in _LISTS:
        for at, entry in enumerate(items(listed.get(name))):
            device: Mapping[str, Any] = mapping(entry)
            fields = (text(device.get(key)) for key in ("deviceName", "claimName", "requestName"))
            yield _Device(name, (*pod.path, "domain", "devices", name, at), *fields)


def _sorts(pod: PodSpec, devices: Sequence[_Device]) -> Found:
    """Yield advice on devices that come from no plugin and no claim, or from both, and on machines
    with some GPUs from plugins and some from claims.
    """
    for device in devices:
        if device.name and (device.claim or device.request):
            message = "a device has deviceName or claimName and requestName, not both"
            yield Advice(pod.subject, device.path, message)
        elif not device.name and not device.is_claimed:
            message = "a device needs either deviceName, or claimName and requestName"
            yield Advice(pod.subject, device.path, message)
    gpus = [device for device in devices if device.list == "gpus"]
    claimed = [device for device in gpus if device.is_claimed]
    if claimed and any(device.name for device in gpus):
        message = (
            "the machine has GPUs of claims and GPUs of device plugins: KubeVirt takes only one of"
            " the two"
        )
        yield Advice(pod.subject, claimed[0].path[:-1], message, key=True)


def _pairs(pod: PodSpec, claimed: Sequence[_Device]) -> Found:
    first: dict[tuple[str, str], _Device] = {}
    for device in claimed:
        before = first.setdefault((device.claim, device.request), device)
        if before is not device:
            yield Advice(
                pod.subject,
                device.path,
                f"request {device.request} of claim {device.claim} is used twice: each device of "
                "the machine needs a request of its own",
                related=(("the other device", pod.subject, before.path),),
            )


def _references(run: Run, pod: PodSpec, device: _Device) -> Found:
    lacking = [key for key in ("claim", "request") if not getattr(device, key)]
    for key in lacking:
        yield Advice(pod.subject, device.path, f"a device of a claim needs {key}Name")
    entries = {text(entry.get("name")): entry for _, entry in pod.claims}
    if not device.claim or any(map(holds_placeholder, (device.claim, device.request, *entries))):
        return
    if device.claim not in entries:
        near = nearest(device.claim, entries)
        path = (*device.path, "claimName")
        yield Advice(
            pod.subject,
            path,
            f"claim {device.claim} is not in resourceClaims"
            + (f": {', '.join(entries)}" if entries else ""),
            fix=Replacement(path, near) if near else None,
        )
        return
    requests = requests_of(run, pod, entries[device.claim])
    names = {
        name for request in requests for name in (request.parent or request.name, request.reference)
    }
    if names and device.request and device.request not in names:
        near = nearest(device.request, names)
        path = (*device.path, "requestName")
        yield Advice(
            pod.subject,
            path,
            f"the claim has no request {device.request}, but {', '.join(sorted(names))}: the "
            "machine does not start",
            confidence="likely",
            severity="warning",
            fix=Replacement(path, near) if near else None,
        )
