"""Kubernetes releases in the pack: feature gates, served API versions, fields, and named
changes.
"""

from collections.abc import Mapping
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
    """The stages, the earliest first."""
    removed: str | None = None
    """The first release without the gate, which may not be known yet."""
    needs: tuple[str, ...] = ()
    """The gates that must be on as well."""
    proposal: str = ""
    """The KEP that plans the gate, until the gate is found in code."""
    about: str = ""
    source: str = ""
    read: str = ""


class RetiredGate(Struct, frozen=True, forbid_unknown_fields=True):
    """A gate that has nothing to do with DRA, in a release that no longer has it. A component does
    not start if the gate is still set.
    """

    removed: str
    """The first release without the gate."""
    source: str
    read: str


class Served(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A version of a kind, with the first release that serves it (``since``), and the first later
    release that no longer does (``removed``).
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

    ``path`` starts below the spec or status; ``[]`` stands for every item of a list, and ``{}`` for
    every value of a map. Releases before ``since`` and from ``removed`` on do not have the field:
    it is an ``unknown field`` if decoding is strict, and is dropped otherwise. From
    ``dropped_since`` on, the API server silently drops the field unless all ``gates`` are on.
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
    """The KEP that plans the field, until the field is found in an API."""
    source: str = ""
    read: str = ""


class ReleaseChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is in effect from release ``since`` on, and no longer in release ``until``
    (None: still in effect). ``source`` is its place in kubernetes/kubernetes, or in the named
    module.

    ``patches`` are the patch releases that introduced the change within earlier releases (or ended
    it there, if it has an ``until``). They count if the patch release of the cluster is known.
    """

    since: str
    what: str
    source: str
    until: str | None = None
    patches: tuple[str, ...] = ()
    read: str = ""


class Bug(Struct, frozen=True, forbid_unknown_fields=True):
    """A bug of released allocators that can change a verdict. ``name`` identifies it in the code,
    and ``issue`` is its number in kubernetes/kubernetes. The releases from ``first`` to ``last``
    have the bug; ``fixed`` has, for some of them, the first patch release without it. A patch
    release after ``last`` in ``fixed`` says that the earlier ones of its release have the bug, too.
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
    def fixed_by_release(self) -> Mapping[str, str]:
        """``fixed`` by release: ``1.36.3`` of ``1.36``."""
        return {fixed.rpartition(".")[0]: fixed for fixed in self.fixed}

    @property
    def releases(self) -> str:
        """The releases with the bug, such as ``1.34 to 1.35, and in 1.36 before 1.36.3``."""
        patched = self.fixed_by_release
        later = {release: fixed for release, fixed in patched.items() if release > self.last}
        also = "".join(f", and in {release} before {fixed}" for release, fixed in later.items())
        return f"{self.first} to {self.last}{also}"

    @property
    def url(self) -> str:
        """The issue's address."""
        return f"https://github.com/kubernetes/kubernetes/issues/{self.issue}"


class Feature(Struct, frozen=True, forbid_unknown_fields=True):
    """A field of the allocator's Features, and the gate that sets it (``A+B`` if both gates are
    needed).
    """

    gate: str
    since: str | None = None
    until: str | None = None


class Allocators(Struct, frozen=True, forbid_unknown_fields=True):
    """The allocator: the fields of its Features in the order in which Go prints them, the gates
    that each of its variants supports, by release, and its bugs. A release without a row has the
    gates of the release before it.
    """

    source: str
    features: dict[str, Feature]
    supported: dict[str, dict[str, tuple[str, ...]]]
    bugs: tuple[Bug, ...]


class Preview(Struct, frozen=True, forbid_unknown_fields=True):
    """A release that was not out when the facts about it were read."""

    tag: str
    """The alpha, beta or candidate up to which the release is known."""
    like: str
    """The release whose types and rules apply where nothing else is known."""
    due: str
    """The day on which it is to be released."""
    basis: str
    """The basis of verdicts, as a phrase."""
    source: str
    read: str

    @property
    def unknown(self) -> str:
        """The phrase for a name that was not found in the source, but may exist."""
        return f"not known of {self.tag}, read {self.read}"


class Coming(Struct, frozen=True, forbid_unknown_fields=True):
    """A feature of a release whose rules are not completely known."""

    release: str
    what: str
    source: str
    read: str = ""
    landed: bool = False
    """True if it is in the code of a preview, and not only planned."""


class Kubernetes(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The file ``kubernetes.json``. The rules of ``compared`` releases were compared with the
    answers of a real API server; the rules of older releases are only for lint. From
    ``needs_since`` on, a server does not start if a gate is on and its ``needs`` are off.

    Differences between releases are named changes: code checks for a change
    (``target.has("counter-limits")``), never for a release. ``previews`` are the last of
    ``releases``, and are used only if the user names them or the input shows them. ``retired`` has,
    by name, gates that are not DRA's.
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
