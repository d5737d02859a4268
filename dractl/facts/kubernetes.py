"""Kubernetes releases as the pack has them: feature gates, served API versions, fields, and changes
by name.
"""

from functools import cache

from msgspec import Struct

from dractl.facts import pack


class GateStage(Struct, frozen=True, forbid_unknown_fields=True):
    """The stage of a feature gate from ``release`` on."""

    release: str
    stage: str
    """The stage: ``alpha``, ``beta`` or ``GA``."""
    default: bool
    locked: bool = False


class Gate(Struct, frozen=True, forbid_unknown_fields=True):
    """A feature gate."""

    stages: tuple[GateStage, ...]
    """Its stages, the earliest first."""
    removed: str | None = None
    """The first release without it, which may be unknown yet."""
    needs: tuple[str, ...] = ()
    """The gates that have to be on with it."""
    proposal: str = ""
    """The KEP that plans it, as long as no code that was read has it."""
    about: str = ""
    source: str = ""
    read: str = ""


class RetiredGate(Struct, frozen=True, forbid_unknown_fields=True):
    """A gate that has nothing to do with DRA. Only its removal matters: after that, a component
    does not start with it.
    """

    removed: str
    """The first release without it."""
    source: str
    read: str


class Served(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A version of a kind, and the releases whose API server has it: from ``since`` until before
    ``removed``.
    """

    api_version: str
    kind: str
    since: str = "1.31"
    removed: str | None = None
    default: bool = True
    """False for a version that is served only with ``--runtime-config``."""
    source: str = ""
    read: str = ""


class SpecField(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A field of the specs of ResourceClaims, DeviceClasses and so on, or of a status, as in v1.

    ``path`` starts below the spec or status, ``[]`` stands for every item, ``{}`` for every value
    of a map. Releases before ``since`` and from ``removed`` on do not have the field (``unknown
    field`` if decoding is strict, else it is dropped). Unless all ``gates`` are enabled, the API
    server silently drops it, from ``dropped_since`` on.
    """

    spec: str
    """The specification: ``claim``, ``claim-status``, ``class``, ``slice``, ``pool-status``,
    ``pod-group`` or ``workload``.
    """
    path: str
    since: str
    gates: tuple[str, ...] = ()
    dropped_since: str | None = None
    removed: str | None = None
    proposal: str = ""
    """The KEP that plans the field, as long as no API that was read has it."""
    source: str = ""
    read: str = ""


class ReleaseChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is in effect from release ``since`` until before ``until`` (None: still in
    effect). ``source`` is its place in kubernetes/kubernetes, or in the named module.

    ``patches`` are the patch releases with which it came (or ended, if it has an ``until``) in
    releases that have it in part: they count where the patch is known.
    """

    since: str
    what: str
    source: str
    until: str | None = None
    patches: tuple[str, ...] = ()
    read: str = ""


class Bug(Struct, frozen=True, forbid_unknown_fields=True):
    """A bug of released allocators that can change a verdict. ``name`` identifies it in the code;
    ``first`` to ``last`` are releases, both included, ``fixed`` the patch releases of these that no
    longer have it; ``issue`` is a number of kubernetes/kubernetes.
    """

    name: str
    first: str
    last: str
    variants: tuple[str, ...]
    effect: str
    issue: str = ""
    fixed: tuple[str, ...] = ()
    read: str = ""

    @property
    def url(self) -> str:
        """The issue's address."""
        return f"https://github.com/kubernetes/kubernetes/issues/{self.issue}"


class Feature(Struct, frozen=True, forbid_unknown_fields=True):
    """A field of the allocator's Features, and the gate that sets it (``A+B``: both)."""

    gate: str
    since: str | None = None
    until: str | None = None


class Allocators(Struct, frozen=True, forbid_unknown_fields=True):
    """The allocator: the fields of its Features in the order in which Go prints them, by release
    the gates that each of its variants supports (a release without a row has the gates of the one
    before), and its bugs.
    """

    source: str
    features: dict[str, Feature]
    supported: dict[str, dict[str, tuple[str, ...]]]
    bugs: tuple[Bug, ...]


class Preview(Struct, frozen=True, forbid_unknown_fields=True):
    """A release that was not out when it was read about."""

    tag: str
    """The alpha, beta or candidate up to which it is known."""
    like: str
    """The release whose types and rules it has, where nothing else is known."""
    due: str
    """The day on which it is to be released."""
    basis: str
    """The basis of verdicts, as a phrase."""
    source: str
    read: str

    @property
    def unknown(self) -> str:
        """The phrase for a name that may be right, but is in no source that was read."""
        return f"not known of {self.tag}, read {self.read}"


class Coming(Struct, frozen=True, forbid_unknown_fields=True):
    """Something that a release brings whose rules are not known completely."""

    release: str
    what: str
    source: str
    read: str = ""
    landed: bool = False
    """True if it is in the code of a preview, not only planned."""


class Kubernetes(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """``kubernetes.json``. The rules of ``compared`` releases were compared with the answers of a
    real API server; the older ones are for lint only. From ``needs_since`` on a server does not
    start with a gate whose ``needs`` are off.

    Differences between releases are changes with a name: code asks for a change
    (``target.has("counter-limits")``), never for a release. ``previews`` are the last of
    ``releases``, and only used if they are named or seen. ``retired`` are gates beside DRA's by
    name.
    """

    source: str
    read: str
    releases: tuple[str, ...]
    compared: tuple[str, ...]
    needs_since: str
    gates: dict[str, Gate]
    served: tuple[Served, ...]
    fields: tuple[SpecField, ...]
    changes: dict[str, ReleaseChange]
    allocators: Allocators
    previews: dict[str, Preview] = {}
    coming: tuple[Coming, ...] = ()
    retired: dict[str, RetiredGate] = {}


@cache
def kubernetes() -> Kubernetes:
    """Return the tables."""
    return pack.current().read("kubernetes.json", Kubernetes)


pack.forget_with(kubernetes.cache_clear)
