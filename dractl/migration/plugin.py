"""Sharing by device plugins, according to their configuration in the input, and the objects that
install them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from dractl.manifests import Document, Position, read_text
from dractl.migration.resources import SHARED
from dractl.objects.values import items, mapping, number, text

_OPERATOR = "nvidia.com"
_KINDS = ("ClusterPolicy", "GPUCluster")
_DISABLE_PLUGIN_HINT = (
    "{kind}: set devicePlugin.enabled: false where the DRA driver hands out the GPUs: plugin and"
    " driver do not see each other's pods"
)
_SINGLE_STRATEGY_HINT = (
    "with strategy single, nvidia.com/gpu is a MIG device where MIG is on: there, ask for class"
    " mig.nvidia.com"
)


class Sharing(Struct, frozen=True):
    """A resource for which the plugin hands out each device several times."""

    resource: str
    """The name by which pods request the resource."""
    replicas: int
    """The number of times that each device is handed out."""
    source: str
    """The ConfigMap with this setting."""


def sharings(documents: Iterable[Document]) -> dict[str, Sharing]:
    """Return the resources that are replicas, by the name in pods' requests
    (NVIDIA/k8s-device-plugin api/config/v1 replicas.go); of several configurations, the one with
    the most replicas counts.
    """
    sharings_by_name: dict[str, Sharing] = {}
    for document in documents:
        if document.kind == "ConfigMap" and isinstance(document.value.get("data"), dict):
            for content in document.value["data"].values():
                for name, replicas in (
                    _replicas(content) if isinstance(content, str) and "replicas" in content else ()
                ):
                    if replicas > 1 and (
                        name not in sharings_by_name or replicas > sharings_by_name[name].replicas
                    ):
                        sharings_by_name[name] = Sharing(
                            name, replicas, f"ConfigMap {document.name}"
                        )
    return sharings_by_name


def _replicas(content: str) -> Iterator[tuple[str, int]]:
    for item in read_text("", content):
        sharing = mapping(mapping(getattr(item, "value", None)).get("sharing"))
        for way in ("timeSlicing", "mps"):
            settings = mapping(sharing.get(way))
            for row in items(settings.get("resources")):
                name = text(mapping(row).get("name"))
                renamed = text(mapping(row).get("rename")) or (
                    name + SHARED if settings.get("renameByDefault") is True else name
                )
                yield renamed, number(mapping(row).get("replicas"))


def remarks_on_installation(document: Document) -> Iterator[tuple[Position, str]]:
    """Yield the changes to make in an object from which NVIDIA's operator installs the device
    plugin.
    """
    version: Any = document.api_version or ""
    if document.kind not in _KINDS or version.partition("/")[0] != _OPERATOR:
        return
    path = ("spec", "devicePlugin", "enabled")
    if document.at(path) is not False:
        place = path if document.at(path) is not None else ("spec",)
        yield document.locate(place, key=True), _DISABLE_PLUGIN_HINT.format(kind=document.kind)
    strategy = ("spec", "mig", "strategy")
    if document.at(strategy) == "single":
        yield document.locate(strategy), _SINGLE_STRATEGY_HINT
