"""What the claims of a subject, and the classes that they name, have that is not known of a preview."""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.cluster.state import describe
from dractl.explain.context import Case
from dractl.model import Target
from dractl.validation import validate
from dractl.validation.previews import is_doubt, preview_of


def find_doubts(case: Case) -> Iterator[str]:
    """Yield a sentence for each field, value and name in a selector that the preview may have."""
    features = case.scheduler.features
    target = Target(features.release, features.on)
    if preview_of(target) is None:
        return
    for value in _objects(case):
        spec_only = {key: part for key, part in value.items() if key != "status"}
        for violation in filter(is_doubt, validate(spec_only, target)):
            yield f"{describe(value)}: {violation.message}"


def _objects(case: Case) -> Iterator[Mapping[str, Any]]:
    """Yield the claims that are not allocated, and each class that they name, as they are written."""
    classes: dict[str, None] = {}
    for item in case.claims.values():
        if item.value is None or item.claim is None or item.allocated:
            continue
        yield item.value
        for request in item.claim.spec.devices.requests:
            options = request.first_available or (request.exactly,)
            classes |= {option.device_class_name: None for option in options if option is not None}
    for name in classes:
        value = case.state.get("DeviceClass", ("", name))
        if value is not None:
            yield value
