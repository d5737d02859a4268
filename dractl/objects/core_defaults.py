"""Defaults that the API server sets in core objects, as far as dractl reads these fields.

kubernetes pkg/apis/{core,apps,batch,storage}/v1/defaults.go. Requests that default to a container's
limits are left to the views, since the API server does not set them in templates of workloads.
"""

from collections.abc import Callable, Mapping
from typing import Any

_ROLLING = {"type": "RollingUpdate"}
_POD = {"restartPolicy": "Always", "schedulerName": "default-scheduler"}
_SPECS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("v1", "Pod"): _POD,
    ("v1", "PersistentVolumeClaim"): {"volumeMode": "Filesystem"},
    ("v1", "PersistentVolume"): {
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
    },
    ("apps/v1", "Deployment"): {
        "replicas": 1,
        "strategy": {**_ROLLING, "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    },
    ("apps/v1", "ReplicaSet"): {"replicas": 1},
    ("apps/v1", "StatefulSet"): {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {**_ROLLING, "rollingUpdate": {"partition": 0, "maxUnavailable": 1}},
    },
    ("apps/v1", "DaemonSet"): {
        "updateStrategy": {**_ROLLING, "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    },
    ("batch/v1", "Job"): {
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
    },
}
"""The fields of ``spec`` that have a default, by API version and kind."""


def set_core_defaults(value: dict[str, Any]) -> dict[str, Any]:
    """Return a core object as an API server would store it; other objects stay unchanged."""
    version, kind = str(value.get("apiVersion")), str(value.get("kind"))
    if (version, kind) == ("storage.k8s.io/v1", "StorageClass"):
        return {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"} | _drop_nulls(value)
    if (version, kind) == ("v1", "Node"):
        return _change_field(value, "status", _default_allocatable)
    fields = _SPECS.get((version, kind))
    if fields is None:
        return value
    return _change_field(value, "spec", lambda spec: _default_spec(spec, fields, kind))


def _default_spec(spec: dict[str, Any], fields: Mapping[str, Any], kind: str) -> dict[str, Any]:
    present = _drop_nulls(spec)
    if kind == "Job" and not present.keys() & {"completions", "parallelism"}:
        present["completions"] = 1
    if kind == "Pod":
        return _default_pod(present)
    return _default_template(dict(fields) | present)


def _default_template(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a workload's ``spec`` with the defaults of its pods."""
    if "template" not in spec:
        return spec
    return _change_field(
        spec, "template", lambda template: _change_field(template, "spec", _default_pod)
    )


def _default_pod(spec: dict[str, Any]) -> dict[str, Any]:
    pod = _POD | _drop_nulls(spec)
    if pod.get("hostNetwork") is not True:
        return pod
    for field in ("containers", "initContainers"):
        pod = _change_rows(pod, field, lambda row: _change_rows(row, "ports", _default_host_port))
    return pod


def _default_host_port(port: dict[str, Any]) -> dict[str, Any]:
    """Return a port of a pod with hostNetwork, whose hostPort defaults to its containerPort."""
    number = port.get("containerPort")
    return port if port.get("hostPort") or not number else {**port, "hostPort": number}


def _default_allocatable(status: dict[str, Any]) -> dict[str, Any]:
    capacity = status.get("capacity")
    return {"allocatable": capacity} | _drop_nulls(status) if capacity else status


def _drop_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are set, without fields that are null."""
    return {name: value for name, value in fields.items() if value is not None}


def _change_field(
    value: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    inner = value.get(name)
    return {**value, name: change(inner)} if isinstance(inner, dict) else value


def _change_rows(
    value: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    rows = value.get(name)
    if not isinstance(rows, list):
        return value
    return {**value, name: [change(row) if isinstance(row, dict) else row for row in rows]}
