"""Argo CD: the sources of an Application, and the Applications of an ApplicationSet.

Sources: argoproj/argo-cd pkg/apis/application/v1alpha1/types.go,
reposerver/repository/repository.go, applicationset/generators/list.go and utils/utils.go.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.inputs.layering import Files, Layers, Member, apply_patch, list_folder, set_namespace
from dractl.inputs.patching import NeedsProgram
from dractl.inputs.trees import NotRenderable
from dractl.manifests.documents import Document, Path
from dractl.manifests.embedded import in_text
from dractl.model.paths import at, map_at, text_at
from dractl.objects import items, mapping

ARGO = "argoproj.io"
MAX_APPLICATIONS = 500
"""The maximum number of Applications that one ApplicationSet may make."""
_COMMA = "\\,"
"""A comma in a value of ``--set``, as Argo CD escapes it (util/helm/cmd.go cleanSetParameters)."""
_FIELD = re.compile(r"\{\{\s*\.?([\w.-]+)\s*\}\}")


def is_application(member: Member) -> bool:
    """Return True for an Application."""
    return member.group == ARGO and member.kind == "Application"


def is_application_set(member: Member) -> bool:
    """Return True for an ApplicationSet."""
    return member.group == ARGO and member.kind == "ApplicationSet"


class Source(Struct, frozen=True):
    """One source of an Application."""

    fields: Mapping[str, Any]
    """The fields of the source."""
    path: Path
    """The path of the source in the Application."""


def list_sources(member: Member) -> list[Source]:
    """Return the sources of an Application; ``sources`` takes precedence over ``source``
    (GetSources).
    """
    rows = items(at(member.value, "spec", "sources"))
    if rows:
        return [
            Source(mapping(row), ("spec", "sources", number)) for number, row in enumerate(rows)
        ]
    source = mapping(at(member.value, "spec", "source"))
    return [Source(source, ("spec", "source"))] if source else []


def expand_set(member: Member) -> list[Member]:
    """Return the Applications of an ApplicationSet whose generators are lists.

    Raises NotRenderable for other generators, and for templates that do more than insert fields.
    """
    template = at(member.value, "spec", "template")
    generators = items(at(member.value, "spec", "generators"))
    other = next((name for row in generators for name in mapping(row) if name != "list"), None)
    if not isinstance(template, dict) or other is not None:
        raise NotRenderable(f"its generator {other} needs a cluster or a forge")
    elements = [
        mapping(element) for row in generators for element in items(at(row, "list", "elements"))
    ]
    if len(elements) > MAX_APPLICATIONS:
        raise NotRenderable(f"it makes more than {MAX_APPLICATIONS} Applications")
    before = member.before.part(("spec", "template"))
    made: list[Member] = []
    for element in elements:
        value = _insert(template, element)
        application = {"apiVersion": f"{ARGO}/v1alpha1", "kind": "Application", **value}
        metadata = {"namespace": member.namespace, **mapping(value.get("metadata"))}
        made.append(Member({**application, "metadata": metadata}, before, member.patches))
    return made


def _insert(value: Any, element: Mapping[str, Any]) -> Any:
    """Return a template with the fields of an element. Raises NotRenderable."""
    if isinstance(value, dict):
        return {_insert(name, element): _insert(item, element) for name, item in value.items()}
    if isinstance(value, list):
        return [_insert(item, element) for item in value]
    if not isinstance(value, str) or "{{" not in value:
        return value

    def field(match: re.Match[str]) -> str:
        text = at(element, *match[1].split("."))
        text = element.get(match[1]) if text is None else text
        return match[0] if text is None or isinstance(text, dict | list) else str(text)

    made = _FIELD.sub(field, value)
    if "{{" in made:
        raise NotRenderable(f"its template has {made[made.index('{{') :][:40]!r}")
    return made


def build(
    member: Member, source: Source, folder: str, layers: Layers, files: Files
) -> list[Member]:
    """Return the objects of a source that is a kustomization or a plain folder.

    Raises NotRenderable, and NeedsProgram.
    """
    if os.path.isfile(folder):
        made = [Member(item.value, item) for item in files.objects(folder)]
    elif files.kustomization(folder) is not None:
        made = _kustomize(member, source, folder, layers)
    else:
        is_deep = at(source.fields, "directory", "recurse") is True
        paths = _list_files(folder, is_deep=is_deep)
        made = [Member(item.value, item) for path in paths for item in files.objects(path)]
    namespace = text_at(member.value, "spec", "destination", "namespace")
    return [
        set_namespace(item, namespace)
        if namespace and not item.namespace and _can_move(item)
        else item
        for item in made
    ]


def _can_move(member: Member) -> bool:
    # Argo CD does not rename a Namespace to the destination's name.
    return member.kind != "Namespace"


def _kustomize(member: Member, source: Source, folder: str, layers: Layers) -> list[Member]:
    """Return the objects of a kustomization with the options of a source."""
    options = map_at(source.fields, "kustomize")
    if options.get("namePrefix") or options.get("nameSuffix"):
        raise NeedsProgram("it sets a prefix or a suffix of names")
    made = layers.members(folder)
    for name in items(options.get("components")):
        made = layers.add_component(os.path.normpath(os.path.join(folder, str(name))), made)
    for number, row in enumerate(items(options.get("patches"))):
        text, target = mapping(row).get("patch"), mapping(row).get("target")
        path: Path = (*source.path, "kustomize", "patches", number, "patch")
        if isinstance(text, str):
            for patch in in_text(member.before, path, text):
                made = apply_patch(made, patch, mapping(target) if target else None)
    namespace = text_at(options, "namespace")
    return [set_namespace(item, namespace) for item in made] if namespace else made


def _list_files(folder: str, *, is_deep: bool) -> Iterator[str]:
    """Yield the manifests of a folder (reposerver/repository/repository.go findManifests)."""
    for name in list_folder(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if is_deep and name != ".git" and not os.path.islink(path):
                yield from _list_files(path, is_deep=True)
        elif name.endswith((".yaml", ".yml", ".json")):
            yield path


class HelmOptions(Struct, frozen=True):
    """The settings of a source with which Argo CD renders its chart."""

    release: str
    """The name of the release."""
    files: tuple[str, ...]
    """Absolute paths of values files; the last one takes precedence."""
    inline: tuple[Document, ...]
    """Values in the Application; the last one takes precedence."""
    settings: tuple[str, ...]
    """Arguments of ``--set``."""


def read_helm(
    member: Member, source: Source, folder: str, references: Mapping[str, str]
) -> HelmOptions:
    """Read the options for a chart; ``references`` has the root folders of other sources by
    ``ref``.
    """
    options = map_at(source.fields, "helm")
    files: list[str] = []
    for name in items(options.get("valueFiles")):
        text = str(name)
        reference, _, inside = text.partition("/")
        base = references.get(reference, "") if text.startswith("$") else folder
        path = os.path.normpath(os.path.join(base, inside if text.startswith("$") else text))
        if os.path.isfile(path):
            files.append(path)
        elif options.get("ignoreMissingValueFiles") is not True:
            raise NotRenderable(f"its values file {text} does not exist in this repository")
    inline: list[Document] = []
    home = member.before.with_value(member.value)
    values: Any = options.get("values")
    if isinstance(values, str) and values.strip():
        inline += in_text(home, (*source.path, "helm", "values"), values)
    if isinstance(options.get("valuesObject"), dict):
        inline.append(home.part((*source.path, "helm", "valuesObject")))
    settings = tuple(
        f"{row['name']}={str(row.get('value', '')).replace(',', _COMMA)}"
        for row in map(mapping, items(options.get("parameters")))
        if row.get("name")
    )
    named = [item for item in inline if isinstance(item.value, dict)]
    release = text_at(options, "releaseName") or member.name
    return HelmOptions(release, tuple(files), tuple(named), settings)
