"""Flux: the objects that a Kustomization builds, its variables, and the values of a HelmRelease.

Sources: fluxcd/pkg kustomize/kustomize_generator.go and kustomize_varsub.go;
fluxcd/helm-controller docs/spec/v2/helmreleases.md.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.inputs.layering import Files, Layers, Member, apply_patch, set_namespace
from dractl.inputs.patching import NeedsProgram, merge_patch
from dractl.inputs.places import place_member
from dractl.inputs.substitution import Variables
from dractl.inputs.trees import NotInRepository, NotRenderable, find_repository
from dractl.manifests import Document, read_text
from dractl.manifests.documents import Path, Spot, Within
from dractl.manifests.embedded import in_text
from dractl.manifests.naming import display_path
from dractl.manifests.post_renderers import HELM
from dractl.manifests.source import Position
from dractl.manifests.text import decode
from dractl.model.paths import at, text_at
from dractl.objects import items, mapping

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
VALUES: Path = ("spec", "values")

ARTIFACTS = frozenset({"OCIRepository", "Bucket"})
"""Sources that may be this repository if it has the path (kustomize-controller
api/v1/reference_types.go CrossNamespaceSourceReference).
"""

FindConfig = Callable[[str, str, str], Member | None]
"""Finds a ConfigMap or a Secret by kind, namespace and name."""


def is_kustomization(member: Member) -> bool:
    """Return True for a Kustomization of Flux."""
    return member.group == KUSTOMIZE and member.kind == "Kustomization"


def is_release(member: Member) -> bool:
    """Return True for a HelmRelease."""
    return member.group == HELM and member.kind == "HelmRelease"


def find_folder(member: Member, path: Any, source_kind: str = "GitRepository") -> str:
    """Return the folder of this repository that a path in an object names.

    The path starts at the root of the source (kustomize-controller docs/spec/v1/kustomizations.md,
    Path), which for a GitRepository is the top of the repository. An OCIRepository or a Bucket can
    contain the files of any folder, and files outside of a repository show no top. In these cases,
    the root is the nearest folder above the object in which the path exists. Raises NotRenderable.
    """
    name = os.path.normpath(os.path.join(os.sep, str(path or "."))).lstrip(os.sep) or "."
    if ".." in str(path).split("/"):
        raise NotRenderable(f"its path {path} leads out of the repository")
    folder = os.path.dirname(os.path.abspath(member.before.file))
    is_from_top = source_kind not in ARTIFACTS and find_repository(folder) is not None
    while True:
        place = os.path.normpath(os.path.join(folder, name))
        is_top = os.path.lexists(os.path.join(folder, ".git"))
        if os.path.exists(place) and (is_top or not (is_from_top or name == ".")):
            return place
        parent = os.path.dirname(folder)
        if is_top or parent == folder:
            raise NotInRepository("its path is not in this repository")
        folder = parent


def find_kustomization_folder(member: Member) -> str:
    """Return the folder whose objects a Kustomization applies. Raises NotRenderable."""
    spec = mapping(member.value.get("spec"))
    return find_folder(member, spec.get("path"), text_at(spec, "sourceRef", "kind"))


def find_missing_folder(member: Member) -> Path | None:
    """Return the path of the value in a Kustomization that names an absent folder; None if all
    folders exist.
    """
    if not is_kustomization(member):
        return None
    spec = mapping(member.value.get("spec"))
    try:
        folder = find_kustomization_folder(member)
    except NotRenderable:
        return ("spec", "path")
    for number, component in enumerate(items(spec.get("components"))):
        if not os.path.isdir(os.path.join(folder, str(component))):
            return ("spec", "components", number)
    return None


def build(member: Member, folder: str, layers: Layers, files: Files) -> list[Member]:
    """Return the objects of a Kustomization before substitution.

    Raises NotRenderable for a Kustomization that Flux refuses, and NeedsProgram.
    """
    spec = mapping(member.value.get("spec"))
    if not os.path.isdir(folder):
        raise NotRenderable(f"its path {spec.get('path')} is not a folder")
    if spec.get("namePrefix") or spec.get("nameSuffix"):
        raise NeedsProgram("it sets a prefix or a suffix of names")
    kustomization = files.kustomization(folder)
    way = (os.path.realpath(folder),)
    if kustomization is None:
        made = layers.members(folder)
        default = None
    else:
        path, value = kustomization
        default = value.get("namespace")
        made = layers.apply(path, {**value, "namespace": None}, [], way)
    for name in items(spec.get("components")):
        if "://" in str(name):
            layers.remote[str(name)] = os.path.abspath(member.before.file)
            continue
        made = layers.add_component(os.path.normpath(os.path.join(folder, str(name))), made, way)
    for patch, target in _patches(member):
        made = apply_patch(made, patch, target)
    namespace = text_at(spec, "targetNamespace") or (default if isinstance(default, str) else "")
    return [set_namespace(item, namespace) for item in made] if namespace else made


def _patches(member: Member) -> list[tuple[Document, Mapping[str, Any] | None]]:
    """Return the patches of a Kustomization, with their targets."""
    patches: list[tuple[Document, Mapping[str, Any] | None]] = []
    rows = items(at(member.value, "spec", "patches"))
    for number, row in enumerate(rows):
        text, target = mapping(row).get("patch"), mapping(row).get("target")
        path: Path = ("spec", "patches", number, "patch")
        if not isinstance(text, str):
            continue
        home = _holder(member, path, text)
        patches += (
            (item, mapping(target) if target else None) for item in in_text(home, path, text)
        )
    return patches


def _holder(member: Member, path: Path, text: str) -> Document:
    """Return the document that contains a text: the object as written, or else the patch that added
    the text.
    """
    home = next(
        (item for item in (member.before, *member.patches) if item.at(path) == text), member.before
    )
    return home if home.at(path) == text else home.with_value(member.value)


def load_variables(member: Member, find: FindConfig) -> Variables:
    """Load the variables of a Kustomization: from ConfigMaps and Secrets, and its own variables,
    which take precedence.

    Values of Secrets are not read, so that none can get into a report.
    """
    values: dict[str, str | None] = {}
    spots: dict[str, Spot] = {}
    is_complete = True
    build_ = mapping(at(member.value, "spec", "postBuild"))
    for row in items(build_.get("substituteFrom")):
        kind, name = text_at(row, "kind"), text_at(row, "name")
        config = find(kind, member.namespace, name)
        if config is None:
            is_complete = is_complete and mapping(row).get("optional") is True
            continue
        document = place_member(config)
        for field in ("data", "stringData"):
            for key, text in mapping(config.value.get(field)).items():
                is_open = kind == "ConfigMap" and isinstance(text, str)
                values[str(key)] = text.replace("\n", "") if is_open else None
                spots[str(key)] = config.sources.get(str(key)) or Spot(document, (field, key))
        values |= dict.fromkeys(config.files)
    document = place_member(member)
    for key, text in mapping(build_.get("substitute")).items():
        values[str(key)] = text.replace("\n", "") if isinstance(text, str) else None
        spots[str(key)] = Spot(document, ("spec", "postBuild", "substitute", key))
    return Variables(values, is_complete, spots)


class ReleaseValues(Struct, frozen=True):
    """The values of a HelmRelease."""

    value: dict[str, Any]
    """The values of all sources; a later source takes precedence."""
    layers: tuple[Document, ...]
    """The documents of the values, beginning with the one that takes precedence."""
    is_complete: bool = True
    """False if the repository does not have some of the sources."""


def load_values(member: Member, files: Files, find: FindConfig) -> ReleaseValues:
    """Load the values of a HelmRelease: first from valuesFrom in order, then its own values."""
    merged: dict[str, Any] = {}
    layers: list[Document] = []
    is_complete = True
    for row in items(at(member.value, "spec", "valuesFrom")):
        kind, name = text_at(row, "kind"), text_at(row, "name")
        config = find(kind, member.namespace, name)
        key = text_at(row, "valuesKey") or "values.yaml"
        source = _open(config, key, files) if config and kind == "ConfigMap" else None
        if source is None or mapping(row).get("targetPath"):
            is_complete = is_complete and config is None and mapping(row).get("optional") is True
            continue
        merged = merge_patch(merged, source.value, is_inner=True)
        layers.insert(0, source)
    values = at(member.value, *VALUES)
    merged = merge_patch(merged, values, is_inner=True) if isinstance(values, dict) else merged
    return ReleaseValues(merged, tuple(layers), is_complete)


def _open(config: Member, key: str, files: Files) -> Document | None:
    """Return the values in an entry of a ConfigMap, with their place in the file; None if the entry
    is not in a file, or is no map.
    """
    if key in config.files:
        path = config.files[key]
        if not os.path.isfile(path):
            return None
        items_ = read_text(display_path(path), decode(files.content(path)))
    else:
        text = at(config.value, "data", key)
        if not isinstance(text, str):
            return None
        home = config.before
        if home.at(("data", key)) != text:
            return None
        items_ = list(in_text(home, ("data", key), text))
    first = items_[0] if items_ else None
    return first if isinstance(first, Document) and isinstance(first.value, dict) else None


def merge_values(document: Document, values: ReleaseValues) -> Document:
    """Return a HelmRelease with the values of all sources, each with its place."""
    spec = {name: item for name, item in document.value["spec"].items() if name != "valuesFrom"}
    value = {**document.value, "spec": {**spec, "values": values.value}}
    made = document.another(value, _ValuePlaces(document, value, values.layers))
    add_layers(made, values.layers)
    return made


def add_layers(document: Document, layers: Sequence[Document]) -> None:
    """Add the documents of other files to a new document that contains some of their values."""
    provenance = document.provenance
    document.provenance = replace(provenance, layers=(*provenance.layers, *layers))


class _ValuePlaces(Within):
    """Finds the values of a HelmRelease, in itself or in the object that valuesFrom names."""

    def __init__(self, outer: Document, value: Any, layers: Sequence[Document]) -> None:
        super().__init__(outer)
        self._value = value
        self._layers = layers

    def _layer(self, path: Path) -> tuple[Document, Path] | None:
        if path[: len(VALUES)] != VALUES or self._outer.at(path) is not None:
            return None
        inside = path[len(VALUES) :]
        layer = next((item for item in self._layers if item.at(inside) is not None), None)
        return (layer, inside) if layer is not None else None

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        layer = self._layer(path)
        document, place = layer or (self._outer, path)
        return document.locate(place, key=key, offset=offset)

    def source(self, path: Path) -> Spot | None:
        layer = self._layer(path)
        return Spot(*layer) if layer is not None else self._outer.source(path)


def chart_path(member: Member) -> tuple[str, str]:
    """Return the kind of a HelmRelease's source, and the chart's name or path in that source."""
    chart = mapping(at(member.value, "spec", "chart", "spec"))
    kind = text_at(chart, "sourceRef", "kind")
    if not chart:
        kind, name = (
            text_at(member.value, "spec", "chartRef", field) for field in ("kind", "name")
        )
        return kind, name
    return kind, text_at(chart, "chart")


def find_chart(member: Member, path: str) -> str | None:
    """Return the folder of a chart in this repository; None if the chart is not in it."""
    try:
        folder = find_folder(member, path)
    except NotRenderable:
        return None
    return folder if os.path.isfile(os.path.join(folder, "Chart.yaml")) else None


def release_name(member: Member) -> str:
    """Return the name under which Helm installs a HelmRelease (helm-controller
    api/v2/helmrelease_types.go GetReleaseName).
    """
    spec = mapping(member.value.get("spec"))
    target = text_at(spec, "targetNamespace")
    named = f"{target}-{member.name}" if target else member.name
    return text_at(spec, "releaseName") or named


def release_namespace(member: Member) -> str:
    """Return the namespace in which a HelmRelease installs its objects."""
    return text_at(member.value, "spec", "targetNamespace") or member.namespace
