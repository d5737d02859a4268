"""Names in the claims of a subject, and in their classes, that are unknown in a preview."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.cluster.state import describe
from dractl.explain.context import Case
from dractl.facts.kubernetes import kubernetes
from dractl.model import Target, to_v1
from dractl.validation import validate
from dractl.validation.drop import drop
from dractl.validation.previews import is_doubt, preview_of
from dractl.validation.violation import dot_path


def find_doubts(case: Case) -> Iterator[str]:
    """Yield a sentence for each name that only the preview may know, and for each field of a
    planned feature whose gate is on. Such names are fields, values, and names in selectors. Their
    effect in kube-scheduler is unknown.
    """
    features = case.scheduler.features
    target = Target(features.release, features.on)
    if preview_of(target) is None:
        return
    objects = tuple(_objects(case))
    for value in objects:
        spec_only = {key: part for key, part in value.items() if key != "status"}
        for violation in filter(is_doubt, validate(spec_only, target)):
            yield f"{describe(value)}: {violation.message}"
    planned = {gate: row for gate, row in kubernetes().gates.items() if row.proposal}
    without_them = replace(target, gates=target.gates.difference(planned))
    if without_them == target:
        return
    for value in (*objects, *case.state.objects("ResourceSlice").values()):
        for field in drop(dict(to_v1(dict(value))), without_them)[1]:
            if field.gate in planned and field.gate in target.gates:
                row = planned[field.gate]
                yield f"{describe(value)}: {dot_path(field.paths[0])} ({row.proposal}): {row.about}"


def _objects(case: Case) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the claims that are not allocated, and of the classes that they name."""
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
