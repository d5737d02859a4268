"""Kubernetes releases: their feature gates, the API versions they serve, and the fields they have.

Tables, with the place in kubernetes/kubernetes where each can be read; the logic that uses them is at the end.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dractl.errors import UsageError
from dractl.model.changes import CHANGES
from dractl.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

RELEASES: Final = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37")
NEWEST: Final = RELEASES[-1]
_ORDER: Final = {release: index for index, release in enumerate(RELEASES)}
COMPARED: Final = ("1.34", "1.35", "1.36", "1.37")
"""The releases whose rules are compared with what a real API server said; the older ones are for lint only."""


@cache
def has_change(release: str, name: str) -> bool:
    """True if a release has a change of :data:`dractl.model.changes.CHANGES`; KeyError for an unknown name."""
    change = CHANGES[name]
    position = _ORDER[release]
    return _ORDER[change.since] <= position and (change.until is None or position < _ORDER[change.until])


class Stage(Struct, frozen=True):
    """The stage of a feature gate from ``release`` on."""

    release: str
    stage: str  # "alpha", "beta", "GA"
    default: bool
    locked: bool = False


# pkg/features/kube_features.go of v1.37.1; for a gate that 1.37 no longer has, of v1.31.0
GATES: Final[Mapping[str, tuple[Stage, ...]]] = {
    "DRAAdminAccess": (
        Stage("1.32", "alpha", False),
        Stage("1.34", "beta", True),
        Stage("1.36", "GA", True, locked=True),
    ),
    "DRAConsumableCapacity": (Stage("1.34", "alpha", False), Stage("1.36", "beta", True)),
    "DRAControlPlaneController": (Stage("1.31", "alpha", False),),  # classic DRA, removed in 1.32
    "DRADerivedAttributes": (Stage("1.37", "alpha", False),),
    "DRADeviceBindingConditions": (Stage("1.34", "alpha", False), Stage("1.36", "beta", True)),
    "DRADeviceCompatibilityGroups": (Stage("1.37", "alpha", False),),
    "DRADeviceTaintRules": (  # part of DRADeviceTaints before 1.35
        Stage("1.35", "alpha", False),
        Stage("1.36", "beta", False),
        Stage("1.37", "GA", True),
    ),
    "DRADeviceTaints": (Stage("1.33", "alpha", False), Stage("1.36", "beta", True), Stage("1.37", "GA", True)),
    "DRAExtendedResource": (
        Stage("1.34", "alpha", False),
        Stage("1.36", "beta", True),
        Stage("1.37", "GA", True, locked=True),
    ),
    # On by default only with --min-compatibility-version=1.37 or later, which is one release behind if it is not set.
    "DRAFractionalCapacityRange": (Stage("1.37", "beta", False),),
    "DRAListTypeAttributes": (Stage("1.36", "alpha", False),),
    "DRANodeAllocatableResources": (Stage("1.36", "alpha", False),),
    "DRAOptionalNodeOperations": (Stage("1.37", "alpha", False),),
    "DRAPartitionableDevices": (Stage("1.33", "alpha", False), Stage("1.36", "beta", True)),
    "DRAPartitionableDevicesType": (Stage("1.37", "alpha", False),),
    "DRAPrioritizedList": (
        Stage("1.33", "alpha", False),
        Stage("1.34", "beta", True),
        Stage("1.36", "GA", True),
        Stage("1.37", "GA", True, locked=True),
    ),
    "DRAResourceClaimDeviceStatus": (
        Stage("1.32", "alpha", False),
        Stage("1.33", "beta", True),
        Stage("1.37", "GA", True, locked=True),
    ),
    "DRAResourceClaimGranularStatusAuthorization": (Stage("1.36", "beta", True),),
    "DRAResourcePoolStatus": (Stage("1.36", "alpha", False),),
    "DRASchedulerFilterTimeout": (Stage("1.34", "beta", True),),
    "DRAWorkloadResourceClaims": (Stage("1.36", "alpha", False), Stage("1.37", "beta", False)),
    "DynamicResourceAllocation": (
        Stage("1.31", "alpha", False),
        Stage("1.32", "beta", False),
        Stage("1.34", "GA", True),
        Stage("1.35", "GA", True, locked=True),
    ),
    "GenericWorkload": (Stage("1.35", "alpha", False), Stage("1.37", "beta", False)),
}
_REMOVED: Final = {"DRAControlPlaneController": "1.32"}

# defaultKubernetesFeatureGateDependencies in pkg/features/kube_features.go, the same from 1.35 to 1.37 but for gates
# that come later; 1.34 has none. DynamicResourceAllocation, which all need, is locked from 1.35 on and left out;
# so is NodeDeclaredFeatures, on by default since 1.36, which DRAOptionalNodeOperations needs.
DEPENDENCIES: Final[Mapping[str, tuple[str, ...]]] = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAPartitionableDevicesType": ("DRAPartitionableDevices", "DRAResourcePoolStatus"),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
}
_DEPENDENCIES_SINCE: Final = "1.35"


class Served(Struct, frozen=True):
    """A version of a kind, and the releases whose API server has it: from ``since`` until before ``removed``."""

    api_version: str
    kind: str
    since: str = "1.31"
    removed: str | None = None
    default: bool = True  # false: only with --runtime-config


# staging/src/k8s.io/api/resource/*/zz_generated.prerelease-lifecycle.go; newest version first.
SERVED: Final = (
    *(
        Served(f"resource.k8s.io/{version}", kind, since, removed, default)
        for kind in ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
        for version, since, removed, default in (
            ("v1", "1.34", None, True),
            ("v1beta2", "1.33", "1.39", False),
            ("v1beta1", "1.32", "1.38", False),
            ("v1alpha3", "1.31", "1.34", False),
        )
    ),
    Served("resource.k8s.io/v1", "DeviceTaintRule", "1.37"),
    Served("resource.k8s.io/v1beta2", "DeviceTaintRule", "1.36", "1.42", default=False),
    Served("resource.k8s.io/v1alpha3", "DeviceTaintRule", "1.33", "1.39", default=False),
    Served("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "1.36", "1.42", default=False),
    Served("resource.k8s.io/v1alpha3", "PodSchedulingContext", "1.31", "1.32", default=False),
    Served("scheduling.k8s.io/v1alpha1", "Workload", "1.35", "1.36", default=False),
    *(
        Served(f"scheduling.k8s.io/{version}", kind, since, removed, default=False)
        for kind in ("Workload", "PodGroup")
        for version, since, removed in (
            ("v1beta1", "1.37", None),
            ("v1alpha3", "1.37", None),
            ("v1alpha2", "1.36", "1.37"),
        )
    ),
    *(Served("v1", kind) for kind in ("Pod", "Node", "Namespace", "PodTemplate", "ReplicationController")),
    *(Served("apps/v1", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
    *(Served("batch/v1", kind) for kind in ("Job", "CronJob")),
)


class Field(Struct, frozen=True):
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


_CONSUMABLE = ("DRAConsumableCapacity",)
_TAINTS = ("DRADeviceTaints",)
_PARTITIONABLE = ("DRAPartitionableDevices",)
_BINDING = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
_LISTS = ("DRAListTypeAttributes",)
_NODE_ALLOCATABLE = ("DRANodeAllocatableResources",)

# Since when a field exists: staging/src/k8s.io/api/resource/v1*/types.go of each release. Dropped fields:
# dropDisabledFields
# in pkg/registry/resource/{resourceclaim,deviceclass,resourceslice}/strategy.go; from 1.35 pkg/api/resourceclaimspec.
FIELDS: Final = (
    Field("claim", "devices.requests[].firstAvailable", "1.33", ("DRAPrioritizedList",)),
    Field("claim", "devices.requests[].exactly.adminAccess", "1.31", ("DRAAdminAccess",), dropped_since="1.32"),
    # 1.33 and 1.34 keep tolerations whatever the gate.
    Field("claim", "devices.requests[].exactly.tolerations", "1.33", _TAINTS, dropped_since="1.35"),
    Field("claim", "devices.requests[].firstAvailable[].tolerations", "1.33", _TAINTS, dropped_since="1.35"),
    Field("claim", "devices.requests[].exactly.capacity", "1.34", _CONSUMABLE),
    Field("claim", "devices.requests[].firstAvailable[].capacity", "1.34", _CONSUMABLE),
    # 1.34 intends to drop it, but clears a copy.
    Field("claim", "devices.constraints[].distinctAttribute", "1.34", _CONSUMABLE, dropped_since="1.35"),
    Field("claim", "devices.requests[].exactly.derivedAttributes", "1.37", ("DRADerivedAttributes",)),
    Field("claim", "devices.requests[].firstAvailable[].derivedAttributes", "1.37", ("DRADerivedAttributes",)),
    Field("class", "extendedResourceName", "1.34", ("DRAExtendedResource",)),
    Field("slice", "devices[].taints", "1.33", _TAINTS),
    Field("slice", "sharedCounters", "1.33", _PARTITIONABLE),
    Field("slice", "perDeviceNodeSelection", "1.33", _PARTITIONABLE),
    Field("slice", "devices[].consumesCounters", "1.33", _PARTITIONABLE),
    Field("slice", "devices[].nodeName", "1.33", _PARTITIONABLE),
    Field("slice", "devices[].nodeSelector", "1.33", _PARTITIONABLE),
    Field("slice", "devices[].allNodes", "1.33", _PARTITIONABLE),
    Field("slice", "devices[].bindsToNode", "1.34", _BINDING),
    Field("slice", "devices[].bindingConditions", "1.34", _BINDING),
    Field("slice", "devices[].bindingFailureConditions", "1.34", _BINDING),
    Field("slice", "devices[].allowMultipleAllocations", "1.34", _CONSUMABLE),
    Field("slice", "devices[].capacity{}.requestPolicy", "1.34", _CONSUMABLE),
    Field("slice", "devices[].attributes{}.ints", "1.36", _LISTS),
    Field("slice", "devices[].attributes{}.bools", "1.36", _LISTS),
    Field("slice", "devices[].attributes{}.strings", "1.36", _LISTS),
    Field("slice", "devices[].attributes{}.versions", "1.36", _LISTS),
    Field("slice", "devices[].nodeAllocatableResourceMappings", "1.36", _NODE_ALLOCATABLE, removed="1.37"),
    Field("slice", "devices[].nodeAllocatableResources", "1.37", _NODE_ALLOCATABLE),
    Field("slice", "devices[].consumesCounters[].compatibilityGroups", "1.37", ("DRADeviceCompatibilityGroups",)),
    Field("slice", "partitionTypeAttribute", "1.37", ("DRAPartitionableDevicesType",)),
    Field("slice", "skipNodeOperations", "1.37", ("DRAOptionalNodeOperations",)),
    Field("pool-status", "defaultPartitionTypeAttribute", "1.37", ("DRAPartitionableDevicesType",)),
    Field("pod-group", "resourceClaims", "1.36", ("DRAWorkloadResourceClaims",)),
    Field("workload", "podGroupTemplates[].resourceClaims", "1.36", ("DRAWorkloadResourceClaims",)),
)


def _key(release: str) -> tuple[int, int]:
    major, _, minor = release.partition(".")
    return int(major), int(minor)


def _minor(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:[.+-][0-9A-Za-z.+~_-]*)?", text.strip(), re.ASCII)
    return (int(match[1]), int(match[2])) if match else None


def is_newer(text: str) -> bool:
    """True if ``text`` names a release after :data:`NEWEST`; the newest rules are then the best guess."""
    found = _minor(text)
    return found is not None and found > _key(NEWEST)


def release_of(text: str) -> str:
    """The release that ``text`` names: ``1.36``, ``v1.36.3``, ``v1.36.3+k3s1``; :data:`NEWEST` for a later one.

    UsageError for a malformed version, or one older than the oldest known release.
    """
    if text in RELEASES:
        return text
    found = _minor(text) if isinstance(text, str) else None  # in Python 1.40 is the number 1.4
    allowed = f"{RELEASES[0]} to {NEWEST}"
    if found is None:
        raise UsageError(
            f"{text!r} is no Kubernetes release", hint=f"a release reads like {NEWEST}; known are {allowed}"
        )
    if found > _key(NEWEST):
        return NEWEST
    release = f"{found[0]}.{found[1]}"
    if release not in RELEASES:
        raise UsageError(
            f"Kubernetes {release} is not known",
            hint=f"known are {allowed}; older ones do not have resource.k8s.io/v1alpha3",
        )
    return release


def stage(gate: str, release: str) -> Stage | None:
    """The stage of ``gate`` in ``release``; None if that release does not have it."""
    removed = _REMOVED.get(gate)
    if removed and _key(release) >= _key(removed):
        return None
    reached = [s for s in GATES[gate] if _key(s.release) <= _key(release)]
    return reached[-1] if reached else None


class Target(Struct, frozen=True):
    """A Kubernetes release and its enabled feature gates. Hashable; compare and share freely."""

    release: str
    gates: frozenset[str]

    @staticmethod
    def of(release: str = NEWEST, overrides: Mapping[str, bool] | None = None) -> Target:
        """A release with its default gates, except those in ``overrides`` (``AllAlpha`` and ``AllBeta`` too).

        For a release after :data:`NEWEST`, the newest rules apply, and ``release`` names their release. UsageError for
        an unknown release or gate, for a gate that the release does not have or has locked, for one that is on while a
        gate that it needs is off, and for a value that is neither True nor False.
        """
        for gate, value in (overrides or {}).items():
            if not isinstance(value, bool):
                raise UsageError(f"feature gate {gate} is True or False, not {value!r}")
        return _target(release_of(release), tuple(sorted((overrides or {}).items())))

    def has(self, change: str) -> bool:
        """True if the release has a change of :data:`dractl.model.changes.CHANGES`; KeyError for an unknown one."""
        return has_change(self.release, change)

    def enabled(self, gate: str) -> bool:
        """True if the feature gate is on; KeyError for a gate that is not in :data:`GATES`."""
        if gate not in GATES:
            raise KeyError(gate)
        return gate in self.gates


@cache
def _target(release: str, overrides: tuple[tuple[str, bool], ...]) -> Target:
    stages = {gate: found for gate in GATES if (found := stage(gate, release))}
    gates = {gate for gate, found in stages.items() if found.default}
    groups = dict(overrides)
    for group, kind in (("AllAlpha", "alpha"), ("AllBeta", "beta")):
        if group in groups:
            members = {gate for gate, found in stages.items() if found.stage == kind}
            gates = gates | members if groups[group] else gates - members
    for gate, value in overrides:
        if gate in {"AllAlpha", "AllBeta"}:
            continue
        _check_override(gate, value, release, stages)
        gates = gates | {gate} if value else gates - {gate}
    _check_dependencies(gates, release)
    return Target(release, frozenset(gates))


def _check_override(gate: str, value: bool, release: str, stages: Mapping[str, Stage]) -> None:
    """component-base/featuregate: an API server with such a flag does not start."""
    if gate not in GATES:
        near = nearest(gate, GATES)
        hint = f"did you mean {near}?" if near else f"known are {', '.join(GATES)}"
        raise UsageError(f"feature gate {gate} is not known", hint=hint)
    found = stages.get(gate)
    if found is None:
        since = GATES[gate][0].release
        when = f"came with {since}" if _key(since) > _key(release) else f"ended with {_REMOVED[gate]}"
        raise UsageError(f"Kubernetes {release} has no feature gate {gate}", hint=f"it {when}")
    if found.locked and value != found.default:
        locked = str(found.default).lower()
        raise UsageError(f"feature gate {gate} is locked to {locked} in Kubernetes {release}", hint="leave it out")


def _check_dependencies(gates: set[str], release: str) -> None:
    """component-base/featuregate (unsafeSetFromMap): nor does it start with a gate whose dependencies are off."""
    if _key(release) < _key(_DEPENDENCIES_SINCE):
        return
    for gate, needed in DEPENDENCIES.items():
        off = [name for name in needed if name not in gates]
        if gate in gates and off:
            raise UsageError(
                f"feature gate {gate} is on, but {' and '.join(off)}, which it needs in Kubernetes {release}, "
                f"{'is' if len(off) == 1 else 'are'} off",
                hint=f"add {','.join(f'{name}=true' for name in off)}, or set {gate}=false",
            )


def parse_gates(text: str) -> dict[str, bool]:
    """``Name=true,Other=false`` as ``--feature-gates`` accepts it; UsageError for anything else."""
    gates: dict[str, bool] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = (s.strip() for s in part.partition("="))
        # Go's strconv.ParseBool
        truth = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
        false = {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
        if not equals or value not in truth | false:
            raise UsageError(
                f"{part!r} does not switch a feature gate", hint="write Name=true or Name=false, with commas"
            )
        gates[name] = value in truth
    return gates


@cache
def served_versions(kind: str, release: str = NEWEST, *, by_default: bool = False) -> tuple[str, ...]:
    """The apiVersions in which ``release`` has ``kind``, newest first; ``by_default``: only those that are always
    served.

    Empty for a kind that is not in the table or not in that release.
    """
    return tuple(
        row.api_version
        for row in SERVED
        if row.kind == kind
        and _key(row.since) <= _key(release)
        and (row.removed is None or _key(release) < _key(row.removed))
        and (row.default or not by_default)
    )


@cache
def dropped_fields(spec: str, target: Target) -> tuple[Field, ...]:
    """The fields of a spec (``claim``, ``class``, ``slice``, ...) that the API server of ``target`` drops silently."""
    return tuple(
        field
        for field in FIELDS
        if field.spec == spec
        and _known(field, target.release)
        and _key(target.release) >= _key(field.dropped_since or field.since)
        and not target.gates.issuperset(field.gates)
    )


@cache
def unknown_fields(spec: str, release: str) -> tuple[Field, ...]:
    """The fields in :data:`FIELDS` that ``release`` does not have."""
    return tuple(field for field in FIELDS if field.spec == spec and not _known(field, release))


def _known(field: Field, release: str) -> bool:
    return _key(field.since) <= _key(release) and (field.removed is None or _key(release) < _key(field.removed))
