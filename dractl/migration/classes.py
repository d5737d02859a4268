"""DeviceClasses through which the requests in manifests can stay: ``extendedResourceName`` (KEP
5004).
"""

import re
from collections.abc import Iterable
from typing import Any

from dractl.drivers import find
from dractl.drivers.profile import Options
from dractl.migration.resources import SRIOV, stand_in_for
from dractl.model import Target


def classes_for(
    resources: Iterable[str], target: Target
) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    """Return the classes that provide the resources of device plugins, except classes that drivers
    install, and notes.
    """
    classes, notes = [], []
    for resource in sorted(set(resources)):
        devices = stand_in_for(resource)
        if devices is None:
            continue
        installed = {
            item["metadata"]["name"]: item
            for item in _list_installed_classes(devices.driver, target)
        }
        base = installed.get(devices.device_class)
        if base is not None and base["spec"].get("extendedResourceName") == resource:
            notes.append(f"{resource}: the driver's own class {devices.device_class} provides it")
            continue
        notes += devices.notes if devices.driver != SRIOV else ()
        selectors = (
            base["spec"]["selectors"]
            if base
            else [{"cel": {"expression": f'device.driver == "{devices.driver}"'}}]
        )
        added = [{"cel": {"expression": text}} for text in devices.selectors]
        classes.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": re.sub(r"[^a-z0-9]+", "-", resource.lower()).strip("-")},
                "spec": {"selectors": [*selectors, *added], "extendedResourceName": resource},
            }
        )
    return tuple(classes), tuple(notes)


def _list_installed_classes(driver: str, target: Target) -> tuple[dict[str, Any], ...]:
    """Return the classes that a driver's installation includes."""
    # On AWS, the installation of dra.net also includes a class for EFA devices.
    settings = {driver: {"cloud": "aws"}} if driver == "dra.net" else {}
    return find(driver).device_classes(Options("node", target, settings=settings))
