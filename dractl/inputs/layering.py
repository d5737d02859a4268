"""Builds kustomizations without kustomize, as far as they list files, merge patches into objects
whose lists have no merge keys, and set namespaces and labels.

Repositories for Flux consist of little else. For each of their Kustomizations a program would have
to be started, and many machines do not have kustomize. A kustomization that does anything else
needs the program (NeedsProgram). The order is kustomize's: resources, components, patches,
namespace, labels (api/internal/target/kusttarget.go AccumulateTarget, kusttarget_configplugin.go).
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.inputs.generators import generate
from dractl.inputs.patching import NeedsProgram, apply_operations, merge_patch, selects
from dractl.inputs.replacing import replace_fields
from dractl.inputs.trees import NotRenderable, TreeReader
from dractl.manifests import Broken, Document, read_text
from dractl.manifests.documents import Spot
from dractl.manifests.embedded import in_text
from dractl.manifests.kustomize import NAMES, decode_kustomization
from dractl.manifests.load import is_definition, is_relevant
from dractl.manifests.naming import display_path
from dractl.manifests.text import decode
from dractl.model.paths import at
from dractl.objects import items

_SIMPLE = frozenset(
    {
        "$schema",
        "apiVersion",
        "kind",
        "metadata",
        "resources",
        "bases",
        "components",
        "crds",
        "namespace",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "configMapGenerator",
        "secretGenerator",
        "generatorOptions",
        "configurations",
        "labels",
        "commonLabels",
        "commonAnnotations",
        "buildMetadata",
        "sortOptions",
        "openapi",
        "images",
        "replicas",
        "replacements",
    }
)
"""Fields that a kustomization may have here: dractl applies them, or they change nothing about the
objects that it judges.
"""
_WANTED = (b"toolkit.fluxcd.io", b"argoproj.io")
_CONFIGURATION = re.compile(rb"(?m)^kind:\s*[\"']?(?:ConfigMap|Secret)\b")
_CLUSTER_SCOPED = frozenset(
    {
        "Namespace",
        "Node",
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "ClusterQueue",
        "ResourceFlavor",
    }
)
_NATIVE = frozenset({"", "apps", "batch", "autoscaling", "policy"})
"""Groups of kinds whose lists have merge keys."""
_REMOTE = re.compile(r"(?i)://|^github\.com[/:]|@|[?&]ref=")
_MAX_DEPTH = 64


class Member(Struct, frozen=True):
    """An object that a kustomization makes."""

    value: dict[str, Any]
    """The object."""
    before: Document
    """The object as it is written in its file."""
    patches: tuple[Document, ...] = ()
    """The patches that changed the object."""
    files: Mapping[str, str] = MappingProxyType({})
    """For a generated ConfigMap, the paths of the files whose text is in ``data``, by the key of
    ``data``.
    """
    sources: Mapping[str, Spot] = MappingProxyType({})
    """The places of the texts in ``data`` of a generated ConfigMap, by key."""

    @property
    def kind(self) -> str:
        return str(self.value.get("kind"))

    @property
    def group(self) -> str:
        return str(self.value.get("apiVersion") or "").rpartition("/")[0]

    @property
    def name(self) -> str:
        return str(at(self.value, "metadata", "name") or "")

    @property
    def namespace(self) -> str:
        return str(at(self.value, "metadata", "namespace") or "")

    @property
    def key(self) -> tuple[str, int]:
        """The object's file and its number in the file, which no other object has."""
        return self.before.file, self.before.index


class Files:
    """The documents of files, each read and decoded once."""

    def __init__(self, reader: TreeReader, documents: Iterable[Document] = ()) -> None:
        self._reader = reader
        self._contents: dict[str, bytes] = {}
        self._documents: dict[str, list[Document]] = {}
        self._paths: set[str] = set()
        for document in documents:
            if not document.rendered and os.path.isfile(document.file):
                path = os.path.abspath(document.file)
                self._documents.setdefault(path, []).append(document)

    @property
    def paths(self) -> Iterable[str]:
        """Return the absolute paths of the files that were read."""
        return self._paths

    def content(self, path: str) -> bytes:
        """Return the bytes of a file. Raises NotRenderable."""
        self._paths.add(path)
        if path not in self._contents:
            self._contents[path] = self._reader.read(path)
        return self._contents[path]

    def kustomization(self, folder: str) -> tuple[str, dict[str, Any]] | None:
        """Return the path and the value of the kustomization in a folder. Raises NotRenderable."""
        for path in (os.path.join(folder, name) for name in NAMES):
            if os.path.isfile(path):
                value = decode_kustomization(path, self.content(path))
                if value is None:
                    name = display_path(path)
                    raise NotRenderable(f"{name} cannot be read", name)
                return path, value
        return None

    def documents(self, path: str) -> list[Document]:
        """Return the documents of a file. Raises NotRenderable if it does not parse."""
        self._paths.add(path)
        if path not in self._documents:
            items = read_text(display_path(path), decode(self.content(path)))
            broken = next((item for item in items if isinstance(item, Broken)), None)
            if broken is not None:
                raise NotRenderable(
                    f"{display_path(path)}:{broken.position.line} does not parse: {broken.message}"
                )
            self._documents[path] = [
                item
                for item in items
                if isinstance(item, Document) and isinstance(item.value, dict | list)
            ]
        return self._documents[path]

    def objects(self, path: str) -> list[Document]:
        """Return the objects in a file that dractl judges, and the objects that affect them. Raises
        NotRenderable.
        """
        data = self.content(path)
        wanted = (
            is_relevant(data)
            or any(word in data for word in _WANTED)
            or _CONFIGURATION.search(data) is not None
        )
        if not wanted or is_definition(data):
            return []
        return [item for item in self.documents(path) if item.kind and item.name]


class Layers:
    """The objects of the kustomizations of one run, by folder."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._folders: dict[str, list[Member]] = {}
        self.remote: dict[str, str] = {}
        """The kustomizations that need remote files, each with the address of these files."""

    def members(self, folder: str, way: tuple[str, ...] = ()) -> list[Member]:
        """Return the objects that the kustomization in a folder makes.

        Raises NotRenderable for a kustomization that kustomize refuses, and NeedsProgram.
        """
        real = os.path.realpath(folder)
        if real in way or len(way) > _MAX_DEPTH:
            steps = " -> ".join(
                map(display_path, (*way[way.index(real) :], real)) if real in way else ()
            )
            raise NotRenderable(f"kustomizations that consist of each other: {steps}")
        if real not in self._folders:
            kustomization = self._files.kustomization(real)
            if kustomization is None:
                members = self._scan(real, way)
            else:
                members = self.apply(*kustomization, [], (*way, real))
            self._folders[real] = members
        return self._folders[real]

    def _scan(self, folder: str, way: tuple[str, ...]) -> list[Member]:
        """Return the objects of a folder without a kustomization, as Flux lists its files
        (fluxcd/pkg kustomize/kustomize_generator.go generateKustomization).
        """
        members: list[Member] = []
        for name in list_folder(folder):
            path = os.path.join(folder, name)
            if name == ".git":
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                inner = any(os.path.isfile(os.path.join(path, item)) for item in NAMES)
                members += self.members(path, way) if inner else self._scan(path, way)
            elif name.endswith((".yaml", ".yml")):
                members += self._read_file(path)
        return members

    def _read_file(self, path: str) -> list[Member]:
        return [Member(item.value, item) for item in self._files.objects(path)]

    def apply(
        self, path: str, value: Mapping[str, Any], members: Sequence[Member], way: tuple[str, ...]
    ) -> list[Member]:
        """Return the objects after a kustomization. A component starts with ``members``, the
        objects of the kustomization that includes it.
        """
        extra = next((name for name in value if name not in _SIMPLE and value[name]), None)
        folder = os.path.dirname(path)
        made = list(members)
        for name in self._names(path, value, "resources", "bases"):
            made += self._resource(path, name, way)
        for name in self._names(path, value, "components"):
            made = self.add_component(os.path.join(folder, name), made, way)
        if "configMapGenerator" in value:
            made += self._generate(path, value)
        if extra is not None and made:
            raise NeedsProgram(f"{display_path(path)} has {extra}")
        made = self._patch(path, value, made)
        namespace = value.get("namespace")
        if isinstance(namespace, str) and namespace:
            made = [set_namespace(member, namespace) for member in made]
        return self._replace(path, value, [_set_labels(member, value) for member in made])

    def _replace(self, path: str, value: Mapping[str, Any], members: list[Member]) -> list[Member]:
        """Return objects after the replacements of a kustomization, which come last."""
        made = [member.value for member in members]
        for row in items(value.get("replacements")) if made else ():
            name = row.get("path") if isinstance(row, dict) else None
            rows = [row]
            if isinstance(name, str):
                file = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if not os.path.isfile(file):
                    raise NotRenderable(f"{display_path(file)} does not exist")
                inner = [document.value for document in self._files.documents(file)]
                rows = [item for part in inner for item in (items(part) or [part])]
            for item in rows:
                made = replace_fields(made, item)
        return [
            member if member.value is new else replace(member, value=new)
            for member, new in zip(members, made, strict=True)
        ]

    def _generate(self, path: str, value: Mapping[str, Any]) -> Iterator[Member]:
        """Yield the ConfigMaps that a kustomization makes of files and literals, without the hashes
        in their names.
        """
        home = self._files.documents(path)[0]
        rows = value.get("configMapGenerator")
        for number, row in enumerate(rows if isinstance(rows, list) else ()):
            if not isinstance(row, dict) or not isinstance(row.get("name"), str):
                continue
            data = generate(home, number, row, self._files.content)
            made = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {name: row[name] for name in ("name", "namespace") if name in row},
                "data": data.values,
            }
            yield Member(made, home, files=data.files, sources=data.spots)

    def add_component(
        self, folder: str, members: Sequence[Member], way: tuple[str, ...] = ()
    ) -> list[Member]:
        """Return the objects after a component, which may add objects and change existing ones."""
        real = os.path.realpath(folder)
        kustomization = self._files.kustomization(real) if os.path.isdir(real) else None
        if kustomization is None:
            raise NotRenderable(f"the component {display_path(folder)} does not exist")
        if real in way:
            steps = " -> ".join(map(display_path, (*way[way.index(real) :], real)))
            raise NotRenderable(
                f"components that consist of each other: {steps}", display_path(kustomization[0])
            )
        return self.apply(*kustomization, members, (*way, real))

    def _names(self, path: str, value: Mapping[str, Any], *fields: str) -> Iterator[str]:
        for field in fields:
            names = value.get(field)
            for name in names if isinstance(names, list) else ():
                if not isinstance(name, str):
                    raise NotRenderable(f"an item of {field} is not a string")
                if _REMOTE.search(name):
                    self.remote[name] = path
                else:
                    yield name

    def _resource(self, home: str, name: str, way: tuple[str, ...]) -> list[Member]:
        path = os.path.normpath(os.path.join(os.path.dirname(home), name))
        if os.path.isdir(path):
            if self._files.kustomization(path) is None:
                raise NotRenderable(f"{display_path(path)} has no kustomization")
            return self.members(path, way)
        if not os.path.isfile(path):
            raise NotRenderable(f"{display_path(path)} does not exist", self._place(home, name))
        return self._read_file(path)

    def _place(self, path: str, name: str) -> str:
        """Return the file and the line at which a kustomization names a resource."""
        document = self._files.documents(path)[0]
        places = (
            (field, number)
            for field in ("resources", "bases")
            for number, item in enumerate(items(document.value.get(field)))
            if item == name
        )
        return f"{document.file}:{document.locate(next(places, ())).line}"

    def _patch(
        self, path: str, value: Mapping[str, Any], members: Sequence[Member]
    ) -> list[Member]:
        """Return objects after the patches of a kustomization."""
        made = list(members)
        for field in ("patchesStrategicMerge", "patches", "patchesJson6902"):
            rows = value.get(field)
            for number, row in enumerate(rows if isinstance(rows, list) else ()):
                target = row.get("target") if isinstance(row, dict) else None
                for patch in self._patches(path, field, number, row):
                    made = apply_patch(made, patch, target)
        return made

    def _patches(self, path: str, field: str, number: int, row: Any) -> list[Document]:
        """Return the patches of an entry, which is a text or the name of a file."""
        inline = row.get("patch") if isinstance(row, dict) else row
        name = row.get("path") if isinstance(row, dict) else row
        if isinstance(inline, str) and ("\n" in inline or inline.startswith(("[", "{"))):
            home = self._files.documents(path)[0]
            place = (field, number, "patch") if isinstance(row, dict) else (field, number)
            return list(in_text(home, place, inline))
        if isinstance(name, str):
            file = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not os.path.isfile(file):
                raise NotRenderable(f"{display_path(file)} does not exist")
            return self._files.documents(file)
        return []


def list_folder(folder: str) -> list[str]:
    """Return the sorted names in a folder. Raises NotRenderable."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise NotRenderable(f"{display_path(folder)} cannot be read: {error.strerror}") from None


def apply_patch(
    members: Iterable[Member], patch: Document, target: Mapping[str, Any] | None
) -> list[Member]:
    """Return the objects after one patch. Raises NeedsProgram if lists may have merge keys."""
    value = patch.value
    if target is None and isinstance(value, dict):
        target = {"kind": patch.kind, "name": re.escape(patch.name or "")}
    made: list[Member] = []
    for member in members:
        if target is None or not selects(target, member.value):
            made.append(member)
            continue
        if isinstance(value, list):
            changed = apply_operations(member.value, value)
        elif member.group in _NATIVE and member.kind not in ("ConfigMap", "Secret", "Namespace"):
            changed = None
        else:
            changed = merge_patch(member.value, value)
        if changed is None:
            place = f"{patch.file}:{patch.locate(()).line}"
            raise NeedsProgram(f"a patch of {member.kind} {member.name} needs kustomize", place)
        if changed:
            made.append(replace(member, value=changed, patches=(*member.patches, patch)))
    return made


def set_namespace(member: Member, namespace: str) -> Member:
    """Return an object in another namespace; a Namespace is renamed, and any other cluster-scoped
    object stays as it is (kustomize api/filters/namespace/namespace.go).
    """
    if member.kind == "Namespace" and not member.group:
        return replace(member, value=_put_metadata(member.value, "name", namespace))
    if member.kind in _CLUSTER_SCOPED:
        return member
    return replace(member, value=_put_metadata(member.value, "namespace", namespace))


def _put_metadata(value: dict[str, Any], field: str, text: Any) -> dict[str, Any]:
    metadata = value.get("metadata")
    return {**value, "metadata": {**(metadata if isinstance(metadata, dict) else {}), field: text}}


def _set_labels(member: Member, value: Mapping[str, Any]) -> Member:
    rows = value.get("labels")
    pairs = [row.get("pairs") for row in rows if isinstance(row, dict)] if rows else []
    added = {
        str(name): text
        for item in (*pairs, value.get("commonLabels"))
        if isinstance(item, dict)
        for name, text in item.items()
    }
    if not added:
        return member
    labels = at(member.value, "metadata", "labels")
    merged = {**(labels if isinstance(labels, dict) else {}), **added}
    return replace(member, value=_put_metadata(member.value, "labels", merged))
