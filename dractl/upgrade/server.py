"""The answers of the API servers of two releases to the same object."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.state import describe
from dractl.facts.kubernetes import kubernetes
from dractl.manifests import DoubledKey
from dractl.model import Target, to_v1
from dractl.model.releases import served_versions, stage
from dractl.objects import Raw, items, mapping, slice_of
from dractl.upgrade.finding import Finding
from dractl.validation import validate
from dractl.validation.drop import drop
from dractl.validation.previews import is_doubt
from dractl.validation.violation import Violation, dot_path
from dractl.views import View

Labels = Mapping[str, Mapping[str, str]]


_STORED_KINDS = frozenset({"ResourceClaim", "DeviceClass", "DeviceTaintRule"})
"""Kinds of stored objects that nobody creates again; in contrast, drivers publish slices again, and
controllers create claims and pods from templates.
"""
_MAX_SHOWN = 3
_LIFECYCLE = "kubernetes/api resource/*/zz_generated.prerelease-lifecycle.go"


class Input(Struct, frozen=True):
    """An object that API servers judge."""

    value: Raw
    """The object."""
    faults: tuple[DoubledKey, ...] = ()
    """The faults that strict decoding finds in its text."""
    stored: bool = False
    """True for an object of the cluster, False for a manifest that is to be created again."""
    others: tuple[str, ...] = ()
    """Names of other objects to which every server gives the same answer as to this one."""

    @property
    def objects(self) -> tuple[str, ...]:
        """``KIND/[NAMESPACE/]NAME`` of the object, and of the ``others`` that it represents."""
        return (describe(self.value), *self.others)

    @property
    def alike(self) -> Hashable:
        """A key that is equal for stored objects to which a server gives the same answer.

        A stored object has been accepted already, so only the lengths of names and attribute values
        matter.
        """
        view = View(self.value)
        if not self.stored or view.kind not in ("ResourceClaim", "ResourceSlice"):
            return id(self.value)
        head = self.value.get("apiVersion"), view.namespace, len(view.owners)
        if "devices" not in view.spec or view.kind == "ResourceClaim":
            return head, repr(view.spec)
        resource_slice = slice_of(self.value)
        varying = ("devices", "nodeName", "pool")
        fields = {name: value for name, value in view.spec.items() if name not in varying}
        devices = [device for device in items(view.spec["devices"]) if isinstance(device, dict)]
        return (
            head,
            repr(fields),
            len({device.get("name") for device in devices}),
            resource_slice.pool == resource_slice.node,
            repr([_shape(device) for device in devices]),
        )

    @property
    def stays(self) -> bool:
        """True if the object is stored, and nobody creates it again after the upgrade."""
        return self.stored and self.value.get("kind") in _STORED_KINDS

    @property
    def published(self) -> bool:
        """True for a stored slice, which its driver updates or publishes again."""
        return self.stored and self.value.get("kind") == "ResourceSlice"


def merge_inputs(items: Iterable[Input]) -> tuple[Input, ...]:
    """Merge the inputs for which every server gives the same answer."""
    groups: dict[Hashable, list[Input]] = {}
    for item in items:
        groups.setdefault(item.alike, []).append(item)
    return tuple(
        replace(first, others=tuple(name for item in rest for name in item.objects))
        for first, *rest in groups.values()
    )


def _shape(device: Raw) -> dict[str, Any]:
    attributes = {
        name: (
            tuple(
                (kind, len(text) if isinstance(text, str) else text) for kind, text in value.items()
            )
        )
        for name, value in mapping(device.get("attributes")).items()
        if isinstance(value, dict)
    }
    return {**device, "name": None, "attributes": attributes}


class ServerAnswer(Struct, frozen=True):
    """The answer of one release to an object."""

    errors: tuple[Violation, ...]
    """The errors for which it refuses the object."""
    dropped: frozenset[str] = frozenset()
    """The fields that it drops silently."""
    doubts: tuple[str, ...] = ()
    """Sentences about names that are unknown in a preview. Its API server may refuse the object
    because of them.
    """
    gates: frozenset[tuple[str, str]] = frozenset()
    """The fields that it drops, each with its gate."""

    @property
    def causes(self) -> frozenset[tuple[str | None, str | None]]:
        """The types and fields of the errors; for an object that cannot be decoded, only the
        type.
        """
        return frozenset(
            (one.type, one.field if one.type not in _UNDECODED else None) for one in self.errors
        )


Answers = dict[tuple[int, Target], ServerAnswer]
"""The answers of releases, by the identity of the object."""

_RESHAPED = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
_OLDER_SHAPE = ("resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1")
"""Versions up to 1.32, in which requests and devices have another form than in v1."""
_UNDECODED = ("BadRequest", "NotServed")


def ask_server(item: Input, target: Target, namespaces: Labels) -> ServerAnswer:
    """Return the answer of a release to the creation of an object.

    A stored object is converted to a version that the release serves.
    """
    value = dict(item.value)
    if item.stored:
        value = dict(to_v1(value))
        versions = served_versions(str(value.get("kind")), target.release)
        is_reshaped = value.get("kind") in _RESHAPED
        if versions and is_reshaped and all(version in _OLDER_SHAPE for version in versions):
            # The release serves only older forms, to which dractl does not convert the object.
            return ServerAnswer(())
        if versions and value.get("apiVersion") not in versions:
            value["apiVersion"] = versions[0]
    violations = validate(value, target, namespaces=namespaces, faults=item.faults)
    errors = tuple(violation for violation in violations if violation.type)
    doubts = tuple(violation.message for violation in violations if is_doubt(violation))
    may_drop = not errors and (doubts or any(each.rule == "dropped-field" for each in violations))
    dropped_fields = drop(dict(to_v1(value)), target)[1] if may_drop else ()
    gates = frozenset((dot_path(path), one.gate) for one in dropped_fields for path in one.paths)
    return ServerAnswer(errors, frozenset(path for path, _ in gates), doubts, gates)


def ask_once(item: Input, target: Target, namespaces: Labels, answers: Answers) -> ServerAnswer:
    """Return the answer of a release, which :func:`ask_server` computes at the first call.

    ``answers`` is the cache.
    """
    key = id(item.value), target
    if key not in answers:
        answers[key] = ask_server(item, target, namespaces)
    return answers[key]


def differences(
    items: Iterable[Input], before: Target, after: Target, namespaces: Labels, answers: Answers
) -> Iterator[Finding]:
    """Yield the differences between the answers of two releases to these objects.

    ``answers`` caches the answers of a release for the next step.
    """
    for item in items:
        old = ask_once(item, before, namespaces, answers)
        new = ask_once(item, after, namespaces, answers)
        for code, level, message in _compare_answers(item, old, new, before, after.release):
            yield Finding(code, level, message, item.objects)


def _compare_answers(
    item: Input, old: ServerAnswer, new: ServerAnswer, before: Target, release: str
) -> Iterator[tuple[str, Any, str]]:
    if new.doubts and not new.errors:
        yield "not-known", "info", f"may be refused: {'; '.join(new.doubts[:_MAX_SHOWN])}"
        return
    if old.causes == new.causes and old.dropped == new.dropped:
        return
    text = "; ".join(dict.fromkeys(_text(one) for one in new.errors[:_MAX_SHOWN]))
    text += f" (and {len(new.errors) - _MAX_SHOWN} more)" if len(new.errors) > _MAX_SHOWN else ""
    if new.errors and not old.errors:
        lost_fields = [one.field for one in new.errors if one.rule == "unknown-field" and one.field]
        if item.stays and lost_fields:
            yield (
                "field-lost",
                "breaks",
                f"{', '.join(lost_fields)}: {release} does not have the field and forgets it",
            )
        elif item.stays:
            yield (
                "refused-anew",
                "changes",
                f"stays as it is stored, but is refused if it is created again: {text}",
            )
        elif item.published and all(one.ratcheted for one in new.errors):
            yield (
                "refused-once-changed",
                "changes",
                f"stays until its driver changes spec.devices, and is refused after that: {text}",
            )
        else:
            is_unserved = new.errors[0].type == "NotServed"
            yield (
                ("not-served" if is_unserved else "refused"),
                "breaks",
                text if is_unserved else f"is refused: {text}",
            )
    elif old.errors and not new.errors:
        missing = f", without {', '.join(sorted(new.dropped))}" if new.dropped else ""
        earlier = "; ".join(dict.fromkeys(_text(one) for one in old.errors[:1]))
        yield "accepted", "changes", f"is accepted{missing}; before: {earlier}"
    elif new.errors:
        if old.causes != new.causes:
            yield "refused-otherwise", "info", f"is still refused, now: {text}"
    elif not item.stays:
        yield from _compare_dropped_fields(old, new, before, release)


def _compare_dropped_fields(
    old: ServerAnswer, new: ServerAnswer, before: Target, release: str
) -> Iterator[tuple[str, Any, str]]:
    lost_fields = sorted(each for each in new.gates if each[0] not in old.dropped)
    lost_effects = [path for path, gate in lost_fields if not _is_switched_off(gate, before)]
    if lost_effects:
        yield "field-dropped", "breaks", f"{', '.join(lost_effects)}: {release} drops it silently"
    idle_fields = [(path, gate) for path, gate in lost_fields if path not in lost_effects]
    if idle_fields:
        paths = ", ".join(path for path, _ in idle_fields)
        gates = ", ".join(sorted({gate for _, gate in idle_fields}))
        yield (
            "field-dropped",
            "changes",
            (
                f"{paths}: {release} drops it silently; in {before.release} it is stored, and has "
                f"no effect without {gates}"
            ),
        )
    if kept_fields := sorted(old.dropped - new.dropped):
        gates = ", ".join(sorted({gate for path, gate in old.gates if path in kept_fields}))
        yield (
            "field-kept",
            "changes",
            (
                f"{', '.join(kept_fields)}: dropped silently before, in effect from {release} "
                f"on, with {gates}"
            ),
        )


def _is_switched_off(gate: str, target: Target) -> bool:
    """Return True if a release has the gate, and it is off: its components ignore the fields of the
    gate, including the ones that the API server stores (up to 1.34 tolerations and
    distinctAttribute, k8s.io/dynamic-resource-allocation
    structured/internal/stable/allocator_stable.go).
    """
    return stage(gate, target.release) is not None and not target.enabled(gate)


def endings(items: Iterable[Input], release: str) -> Iterator[Finding]:
    """Yield the manifests whose version a later release no longer serves."""
    facts = kubernetes()
    for item in items:
        for row in facts.served:
            is_manifest = (row.api_version, row.kind) == (
                item.value.get("apiVersion"),
                item.value.get("kind"),
            )
            if (
                is_manifest
                and row.removed is not None
                and row.api_version in served_versions(row.kind, release)
            ):
                successor = served_versions(row.kind, release)[0]
                fix = f"write it in {successor}" if successor != row.api_version else None
                message = f"{row.api_version} is not served from Kubernetes {row.removed} on"
                source, date = row.source or _LIFECYCLE, row.read or facts.read
                yield Finding(
                    "version-ends", "info", message, item.objects, None, fix, source, date
                )


def _text(violation: Violation) -> str:
    path = violation.field
    return violation.said if path is None or path in violation.said else f"{path}: {violation.said}"
