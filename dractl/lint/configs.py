"""Configurations for drivers, in all objects of DRA that can have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.lint.model import Manifest, Run
from dractl.manifests.documents import Path
from dractl.objects import items, mapping, text


class Configuration(Struct, frozen=True):
    """A configuration for a driver in a claim, a template or a class."""

    subject: Manifest
    """The object with the configuration."""
    path: Path
    """The path of ``opaque``."""
    opaque: Mapping[str, Any]
    """The value of ``opaque``."""
    requests: list[str]
    """The names of the requests that the configuration is for; empty for all."""

    @property
    def driver(self) -> str:
        return text(self.opaque.get("driver"))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return mapping(self.opaque.get("parameters"))


def configurations(run: Run) -> Iterator[Configuration]:
    """Yield the configurations of claims and templates, then the configurations of classes."""
    for subject in (*(claim.subject for claim in run.claims), *run.of("DeviceClass")):
        yield from configurations_of(subject)


def configurations_of(subject: Manifest) -> Iterator[Configuration]:
    """Yield the configurations of one object."""
    claim = subject.claim
    path, devices = (claim.path, claim.devices) if claim is not None else (("spec",), subject.spec)
    for at, item in enumerate(items(devices.get("config"))):
        opaque, names = mapping(mapping(item).get("opaque")), items(mapping(item).get("requests"))
        yield Configuration(
            subject, (*path, "config", at, "opaque"), opaque, [text(name) for name in names]
        )
