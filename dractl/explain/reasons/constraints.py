"""Reasons about constraints: attributes that devices lack or publish with other types, and values
that do not match.
"""

from collections.abc import Iterator

from dractl.cluster.devices import Holder
from dractl.cluster.shell import NextStep
from dractl.explain.reasons.base import (
    SEE_SLICES,
    Facts,
    Progress,
    ReasonPage,
    RequestCause,
    RequestsCause,
)
from dractl.explain.reasons.misfits import format_expression
from dractl.explain.reasons.next_step import DAEMONSETS, AskedObject
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.facts import driver, names
from dractl.model.device_phrases import PLACES, count_devices


class AttributeMissing(RequestCause, frozen=True, kw_only=True):
    """Devices lack the attribute of a constraint."""

    page = ReasonPage(
        "attr-missing",
        "devices lack the attribute of a constraint",
        "matchAttribute and distinctAttribute refuse a device that does not publish the attribute"
        " under exactly that name.",
        SEE_SLICES + " (attributes of the devices)",
        "Use an attribute that all drivers of the constraint publish, update the driver, or leave"
        " the request out of the constraint.",
        Progress.APART,
    )
    identity = ("request", "constraint")
    steps_beside_fixes = True
    """Another version of the driver helps without a loss for the user, so these steps are shown
    beside fixes.
    """

    constraint: str
    attribute: str
    driver: str | None = None
    nearest: str | None = None
    """A similar attribute that the devices publish."""
    devices: tuple[str, ...] = ()
    """The devices that lack the attribute."""
    publish: int = 0
    """The number of devices that publish the attribute."""
    of: int = 0
    """The number of devices of the request."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "constraint": self.constraint,
            "attribute": self.attribute,
            "driver": self.driver,
            "nearest": self.nearest,
            "devices": self.devices,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        why = (
            f"attribute {self.attribute} exists on {self.publish} of {plural(self.of, 'device')} of"
            f" {self.request_text(names)}"
        )
        return f"{why}; there is {self.nearest}" if self.nearest else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        """Yield steps from the driver's facts about the attribute."""
        if self.driver is None or self.driver not in names() or self.publish:
            return
        catalogue = driver(self.driver)
        name = self.attribute.removeprefix(f"{self.driver}/")
        rows = (a for a in catalogue.attributes if a.name in (self.attribute, name))
        row = next((row for row in rows if row.removed is None), None)
        if row is not None:
            since = f"from {row.since} on" if row.since else ""
            terms = ", ".join(filter(None, (since, row.when)))
            yield NextStep(
                f"upgrade driver {self.driver} if it is older than {catalogue.newest}, or see why"
                f" its devices lack {name.rpartition('/')[2]}: it publishes that"
                f"{' ' if terms else ''}{terms}",
                DAEMONSETS,
            )


class AttributeType(RequestsCause, frozen=True, kw_only=True):
    """The devices publish a constrained attribute with different types."""

    page = ReasonPage(
        "attr-type",
        "the attribute has another type",
        'matchAttribute needs values of the same type: the string "1" is not the int 1; a list'
        " matches only with the gate DRAListTypeAttributes.",
        SEE_SLICES + " (attributes of the devices)",
        "Constrain by an attribute that has one type in all drivers.",
        Progress.APART,
    )
    identity = ("requests", "constraint")

    constraint: str
    attribute: str
    types: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The types by request."""
    kinds: tuple[str, ...] = ()
    """All types."""
    gate: str | None = None
    """The feature gate with which constraints compare lists, if a list is among the types."""
    driver: str | None = None

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "constraint": self.constraint,
            "attribute": self.attribute,
            "found": self.kinds,
            "gate": self.gate,
            "driver": self.driver,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        types = ", ".join(f"{request}: {'/'.join(kinds)}" for request, kinds in self.types)
        short = self.attribute.rpartition("/")[2]
        why = (
            f"{self.constraint} over {names.join(self.requests)}: the devices publish {short} with"
            f" different types ({types})"
        )
        return (
            f"{why}; lists are matched only with the feature gate {self.gate}" if self.gate else why
        )


class ConstraintConflict(RequestsCause, frozen=True, kw_only=True):
    """No set of devices satisfies a constraint."""

    page = ReasonPage(
        "constraint-conflict",
        "no set of devices satisfies the constraint",
        "Each request finds devices, but no combination shares (matchAttribute) or differs in"
        " (distinctAttribute) the value.",
        "dractl explain prints what each PCIe root or NUMA node has left.",
        "Ask for fewer devices, relax to a coarser attribute (pcieRoot to numaNode), or free the"
        " device that stands in the way.",
        Progress.APART,
    )
    identity = ("requests", "constraint")

    constraint: str | None = None
    attribute: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    """The number of devices that each request wants."""
    selectors: tuple[str, ...] = ()
    """The selectors of the requests."""
    values: tuple[str, ...] = ()
    """The values of the attribute among the free candidates."""
    want: int | None = None
    """The number of different values that distinctAttribute wants."""
    have: int | None = None
    """The number of different values among the devices."""
    devices: tuple[str, ...] = ()
    """Matching devices that are held, or whose counters are used up."""
    holders: tuple[Holder, ...] = ()
    """The holders of ``devices``."""
    exists: bool = True
    """True if the constraint could be satisfied with all devices free."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "constraint": self.constraint,
            "attribute": self.attribute,
            "found": self.values,
            "want": self.want,
            "have": self.have,
            "devices": self.devices,
            "holders": self.holders,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.want is not None:
            verb = "is" if self.have == 1 else "are"
            return (
                f"{self.constraint} over {names.join(self.requests)}: {self.want} different values"
                f" wanted, there {verb} {self.have}"
            )
        short = (self.attribute or "").rpartition("/")[2]
        free = "free" if self.devices and self.exists else ""
        wanted: dict[str, list[str]] = {}  # by request, since its alternatives exclude each other
        for request, number in self.counts:
            phrase = count_devices(number, request, free)
            wanted.setdefault(request.partition("/")[0], []).append(phrase)
        each = [" or ".join(alternatives) for alternatives in wanted.values()]
        wants = (" and " if len(each) == len(self.counts) else ", and ").join(each)
        wants = wants or " ".join(filter(None, (free, "devices of", names.join(self.requests))))
        # A standard attribute is a place with devices; any other attribute is a value that devices
        # share.
        place = (self.attribute or "").startswith("resource.kubernetes.io/")
        only = (
            f" with {format_expression(self.selectors[0], 44)}"
            if len(self.selectors) == len(self.counts) == 1
            else ""
        )
        why = (
            f"no {PLACES.get(short, short)} has {wants}"
            if place
            else f"no value of {short} is shared by {wants}{only}"
        )
        return f"{why}, in use or not" if self.devices and not self.exists else why

    @property
    def detail(self) -> str:
        place = (self.attribute or "").removeprefix("resource.kubernetes.io/")
        is_match = self.want is None  # distinctAttribute names itself in the sentence
        return f" (matchAttribute {place})" if is_match and place in PLACES else ""

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        return self.holders if self.exists else ()


class AllUnderConstraint(RequestCause, frozen=True, kw_only=True):
    """A request wants all devices, and they do not all satisfy a constraint."""

    page = ConstraintConflict.page
    identity = ("request", "constraint")

    constraint: str | None = None
    devices: tuple[str, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "constraint": self.constraint, "devices": self.devices}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"{self.request_text(names)} wants all devices, and not all of them satisfy"
            f" {self.constraint or 'a constraint'}"
        )
