"""Kubernetes releases as the pack has them: feature gates, served API versions, fields, and changes by name."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from dractl.facts import pack


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """The stage of a feature gate from ``release`` on."""

    release: str
    stage: str  # "alpha", "beta", "GA"
    default: bool
    locked: bool = False


class Gate(Struct, frozen=True, forbid_unknown_fields=True):
    """A feature gate: its stages, the release that no longer has it, and the gates that it needs."""

    stages: tuple[Stage, ...]
    removed: str | None = None
    needs: tuple[str, ...] = ()
    about: str = ""
    source: str = ""
    read: str = ""


class Served(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A version of a kind, and the releases whose API server has it: from ``since`` until before ``removed``."""

    api_version: str
    kind: str
    since: str = "1.31"
    removed: str | None = None
    default: bool = True  # false: only with --runtime-config
    source: str = ""
    read: str = ""


class Field(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A field of the specs of ResourceClaims, DeviceClasses and so on, as in v1.

    ``path`` starts below the spec, ``[]`` stands for every item, ``{}`` for every value of a map. Releases before
    ``since`` and from ``removed`` on do not have the field (``unknown field`` if decoding is strict, else it is
    dropped). Unless all ``gates`` are enabled, the API server silently drops it, from ``dropped_since`` on.
    """

    spec: str  # "claim", "class", "slice", "pool-status", "pod-group", "workload"
    path: str
    since: str
    gates: tuple[str, ...] = ()
    dropped_since: str | None = None
    removed: str | None = None
    source: str = ""
    read: str = ""


class Change(Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is in effect from release ``since`` until before ``until`` (None: still in effect). ``source`` is
    its place in kubernetes/kubernetes, or in the named module."""

    since: str
    what: str
    source: str
    until: str | None = None
    read: str = ""


class Coming(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a release whose rules are not known completely."""

    release: str
    what: str
    source: str
    read: str = ""


class Kubernetes(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """``kubernetes.json``. The rules of ``compared`` releases were compared with what a real API server said; the older
    ones are for lint only. From ``needs_since`` on a server does not start with a gate whose ``needs`` are off.

    Differences between releases are changes with a name: code asks for a change (``target.has("counter-limits")``),
    never for a release. The allocator's variants (``allocation/features.py``) and upstream's bugs
    (``allocation/bugs.py``) have tables of their own.
    """

    source: str
    read: str
    releases: tuple[str, ...]
    compared: tuple[str, ...]
    needs_since: str
    gates: dict[str, Gate]
    served: tuple[Served, ...]
    fields: tuple[Field, ...]
    changes: dict[str, Change]
    coming: tuple[Coming, ...] = ()


@cache
def kubernetes() -> Kubernetes:
    """The tables."""
    return pack.current().read("kubernetes.json", Kubernetes)


pack.forget_with(kubernetes.cache_clear)
