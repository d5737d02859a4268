"""Opaque parameters for drivers, wherever objects of DRA have them."""

from collections.abc import Iterator
from typing import Any

from dractl.lint.model import Manifest, Run
from dractl.manifests.documents import Path
from dractl.objects import items, mapping, text


def opaque_parameters(run: Run) -> Iterator[tuple[Manifest, Path, str, dict[str, Any]]]:
    """The parameters in the configurations of claims, templates and classes: their object, their path, the driver that
    they are for, and themselves."""
    configured = [(claim.subject, (*claim.path, "config"), claim.devices.get("config")) for claim in run.claims]
    configured += [(subject, ("spec", "config"), subject.spec.get("config")) for subject in run.of("DeviceClass")]
    for subject, path, listed in configured:
        for at, item in enumerate(items(listed)):
            opaque = mapping(mapping(item).get("opaque"))
            driver, parameters = text(opaque.get("driver")), opaque.get("parameters")
            if driver and isinstance(parameters, dict):
                yield subject, (*path, at, "opaque", "parameters"), driver, parameters
