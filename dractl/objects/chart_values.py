"""Pods in the values of a HelmRelease whose chart uses the common library of bjw-s, as app-template
does.

Source: bjw-s-labs/helm-charts@51909ff charts/library/common/templates/lib/pod/_spec.tpl,
_getOption.tpl and fields/_containers.tpl.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.objects.pods import Owner, PodSpec
from dractl.objects.values import Path, items, mapping

_MAX_DEPTH = 16
_CONTAINERS = ("initContainers", "containers")


def chart_pods(subject: Owner, value: Mapping[str, Any]) -> Iterator[PodSpec[Owner]]:
    """Yield the pods of ``controllers`` that use claims; none if the object refers to further
    values.
    """
    return (pod for pod in controllers(subject, value) if pod.claims or any(pod.uses))


def controllers(subject: Owner, value: Mapping[str, Any]) -> Iterator[PodSpec[Owner]]:
    """Yield the pods of all ``controllers`` in the values; none if the object refers to further
    values.
    """
    if mapping(value.get("spec")).get("valuesFrom"):
        return
    for path, values in _values(value, ()):
        for name, controller in mapping(values.get("controllers")).items():
            if isinstance(controller, dict) and controller.get("enabled") is not False:
                yield _pod(subject, path, values, name)


def _values(node: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield every map with ``controllers`` whose containers are in a map by name."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(node, dict):
        controllers = mapping(node.get("controllers")).values()
        if any(
            isinstance(controller, dict) and _has_containers(controller)
            for controller in controllers
        ):
            yield path, node
        for key, child in node.items():
            yield from _values(child, (*path, key))
    else:
        for at, child in enumerate(items(node)):
            yield from _values(child, (*path, at))


def _has_containers(controller: Mapping[str, Any]) -> bool:
    containers = mapping(controller.get("containers"))
    return bool(containers) and all(
        isinstance(container, dict) for container in containers.values()
    )


def _pod(subject: Owner, path: Path, values: Mapping[str, Any], name: str) -> PodSpec[Owner]:
    home = (*path, "controllers", name)
    controller = values["controllers"][name]
    places: dict[tuple[str, int], Path] = {}
    options = mapping(controller.get("pod")), mapping(values.get("defaultPodOptions"))
    fields: dict[str, Any] = {"pod": options[0], "defaultPodOptions": options[1]}
    pod_claims, default_claims = (items(item.get("resourceClaims")) for item in options)
    claims_path = (*home, "pod") if pod_claims else (*path, "defaultPodOptions")
    fields["resourceClaims"] = pod_claims or default_claims
    places.update(
        {
            ("resourceClaims", at): (*claims_path, "resourceClaims", at)
            for at in range(len(pod_claims or default_claims))
        }
    )
    for kind in _CONTAINERS:
        enabled = {
            key: container
            for key, container in mapping(controller.get(kind)).items()
            if isinstance(container, dict) and container.get("enabled") is not False
        }
        fields[kind] = list(enabled.values())
        places.update({(kind, at): (*home, kind, key) for at, key in enumerate(enabled)})
    return PodSpec(subject, home, fields, places)
