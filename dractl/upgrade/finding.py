"""What an upgrade changes: findings, and the steps at which they happen."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

Level = Literal["breaks", "changes", "info"]
LEVELS: tuple[Level, ...] = ("breaks", "changes", "info")


class Finding(Struct, frozen=True):
    """One difference, with the objects (``KIND/[NAMESPACE/]NAME``) that it is true of.

    ``breaks``: it worked before the step and does not after. ``changes``: it behaves differently. ``info``: there is
    nothing to do. ``owner``: who applies the objects, with their namespaces; ``source`` and ``date`` are a fact's.
    """

    code: str
    level: Level
    message: str
    objects: tuple[str, ...] = ()
    owner: str | None = None
    fix: str | None = None
    source: str | None = None
    date: str | None = None


class Step(Struct, frozen=True):
    """A release or a driver's version, what has to be done before it, and what it changes."""

    step: str
    before: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Plan(Struct, frozen=True):
    """An upgrade from one release to another, with the present and the later version of each driver. ``not_compared``
    says what the input does not decide."""

    start: str
    to: str
    steps: tuple[Step, ...]
    drivers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    not_compared: tuple[str, ...] = ()

    def count(self, level: Level) -> int:
        """Number of findings of a level."""
        return sum(finding.level == level for step in self.steps for finding in step.findings)


def grouped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that differ in their objects alone become one; what breaks comes first."""
    found: dict[Finding, dict[str, None]] = {}
    for finding in findings:
        found.setdefault(replace(finding, objects=()), {}).update(dict.fromkeys(finding.objects))
    merged = [replace(finding, objects=tuple(objects)) for finding, objects in found.items()]
    return tuple(sorted(merged, key=lambda one: (LEVELS.index(one.level), one.code, one.message)))


def concerned(plan: Plan) -> tuple[str, ...]:
    """The objects of which something breaks or changes, sorted."""
    found = (one for step in plan.steps for one in step.findings if one.level != "info")
    return tuple(sorted({name for one in found for name in one.objects}))
