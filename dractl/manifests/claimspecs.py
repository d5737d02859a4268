"""Claims that custom resources describe in their own fields, in the form of the
ResourceClaimTemplates that a controller makes of them.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dractl.manifests.documents import Document, Path, Within
from dractl.manifests.source import Position

_REQUESTS = ("spec", "spec", "devices", "requests")
_SELECTORS = ("exactly", "selectors")


def claim_specs(document: Document) -> Iterator[Document]:
    """Yield the templates that a controller makes of a custom resource, without metadata, but with
    their places in the file.
    """
    maker = _MAKERS.get(((document.api_version or "").partition("/")[0], document.kind or ""))
    for path, value, outward, derived in maker(document) if maker else ():
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "spec": value}
        places = _Places(document, path, outward, derived=derived)
        yield document.another(made, places, derived=derived)


_Made = tuple["Path", Any, "Callable[[Path], Path]", bool]
"""The path of the description of a claim; the template's spec; a function that gives, for a path in
the template, the path below the description; and True if the controller writes selectors of its
own.
"""


def _grove_templates(document: Document) -> Iterator[_Made]:
    """Yield the ResourceClaimTemplateSpecs of a PodCliqueSet, unchanged (grove
    operator/api/core/v1alpha1/podcliqueset.go ResourceClaimTemplateConfig).
    """
    for path, entry in _entries(document, ("spec", "template", "resourceClaimTemplates")):
        if isinstance(entry.get("templateSpec"), dict):
            yield (*path, "templateSpec"), entry["templateSpec"], lambda inside: inside[1:], False


def _nim_templates(document: Document) -> Iterator[_Made]:
    """Yield the templates of a NIMService: requests with expressions beside them (k8s-nim-operator
    api/apps/v1alpha1/dra_types.go DRAClaimCreationSpec, manifests/resourceclaimtemplate.yaml).
    """
    lists: list[Path] = [("spec", "draResources")]
    lists += [
        (*path, "spec", "draResources") for path, _ in _entries(document, ("spec", "services"))
    ]
    for resources in lists:
        for path, _ in _entries(document, resources):
            devices = [
                entry for _, entry in _entries(document, (*path, "claimCreationSpec", "devices"))
            ]
            if devices and len(devices) == len(
                document.at((*path, "claimCreationSpec", "devices"))
            ):
                selectors = [_nim_selectors(device) for device in devices]
                requests = [
                    _nim_request(device, chosen)
                    for device, chosen in zip(devices, selectors, strict=True)
                ]
                places = [[place for place, _ in chosen] for chosen in selectors]
                value = {"spec": {"devices": {"requests": requests}}}
                derived = any(len(place) > 2 for chosen in places for place in chosen)
                yield (*path, "claimCreationSpec"), value, partial(_nim_path, places), derived


def _nim_selectors(device: dict[str, Any]) -> list[tuple[Path, str]]:
    """Return the expressions, each with the path of its description. They are unchanged, or in the
    form that the operator writes (internal/shared/ resourceclaims.go GetDRADeviceCELExpressions,
    internal/k8sutil/cel/cel.go BuildExpr).
    """
    expressions = device.get("celExpressions")
    if isinstance(expressions, list):
        whole = all(isinstance(text, str) for text in expressions)
        return (
            [(("celExpressions", at), text) for at, text in enumerate(expressions)] if whole else []
        )
    driver = device.get("driverName", "gpu.nvidia.com")
    made: list[tuple[Path, str]] = []
    for field, kind in (("attributeSelectors", "attributes"), ("capacitySelectors", "capacity")):
        listed = device.get(field)
        for at, item in enumerate(listed if isinstance(listed, list) else ()):
            text = _nim_expression(item, kind, driver) if isinstance(item, dict) else None
            if text is not None:
                made.append(((field, at, "key"), text))
    return made


_OPERATORS = {
    "Equal": "==",
    "NotEqual": "!=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


def _nim_expression(item: dict[str, Any], kind: str, driver: object) -> str | None:
    """Return a selector in CEL; None for a selector that the operator refuses."""
    key, operator, value = (
        item.get("key"),
        _OPERATORS.get(item.get("op", "Equal")),
        item.get("value"),
    )
    if not isinstance(key, str) or not isinstance(driver, str) or operator is None:
        return None
    domain, _, name = key.rpartition("/")
    operand = f"device.{kind}[{json.dumps(domain or driver)}].{name}"
    if kind == "capacity":
        amount = isinstance(value, str | int | float) and not isinstance(value, bool)
        return (
            f"({operand}).compareTo(quantity({json.dumps(str(value))})) {operator} 0"
            if amount
            else None
        )
    values = value.items() if isinstance(value, dict) else ()
    match next(((name, literal) for name, literal in values if literal is not None), None):
        case ("boolValue", bool(literal)) if operator in ("==", "!="):
            return f"{operand} {operator} {str(literal).lower()}"
        case ("intValue", int(literal)) if not isinstance(literal, bool):
            return f"{operand} {operator} {literal}"
        case ("stringValue", str(literal)) if operator in ("==", "!="):
            return f"{operand} {operator} {json.dumps(literal)}"
        case ("versionValue", str(literal)):
            return f"({operand}).compareTo(semver({json.dumps(literal)})) {operator} 0"
    return None


def _nim_request(device: dict[str, Any], selectors: list[tuple[Path, str]]) -> dict[str, Any]:
    exactly = {
        "deviceClassName": device.get("deviceClassName", "gpu.nvidia.com"),
        "allocationMode": "ExactCount",
        "count": device.get("count", 1),
    }
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for _, text in selectors]
    return {"name": device.get("name"), "exactly": exactly}


def _nim_path(selectors: list[list[Path]], path: Path) -> Path:
    if path[: len(_REQUESTS)] != _REQUESTS:
        return ("devices",) if path else ()
    at, inside = path[len(_REQUESTS) : len(_REQUESTS) + 1], path[len(_REQUESTS) + 1 :]
    if inside[:2] == _SELECTORS:
        request, number = (*at, 0)[0], (*inside, 0)[2]
        place = (
            selectors[request][number]
            if isinstance(request, int) and isinstance(number, int)
            else ()
        )
        return ("devices", *at, *place)
    return ("devices", *at, *(inside[1:] if inside[:1] == ("exactly",) else inside))


def _entries(document: Document, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    entries = document.at(path)
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (*path, at), entry


_MAKERS: dict[tuple[str, str], Callable[[Document], Iterator[_Made]]] = {
    ("grove.io", "PodCliqueSet"): _grove_templates,
    ("apps.nvidia.com", "NIMService"): _nim_templates,
    ("apps.nvidia.com", "NIMPipeline"): _nim_templates,
}


class _Places(Within):
    """Finds the values of a template in the custom resource that describes it."""

    def __init__(
        self, outer: Document, path: Path, outward: Callable[[Path], Path], *, derived: bool
    ) -> None:
        super().__init__(outer)
        self._path = path
        self._outward = outward
        self._derived = derived

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        inside = self._outward(path) if path[:1] == ("spec",) else ()
        return self._outer.locate(
            (*self._path, *inside), key=key, offset=None if self._derived else offset
        )
