"""Claims that custom resources describe in fields of their own, as the ResourceClaimTemplates made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.manifests.documents import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dractl.manifests.documents import Fault, Path
    from dractl.manifests.source import Position

_REQUESTS = ("spec", "spec", "devices", "requests")
_SELECTORS = ("exactly", "selectors")


def claim_specs(document: Document) -> Iterator[Document]:
    """The templates that a controller makes of a custom resource, without metadata; places are those in the file."""
    maker = _MAKERS.get(((document.api_version or "").partition("/")[0], document.kind or ""))
    for path, value, outward in maker(document) if maker else ():
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "spec": value}
        places = _Places(document, path, outward)
        yield Document(document.file, document.index, made, places, origin=document.origin, rendered=document.rendered)


_Made = tuple["Path", Any, "Callable[[Path], Path]"]
"""Where a claim is described, the template's spec, and where a path in the template is below that place."""


def _of_grove(document: Document) -> Iterator[_Made]:
    """PodCliqueSet: ResourceClaimTemplateSpecs as they are (grove operator/api/core/v1alpha1/podcliqueset.go
    ResourceClaimTemplateConfig)."""
    for path, entry in _entries(document, ("spec", "template", "resourceClaimTemplates")):
        if isinstance(entry.get("templateSpec"), dict):
            yield (*path, "templateSpec"), entry["templateSpec"], lambda inside: inside[1:]


def _of_nim(document: Document) -> Iterator[_Made]:
    """NIMService: requests with expressions beside them (k8s-nim-operator api/apps/v1alpha1/dra_types.go
    DRAClaimCreationSpec, manifests/resourceclaimtemplate.yaml)."""
    lists: list[Path] = [("spec", "draResources")]
    lists += [(*path, "spec", "draResources") for path, _ in _entries(document, ("spec", "services"))]
    for resources in lists:
        for path, _ in _entries(document, resources):
            devices = [entry for _, entry in _entries(document, (*path, "claimCreationSpec", "devices"))]
            if devices and len(devices) == len(document.at((*path, "claimCreationSpec", "devices"))):
                requests = [_nim_request(device) for device in devices]
                yield (*path, "claimCreationSpec"), {"spec": {"devices": {"requests": requests}}}, _nim_path


def _nim_request(device: dict[str, Any]) -> dict[str, Any]:
    exactly = {
        "deviceClassName": device.get("deviceClassName", "gpu.nvidia.com"),
        "allocationMode": "ExactCount",
        "count": device.get("count", 1),
    }
    expressions = device.get("celExpressions")
    if isinstance(expressions, list) and all(isinstance(text, str) for text in expressions):
        exactly["selectors"] = [{"cel": {"expression": text}} for text in expressions]
    return {"name": device.get("name"), "exactly": exactly}


def _nim_path(path: Path) -> Path:
    if path[: len(_REQUESTS)] != _REQUESTS:
        return ("devices",) if path else ()
    at, inside = path[len(_REQUESTS) : len(_REQUESTS) + 1], path[len(_REQUESTS) + 1 :]
    if inside[:2] == _SELECTORS:
        return ("devices", *at, "celExpressions", *inside[2:3])
    return ("devices", *at, *(inside[1:] if inside[:1] == ("exactly",) else inside))


def _entries(document: Document, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    found = document.at(path)
    for at, entry in enumerate(found if isinstance(found, list) else ()):
        if isinstance(entry, dict):
            yield (*path, at), entry


_MAKERS: dict[tuple[str, str], Callable[[Document], Iterator[_Made]]] = {
    ("grove.io", "PodCliqueSet"): _of_grove,
    ("apps.nvidia.com", "NIMService"): _of_nim,
    ("apps.nvidia.com", "NIMPipeline"): _of_nim,
}


class _Places:
    """Finds the values of a template in the custom resource that describes it."""

    def __init__(self, outer: Document, path: Path, outward: Callable[[Path], Path]) -> None:
        self._outer = outer
        self._path = path
        self._outward = outward

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        inside = self._outward(path) if path[:1] == ("spec",) else ()
        return self._outer.locate((*self._path, *inside), key=key, offset=offset)

    def faults(self) -> Sequence[Fault]:
        return ()

    def line(self, number: int) -> str:
        return self._outer.line(number)

    def text(self) -> str:
        return self._outer.text
