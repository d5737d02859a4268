"""A toleration of a taint that nobody sets.

## What it does

Compares the tolerations of requests with the taints that drivers set on their own devices, and with
those of DeviceTaintRules and ResourceSlices of the run: it reports a key in a driver's domain that
the driver does not set, another effect, or a value that the taint does not have. Also finds the
keys of node taints.

## Why is this bad

The toleration has no effect: the request still gets no device with the taint that was meant.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.nvidia.com
-        tolerations: [{key: gpu.nvidia.com/gpulost, operator: Exists, effect: NoSchedule}]
+        tolerations: [{key: gpu.nvidia.com/gpu-lost, operator: Exists, effect: NoSchedule}]
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`; node taints:
k8s.io/api/core/v1/well_known_taints.go and those that GPU operators and clouds document
"""

from collections.abc import Mapping
from typing import Any

from dractl.facts import Taint
from dractl.lint.model import Advice, Found, Manifest, Replacement, Run
from dractl.lint.published import drivers
from dractl.manifests.documents import Path
from dractl.model.nearest import nearest_names
from dractl.objects import items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("tolerations",)
_OF_NODES = frozenset({"nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuron"})
_DOMAINS_OF_NODES = frozenset(
    {"node.kubernetes.io", "node-role.kubernetes.io", "node.cloudprovider.kubernetes.io"}
)


def check(run: Run) -> Found:
    taint_keys = _taint_keys(run)
    for claim, request in run.requests:
        for at, toleration in enumerate(request.tolerations):
            key = text(toleration.get("key"))
            if key and key not in taint_keys:
                yield from _judge(
                    claim.subject, (*request.path, "tolerations", at), key, toleration
                )


def _judge(subject: Manifest, path: Path, key: str, toleration: Mapping[str, Any]) -> Found:
    domain, key_path = key.partition("/")[0], (*path, "key")
    if key in _OF_NODES or domain in _DOMAINS_OF_NODES:
        message = f"{key} is a taint of nodes: a request tolerates taints of devices"
        yield Advice(
            subject,
            key_path,
            message,
            help="add it to spec.tolerations of the pod",
            confidence="likely",
        )
        return
    if domain not in drivers():
        return
    facts, dated = drivers()[domain].fact, drivers()[domain].known_to
    taints = {taint.key: taint for taint in facts.taints}
    if key in taints:
        yield from _compare_with_taint(
            subject, path, toleration, domain, taints[key], f"{domain} is {dated}"
        )
    elif facts.other_taints:
        return
    elif meant := next(iter(nearest_names(key, tuple(taints), 0.85, 1)), None):
        message = f"{domain} sets no taint {key}; did you mean {meant}?"
        fix = Replacement(key_path, meant)
        yield Advice(
            subject, key_path, message, help=f"{domain} is {dated}", confidence="likely", fix=fix
        )
    else:
        message = f"{domain} sets no taint {key}: only a DeviceTaintRule could"
        has = f"{domain} sets {', '.join(sorted(taints))}" if taints else f"{domain} sets no taints"
        yield Advice(
            subject,
            key_path,
            message,
            help=f"{has} ({dated})",
            severity="info",
            confidence="possible",
        )


def _compare_with_taint(
    subject: Manifest,
    path: Path,
    toleration: Mapping[str, Any],
    driver: str,
    taint: Taint,
    help_: str,
) -> Found:
    effect, value = text(toleration.get("effect")), text(toleration.get("value"))
    if effect and effect not in taint.effects:
        message = (
            f"{driver} sets {taint.key} with the effect {' or '.join(taint.effects)}, never "
            f"{effect}"
        )
        yield Advice(subject, (*path, "effect"), message, help=help_, confidence="likely")
    elif toleration.get("operator") in (None, "", "Equal") and bool(value) != bool(taint.value):
        has = f"has a value, {taint.value}" if taint.value else "has no value"
        tolerated = f"the value {value}" if value else "an empty value"
        message = f"the taint {taint.key} {has}: this tolerates only {tolerated}"
        value_path = (*path, "value") if value else path
        yield Advice(
            subject, value_path, message, help="write operator: Exists", confidence="likely"
        )


def _taint_keys(run: Run) -> frozenset[str]:
    """Return the keys of taints in DeviceTaintRules and ResourceSlices of the run."""
    taints = [mapping(subject.spec.get("taint")) for subject in run.of("DeviceTaintRule")]
    for subject in run.of("ResourceSlice"):
        for device in items(subject.spec.get("devices")):
            content = mapping(mapping(device).get("basic")) or mapping(device)
            taints += map(mapping, items(content.get("taints")))
    return frozenset(text(taint.get("key")) for taint in taints)
