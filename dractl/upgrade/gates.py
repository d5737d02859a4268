"""Feature gates that a cluster's components set, and with which a later release does not start.

A component ends at once with a gate that it does not know ("unrecognized feature gate"), and with one that is set otherwise
than it is locked: k8s.io/component-base v0.38.0-alpha.2 featuregate/feature_gate.go unsafeSetFromMap. (CHANGELOG-1.38.md says
of DRADeviceTaints that false "will be ignored"; that code refuses it.)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from os.path import basename
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.state import describe, maps_at, text_at
from dractl.errors import UsageError
from dractl.facts.kubernetes import kubernetes
from dractl.manifests import Document
from dractl.manifests.documents import Path
from dractl.manifests.embedded import in_text
from dractl.model import pod_templates
from dractl.model.releases import parse_gates, removal, stage
from dractl.objects import Raw, items, mapping, text
from dractl.upgrade.finding import Finding
from dractl.views import ConfigMap, View

KUBELET = "kubelet"
_COMPONENTS = (KUBELET, "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
_EVERY = "every component"
_FIELD = "featureGates"
_FLAG = "feature-gates"
_FLAG_VALUE = re.compile(rf"--{_FLAG}[=\s]\s*['\"]?([^\s'\"]+)")
_EXTRA_ARGUMENTS = {
    "apiServer": "kube-apiserver",
    "controllerManager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}
"""Parts of a ClusterConfiguration of kubeadm, and the component whose flags they have."""


class Gates(Struct, frozen=True):
    """Gates that one component is started with."""

    component: str
    path: Path
    """The place in the object that sets them."""
    values: Mapping[str, bool]


class GateSetting(Struct, frozen=True):
    """A place at which the gates of a component are set."""

    component: str
    values: Mapping[str, bool]
    place: str
    """The file and line, or the object and the field."""
    objects: tuple[str, ...] = ()
    """``KIND/[NAMESPACE/]NAME`` of the object that sets them; of one without a name that of the file."""


# -- where gates are set --


def settings_of_documents(documents: Iterable[Document]) -> Iterator[GateSetting]:
    """Yield the settings in files: configurations of components, files of kubeadm, pods, and text that contains them."""
    for document in documents:
        kind, file = str(document.value.get("kind")), basename(document.file)
        name = describe(document.value) if document.name else f"{kind}/{file}"
        for part in (document, *_inner_configurations(document)):
            for gates in gates_in(part.value):
                position = part.locate(gates.path, key=isinstance(gates.path[-1], str))
                place = f"{position.file}:{position.line}"
                yield GateSetting(gates.component, gates.values, place, (name,))


def settings_of_objects(objects: Iterable[Raw]) -> Iterator[GateSetting]:
    """Yield the settings in objects of a cluster."""
    for value in objects:
        for gates in gates_in(value):
            yield GateSetting(gates.component, gates.values, describe(value), (describe(value),))


def _inner_configurations(document: Document) -> Iterator[Document]:
    """Yield the configurations in the text of a ConfigMap, as kubeadm stores them, and in the patches of kind."""
    for path, content in _texts(document.value):
        if isinstance(content, str) and (_FIELD in content or _FLAG in content):
            parts = in_text(document, path, content)
            yield from (part for part in parts if isinstance(part.value, dict))


def _texts(value: Raw) -> Iterator[tuple[Path, Any]]:
    patches = "kubeadmConfigPatches"
    match _type_of(value):
        case "", "ConfigMap":
            for name, content in ConfigMap(value).texts.items():
                yield ("data", name), content
        case "kind.x-k8s.io", "Cluster":
            for number, patch in enumerate(items(value.get(patches))):
                yield (patches, number), patch
            for index, node in enumerate(items(value.get("nodes"))):
                for number, patch in enumerate(items(mapping(node).get(patches))):
                    yield ("nodes", index, patches, number), patch


def gates_in(value: Raw) -> Iterator[Gates]:
    """Yield the gates that an object sets, by component and place.

    Configurations of components (kubelet.config.k8s.io, kubeproxy.config.k8s.io), of kubeadm (``extraArgs`` is a map up to
    v1beta3, a list of names and values in v1beta4), of kind, and the flags of containers.
    """
    match _type_of(value):
        case "kubelet.config.k8s.io", "KubeletConfiguration":
            yield from _gates_of_field(KUBELET, value)
        case "kubeproxy.config.k8s.io", "KubeProxyConfiguration":
            yield from _gates_of_field("kube-proxy", value)
        case "kind.x-k8s.io", "Cluster":
            yield from _gates_of_field(_EVERY, value)
        case "kubeadm.k8s.io", "ClusterConfiguration":
            for part, component in _EXTRA_ARGUMENTS.items():
                yield from _gates_of_arguments(component, value, (part, "extraArgs"))
        case "kubeadm.k8s.io", "InitConfiguration" | "JoinConfiguration":
            yield from _gates_of_arguments(KUBELET, value, ("nodeRegistration", "kubeletExtraArgs"))
        case _:
            for path, spec in pod_templates(value):
                yield from _gates_of_pod(spec, path)


def _type_of(value: Raw) -> tuple[str, str]:
    view = View(value)
    return view.api_group, view.kind


def _gates_of_field(component: str, value: Raw) -> Iterator[Gates]:
    for name, on in mapping(value.get(_FIELD)).items():
        if isinstance(on, bool):
            yield Gates(component, (_FIELD, name), {name: on})


def _gates_of_arguments(component: str, value: Raw, path: Path) -> Iterator[Gates]:
    flag = text_at(value, *path, _FLAG)
    if flag:
        yield Gates(component, (*path, _FLAG), _parse_flag(flag))
    for number, argument in enumerate(maps_at(value, *path)):
        if argument.get("name") == _FLAG:
            gates = _parse_flag(text(argument.get("value")))
            yield Gates(component, (*path, number, "value"), gates)


def _gates_of_pod(spec: Raw, path: Path) -> Iterator[Gates]:
    for field in ("initContainers", "containers"):
        for number, container in enumerate(items(spec.get(field))):
            words = [
                ((*path, field, number, part, index), str(word))
                for part in ("command", "args")
                for index, word in enumerate(items(mapping(container).get(part)))
            ]
            names = {basename(name) for _, word in words for name in word.split()}
            component = next((name for name in _COMPONENTS if name in names), None)
            if component is not None:
                yield from _gates_of_words(component, words)


def _gates_of_words(component: str, words: list[tuple[Path, str]]) -> Iterator[Gates]:
    following = [word for _, word in words[1:]] + [""]
    for (place, word), next_word in zip(words, following, strict=True):
        line = f"{word} {next_word}" if word == f"--{_FLAG}" else word
        for flag in _FLAG_VALUE.findall(line):
            yield Gates(component, place, _parse_flag(flag))


def _parse_flag(text: str) -> dict[str, bool]:
    """Return the gates of a flag, without the component that may stand before each (``kube:Name=true``)."""
    values: dict[str, bool] = {}
    for pair in text.split(","):
        try:
            values.update(parse_gates(pair.rpartition(":")[2]))
        except UsageError:
            continue  # no component starts with it, before the upgrade either
    return values


# -- what a later release makes of them --


def differences(settings: Iterable[GateSetting], before: str, after: str) -> Iterator[Finding]:
    """Yield a break for each gate with which a component of ``before`` starts, and one of ``after`` does not."""
    for setting in settings:
        for gate, on in setting.values.items():
            finding = _finding(gate, on, before, after)
            if finding is not None:
                message = f"{gate} at {setting.place} keeps {setting.component} from starting"
                yield replace(
                    finding, message=f"{message}: {finding.message}", objects=setting.objects
                )


def _finding(gate: str, on: bool, before: str, after: str) -> Finding | None:
    """Return the break that setting a gate is; None if it is none, or was one before."""
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
