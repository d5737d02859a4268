"""DRA drivers: what each would publish for a machine."""

from dractl.drivers.profile import Inventory, Known, Options, Slice, single_slice
from dractl.drivers.registry import by_default, find, names
from dractl.drivers.rendering import Rendering, render

__all__ = [
    "Inventory",
    "Known",
    "Options",
    "Rendering",
    "Slice",
    "by_default",
    "find",
    "names",
    "render",
    "single_slice",
]
