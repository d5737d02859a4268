"""The effect of a driver's upgrade on the claims, templates and classes that read changed
attributes or capacities.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from dractl.scheduler.attempt import Scheduler
from dractl.upgrade.edits import Proof, find_edit
from dractl.upgrade.finding import LEVELS, AttributeRead, Finding, Level
from dractl.upgrade.placing import Applicant, Describe, Difference, Outcome
from dractl.upgrade.readers import Read, Reader, object_name

UNKNOWN_VALUES: Final = frozenset(
    {"attribute-comes", "attribute-may-come", "capacity-comes", "capacity-may-come"}
)
"""Codes of attributes and capacities that a version introduces with a value that the present slices
do not show.
"""
_CERTAIN: Final = frozenset({"attribute-comes", "capacity-comes"})
_PHRASES: Mapping[str, str] = {
    "gone": "{} no longer publishes",
    "new": "only {} publishes",
    "comes": "only {} publishes, with a value that is not known",
    "may-come": "only {} may publish",
    "type": "{} publishes with another type",
    "text": "{} publishes with another value",
}
_MAX_SELECTOR_LENGTH = 100  # characters of a selector in a message


class DriverUpgrade(Struct, frozen=True):
    """The upgrade of a driver, with the cluster before and after it."""

    name: str
    """The name of the driver."""
    to: str
    """The later version."""
    changed: Mapping[tuple[str, str], str]
    """The code of the change of each attribute and capacity. The key is ``attributes`` or
    ``capacity``, and the full name.
    """
    before: Scheduler
    """The scheduler with the present slices."""
    after: Scheduler
    """The scheduler with the slices of the later version."""


class Use(Struct, frozen=True):
    """A subject that gets its devices through an object, with its outcomes."""

    subject: Applicant
    """The pod, claim or template."""
    before: tuple[Outcome, Outcome]
    """The outcomes in the present cluster and in the empty one, before the upgrade."""
    after: tuple[Outcome, Outcome]
    """The outcomes in the same two clusters with the later version."""
    difference: Difference | None
    """The difference between the outcomes; None if there is none."""

    @property
    def never_fits(self) -> bool:
        """True if the subject fits in neither cluster, neither before the upgrade nor after it."""
        return not any(one.fits for one in (*self.before, *self.after))


class Affected(Struct, frozen=True):
    """An object that reads a changed attribute or capacity."""

    reader: Reader
    """The object."""
    reads: tuple[tuple[Read, AttributeRead], ...]
    """The places that read changed attributes or capacities, each as a finding reports it."""
    before: frozenset[str] | None
    """Devices that its selectors on changed attributes match; None if it has no such selector."""
    after: frozenset[str] | None
    """Devices that the same selectors match with the later version."""
    is_unseen: bool = False
    """True if the input has no device of the driver."""

    @property
    def is_cause(self) -> bool:
        """True if the changes may affect the outcome: through constraints and amounts, or through
        selectors that match different devices after the upgrade.
        """
        return self.before != self.after or any(read.by != "selector" for read, _ in self.reads)

    @property
    def is_open(self) -> bool:
        """True if the object reads an attribute or capacity whose new value is unknown."""
        return any(shown.change in UNKNOWN_VALUES for _, shown in self.reads)


# -- readers of changed attributes --


def find_affected(upgrade: DriverUpgrade, readers: Iterable[Reader]) -> Iterator[Affected]:
    """Yield the objects that read an attribute or a capacity which changes."""
    is_unseen = all(item.spec.driver != upgrade.name for item in upgrade.before.slices)
    matches: dict[tuple[str, ...], tuple[frozenset[str], frozenset[str]]] = {}
    for reader in readers:
        reads = tuple(
            (read, _report_read(upgrade, read, change))
            for read in reader.reads
            if (change := _change(upgrade, read)) is not None
        )
        if not reads:
            continue
        texts = tuple(dict.fromkeys(read.text for read, _ in reads if read.by == "selector"))
        if texts and texts not in matches:
            matches[texts] = (
                _find_matching_devices(upgrade.before, upgrade.name, texts),
                _find_matching_devices(upgrade.after, upgrade.name, texts),
            )
        before, after = matches.get(texts, (None, None))
        yield Affected(reader, reads, before, after, is_unseen)


def _change(upgrade: DriverUpgrade, read: Read) -> str | None:
    if read.drivers and upgrade.name not in read.drivers:
        return None
    return upgrade.changed.get((read.part, _full(upgrade, read)))


def _full(upgrade: DriverUpgrade, read: Read) -> str:
    return read.name if "/" in read.name else f"{upgrade.name}/{read.name}"


def _report_read(upgrade: DriverUpgrade, read: Read, change: str) -> AttributeRead:
    path = ".".join(map(str, read.path))
    return AttributeRead(_full(upgrade, read), change, read.by, path, read.text)


def _find_matching_devices(
    scheduler: Scheduler, driver: str, texts: Sequence[str]
) -> frozenset[str]:
    """Return the devices of a driver on which selectors are true. A device on which a selector
    fails is listed with ``(error)``, since the failure ends the scheduler's attempt.
    """
    programs = [scheduler.compile_selector(text) for text in texts]
    if not all(program.ok for program in programs):
        return frozenset()
    names = set[str]()
    for item in scheduler.slices:
        if item.spec.driver != driver:
            continue
        for device in item.spec.devices:
            results = [program.evaluate(driver, device) for program in programs]
            name = f"{item.spec.pool.name}/{device.name}"
            if all(result is True for result in results):
                names.add(name)
            elif any(not isinstance(result, bool) for result in results):
                names.add(f"{name} (error)")
    return frozenset(names)


# -- effects on the readers --


class _FindingKey(Struct, frozen=True):
    """The properties that objects with the same finding have in common."""

    kind: str
    """The kind of the objects."""
    reads: tuple[AttributeRead, ...]
    """The attributes and capacities that they read."""
    code: str
    """The code of the finding."""
    level: Level
    """The level."""


def findings(
    upgrade: DriverUpgrade,
    affected: Iterable[Affected],
    uses: Mapping[str, Sequence[Use]],
    describe: Describe,
) -> Iterator[Finding]:
    """Yield a finding for each object that reads a changed attribute or capacity; objects that
    differ only in their names share a finding.

    ``uses`` are the subjects by the name of the object.
    """
    groups: dict[_FindingKey, list[tuple[Affected, Use | None]]] = {}
    for each in affected:
        use = _worst(uses.get(each.reader.name, ()))
        shown = tuple(shown for _, shown in each.reads)
        code, level = _judge(each, use)
        key = _FindingKey(each.reader.kind, shown, code, level)
        groups.setdefault(key, []).append((each, use))
    for key, members in groups.items():
        yield _finding(upgrade, key, members, describe)


def _worst(uses: Sequence[Use]) -> Use | None:
    """Return the use that loses the most, or any use if none differs; None if there is no use."""

    def rank(use: Use) -> int:
        return LEVELS.index(use.difference.level) if use.difference is not None else len(LEVELS)

    return min(uses, key=rank, default=None)


def _judge(each: Affected, use: Use | None) -> tuple[str, Level]:
    if each.is_unseen:
        return "attribute-read", "changes"
    if use is not None and use.difference is not None and each.is_cause:
        return use.difference.code, use.difference.level
    if each.is_open and (not each.before if use is None else use.never_fits):
        return "may-fit", "changes"
    if use is None and each.before != each.after:
        is_lost = bool(_names(each.before)) and not _names(each.after)
        return ("matches-nothing", "breaks") if is_lost else ("matches-others", "changes")
    if each.before != each.after:
        return "matches-others", "changes"
    is_certain = any(shown.change in _CERTAIN for _, shown in each.reads)
    return ("may-differ", "changes") if is_certain else ("attribute-read", "info")


def _names(matched: frozenset[str] | None) -> list[str]:
    return [name for name in matched or () if not name.endswith(" (error)")]


def _finding(
    upgrade: DriverUpgrade,
    key: _FindingKey,
    members: Sequence[tuple[Affected, Use | None]],
    describe: Describe,
) -> Finding:
    first, use = members[0]
    code, level = key.code, key.level
    names: dict[str, None] = {}
    subjects: dict[str, None] = {}
    for each, member_use in members:
        names[each.reader.name] = None
        names |= dict.fromkeys(object_name("ResourceClaim", key) for key in each.reader.generated)
        if member_use is not None and member_use.difference is not None:
            subjects |= dict.fromkeys(member_use.subject.objects)
    names |= subjects
    difference = use.difference if use is not None else None
    reads = f"reads {_describe_reads(upgrade, first)}"
    earlier, later = None, None
    if difference is not None and code == difference.code:
        earlier, later = describe(difference.before), describe(difference.after)
        message = _describe_difference(difference, reads, earlier, later)
    elif code == "may-fit":
        earlier = describe(use.before[1]) if use is not None else None
        message = f"{reads}; did not fit before, and may fit then"
    else:
        message = f"{reads}; {_describe_matches(first, code)}"
    edit = None
    if level == "breaks":
        proof = _proof(upgrade, use)
        edit = find_edit(upgrade.name, first.reader, [read for read, _ in first.reads], proof)
    fix = edit.title if edit is not None else None
    shown = tuple(shown for _, shown in first.reads)
    return Finding(
        code,
        level,
        message,
        tuple(names),
        fix=fix,
        reads=shown,
        earlier=earlier,
        later=later,
        edits=(edit,) if edit is not None else None,
    )


def _proof(upgrade: DriverUpgrade, use: Use | None) -> Proof:
    difference = use.difference if use is not None else None
    subject = difference.before.subject if difference is not None else None
    states = (
        (difference.before.scheduler, difference.after.scheduler)
        if difference is not None
        else (upgrade.before, upgrade.after)
    )
    return Proof(upgrade.name, subject, *states)


def _describe_reads(upgrade: DriverUpgrade, affected: Affected) -> str:
    by_change: dict[str, list[AttributeRead]] = {}
    for _, shown in affected.reads:
        by_change.setdefault(shown.change.partition("-")[2], []).append(shown)
    parts = []
    for change, reads in by_change.items():
        attributes = ", ".join(dict.fromkeys(read.attribute for read in reads))
        phrase = _PHRASES[change].format(f"{upgrade.name} {upgrade.to}")
        parts.append(f"{attributes}, which {phrase}")
    places = dict.fromkeys(_place(shown) for _, shown in affected.reads)
    return f"{'; '.join(parts)} ({', '.join(places)})"


def _place(shown: AttributeRead) -> str:
    if shown.by != "selector":
        return f"{shown.by} request" if shown.by == "capacity" else shown.by
    text = " ".join(shown.expression.split())
    return (
        f"selector {text[:_MAX_SELECTOR_LENGTH]}{'…' if len(text) > _MAX_SELECTOR_LENGTH else ''}"
    )


def _describe_matches(affected: Affected, code: str) -> str:
    if affected.is_unseen:
        return "no device of it is in the input, so that nothing is proven"
    if affected.is_open:
        return "may match other devices then"
    if code == "attribute-read":
        return "matches the same devices"
    counts = len(_names(affected.after)), len(_names(affected.before))
    return f"matches {counts[0]} devices instead of {counts[1]}"


def _describe_difference(difference: Difference, reads: str, earlier: str, later: str) -> str:
    about, place = difference.subject.about, difference.where
    if difference.before.fits and not difference.after.fits:
        return f"{about}no longer fits{place}: {reads}; {later}"
    if difference.after.fits and not difference.before.fits:
        return f"{about}fits then{place}: {reads}; before: {earlier}"
    return f"{about}{difference.message}{place}: {reads}"
