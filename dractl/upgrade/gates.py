"""Feature gates with which a cluster's components are started, and the settings of gates with which
components of a later release would not start.

A component ends immediately if a gate is unknown to it ("unrecognized feature gate"), or if a
locked gate is set to another value: k8s.io/component-base v0.38.0-alpha.2
featuregate/feature_gate.go unsafeSetFromMap. (CHANGELOG-1.38.md says that the value false of
DRADeviceTaints "will be ignored", but unsafeSetFromMap refuses it.)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from os.path import basename

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.state import describe
from dractl.errors import UsageError
from dractl.facts.kubernetes import kubernetes
from dractl.manifests import Document
from dractl.manifests.documents import Path
from dractl.model import Target, to_v1
from dractl.model.releases import GATES, parse_gates, removal, stage
from dractl.objects import Raw, mapping
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import KUBELET, flags_in, parts_of, type_of
from dractl.upgrade.server import Input
from dractl.validation.drop import drop
from dractl.validation.violation import dot_path

_EVERY = "every component"
_FIELD = "featureGates"
_FLAG = "feature-gates"


class Gates(Struct, frozen=True):
    """Gates that one component is started with."""

    component: str
    """The name of the component."""
    path: Path
    """The path in the object that sets them."""
    values: Mapping[str, bool]
    """True or False by gate."""


class GateSetting(Struct, frozen=True):
    """A place at which the gates of a component are set."""

    component: str
    """The name of the component."""
    values: Mapping[str, bool]
    """True or False by gate."""
    place: str
    """The file and line, or the object and the field."""
    objects: tuple[str, ...] = ()
    """``KIND/[NAMESPACE/]NAME`` of the object that sets them; if the object has no name, the
    file.
    """


# -- where gates are set --


def settings_of_documents(documents: Iterable[Document]) -> Iterator[GateSetting]:
    """Yield the settings in files: configurations of components, files of kubeadm, pods, and texts
    in which any of these are embedded.
    """
    for document in documents:
        kind, file = str(document.value.get("kind")), basename(document.file)
        name = describe(document.value) if document.name else f"{kind}/{file}"
        for part in parts_of(document, (_FIELD, _FLAG)):
            for gates in gates_in(part.value):
                position = part.locate(gates.path, key=isinstance(gates.path[-1], str))
                place = f"{position.file}:{position.line}"
                yield GateSetting(gates.component, gates.values, place, (name,))


def settings_of_objects(objects: Iterable[Raw]) -> Iterator[GateSetting]:
    """Yield the settings in objects of a cluster."""
    for value in objects:
        for gates in gates_in(value):
            yield GateSetting(gates.component, gates.values, describe(value), (describe(value),))


def gates_in(value: Raw) -> Iterator[Gates]:
    """Yield the gates that an object sets, by component and place.

    Configurations of components (kubelet.config.k8s.io, kubeproxy.config.k8s.io), of kubeadm
    (``extraArgs`` is a map up to v1beta3, and a list of names and values in v1beta4) and of kind
    are searched, and so are the flags of containers.
    """
    match type_of(value):
        case "kubelet.config.k8s.io", "KubeletConfiguration":
            yield from _gates_of_field(KUBELET, value)
        case "kubeproxy.config.k8s.io", "KubeProxyConfiguration":
            yield from _gates_of_field("kube-proxy", value)
        case "kind.x-k8s.io", "Cluster":
            yield from _gates_of_field(_EVERY, value)
        case _:
            for flag in flags_in(value, _FLAG):
                yield Gates(flag.component, flag.path, _parse_flag(flag.value))


def _gates_of_field(component: str, value: Raw) -> Iterator[Gates]:
    for name, on in mapping(value.get(_FIELD)).items():
        if isinstance(on, bool):
            yield Gates(component, (_FIELD, name), {name: on})


def _parse_flag(text: str) -> dict[str, bool]:
    """Return the gates in the value of a flag. The component that may precede a gate
    (``kube:Name=true``) is left out.
    """
    values: dict[str, bool] = {}
    for pair in text.split(","):
        try:
            values.update(parse_gates(pair.rpartition(":")[2]))
        except UsageError:
            continue  # no component starts with this text, even before the upgrade
    return values


# -- effects of a later release on gates --


def differences(settings: Iterable[GateSetting], before: str, after: str) -> Iterator[Finding]:
    """Yield a break for each gate with which a component starts in ``before`` but not in
    ``after``.
    """
    for setting in settings:
        for gate, on in setting.values.items():
            finding = _finding(gate, on, before, after)
            if finding is not None:
                message = f"{gate} at {setting.place} keeps {setting.component} from starting"
                yield replace(
                    finding, message=f"{message}: {finding.message}", objects=setting.objects
                )


def _finding(gate: str, on: bool, before: str, after: str) -> Finding | None:
    """Return the break that the setting of a gate causes; None if it causes none, or if it also
    breaks ``before``.
    """
    removed = removal(gate, after)
    value = str(on).lower()
    if removed and not removal(gate, before):
        code = "gate-removed"
        message = f"Kubernetes {removed} removed the gate (unrecognized feature gate: {gate})"
    elif _is_locked_otherwise(gate, on, after) and not _is_locked_otherwise(gate, on, before):
        locked = str(not on).lower()
        code = "gate-locked"
        message = (
            f"Kubernetes {after} locks it to {locked} (cannot set feature gate {gate} to {value}, "
            f"feature is locked to {locked})"
        )
    else:
        return None
    present = stage(gate, before)
    fix = f"remove {gate}"
    if present is not None and present.default == on:
        fix += f": Kubernetes {before} has it {'on' if on else 'off'} by default"
    facts = kubernetes()
    row = facts.gates.get(gate) or facts.retired[gate]
    source, read = row.source or facts.source, row.read or facts.read
    return Finding(code, "breaks", message, (), None, fix, source, read)


def _is_locked_otherwise(gate: str, on: bool, release: str) -> bool:
    reached = stage(gate, release)
    return reached is not None and reached.locked and reached.default != on


# -- gates whose default changes --


def default_changes(
    settings: Iterable[GateSetting], items: Iterable[Input], before: Target, after: Target
) -> Iterator[Finding]:
    """Yield a finding for each place that sets a gate whose default changes.

    For a gate that no place sets, yield a finding for each stored object with a field that depends
    on the gate.

    Objects that are still to be created are left out: :mod:`dractl.upgrade.server` reports how the
    API server answers them.
    """
    places: dict[str, list[tuple[GateSetting, bool]]] = {}
    for setting in settings:
        for gate, on in setting.values.items():
            places.setdefault(gate, []).append((setting, on))
    stored = [item for item in items if item.stays]
    for gate in GATES:
        old, new = stage(gate, before.release), stage(gate, after.release)
        if new is None or new.locked or (old is not None and old.default) == new.default:
            continue
        default = f"{gate} is {_word(new.default)} by default from Kubernetes {after.release} on"
        for setting, on in places.get(gate, ()):
            if setting.objects:
                consequence = f"it stays {_word(on)} at {setting.place}"
                fix = f"remove {gate}" if on == new.default else None
                yield Finding(
                    "gate-default", "info", f"{default}; {consequence}", setting.objects, fix=fix
                )
        if gate not in places:
            yield from _dependents(gate, default, stored, after)


def _dependents(
    gate: str, default: str, items: Iterable[Input], after: Target
) -> Iterator[Finding]:
    without = Target(after.release, after.gates - {gate})
    for item in items:
        dropped_fields = [
            one for one in drop(dict(to_v1(item.value)), without)[1] if one.gate == gate
        ]
        paths = (dot_path(path) for one in dropped_fields for path in one.paths)
        fields = dict.fromkeys(re.sub(r"\[\d+\]", "[]", path) for path in paths)
        if fields:
            effect = "takes effect" if after.enabled(gate) else "has no effect any more"
            message = f"{default}: {', '.join(fields)} {effect}"
            yield Finding("gate-default", "changes", message, item.objects)


def _word(on: bool) -> str:
    return "on" if on else "off"
