"""Flags with which components are started, in kubeadm's files and in containers, and the
consequences of kube-apiserver's --runtime-config.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from os.path import basename
from typing import Any

from msgspec import Struct

from dractl.cluster.state import maps_at, text_at
from dractl.manifests import Document
from dractl.manifests.documents import Path
from dractl.manifests.embedded import in_text
from dractl.model import pod_templates
from dractl.model.releases import served_versions
from dractl.objects import Raw, items, mapping, text
from dractl.views import ConfigMap, View

KUBELET = "kubelet"
_COMPONENTS = (KUBELET, "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
_EXTRA_ARGUMENTS = {
    "apiServer": "kube-apiserver",
    "controllerManager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}
"""Parts of kubeadm's ClusterConfiguration, each with the component that gets its flags."""
_KUBELET_ARGUMENTS = ("nodeRegistration", "kubeletExtraArgs")
_CLUSTER_API = ".cluster.x-k8s.io"
_KUBEADM_SPECS: Mapping[str, Path] = {
    "KubeadmControlPlane": ("spec", "kubeadmConfigSpec"),
    "KubeadmControlPlaneTemplate": ("spec", "template", "spec", "kubeadmConfigSpec"),
    "KubeadmConfig": ("spec",),
    "KubeadmConfigTemplate": ("spec", "template", "spec"),
}
"""Kinds of Cluster API, each with the path of its kubeadm configurations."""
_GROUPS_WITHOUT_PODS = ("resource.k8s.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io")
_KINDS_WITHOUT_PODS = ("Node", "Event", "ConfigMap", "Namespace")
"""The most common kinds in a dump, whose objects have no containers to search."""
_KINDS_WITH_TEXTS = ("ConfigMap", "Cluster")
"""Kinds whose objects may contain configurations as texts."""
_KIND_CLUSTER = ("kind.x-k8s.io", "Cluster")
"""Group and kind of the configuration of the tool kind."""
_RUNTIME_CONFIG = "runtime-config"
_BETA = re.compile(r"v\d+beta\d+\Z")
_ALPHA = re.compile(r"v\d+alpha\d+\Z")


class Flag(Struct, frozen=True):
    """A flag of a component."""

    component: str
    """The name of the component."""
    path: Path
    """The path in the object that sets it."""
    value: str
    """The value of the flag."""


def type_of(value: Raw) -> tuple[str, str]:
    """Return the API group and the kind of an object."""
    fields = mapping(value)
    return _split_type(text(fields.get("apiVersion")), text(fields.get("kind")))


@cache
def _split_type(api_version: str, kind: str) -> tuple[str, str]:
    view = View({"apiVersion": api_version, "kind": kind})
    return view.api_group, view.kind


def flags_in(value: Raw, name: str) -> Iterator[Flag]:
    """Yield the values that an object gives to a flag.

    ``extraArgs`` of kubeadm are a map up to v1beta3, and a list of names and values in v1beta4.
    Cluster API has the same configurations inside its objects. In all other objects, flags are
    words in a container's command and args.
    """
    match type_of(value):
        case "kubeadm.k8s.io", "ClusterConfiguration":
            yield from _flags_of_cluster(name, value, ())
        case "kubeadm.k8s.io", "InitConfiguration" | "JoinConfiguration":
            yield from _flags_of_arguments(KUBELET, name, value, _KUBELET_ARGUMENTS)
        case group, kind if group.endswith(_CLUSTER_API) and kind in _KUBEADM_SPECS:
            path = _KUBEADM_SPECS[kind]
            yield from _flags_of_cluster(name, value, (*path, "clusterConfiguration"))
            for part in ("initConfiguration", "joinConfiguration"):
                arguments = (*path, part, *_KUBELET_ARGUMENTS)
                yield from _flags_of_arguments(KUBELET, name, value, arguments)
        case group, kind if group not in _GROUPS_WITHOUT_PODS and kind not in _KINDS_WITHOUT_PODS:
            for path, spec in pod_templates(value):
                yield from _flags_of_pod(name, spec, path)


def _flags_of_cluster(name: str, value: Raw, path: Path) -> Iterator[Flag]:
    for part, component in _EXTRA_ARGUMENTS.items():
        yield from _flags_of_arguments(component, name, value, (*path, part, "extraArgs"))


def _flags_of_arguments(component: str, name: str, value: Raw, path: Path) -> Iterator[Flag]:
    flag = text_at(value, *path, name)
    if flag:
        yield Flag(component, (*path, name), flag)
    for number, argument in enumerate(maps_at(value, *path)):
        if argument.get("name") == name:
            yield Flag(component, (*path, number, "value"), text(argument.get("value")))


def _flags_of_pod(name: str, spec: Raw, path: Path) -> Iterator[Flag]:
    for field in ("initContainers", "containers"):
        for number, container in enumerate(items(spec.get(field))):
            words = [
                ((*path, field, number, part, index), str(word))
                for part in ("command", "args")
                for index, word in enumerate(items(mapping(container).get(part)))
            ]
            programs = {basename(program) for _, word in words for program in word.split()}
            component = next((each for each in _COMPONENTS if each in programs), None)
            if component is not None:
                yield from _flags_of_words(component, name, words)


def _flags_of_words(component: str, name: str, words: list[tuple[Path, str]]) -> Iterator[Flag]:
    pattern = re.compile(rf"--{name}[=\s]\s*['\"]?([^\s'\"]+)")
    following = [word for _, word in words[1:]] + [""]
    for (place, word), next_word in zip(words, following, strict=True):
        line = f"{word} {next_word}" if word == f"--{name}" else word
        for flag in pattern.findall(line):
            yield Flag(component, place, flag)


# -- the parts of a document --


def parts_of(document: Document, words: tuple[str, ...]) -> Iterator[Document]:
    """Yield a document, and the configurations that are texts in it: in a ConfigMap (kubeadm), or
    in kubeadmConfigPatches (the tool kind). Only texts with one of ``words`` are parsed.
    """
    yield document
    for path, content in _texts(document.value):
        if isinstance(content, str) and any(word in content for word in words):
            parts = in_text(document, path, content)
            yield from (part for part in parts if isinstance(part.value, dict))


def _texts(value: Raw) -> Iterator[tuple[Path, Any]]:
    patches = "kubeadmConfigPatches"
    if mapping(value).get("kind") not in _KINDS_WITH_TEXTS:
        return
    match type_of(value):
        case "", "ConfigMap":
            for name, content in ConfigMap(value).texts.items():
                yield ("data", name), content
        case "kind.x-k8s.io", "Cluster":
            for number, patch in enumerate(items(value.get(patches))):
                yield (patches, number), patch
            for index, node in enumerate(items(value.get("nodes"))):
                for number, patch in enumerate(items(mapping(node).get(patches))):
                    yield ("nodes", index, patches, number), patch


# -- versions of the API that are served --


class RuntimeConfig(Struct, frozen=True):
    """The API versions that kube-apiserver's --runtime-config turns on and off."""

    values: Mapping[str, bool] = {}
    """True or False by version, ``api/beta``, ``api/alpha`` or ``api/all``."""

    def merge(self, other: "RuntimeConfig") -> "RuntimeConfig":
        """Return the settings of both; if they differ, ``other`` takes precedence."""
        return RuntimeConfig({**self.values, **other.values})

    def serves(self, api_version: str) -> bool:
        """Return True if it turns on a version that is off by default."""
        keys = (api_version, _stage_key(api_version.rpartition("/")[2]), "api/all")
        return next((self.values[key] for key in keys if key in self.values), False)


def _stage_key(version: str) -> str:
    """Return the key of --runtime-config for a stage; empty for a stable version."""
    if _BETA.match(version):
        return "api/beta"
    return "api/alpha" if _ALPHA.match(version) else ""


def versions_after(kind: str, before: str, after: str, config: RuntimeConfig) -> frozenset[str]:
    """Return the versions of a kind that are still served after a step.

    A version that is off by default may have been turned on, and stays on. Up to 1.33, every
    version had to be turned on. In the first release with a version that is on by default, other
    versions count only if the input shows that they are on.
    """
    served = served_versions(kind, after)
    served_by_default = served_versions(kind, after, by_default=True)
    if served_by_default and not served_versions(kind, before, by_default=True):
        return frozenset(served_by_default) | frozenset(filter(config.serves, served))
    return frozenset(served)


def list_ended_versions(kind: str, path: Iterable[str], config: RuntimeConfig) -> list[str]:
    """Return the versions of a kind that a release on the path stops serving."""
    return sorted(
        {
            version
            for before, after in pairwise(path)
            for version in set(served_versions(kind, before))
            - versions_after(kind, before, after, config)
        }
    )


def runtime_config_of_documents(documents: Iterable[Document]) -> RuntimeConfig:
    """Return the settings in files of kubeadm and kind, and in static pods."""
    parts = (part for one in documents for part in parts_of(one, (_RUNTIME_CONFIG,)))
    return runtime_config_of_objects(part.value for part in parts)


def runtime_config_of_objects(objects: Iterable[Raw]) -> RuntimeConfig:
    """Return the settings of objects of a cluster."""
    values: dict[str, bool] = {}
    for value in objects:
        pairs = [
            pair for flag in flags_in(value, _RUNTIME_CONFIG) for pair in flag.value.split(",")
        ]
        if mapping(value).get("kind") == "Cluster" and type_of(value) == _KIND_CLUSTER:
            pairs += [f"{key}={on}" for key, on in mapping(value.get("runtimeConfig")).items()]
        for pair in pairs:
            name, _, on = pair.partition("=")
            values[name.strip()] = on.strip().lower() not in ("false", "0", "f")
    return RuntimeConfig(values)
