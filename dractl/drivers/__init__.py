"""DRA drivers: what each would publish for a machine, and what its attributes mean."""

from __future__ import annotations

from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    Profile,
    Setting,
    Slice,
    Taint,
    one_slice,
)
from dractl.drivers.registry import by_default, find, names
from dractl.drivers.rendering import Rendering, render

__all__ = [
    "Attribute",
    "Capacity",
    "Catalogue",
    "Inventory",
    "Options",
    "Profile",
    "Rendering",
    "Setting",
    "Slice",
    "Taint",
    "by_default",
    "find",
    "names",
    "one_slice",
    "render",
]
