"""A container gets the same hardware from a device plugin and through a claim.

## What it does

Finds containers that ask for an extended resource of a device plugin (`nvidia.com/gpu`) and use a
claim whose class has devices of the driver for the same hardware. A resource that a DeviceClass in
the input provides (`extendedResourceName`) does not count, nor does adminAccess, which takes no
device.

## Why is this bad

Device plugin and DRA driver know nothing of each other: each gives out every device of the node.
The container gets devices from both, and these may be the same device, or a device that another pod
already uses.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpu}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.nvidia.com}
 ---
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
   resourceClaims:
   - {name: gpu, resourceClaimName: gpu}
   containers:
   - name: main
     image: registry.example.com/train:1
     resources:
       claims: [{name: gpu}]
-      limits: {nvidia.com/gpu: 1}
```

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go (a class does not provide
a resource that is in the node's allocatable), pkg/kubelet/cm/devicemanager and pkg/kubelet/cm/dra
(which keep separate accounts)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.facts.resources import drivers_of
from dractl.lint.model import Advice, Found, PodSpec, Run
from dractl.lint.published import devices_of_request
from dractl.lint.references import requests_of
from dractl.objects import items, mapping, text
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("Pod template",)


def check(run: Run) -> Found:
    provided = {text(subject.spec.get("extendedResourceName")) for subject in run.of("DeviceClass")}
    for pod in run.pods:
        for path, resources in _containers(pod):
            asked = {
                name: (*path, part, name)
                for part in ("requests", "limits")
                for name in map(str, mapping(resources.get(part)))
                if "/" in name and name not in provided
            }
            drivers = _drivers(run, pod, resources) if asked else {}
            for resource, resource_path in asked.items():
                of_plugin = drivers_of(resource)
                # A resource of several drivers may be for other hardware than the claim.
                if len(of_plugin) == 1 and of_plugin[0] in drivers:
                    yield Advice(
                        pod.subject,
                        resource_path,
                        f"{resource} and claim {drivers[of_plugin[0]]} are both for devices of "
                        f"{of_plugin[0]}: device plugin and driver give them out independently "
                        "of each other",
                        help=(
                            "ask for all of them through the claim, or provide the resource by "
                            f"a DeviceClass with extendedResourceName: {resource}"
                        ),
                        key=True,
                        confidence="likely",
                    )


def _containers(pod: PodSpec) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the resources of the containers that use claims, with their paths."""
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(items(pod.fields.get(kind))):
            resources = mapping(mapping(container).get("resources"))
            if resources.get("claims"):
                yield (*pod.item_path(kind, at), "resources"), resources


def _drivers(run: Run, pod: PodSpec, resources: Mapping[str, Any]) -> dict[str, str]:
    """Return the known drivers of the devices in a container's claims, each with the name of such a
    claim.
    """
    entries = {text(entry.get("name")): entry for _, entry in pod.claims}
    claim_names: dict[str, str] = {}
    for used in items(resources.get("claims")):
        name = text(mapping(used).get("name"))
        for request in requests_of(run, pod, entries[name]) if name in entries else ():
            profile = devices_of_request(run, request)
            if profile is not None and request.fields.get("adminAccess") is not True:
                claim_names.setdefault(profile.driver.name, name)
    return claim_names
