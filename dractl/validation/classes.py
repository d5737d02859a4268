"""DeviceClasses (validateDeviceClassSpec)."""

from collections.abc import Iterator
from functools import partial

from dractl.model.releases import Target
from dractl.validation.causes import invalid
from dractl.validation.formats import errors_in_extended_resource_name
from dractl.validation.lists import check_list
from dractl.validation.opaque import OpaqueRules, configuration
from dractl.validation.place import Place
from dractl.validation.selectors import SelectorRules, selectors
from dractl.validation.violation import Violation

MAX_CONFIG = 32

_SELECTORS = SelectorRules("DC-01", "DC-02", "DC-03", "DC-04", "DC-05")
_OPAQUE = OpaqueRules("DC-07", "DC-08", "DC-09", "DC-10", "DC-11")


def spec(place: Place, target: Target) -> Iterator[Violation]:
    yield from selectors(_SELECTORS, place.child("selectors"), target)
    check = partial(configuration, _OPAQUE, target=target)
    yield from check_list("DC-06", place.child("config"), MAX_CONFIG, check, target)
    name = place.child("extendedResourceName")
    if name.set:
        errors = errors_in_extended_resource_name(name.text)
        if errors and not target.has("extended-name-details"):
            errors = ["must be a valid extended resource name"]
        for error in errors:
            yield invalid("DC-12", name, error)
