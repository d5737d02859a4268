"""Edits of classes that exclude devices of a new kind, proven with the slices of both versions."""

from collections.abc import Iterator, Sequence

from dractl.cluster.changes import pointer
from dractl.facts.drivers import DeviceKind, driver as find_driver
from dractl.model import Device
from dractl.objects import selectors_of
from dractl.scheduler.attempt import Scheduler
from dractl.upgrade.finding import ObjectEdit, Operation


def find_exclusion(
    class_name: str,
    driver: str,
    examples: Sequence[tuple[DeviceKind, Device]],
    before: Scheduler,
    after: Scheduler,
) -> ObjectEdit | None:
    """Return an edit of a class that excludes all devices of new kinds; None if none is proven.

    ``examples`` are the new kinds, each with a device that has every property that is known of the
    kind. An edit is proven if two things hold. In the slices of each version (``before`` and
    ``after``), the edited class matches the same devices as the class without the edit. The edited
    class matches no example. A class without a selector is not edited.
    """
    texts = [
        each.text for each in selectors_of(before.state.objects("DeviceClass")["", class_name])
    ]
    if not texts:
        return None
    conditions = []
    for kind, example in examples:
        condition = next(
            (
                text
                for text in _conditions(driver, kind)
                if _excludes(text, driver, example, after)
                and all(_keeps_devices(texts, text, side) for side in (before, after))
            ),
            None,
        )
        if condition is None:
            return None
        conditions.append(condition)
    first = f"({texts[0]})" if "||" in texts[0] or "?" in texts[0] else texts[0]
    text = " && ".join((first, *conditions))
    if not all(side.compile_selector(text).ok for side in (before, after)):
        return None
    path = pointer("spec", "selectors", 0, "cel", "expression")
    name = f"DeviceClass/{class_name}"
    return ObjectEdit(
        f"in {name}: write the selector as {text}", name, (Operation("replace", path, text),)
    )


def _conditions(driver: str, kind: DeviceKind) -> Iterator[str]:
    """Yield conditions that no device of a kind meets. Each is on one attribute, and is true for a
    device without that attribute.
    """
    for attribute, value in kind.attributes.items():
        domain, _, name = find_driver(driver).full(attribute).rpartition("/")
        attributes = f'device.attributes["{domain}"]'
        literal = f'"{value}"' if isinstance(value, str) else str(value).lower()
        yield f'(!("{name}" in {attributes}) || {attributes}.{name} != {literal})'


def _excludes(text: str, driver: str, example: Device, scheduler: Scheduler) -> bool:
    return scheduler.compile_selector(text).evaluate(driver, example) is False


def _keeps_devices(texts: Sequence[str], condition: str, scheduler: Scheduler) -> bool:
    """Return True if selectors match the same devices with the condition as without it."""
    programs = [scheduler.compile_selector(text) for text in texts]
    guard = scheduler.compile_selector(condition)
    return all(program.ok for program in (*programs, guard)) and all(
        guard.evaluate(item.spec.driver, device) is True
        for item in scheduler.slices
        for device in item.spec.devices
        if all(program.evaluate(item.spec.driver, device) is True for program in programs)
    )
