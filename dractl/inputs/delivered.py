"""The objects that Flux and Argo CD apply, as documents at the places where people edit them."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from dractl.inputs import flux
from dractl.inputs.charts import Release
from dractl.inputs.deliveries import Chart, Delivery, DeliveryReader, World
from dractl.inputs.layering import Files, Member, apply_patch
from dractl.inputs.patching import NeedsProgram
from dractl.inputs.places import SubstitutedPlaces, place_member
from dractl.inputs.substitution import Variables, list_undefined, substitute_object
from dractl.inputs.trees import NO_OVERLAY, NotRenderable, read_folder
from dractl.manifests import Document, read_text
from dractl.manifests.documents import Provenance
from dractl.manifests.load import is_relevant, names_dra
from dractl.manifests.naming import display_path
from dractl.manifests.post_renderers import list_post_patches
from dractl.manifests.rendered import Rendered, in_template
from dractl.manifests.source import Source
from dractl.manifests.text import decode
from dractl.model.paths import text_at
from dractl.objects import encode_json

_MAX_NAMED_CHARTS = 8


class ReleaseRenderer(Protocol):
    """A function that renders the chart in a folder as a release."""

    def __call__(self, chart: str, release: Release, /) -> Rendered: ...


class WorldDocuments:
    """Makes the documents of the objects that are applied to one cluster."""

    def __init__(
        self,
        world: World,
        files: Files,
        reader: DeliveryReader,
        render: ReleaseRenderer,
        may_concern: Callable[[bytes], bool] = names_dra,
    ) -> None:
        self._world = world
        self._files = files
        self._reader = reader
        self._render = render
        self._may_concern = may_concern
        self._remote: dict[str, tuple[Member, str]] = {}
        self.charts: set[str] = set()
        """The absolute paths of the charts that were rendered."""

    def make(self) -> Iterator[Document]:
        """Yield the documents that may concern DRA."""
        for delivery in self._world.deliveries:
            variables = Variables({})
            if flux.is_kustomization(delivery.applier):
                variables = flux.load_variables(delivery.applier, self._world.find_config)
                if self._reader.may_lack_patches(delivery.applier):
                    variables = replace(variables, is_complete=False)
            for member in delivery.members:
                try:
                    yield from self._make_documents(delivery, member, variables)
                except NotRenderable as error:
                    why = f"{member.kind} {member.name} of {delivery.label} was not built"
                    self._reader.skip(member, f"{why}: {error.why}")
            for chart in delivery.charts:
                yield from self._make_chart(delivery, chart)
        self._note_remote()

    def _make_documents(
        self, delivery: Delivery, member: Member, variables: Variables
    ) -> Iterator[Document]:
        provenance = Provenance(
            rendered=f"{delivery.label} of {display_path(delivery.applier.before.file)}",
            layers=member.patches,
            world=self._world.name,
        )
        written = document = place_member(member, provenance)
        substitution = substitute_object(member.value, variables)
        if substitution.value != member.value:
            places = SubstitutedPlaces(document, substitution.value, variables)
            document = document.another(substitution.value, places)
            flux.add_layers(document, variables.documents)
        if flux.is_release(member):
            release = replace(member, value=document.value)
            documents = list(self._make_release(release, document))
        else:
            documents = [document] if is_relevant(encode_json(member.value)) else []
        if substitution.undefined and any(names_dra(encode_json(item.value)) for item in documents):
            for use in list_undefined(member.value, variables):
                position = written.locate(use.path, offset=use.offset)
                self._reader.note_undefined(delivery, use.name, position)
        yield from documents

    def _make_release(self, member: Member, document: Document) -> Iterator[Document]:
        """Yield a HelmRelease with its values, and the objects that its chart makes of them."""
        values = flux.load_values(member, self._files, self._world.find_config)
        if values.layers and values.is_complete:
            document = flux.merge_values(document, values)
        data = encode_json(document.value)
        if is_relevant(data):
            yield document
        matters = self._may_concern(data)
        kind, name = flux.chart_path(member)
        folder = flux.find_chart(member, name) if kind == "GitRepository" else None
        if folder is None:
            if matters and name:
                self._remote[member.before.file] = member, self._chart_name(member, kind, name)
            return
        layers = [document.part(flux.VALUES)] if values.value else []
        release = Release(
            flux.release_name(member),
            flux.release_namespace(member),
            (encode_json(values.value),) if values.value else (),
        )
        for made in self._render_chart(member, folder, release, layers):
            yield from self._patch(member, document, made)

    def _patch(self, applier: Member, release: Document, made: Document) -> Iterator[Document]:
        """Yield an object of a chart after the patches of its HelmRelease."""
        members = [Member(made.value, made)]
        try:
            for item in list_post_patches(release):
                members = apply_patch(members, item.patch, item.target)
        except NeedsProgram as need:
            place = f" ({need.place})" if need.place else ""
            self._reader.skip(
                applier, f"{made.kind} {made.name} of {applier.name} was not built: {need}{place}"
            )
            return
        for member in members:
            yield made if member.value is made.value else made.with_value(member.value)

    def _chart_name(self, member: Member, kind: str, name: str) -> str:
        """Return the name of a chart; for an OCIRepository, the name of its repository."""
        for delivery in self._world.deliveries if kind == "OCIRepository" else ():
            for other in delivery.members:
                if other.kind == kind and other.name == name:
                    url = text_at(other.value, "spec", "url")
                    if other.namespace == member.namespace and url:
                        return url.rstrip("/").rpartition("/")[2]
        return name

    def _note_remote(self) -> None:
        """Add one note with the names of the charts that are not in the repository."""
        charts = sorted({name for _, name in self._remote.values()})
        more = len(charts) - _MAX_NAMED_CHARTS
        names = ", ".join(charts[:_MAX_NAMED_CHARTS]) + (f" and {more} more" if more > 0 else "")
        for member, _ in self._remote.values():
            self._reader.skip(
                member,
                f"not rendered, since these charts are not in this repository: {names}",
                "their values are judged as they are",
                judged=True,
            )

    def _make_chart(self, delivery: Delivery, chart: Chart) -> Iterator[Document]:
        options = chart.options
        try:
            values = [self._files.content(path) for path in options.files]
        except NotRenderable as error:
            self._reader.skip(delivery.applier, f"{delivery.label} was not built: {error.why}")
            return
        layers = [*options.inline[::-1]]
        for path in reversed(options.files):
            layers += self._files.documents(path)[:1]
        texts = (*values, *(encode_json(item.value) for item in options.inline))
        namespace = text_at(delivery.applier.value, "spec", "destination", "namespace")
        release = Release(options.release, namespace, texts, options.settings)
        yield from self._render_chart(delivery.applier, chart.folder, release, layers)

    def _render_chart(
        self, applier: Member, folder: str, release: Release, layers: Sequence[Document]
    ) -> Iterator[Document]:
        """Yield the objects that a chart makes for a release."""
        try:
            tree = read_folder(folder, NO_OVERLAY)
        except NotRenderable as error:
            self._reader.skip(applier, f"{applier.kind} {applier.name} was not built: {error.why}")
            return
        templates = {
            path: Source(display_path(os.path.join(folder, path)), decode(content))
            for path, content in tree.files.items()
            if "templates" in path.split(os.sep) and self._may_concern(content)
        }
        if not templates:
            return
        rendered = self._render(folder, release)
        if rendered.data is None:
            why = rendered.why or "helm is not installed"
            self._reader.skip(applier, f"{applier.kind} {applier.name} was not rendered: {why}")
            return
        self.charts.add(os.path.abspath(folder))
        defaults = os.path.join(folder, "values.yaml")
        further = self._files.documents(defaults)[:1] if os.path.isfile(defaults) else []
        for item in read_text(display_path(folder), decode(rendered.data)):
            if not isinstance(item, Document) or not isinstance(item.value, dict):
                continue
            path = os.path.normpath((item.origin or "").partition("/")[2])
            if path not in templates:
                continue
            made = in_template(item, templates[path], [*layers, *further], applier.before.file)
            made.provenance = replace(made.provenance, world=self._world.name)
            yield made if made.namespace else _in_namespace(made, release.namespace)


def _in_namespace(document: Document, namespace: str) -> Document:
    """Return an object in the namespace in which Helm installs it."""
    metadata = document.value.get("metadata")
    if not namespace or not isinstance(metadata, dict):
        return document
    return document.with_value({**document.value, "metadata": {**metadata, "namespace": namespace}})
