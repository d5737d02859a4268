"""The DeviceClasses that drivers install, by name."""

from collections.abc import Mapping
from typing import Any

from dractl.drivers.profile import Options
from dractl.drivers.registry import find, names
from dractl.model.releases import Target


def find_installed_class(device_class: str, target: Target) -> tuple[str, Mapping[str, Any]] | None:
    """Return the driver that installs a class of this name, and the class; None for classes of no
    known driver.
    """
    options = Options("node", target)
    for driver in names():
        for device_class_object in find(driver).device_classes(options):
            if device_class_object["metadata"]["name"] == device_class:
                return driver, device_class_object
    return None
