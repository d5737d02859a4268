"""Pod specifications, as written."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from dractl.model.nearest import nearest
from dractl.model.pods import main_containers
from dractl.objects.values import Path, items, mapping
from dractl.properties import cached_property

Owner = TypeVar("Owner")

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""The prefix of the extended resource that every class has (ResourceDeviceClassPrefix)."""


class PodSpec(Struct, Generic[Owner], frozen=True, dict=True):
    """The specification of a pod, in a Pod or in a workload's template."""

    subject: Owner
    """The object that contains the pod specification, as the caller identifies it."""
    path: Path
    fields: Mapping[str, Any]
    places: Mapping[tuple[str, int], Path] | None = None
    """The path of each item that is not in a list below ``path``, by field and index. In a chart's
    values, for example, containers are in maps.
    """

    def item_path(self, field: str, number: int) -> Path:
        """Return the path of an item of a list."""
        return (
            self.places[field, number] if self.places is not None else (*self.path, field, number)
        )

    @cached_property
    def claims(self) -> Sequence[tuple[Path, Mapping[str, Any]]]:
        listed = items(self.fields.get("resourceClaims"))
        return tuple(
            (self.item_path("resourceClaims", at), mapping(item)) for at, item in enumerate(listed)
        )

    @cached_property
    def uses(self) -> Sequence[tuple[Path, Mapping[str, Any]]]:
        """Every entry of ``resources.claims`` with its path, of containers in and outside lists."""
        return tuple(self._uses())

    def _uses(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        for kind in ("initContainers", "containers", "ephemeralContainers"):
            for at, container in enumerate(items(self.fields.get(kind))):
                used = mapping(mapping(container).get("resources")).get("claims")
                for number, item in enumerate(items(used)):
                    yield (*self.item_path(kind, at), "resources", "claims", number), mapping(item)
        for name in main_containers(self.fields):
            for number, item in enumerate(items(self.fields[name]["resources"]["claims"])):
                yield (*self.path, name, "resources", "claims", number), mapping(item)

    @property
    def misplaced(self) -> bool:
        """True if a container has a list of claims in a wrong place of its resources."""
        return any(
            any(list_misplaced_claims(mapping(mapping(container).get("resources"))))
            for kind in ("initContainers", "containers")
            for container in items(self.fields.get(kind))
        )

    @cached_property
    def implicit_classes(self) -> Sequence[tuple[tuple[Path, ...], str]]:
        """The classes that containers request as extended resources, each with the paths of the
        keys in one container.
        """
        return tuple(self._implicit_classes())

    def _implicit_classes(self) -> Iterator[tuple[tuple[Path, ...], str]]:
        for kind in ("initContainers", "containers"):
            for at, container in enumerate(items(self.fields.get(kind))):
                resources = mapping(mapping(container).get("resources"))
                places: dict[str, list[Path]] = {}
                for part in ("limits", "requests"):
                    for key in mapping(resources.get(part)):
                        if isinstance(key, str) and key.startswith(IMPLICIT_PREFIX):
                            path = (*self.item_path(kind, at), "resources", part, key)
                            places.setdefault(key.removeprefix(IMPLICIT_PREFIX), []).append(path)
                for name, paths in places.items():
                    yield tuple(paths), name


def list_misplaced_claims(resources: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the paths of lists of claims that a container's resources have in a wrong place: with
    a misspelt key, or below requests or limits, which have quantities only (core/v1
    ResourceRequirements).
    """
    for name, value in resources.items():
        if name in ("requests", "limits"):
            for key, inner in mapping(value).items():
                if _resembles_claims(key, inner):
                    yield name, key
        elif name != "claims" and _resembles_claims(name, value):
            yield (name,)


def _resembles_claims(key: Any, value: Any) -> bool:
    entries = items(value)
    is_list = bool(entries) and all("name" in mapping(entry) for entry in entries)
    return is_list and nearest(str(key), ("claims",)) is not None
