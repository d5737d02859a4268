"""Configurations for drivers, wherever objects of DRA have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.lint.model import Manifest, Run
from dractl.manifests.documents import Path
from dractl.objects import items, mapping, text


class Configuration(Struct, frozen=True):
    """One of a claim, a template or a class. ``path`` leads to ``opaque``; ``requests`` are those that it names."""

    subject: Manifest
    path: Path
    opaque: Mapping[str, Any]
    requests: list[str]

    @property
    def driver(self) -> str:
        return text(self.opaque.get("driver"))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return mapping(self.opaque.get("parameters"))


def configurations(run: Run) -> Iterator[Configuration]:
    """Those of claims and templates, then those of classes."""
    for subject in (*(claim.subject for claim in run.claims), *run.of("DeviceClass")):
        yield from configurations_of(subject)


def configurations_of(subject: Manifest) -> Iterator[Configuration]:
    """Those of one object."""
    claim = subject.claim
    path, listed = (claim.path, claim.devices) if claim is not None else (("spec",), subject.spec)
    for at, item in enumerate(items(listed.get("config"))):
        opaque, names = mapping(mapping(item).get("opaque")), items(mapping(item).get("requests"))
        yield Configuration(
            subject, (*path, "config", at, "opaque"), opaque, [text(name) for name in names]
        )
