"""The versions of drivers that run, from the tags of the images in DaemonSets, Deployments and
pods.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from dractl.facts import pack
from dractl.facts.drivers import driver, names

_TEMPLATES = ("DaemonSet", "Deployment", "StatefulSet", "ReplicaSet")


def versions_that_run(objects: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the versions of drivers by name, from the tags of the objects' images.

    Of several versions the oldest is returned, since all nodes have at least its features.
    """
    tags_by_driver: dict[str, set[str]] = {}
    owners = _drivers_by_image()
    for text in _in_pods(objects):
        path, _, tag = text.partition("@")[0].rpartition(":")
        for name in owners.get(path.rpartition("/")[2], ()) if "/" not in tag else ():
            tags_by_driver.setdefault(name, set()).add(tag)
    return {name: min(tags, key=driver(name).order) for name, tags in tags_by_driver.items()}


@cache
def _drivers_by_image() -> dict[str, list[str]]:
    drivers: dict[str, list[str]] = {}
    for name in names():
        for image in driver(name).images:
            drivers.setdefault(image, []).append(name)
    return drivers


pack.forget_with(_drivers_by_image.cache_clear)


def images_of(name: str) -> tuple[str, ...]:
    """Return the images of a driver; empty for a driver that is not in the pack."""
    return driver(name).images if name in names() else ()


def runs(name: str, objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield ``KIND/NAMESPACE/NAME`` of each workload among the objects that runs the driver, and
    nothing for a driver that is not in the pack, whose images are unknown.
    """
    known_images = images_of(name)
    for item in objects if known_images else ():
        images = (
            text.partition("@")[0].rpartition("/")[2].partition(":")[0] for text in _in_pods([item])
        )
        if item.get("kind") in _TEMPLATES and not {*images}.isdisjoint(known_images):
            about = _map(item.get("metadata"))
            yield "/".join(
                str(part)
                for part in (item["kind"], about.get("namespace"), about.get("name"))
                if part
            )


def tags(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and tag of each image of an object; the tag is empty if the image has none."""
    for text in _in_pods([item]):
        name, _, tag = text.partition("@")[0].rpartition("/")[2].partition(":")
        yield name, tag


def _in_pods(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for item in objects:
        spec = _map(item.get("spec"))
        if item.get("kind") in _TEMPLATES:
            spec = _map(_map(spec.get("template")).get("spec"))
        elif item.get("kind") != "Pod":
            continue
        for kind in ("containers", "initContainers"):
            listed = spec.get(kind)
            for container in listed if isinstance(listed, list) else ():
                image = _map(container).get("image")
                if isinstance(image, str):
                    yield image


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
