"""Deliveries: the objects that Flux and Argo CD apply from a repository.

A *delivery* is the set of objects that one Flux Kustomization or Argo CD Application applies.
Deliveries make other deliveries: the Kustomization of a cluster makes the Kustomizations of its
apps. The search starts at the deliveries that no other delivery makes, so each delivery gets the
patches and the variables of the deliveries above it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.inputs import argo, flux
from dractl.inputs.entries import Entries, Key
from dractl.inputs.kustomizations import KustomizationBuilder, read_kustomization
from dractl.inputs.layering import Files, Layers, Member
from dractl.inputs.origins import Origins
from dractl.inputs.patching import NeedsProgram
from dractl.inputs.substitution import Variables, substitute_object
from dractl.inputs.trees import NO_OVERLAY, NotInRepository, NotRenderable
from dractl.inputs.worlds import Identity, Root, group_roots
from dractl.manifests import Document, Skipped, read_text
from dractl.manifests.built import find_before, strip_origin
from dractl.manifests.documents import Path
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.load import is_relevant
from dractl.manifests.naming import display_path
from dractl.manifests.post_renderers import HELM
from dractl.manifests.source import Position
from dractl.manifests.text import decode
from dractl.model.paths import at, map_at, text_at
from dractl.objects import items, mapping

_MAX_DEPTH = 16
_MAX_NAMED = 4
_MAX_DELIVERIES = 5_000
_OF_ONE_CLUSTER = frozenset({HELM, flux.KUSTOMIZE, argo.ARGO, "resource.k8s.io"})


class Chart(Struct, frozen=True):
    """A chart of this repository that an Application installs."""

    folder: str
    """The absolute path of the chart."""
    options: argo.HelmOptions
    """Helm's options in the Application."""


class Delivery(Struct, frozen=True):
    """The objects that one Flux Kustomization or Argo CD Application applies."""

    applier: Member
    """The Kustomization or the Application."""
    members: tuple[Member, ...] = ()
    """The delivered objects, before variables are substituted in them."""
    charts: tuple[Chart, ...] = ()
    """The charts that it installs."""

    @property
    def label(self) -> str:
        """Return the applier's kind and name."""
        return f"{self.applier.kind} {self.applier.name}"


class World(Struct, frozen=True):
    """The objects that are applied to one cluster."""

    name: str
    """The file with the applier at the top."""
    deliveries: tuple[Delivery, ...]
    """The deliveries; each is listed before the deliveries that it makes."""
    is_applied: bool = True
    """False if nothing applies the Kustomizations of the world, while another world of the
    repository has an entry.
    """

    def find_config(self, kind: str, namespace: str, name: str) -> Member | None:
        """Find a ConfigMap or a Secret; one that names no namespace matches any. None if there is
        none.
        """
        rows = [
            member
            for delivery in self.deliveries
            for member in delivery.members
            if member.kind == kind and member.name == name
        ]
        rows = [member for member in rows if member.namespace in (namespace, "") or not namespace]
        return min(rows, key=lambda member: member.namespace != namespace, default=None)


class DeliveryReader:
    """Reads the deliveries of the objects in some files."""

    def __init__(self, files: Files, builder: KustomizationBuilder, origins: Origins) -> None:
        self._files = files
        self._builder = builder
        self._origins = origins
        self._layers = Layers(files)
        self._made: dict[Key, list[Delivery]] = {}
        self._urls: dict[str, set[str]] = {}
        self._unbuilt: set[str] = set()
        self._skipped: dict[tuple[str, str], Skipped] = {}
        self._causes: dict[tuple[str, str], list[str]] = {}
        self._undefined: dict[tuple[str, str], dict[str, Position]] = {}

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Return the parts that were not built, with the reasons."""
        remote = (
            Skipped(display_path(path), f"remote sources are not fetched: {name}", judged=True)
            for name, path in self._layers.remote.items()
            if "crd" not in name.lower()  # files of definitions are not judged
        )
        causes = (
            Skipped(place, f"{_enumerate(labels)} {_was(labels)} not built: {why}")
            for (place, why), labels in self._causes.items()
        )
        return (*self._skipped.values(), *causes, *self._list_undefined(), *remote)

    def _list_undefined(self) -> Iterator[Skipped]:
        for (_, name), uses in self._undefined.items():
            position = min(uses.values())
            yield Skipped(
                f"{position.file}:{position.line}",
                f"nothing in this repository defines ${{{name}}} for {_enumerate(list(uses))}",
                "Flux puts nothing in its place; define it in postBuild.substitute",
                judged=True,
            )

    def skip(
        self,
        member: Member,
        why: str,
        hint: str | None = None,
        place: Path | None = None,
        *,
        judged: bool = False,
    ) -> None:
        """Note, once for each reason, that an applier's objects were not built.

        ``place`` is the path of the value at fault; ``judged`` is True if the applier's file itself
        was judged.
        """
        file = member.before.file
        if place is not None and at(member.before.value, *place) is not None:
            file = f"{file}:{member.before.locate(place).line}"
        self._skipped.setdefault((member.before.file, why), Skipped(file, why, hint, judged=judged))

    def note_undefined(self, delivery: Delivery, name: str, position: Position) -> None:
        """Note the first use, in a file, of a variable that nothing defines for a delivery."""
        applier = delivery.applier.before
        place = applier.locate(("spec", "postBuild", "substitute"))
        label = f"{delivery.label} ({display_path(place.file)}:{place.line})"
        self._undefined.setdefault((position.file, name), {}).setdefault(label, position)

    def note_sources(self, documents: Iterable[Document]) -> None:
        """Note the addresses of the repositories that are defined in documents."""
        for document in documents:
            if document.kind == "GitRepository" and document.name:
                url = text_at(document.value, "spec", "url")
                self._urls.setdefault(document.name, set()).add(url)

    def read(self, paths: Iterable[str], entries: Entries) -> list[World]:
        """Return the objects that the appliers in files apply, by cluster."""
        written = [member for path in paths for member in self._appliers_of(path)]
        for member in written[_MAX_DELIVERIES:]:
            why = f"the {member.kind} was not built: there are more than {_MAX_DELIVERIES:,}"
            self.skip(member, why)
        del written[_MAX_DELIVERIES:]
        inner = {
            member.key
            for applier in written
            for member in self._build(applier).members
            if _is_applier(member) and member.key != applier.key
        }
        trees: list[list[Delivery]] = []
        reached: set[Key] = set()
        # If deliveries create each other, only the first one is followed.
        for applier in sorted(written, key=lambda member: member.key in inner):
            if applier.key not in inner or applier.key not in reached:
                tree = list(self._follow(applier, frozenset(), 0))
                reached.update(delivery.applier.key for delivery in tree)
                trees.append(tree)
        strays = self._find_strays(trees, entries)
        applied = [tree for tree in trees if tree[0].applier.key not in strays]
        others = [tree for tree in trees if tree[0].applier.key in strays]
        return [*_make_worlds(applied, is_applied=True), *_make_worlds(others, is_applied=False)]

    def _find_strays(self, trees: Sequence[list[Delivery]], entries: Entries) -> frozenset[Key]:
        """Return the appliers that are at the top of a tree and that nothing applies."""
        tops = [tree[0].applier for tree in trees]
        makers = frozenset(
            tree[0].applier.key
            for tree in trees
            if any(_is_applier(member) for member in tree[0].members)
        )
        strays = entries.find_strays(tops, makers)
        # If an applier above a top was not built, it may apply the top.
        return strays - {top.key for top in tops if self.may_lack_patches(top)}

    def _appliers_of(self, path: str) -> list[Member]:
        try:
            documents = self._files.objects(path)
        except NotRenderable:
            return []  # lint reports a file that does not parse
        # A dump with a stored applier also contains the objects that its controller applied.
        members = [
            Member(item.value, item) for item in documents if not item.at(("metadata", "uid"))
        ]
        self.note_sources(member.before for member in members)
        return [item for member in members for item in self._expand(member)]

    def _expand(self, member: Member) -> list[Member]:
        """Return the object itself if it is an applier, or the appliers that it makes."""
        if argo.is_application_set(member):
            try:
                return argo.expand_set(member)
            except NotRenderable as error:
                self.skip(member, f"ApplicationSet {member.name} was not followed: {error.why}")
                return []
        return [member] if _is_applier(member) else []

    def _follow(self, applier: Member, way: frozenset[Key], depth: int) -> Iterator[Delivery]:
        """Yield a delivery, and then the deliveries that it makes."""
        delivery = self._build(applier)
        yield delivery
        variables = Variables(_inline_variables(applier), is_complete=False)
        for member in delivery.members:
            if member.key in way or member.key == applier.key or depth > _MAX_DEPTH:
                continue
            for inner in self._expand(member):
                try:
                    value = substitute_object(inner.value, variables).value
                except NotRenderable as error:
                    self.skip(inner, f"{inner.kind} {inner.name} was not built: {error.why}")
                    continue
                child = replace(inner, value=value)
                yield from self._follow(child, way | {applier.key}, depth + 1)

    def _build(self, applier: Member) -> Delivery:
        """Return a delivery; a delivery that cannot be built is empty, and is in ``skipped``."""
        earlier = self._made.setdefault(applier.key, [])
        for delivery in earlier:
            if delivery.applier.value == applier.value:
                return delivery
        try:
            if argo.is_application(applier):
                delivery = self._build_application(applier)
            else:
                delivery = Delivery(applier, tuple(self._build_kustomization(applier)))
        except NotInRepository as error:  # one note covers all appliers with this reason
            why = f"the {applier.kind} was not built: {error.why}"
            self.skip(applier, why, place=flux.find_missing_folder(applier))
            delivery = Delivery(applier)
        except NotRenderable as error:
            delivery = Delivery(applier)
            self._note_unbuilt_folders(applier)
            if error.place is not None:  # one note covers all deliveries with this cause
                labels = self._causes.setdefault((error.place, error.why), [])
                labels.append(delivery.label)
            else:
                why = f"{delivery.label} was not built: {error.why}"
                self.skip(applier, why, place=flux.find_missing_folder(applier))
        earlier.append(delivery)
        return delivery

    def _note_unbuilt_folders(self, applier: Member) -> None:
        with suppress(NotRenderable):
            self._unbuilt.update(os.path.join(folder, "") for folder in _list_folders(applier))

    def may_lack_patches(self, applier: Member) -> bool:
        """Return True if an applier is in the folder of an applier that was not built, whose
        patches may change it.
        """
        file = os.path.abspath(applier.before.file)
        return file.startswith(tuple(self._unbuilt))

    def _build_kustomization(self, applier: Member) -> list[Member]:
        spec = map_at(applier.value, "spec")
        self._check_source(spec)
        folder = flux.find_kustomization_folder(applier)
        try:
            return flux.build(applier, folder, self._layers, self._files)
        except NeedsProgram as need:
            settings = {
                "namespace": spec.get("targetNamespace"),
                "namePrefix": spec.get("namePrefix"),
                "nameSuffix": spec.get("nameSuffix"),
                "patches": spec.get("patches"),
            }
            components = [os.path.join(folder, str(item)) for item in items(spec.get("components"))]
            return self._run_program(folder, need, settings, components)

    def _check_source(self, spec: Any) -> None:
        """Raise NotRenderable if the source of a Kustomization is another repository, or is
        built by a controller: its paths are then not paths of this repository
        (fluxcd/source-watcher docs/spec/v1beta1/artifactgenerators.md).
        """
        source = mapping(mapping(spec).get("sourceRef"))
        kind, name = text_at(source, "kind"), text_at(source, "name")
        if kind == "ExternalArtifact":
            raise NotRenderable(f"its source ExternalArtifact {name} is made in the cluster")
        path = str(mapping(spec).get("path") or "")
        if kind in flux.ARTIFACTS and not path.strip("./"):
            raise NotInRepository("its source is another repository")
        urls = self._urls.get(name, ()) if kind == "GitRepository" else ()
        if urls and not any(map(self._origins.has, urls)):
            raise NotInRepository("its source is another repository")

    def _run_program(
        self, folder: str, need: NeedsProgram, settings: dict[str, Any], components: list[str]
    ) -> list[Member]:
        """Return the objects that kustomize makes of a kustomization; none if no file of it
        concerns DRA.
        """
        if self._files.kustomization(folder) is None:
            raise NotRenderable(
                f"{need.why}, and there is no kustomization in {display_path(folder)}"
            )
        tree = read_kustomization(folder, NO_OVERLAY, components)
        if not any(map(is_relevant, tree.files.values())):
            return []
        kustomizations = Kustomizations()
        for place in (folder, *components):
            refusal = kustomizations.refusal(place)
            if refusal is not None:
                raise NotRenderable(refusal)
        settings["patches"] = list(map(_inline_patch, items(settings.get("patches"))))
        rendered = self._builder.build(folder, settings, components)
        if rendered.data is None:
            raise NotRenderable(f"{need.why}, and {rendered.why}", need.place)
        members: list[Member] = []
        for item in read_text(display_path(folder), decode(rendered.data)):
            if isinstance(item, Document) and isinstance(item.value, dict):
                value, origin = strip_origin(item.value)
                place = os.path.normpath(os.path.join(rendered.base, origin or ""))
                documents = self._files.documents(place) if os.path.isfile(place) else []
                before = find_before(value, documents)
                if before is not None:
                    members.append(Member(value, before))
        return members

    def _build_application(self, applier: Member) -> Delivery:
        sources = argo.list_sources(applier)
        references = {
            f"${source.fields['ref']}": flux.find_folder(applier, ".")
            for source in sources
            if isinstance(source.fields.get("ref"), str)
        }
        members: list[Member] = []
        charts: list[Chart] = []
        for source in sources:
            if source.fields.get("chart"):
                name = source.fields["chart"]
                self.skip(applier, f"{applier.kind} {applier.name}: the chart {name} is remote")
            elif source.fields.get("path") is not None:
                if not self._origins.has(str(source.fields.get("repoURL") or "")):
                    raise NotInRepository("its source is another repository")
                folder = flux.find_folder(applier, source.fields["path"])
                if os.path.isfile(os.path.join(folder, "Chart.yaml")):
                    options = argo.read_helm(applier, source, folder, references)
                    charts.append(Chart(folder, options))
                else:
                    members += self._build_source(applier, source, folder)
        return Delivery(applier, tuple(members), tuple(charts))

    def _build_source(self, applier: Member, source: argo.Source, folder: str) -> list[Member]:
        try:
            return argo.build(applier, source, folder, self._layers, self._files)
        except NeedsProgram as need:
            options = map_at(source.fields, "kustomize")
            names = ("namespace", "namePrefix", "nameSuffix", "patches")
            settings = {name: options.get(name) for name in names}
            components = [
                os.path.join(folder, str(item)) for item in items(options.get("components"))
            ]
            return self._run_program(folder, need, settings, components)


def _list_folders(applier: Member) -> list[str]:
    """Return the folders that an applier takes. Raises NotRenderable."""
    if not argo.is_application(applier):
        return [flux.find_kustomization_folder(applier)]
    paths = [source.fields.get("path") for source in argo.list_sources(applier)]
    return [flux.find_folder(applier, path) for path in paths if path is not None]


def _make_worlds(trees: Sequence[list[Delivery]], *, is_applied: bool) -> Iterator[World]:
    """Yield the clusters of some trees of deliveries."""
    roots = [_root(tree) for tree in trees]
    for group in group_roots(roots):
        deliveries = tuple(delivery for number in group for delivery in trees[number])
        yield World(display_path(roots[group[0]].file), deliveries, is_applied)


def _enumerate(labels: Sequence[str]) -> str:
    """Return the first of some names, in a list."""
    names = sorted(set(labels))
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _was(labels: Sequence[str]) -> str:
    """Return the verb behind a list of names."""
    return "were" if len(set(labels)) > 1 else "was"


def _inline_patch(row: Any) -> dict[str, Any]:
    """Return an inline patch without those parts that would make kustomize read a file."""
    return {
        name: part
        for name, part in mapping(row).items()
        if (name == "patch" and isinstance(part, str))
        or (name == "target" and isinstance(part, dict))
    }


def _is_applier(member: Member) -> bool:
    return (
        flux.is_kustomization(member)
        or argo.is_application(member)
        or argo.is_application_set(member)
    )


def _inline_variables(applier: Member) -> dict[str, str | None]:
    written = mapping(at(applier.value, "spec", "postBuild", "substitute"))
    return {str(name): text for name, text in written.items() if isinstance(text, str)}


def _root(tree: list[Delivery]) -> Root:
    """Return the root of a tree of deliveries, with the objects of one cluster that the tree
    applies.
    """
    identities: set[Identity] = set()
    for delivery in tree:
        for member in (delivery.applier, *delivery.members):
            is_unique = member.group in _OF_ONE_CLUSTER or member.kind == "Namespace"
            if is_unique and "${" not in member.name:
                identities.add((member.group, member.kind, member.namespace, member.name))
    return Root(os.path.abspath(tree[0].applier.before.file), frozenset(identities))
