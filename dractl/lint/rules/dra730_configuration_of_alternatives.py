"""A configuration that a driver does not apply to the alternatives of a request.

## What it does

Finds entries of `config` that name a request with `firstAvailable`, for drivers that look for the
name of the request alone. It is reported for drivers whose code has been read, up to the version
that fixes it.

## Why is this bad

According to the API, a configuration for a request applies to all of its alternatives. The result
of an allocation has the name `REQUEST/ALTERNATIVE`. A driver that compares the two names finds no
configuration, and prepares the device with its defaults without a word.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       firstAvailable:
       - {name: big, deviceClassName: gpu.nvidia.com, count: 2}
       - {name: small, deviceClassName: gpu.nvidia.com}
     config:
-    - requests: [gpu]
+    - requests: [gpu/big, gpu/small]
       opaque:
         driver: gpu.nvidia.com
         parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
```

## Source

kubernetes/kubernetes staging/src/k8s.io/api/resource/v1/types.go DeviceClaimConfiguration.Requests;
the drivers' code is named by `dractl rule DRIVER`; kubernetes-sigs/dra-example-driver#257
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.lint.model import Advice, Claim, Found, Run
from dractl.lint.published import driver, driver_of_run
from dractl.objects import items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("firstAvailable",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for number, entry in enumerate(items(claim.devices.get("config"))):
            config = mapping(entry)
            known_driver = driver(text(mapping(config.get("opaque")).get("driver")))
            if known_driver is None:
                continue
            version = driver_of_run(run, known_driver).newest
            if known_driver.fact.limit("parent-configuration", version) is None:
                continue
            for position, request, names in _parents(claim, config):
                yield Advice(
                    claim.subject,
                    (*claim.path, "config", number, "requests", position),
                    f"{known_driver.name} does not apply this configuration to the alternatives of"
                    f" {request}: it looks for the name of the request, and the devices are those"
                    f" of {names[0]}",
                    help=f"name the alternatives: {', '.join(names)}",
                    confidence="likely",
                )


def _parents(claim: Claim, config: Mapping[str, Any]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield each request with alternatives that a configuration names: its position, its name, and
    the names of its alternatives.
    """
    alternatives: dict[str, list[str]] = {}
    for part in claim.alternatives:
        if part.parent is not None:
            alternatives.setdefault(part.parent, []).append(part.reference)
    for position, name in enumerate(items(config.get("requests"))):
        if text(name) in alternatives:
            yield position, text(name), alternatives[text(name)]
