"""Programs other than drivers that read claims, such as Kueue and KubeVirt, and the API versions
that they speak.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.cluster.platform_objects import defines_kind_of
from dractl.cluster.state import describe
from dractl.facts.helpers import Program, Spoken, helpers
from dractl.facts.images import tags
from dractl.model.releases import served_versions
from dractl.objects import Raw
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import RuntimeConfig, list_ended_versions, type_of, versions_after

_KIND = "ResourceClaim"


class InstalledProgram(Struct, frozen=True):
    """A program of the input."""

    program: Program
    tag: str
    """The tag of its image; empty if the input has no image of it, or if the image has no tag."""
    objects: tuple[str, ...]
    """The workloads that run it."""
    uses_claims: bool
    """True if its configuration in the input turns on its support of claims."""

    @property
    def spoken(self) -> Spoken | None:
        """The API versions that its version speaks; None if it reads no claims, or if they are
        unknown.
        """
        return self.program.find_version(self.tag)


def find_programs(objects: Sequence[Raw]) -> Iterator[InstalledProgram]:
    """Yield the programs whose images or kinds are in the input."""
    tagged = [(value, name, tag) for value in objects for name, tag in tags(value)]
    for program in helpers().programs:
        images = [(value, tag) for value, name, tag in tagged if name in program.images]
        is_defined = any(defines_kind_of(value, program) for value in objects)
        if images or is_defined:
            workloads = tuple(dict.fromkeys(describe(value) for value, _ in images))
            versions = sorted({tag for _, tag in images if tag})
            configured = any(_has_mark(value, program) for value in objects)
            yield InstalledProgram(program, versions[0] if versions else "", workloads, configured)


def _has_mark(value: Raw, program: Program) -> bool:
    """Return True if a configuration of a program turns on claims: in its own kinds, in its
    workloads, or in ConfigMaps.
    """
    group, kind = type_of(value)
    concerns = (
        program.owns(group)
        or kind == "ConfigMap"
        or any(name in program.images for name, _ in tags(value))
    )
    return concerns and any(mark in _text_of(value) for mark in program.marks)


def _text_of(value: Raw) -> str:
    return repr(value).replace("\\n", " ")


def differences(
    programs: Iterable[InstalledProgram], before: str, after: str, config: RuntimeConfig
) -> Iterator[Finding]:
    """Yield the programs that can read the claims of ``before``, but not those of ``after``.

    This is a break if the input shows that the program is configured to read claims.
    """
    for program in programs:
        spoken = program.spoken
        if spoken is None or set(spoken.speaks).isdisjoint(served_versions(_KIND, before)):
            continue
        if not versions_after(_KIND, before, after, config).isdisjoint(spoken.speaks):
            continue
        title = program.program.title
        first = program.program.first(frozenset(served_versions(_KIND, after, by_default=True)))
        yield Finding(
            "program-api",
            "breaks" if program.uses_claims else "changes",
            f"{title} {program.tag} reads claims in {', '.join(spoken.speaks)} alone, which "
            f"{after} does not serve by default",
            program.objects,
            fix=f"upgrade {title} to {first} or later" if first else None,
            source=program.program.source,
            date=program.program.read,
        )


def list_unknown(
    programs: Iterable[InstalledProgram], path: Iterable[str], config: RuntimeConfig
) -> Iterator[str]:
    """Yield the programs whose version the input does not show, if a release on the path stops
    serving an API version that a version of the program speaks.
    """
    ended = set(list_ended_versions(_KIND, path, config))
    for program in programs:
        spoken = {version for row in program.program.versions for version in row.speaks}
        if not program.tag and spoken & ended:
            yield (
                f"which version of the API {program.program.title} speaks: no image of it with a "
                "version is in the input"
            )
