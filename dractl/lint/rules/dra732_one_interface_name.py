"""A configuration gives the network interfaces of several devices one name.

## What it does

Finds configurations of dra.net (`interface.name`) and of the SR-IOV driver (`ifName`) that apply to
two or more devices of a claim, and two configurations of a claim with the same name for different
requests. Requests of other drivers do not count.

## Why is this bad

All devices of a claim come into the network namespace of the pod, where each name exists once. The
second device cannot be moved there, and the pod does not start.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: nics}
 spec:
   devices:
     requests:
-    - {name: nic, exactly: {deviceClassName: dranet, count: 2}}
+    - {name: nic, exactly: {deviceClassName: dranet}}
     config:
     - requests: [nic]
       opaque:
         driver: dra.net
         parameters: {apiVersion: dra.net/v1, kind: NetworkConfig, interface: {name: eth1}}
```

## Source

kubernetes-sigs/dranet pkg/driver/hostdevice.go nsAttachNetdev (f258477);
k8snetworkplumbingwg/dra-driver-sriov pkg/devicestate/state.go applyConfigOnDevice, pkg/cni/cni.go
(cd9404f); Linux net/core/dev.c __dev_change_net_namespace (EEXIST)
"""

from collections.abc import Mapping

from dractl.lint.configs import Configuration, configurations_of
from dractl.lint.model import Advice, Claim, Found, Run
from dractl.lint.published import devices_of_request
from dractl.model.paths import at
from dractl.objects import Request, text
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("config",)
_NAMES: Mapping[str, Path] = {
    "dra.net": ("interface", "name"),
    "sriovnetwork.k8snetworkplumbingwg.io": ("ifName",),
}
"""The path of the name of the interface in each driver's parameters."""


def check(run: Run) -> Found:
    for claim in run.claims:
        first: dict[tuple[str, str], tuple[Configuration, frozenset[str]]] = {}
        for config in configurations_of(claim.subject):
            if config.driver not in _NAMES:
                continue
            steps = _NAMES[config.driver]
            name = text(at(config.parameters, *steps))
            if not name:
                continue
            path = (*config.path, "parameters", *steps)
            targets = _requests(run, claim, config)
            devices = _count_devices(targets)
            if devices > 1:
                yield Advice(
                    claim.subject,
                    path,
                    f"{devices} devices get the name {name}: a pod has each name of an interface "
                    "once",
                    help=(
                        "leave the name out, or write a request and a configuration for each device"
                    ),
                    confidence="likely",
                )
            names = frozenset(request.whole for request in targets)
            before = first.setdefault((config.driver, name), (config, names))
            if before[0] is not config and not names & before[1] and names and before[1]:
                yield Advice(
                    claim.subject,
                    path,
                    f"{', '.join(sorted(before[1] | names))} get the same name {name}: a pod has "
                    "each name of an interface once",
                    help="give each request a name of its own",
                    confidence="likely",
                    related=(
                        ("the other one", claim.subject, (*before[0].path, "parameters", *steps)),
                    ),
                )


def _requests(run: Run, claim: Claim, config: Configuration) -> list[Request]:
    """Return the requests that a configuration applies to: requests for the driver's devices, and
    requests that the configuration names although their class is unknown.
    """
    requests = []
    for request in claim.targets(config.requests):
        profile = devices_of_request(run, request)
        if profile.driver.name == config.driver if profile is not None else bool(config.requests):
            requests.append(request)
    return requests


def _count_devices(requests: list[Request]) -> int:
    """Return the smallest number of devices that the requests get, whatever alternatives are
    chosen.
    """
    least: dict[str, int] = {}
    for request in requests:
        amount = request.amount or 1
        least[request.whole] = min(amount, least.get(request.whole, amount))
    return sum(least.values())
