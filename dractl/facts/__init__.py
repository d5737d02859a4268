"""dractl's facts about Kubernetes, drivers and hardware: a pack of data that can be replaced
without replacing the program.
"""

from dractl.facts.choice import use
from dractl.facts.drivers import Attribute, Capacity, Driver, Model, Setting, Taint, driver, names
from dractl.facts.pack import Pack, current

__all__ = [
    "Attribute",
    "Capacity",
    "Driver",
    "Model",
    "Pack",
    "Setting",
    "Taint",
    "current",
    "driver",
    "names",
    "use",
]
