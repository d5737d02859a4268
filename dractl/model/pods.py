"""Pod specs inside other objects, found by their structure: Deployments, Jobs, JobSets,
LeaderWorkerSets, RayJobs, ...
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.model.reader import Path

_CONTAINERS = ("containers", "initContainers", "resourceClaims")
_MAX_DEPTH = 32
MAIN = ("mainContainer", "model")
"""The keys of single containers: of Dynamo's ``extraPodSpec`` (ai-dynamo/dynamo deploy/operator
api/v1alpha1 common.go ExtraPodSpec) and of KServe's ``predictor`` (kserve/kserve
pkg/apis/serving/v1beta1 predictor_model.go ModelSpec).
"""


def pod_templates(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the pod spec of a Pod, or of every pod template in any other object, each with its
    path.

    A pod template is a map under a key that ends in ``template`` (in any case) whose ``spec`` has
    containers or claims.
    """
    spec = value.get("spec")
    if value.get("apiVersion") == "v1" and value.get("kind") == "Pod":
        if isinstance(spec, Mapping):
            yield ("spec",), spec
        return
    # Depth first, in the order of the document; with an explicit stack, since documents can nest to
    # any depth.
    stack: list[tuple[Path, object]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if len(path) > _MAX_DEPTH:
            continue
        if isinstance(node, Mapping):
            if path and _is_template(path[-1], node):
                yield (*path, "spec"), node["spec"]
                continue
            if path == ("metadata",) or path == ("status",):
                continue
            stack.extend(
                [((*path, str(key)), child) for key, child in node.items() if _is_container(child)][
                    ::-1
                ]
            )
        elif isinstance(node, list):
            stack.extend(
                [
                    ((*path, index), child)
                    for index, child in enumerate(node)
                    if _is_container(child)
                ][::-1]
            )


def _is_container(value: object) -> bool:
    return isinstance(value, (dict, list))  # the types of parsed JSON and YAML


def _is_template(key: str | int, node: Mapping[str, Any]) -> bool:
    if not isinstance(key, str) or not key.lower().endswith("template"):
        return False
    spec = node.get("spec")
    if (
        isinstance(spec, Mapping)
        and isinstance(spec.get("template"), Mapping)
        and "containers" not in spec
    ):
        return False  # a Job's template, which contains the template of the pods
    return isinstance(spec, Mapping) and any(
        isinstance(spec.get(name), list) for name in _CONTAINERS
    )


def pod_specs(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield every map that is used as a pod spec, with its path. These are the maps of
    :func:`pod_templates` and, in custom resources, any map with a list of ``resourceClaims``, or
    with containers that name claims.

    This finds the predictor of an InferenceService, a Grove ``podSpec``, and the values of a
    HelmRelease.
    """
    templates = dict(pod_templates(value))
    yield from templates.items()
    stack: list[tuple[Path, object]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if path in templates or len(path) > _MAX_DEPTH or path[:1] in (("metadata",), ("status",)):
            continue
        if isinstance(node, Mapping):
            if path and (
                _lists_maps(node.get("resourceClaims")) or _names_claims(node.get("containers"))
            ):
                yield path, node
            stack.extend(
                [((*path, str(key)), child) for key, child in node.items() if _is_container(child)][
                    ::-1
                ]
            )
        elif isinstance(node, list):
            stack.extend(
                [
                    ((*path, index), child)
                    for index, child in enumerate(node)
                    if _is_container(child)
                ][::-1]
            )


def main_containers(spec: Mapping[str, Any]) -> list[str]:
    """Return the keys of containers that a pod spec has outside its list of containers and that
    name claims.
    """
    return [name for name in MAIN if _names_claims([spec.get(name)])]


def _lists_maps(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
    )


def _names_claims(containers: object) -> bool:
    if not isinstance(containers, list):
        return False
    resources = (
        container.get("resources") for container in containers if isinstance(container, Mapping)
    )
    return any(isinstance(item, Mapping) and _lists_maps(item.get("claims")) for item in resources)
