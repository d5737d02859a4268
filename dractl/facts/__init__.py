"""What dractl knows of the outside: a pack of data that can be replaced without the program."""

from __future__ import annotations

from dractl.facts.choice import use
from dractl.facts.drivers import Attribute, Capacity, Driver, Setting, Taint, driver, names
from dractl.facts.pack import Pack, current

__all__ = ["Attribute", "Capacity", "Driver", "Pack", "Setting", "Taint", "current", "driver", "names", "use"]
