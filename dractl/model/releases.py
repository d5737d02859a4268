"""Kubernetes releases: their feature gates, the API versions they serve, and the fields they have.

The pack of facts contains the tables; this module contains the logic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from dractl.errors import UsageError
from dractl.facts.kubernetes import (
    GateStage as GateStage,
    Served as Served,
    SpecField as SpecField,
    kubernetes,
)
from dractl.model.nearest import nearest

_FACTS: Final = kubernetes()
RELEASES: Final = _FACTS.releases
PREVIEWS: Final = _FACTS.previews
"""Releases that were not yet published when their rules were read; used only if the user names them
or the input shows them.
"""
NEWEST: Final = [release for release in RELEASES if release not in PREVIEWS][-1]
_ORDER: Final = {release: index for index, release in enumerate(RELEASES)}
COMPARED: Final = _FACTS.compared
"""The releases whose rules are compared with the verdicts of a real API server; the older ones are
only for lint.
"""
GATES: Final[Mapping[str, tuple[GateStage, ...]]] = {
    name: gate.stages for name, gate in _FACTS.gates.items()
}
DEPENDENCIES: Final[Mapping[str, tuple[str, ...]]] = {
    name: gate.needs for name, gate in _FACTS.gates.items() if gate.needs
}
SERVED: Final = _FACTS.served
FIELDS: Final = _FACTS.fields
CHANGES: Final = _FACTS.changes
_REMOVED: Final = {name: gate.removed for name, gate in _FACTS.gates.items() if gate.removed} | {
    name: gate.removed for name, gate in _FACTS.retired.items()
}
_STAYS_ON: Final = frozenset(
    name for name, gate in _FACTS.gates.items() if gate.removed and gate.stages[-1].default
)
"""Gates that were removed because their feature can no longer be turned off."""
GROUPS: Final = ("AllAlpha", "AllBeta")
"""Names that stand for all gates of a stage."""


@cache
def has_change(release: str, name: str, patch: int | None = None) -> bool:
    """Return True if a release has a change of :data:`CHANGES`; KeyError for an unknown name.
    ``patch``, if it is known, decides for releases in which a patch release brought or ended the
    change.
    """
    change = CHANGES[name]
    came = patch_that_brought(change.patches, release)
    if came is not None and patch is not None:
        return (patch >= came) is (change.until is None)
    position = _ORDER[release]
    return _ORDER[change.since] <= position and (
        change.until is None or position < _ORDER[change.until]
    )


def patch_that_brought(patches: Iterable[str], release: str) -> int | None:
    """Return the number of the first of ``patches`` that belongs to a release, or None."""
    return next(
        (patch for text in patches if text.startswith(f"{release}.") if (patch := patch_of(text))),
        None,
    )


def patch_of(text: str) -> int | None:
    """Return the patch that a version names: 3 in ``v1.36.3+k3s1``. None if it names none, and for
    alphas and betas.
    """
    match = re.fullmatch(
        r"v?[0-9]{1,4}\.[0-9]{1,4}\.([0-9]{1,4})(?!-(?:alpha|beta|rc))(?:[+-].*)?", text.strip()
    )
    return int(match[1]) if match else None


def like(release: str) -> str:
    """Return the release whose types a release has: the release itself, unless it is one of
    :data:`PREVIEWS`.
    """
    return PREVIEWS[release].like if release in PREVIEWS else release


def _key(release: str) -> tuple[int, int]:
    major, _, minor = release.partition(".")
    return int(major), int(minor)


def _minor(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(
        r"v?([0-9]{1,4})\.([0-9]{1,4})(?:[.+-][0-9A-Za-z.+~_-]*)?", text.strip(), re.ASCII
    )
    return (int(match[1]), int(match[2])) if match else None


def is_newer(text: str) -> bool:
    """Return True if ``text`` names a release after all known ones, for which the newest rules are
    the best guess.
    """
    version = _minor(text)
    return version is not None and version > _key(RELEASES[-1])


def caveat(text: str | None) -> str | None:
    """Return a caveat if ``text`` names a release with unknown rules; None if its rules are
    known.
    """
    if text is None:
        return None
    if is_newer(text):
        return f"Kubernetes {text} is newer than dractl knows: the rules of {RELEASES[-1]} are used"
    minor = _minor(text)
    release = f"{minor[0]}.{minor[1]}" if minor is not None else ""
    if release not in PREVIEWS:
        return None
    preview = PREVIEWS[release]
    return (
        f"Kubernetes {release} was read on {preview.read}, before its release (due {preview.due}); "
        f"it is judged by {preview.basis}"
    )


def find_release(text: str) -> str | None:
    """Return the release that a version names, such as ``1.36`` for ``v1.36.3+k3s1``; None if it is
    none of :data:`RELEASES`.
    """
    minor = _minor(text)
    release = f"{minor[0]}.{minor[1]}" if minor is not None else None
    return release if release in RELEASES else None


def release_of(text: str) -> str:
    """Return the release that ``text`` names: ``1.36``, ``v1.36.3``, ``v1.36.3+k3s1``; for a later
    one the newest known.

    UsageError for a malformed version, or one older than the oldest known release.
    """
    if text in RELEASES:
        return text
    version = _minor(text) if isinstance(text, str) else None  # in Python 1.40 is the number 1.4
    allowed = f"{RELEASES[0]} to {RELEASES[-1]}"
    if version is None:
        raise UsageError(
            f"not a Kubernetes release: {text!r}",
            hint=f"a release reads like {NEWEST}; dractl knows {allowed}",
        )
    if version > _key(RELEASES[-1]):
        return RELEASES[-1]
    release = f"{version[0]}.{version[1]}"
    if release not in RELEASES:
        raise UsageError(
            f"Kubernetes {release} is not known",
            hint=f"dractl knows {allowed}; older ones do not have resource.k8s.io/v1alpha3",
        )
    return release


def stage(gate: str, release: str) -> GateStage | None:
    """Return the stage of ``gate`` in ``release``; None if that release does not have it."""
    removed = _REMOVED.get(gate)
    if removed and _key(release) >= _key(removed):
        return None
    reached = [s for s in GATES.get(gate, ()) if _key(s.release) <= _key(release)]
    return reached[-1] if reached else None


def removal(gate: str, release: str) -> str | None:
    """Return the release that removed ``gate``; None if ``release`` still has the gate, or if its
    removal is not known.
    """
    removed = _REMOVED.get(gate)
    return removed if removed and _key(removed) <= _key(release) else None


def is_known(gate: str) -> bool:
    """Return True if the gate is one of :data:`GATES`, or the name of a group of gates."""
    return gate in GATES or gate in GROUPS


def gate_remarks(release: str, overrides: Mapping[str, bool]) -> tuple[str, ...]:
    """Return remarks about unknown and planned gates that are set for a preview; none for other
    releases.
    """
    preview = PREVIEWS.get(release)
    if preview is None:
        return ()
    remarks = []
    for gate, value in overrides.items():
        if not is_known(gate) and removal(gate, release) is None:
            near = nearest(gate, GATES)
            remarks.append(
                f"feature gate {gate}: {preview.unknown}; it decides nothing here"
                + (f" (the nearest name that is known: {near})" if near else "")
            )
        elif gate in GATES and value and (proposal := _FACTS.gates[gate].proposal):
            remarks.append(
                f"feature gate {gate}: planned by {proposal}, {preview.unknown}; "
                f"{_FACTS.gates[gate].about}"
            )
    return tuple(remarks)


class Target(Struct, frozen=True):
    """A Kubernetes release and its enabled feature gates. Hashable; compare and share freely."""

    release: str
    gates: frozenset[str]

    @staticmethod
    def of(release: str = NEWEST, overrides: Mapping[str, bool] | None = None) -> Target:
        """Return a release with its default gates, except the gates in ``overrides`` (``AllAlpha``
        and ``AllBeta`` too).

        For a release after all known ones, the newest rules apply, and ``release`` names them.
        UsageError for an unknown release or gate, a gate that the release lacks or has locked, a
        gate whose dependency is off, and a value other than True and False. A preview may have
        unknown gates (:func:`gate_remarks`); they are left out.
        """
        for gate, value in (overrides or {}).items():
            if not isinstance(value, bool):
                raise UsageError(f"feature gate {gate} is True or False, not {value!r}")
        return _target(release_of(release), tuple(sorted((overrides or {}).items())))

    def has(self, change: str) -> bool:
        """Return True if the release has a change of :data:`CHANGES`; KeyError for an
        unknown one.
        """
        return has_change(self.release, change)

    def enabled(self, gate: str) -> bool:
        """Return True if the feature gate is on; KeyError for a gate that is not in
        :data:`GATES`.
        """
        if gate not in GATES:
            raise KeyError(gate)
        return gate in self.gates


@cache
def _target(release: str, overrides: tuple[tuple[str, bool], ...]) -> Target:
    stages = {gate: row for gate in GATES if (row := stage(gate, release))}
    gates = {gate for gate, row in stages.items() if row.default}
    gates |= {gate for gate in _STAYS_ON if removal(gate, release)}
    groups = dict(overrides)
    for group, kind in (("AllAlpha", "alpha"), ("AllBeta", "beta")):
        if group in groups:
            members = {gate for gate, row in stages.items() if row.stage == kind}
            gates = gates | members if groups[group] else gates - members
    for gate, value in overrides:
        if gate in GROUPS:
            continue
        _check_override(gate, value, release, stages)
        if gate not in GATES:
            continue
        gates = gates | {gate} if value else gates - {gate}
    _check_dependencies(gates, release)
    return Target(release, frozenset(gates))


def _check_override(gate: str, value: bool, release: str, stages: Mapping[str, GateStage]) -> None:
    """Refuse an override with which an API server does not start (component-base/featuregate)."""
    if removed := removal(gate, release):
        raise UsageError(
            f"feature gate {gate} was removed in Kubernetes {removed}",
            hint=(
                "leave it out: a component that sets it does not start (unrecognized feature gate)"
            ),
        )
    if gate not in GATES:
        if release in PREVIEWS:
            return
        near = nearest(gate, GATES)
        hint = f"did you mean {near}?" if near else f"use one of {', '.join(GATES)}"
        raise UsageError(f"feature gate {gate} is not known", hint=hint)
    row = stages.get(gate)
    if row is None:
        raise UsageError(
            f"Kubernetes {release} has no feature gate {gate}", hint=f"it {_origin(gate)}"
        )
    if row.locked and value != row.default:
        locked = str(row.default).lower()
        raise UsageError(
            f"feature gate {gate} is locked to {locked} in Kubernetes {release}",
            hint="leave it out",
        )


def _origin(gate: str) -> str:
    since, proposal = GATES[gate][0].release, _FACTS.gates[gate].proposal
    return f"is planned for {since} ({proposal})" if proposal else f"came with {since}"


def _check_dependencies(gates: set[str], release: str) -> None:
    """Refuse a gate whose dependencies are off: an API server does not start with it
    (unsafeSetFromMap in component-base/featuregate).
    """
    if _key(release) < _key(_FACTS.needs_since):
        return
    for gate, needed in DEPENDENCIES.items():
        off = [name for name in needed if name not in gates]
        if gate in gates and off:
            raise UsageError(
                f"feature gate {gate} is on, but {' and '.join(off)}, which it needs in Kubernetes"
                f" {release}, {'is' if len(off) == 1 else 'are'} off",
                hint=f"add {','.join(f'{name}=true' for name in off)}, or set {gate}=false",
            )


def parse_gates(text: str) -> dict[str, bool]:
    """Parse ``Name=true,Other=false`` as ``--feature-gates`` accepts it; UsageError for anything
    else.
    """
    gates: dict[str, bool] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = (s.strip() for s in part.partition("="))
        # Go's strconv.ParseBool
        truth = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
        false = {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
        if not equals or value not in truth | false:
            raise UsageError(
                (
                    f"missing =true or =false after {name}"
                    if not equals
                    else f"{part!r} is neither true nor false"
                ),
                hint="write Name=true or Name=false, with commas",
            )
        gates[name] = value in truth
    return gates


@cache
@cache
def served_versions(
    kind: str, release: str = NEWEST, *, by_default: bool = False
) -> tuple[str, ...]:
    """Return the apiVersions in which ``release`` has ``kind``, newest first; with ``by_default``,
    only versions that are served without further settings.

    Empty for a kind that is missing in the table or in that release.
    """
    return tuple(
        row.api_version
        for row in SERVED
        if row.kind == kind
        and _key(row.since) <= _key(release)
        and (row.removed is None or _key(release) < _key(row.removed))
        and (row.default or not by_default)
    )


def versions_no_longer_served(release: str) -> frozenset[str]:
    """Return the apiVersions of :data:`SERVED` that ``release`` no longer serves for any kind."""
    kept = {
        row.api_version
        for row in SERVED
        if row.removed is None or _key(release) < _key(row.removed)
    }
    return frozenset(row.api_version for row in SERVED) - kept


@cache
def fields_dropped_by(spec: str, target: Target) -> tuple[SpecField, ...]:
    """Return the fields of a spec (``claim``, ``class``, ``slice``, ...) that the API server of
    ``target`` drops silently.
    """
    return tuple(
        field
        for field in FIELDS
        if field.spec == spec
        and has_field(field, target.release)
        and is_dropped_without_gates(field, target.release)
        and not target.gates.issuperset(field.gates)
    )


@cache
def unknown_fields(spec: str, release: str) -> tuple[SpecField, ...]:
    """Return the fields in :data:`FIELDS` that ``release`` does not have."""
    return tuple(field for field in FIELDS if field.spec == spec and not has_field(field, release))


def is_dropped_without_gates(field: SpecField, release: str) -> bool:
    """Return True if the API server of a release drops a field unless the gates of the field are
    on.
    """
    return _key(release) >= _key(field.dropped_since or field.since)


def has_field(field: SpecField, release: str) -> bool:
    """Return True if a release has a field of :data:`FIELDS`."""
    return _key(field.since) <= _key(release) and (
        field.removed is None or _key(release) < _key(field.removed)
    )
