"""Requests of the objects that charts, kustomizations, Flux and Argo CD make of files.

A request that a file contains literally has already been converted in the file, or has a remark.
The other requests come from values, from lines of templates and from patches; each is placed where
a person edits it.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.manifests import Document, Position
from dractl.manifests.documents import Path
from dractl.migration.migrate import MigratedFile, maps_in, pod_specs
from dractl.migration.plan import Remark
from dractl.migration.resources import is_extended, reason_without_claim, stand_in_for
from dractl.objects import items, mapping, text
from dractl.objects.pods import PodSpec

_AMOUNTS = ("limits", "requests")


class RenderedRequest(Struct, frozen=True):
    """A request of a rendered object."""

    resource: str
    """The device plugin's resource."""
    remark: Remark | None
    """The place where it is written, and why it stays; None if the place was converted or has a
    remark already.
    """


def list_rendered_requests(
    documents: Iterable[Document], files: Sequence[MigratedFile]
) -> Iterator[RenderedRequest]:
    """Yield the requests of rendered objects. A request has a remark unless ``files`` convert it or
    already have a remark on it.
    """
    texts = {file.name for file in files}
    rendered = [
        document
        for document in documents
        if document.rendered is not None and (document.is_kustomized or document.file not in texts)
    ]
    lines = set(_list_lines(files)) if rendered else set()
    for document in rendered:
        for pod in pod_specs(document):
            for path in _list_requests(pod):
                resource = str(path[-1])
                place = _locate(document, path)
                is_new = (place.file, place.line) not in lines
                lines.add((place.file, place.line))
                remark = Remark(place, _reason(document, resource)) if is_new else None
                yield RenderedRequest(resource, remark)


def list_lost_templates(
    documents: Iterable[Document], names: frozenset[str]
) -> Iterator[tuple[Document, str]]:
    """Yield each built object that refers to a template of ``names`` which its kustomization does
    not make, with the name of the template. This happens if kustomize renames the template, since
    it does not rename the reference in the pod
    (api/internal/konfig/builtinpluginconsts/namereference.go lacks the field).
    """
    built = [document for document in documents if document.is_kustomized]
    made = {
        (document.rendered, document.namespace, document.name)
        for document in built
        if document.kind == "ResourceClaimTemplate"
    }
    for document in built:
        used = {
            text(mapping(claim).get("resourceClaimTemplateName"))
            for pod in pod_specs(document)
            for claim in items(pod.fields.get("resourceClaims"))
        }
        for name in sorted(used & names):
            if (document.rendered, document.namespace, name) not in made:
                yield document, name


def _list_lines(files: Iterable[MigratedFile]) -> Iterator[tuple[str, int]]:
    """Yield the lines of files that have a request in a pod, or a remark."""
    for file in files:
        for pod in file.pods:
            for path in _list_requests(pod):
                place = pod.subject.locate(path, key=True)
                yield place.file, place.line
        for remark in file.remarks:
            yield remark.position.file, remark.position.line


def _list_requests(pod: PodSpec[Document]) -> Iterator[Path]:
    """Yield the paths of the requests for extended resources."""
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(items(pod.fields.get(kind))):
            amounts = mapping(mapping(container).get("resources"))
            for part in _AMOUNTS:
                for name, amount in mapping(amounts.get(part)).items():
                    if isinstance(name, str) and is_extended(name) and str(amount) != "0":
                        yield (*pod.item_path(kind, at), "resources", part, name)


def _locate(document: Document, path: Path) -> Position:
    """Return the place of a request: its key, else the same request in the values of a chart, else
    the nearest field around it.
    """
    resource = str(path[-1])
    place = document.locate(path, key=True)
    line = document.excerpt(place)
    if resource in line or resource.replace("/", "~1") in line:
        return place
    for layer in document.layers:
        for above, amounts in maps_in(layer.value):
            if above and above[-1] in _AMOUNTS and resource in amounts:
                return layer.locate((*above, resource), key=True)
    outer = (document.locate(path[:end], key=True) for end in range(len(path) - 1, 0, -1))
    names = (step for step in reversed(path[:-1]))
    near = (
        found
        for found, name in zip(outer, names, strict=True)
        if isinstance(name, str) and name in document.excerpt(found)
    )
    return next(near, place)


def _reason(document: Document, resource: str) -> str:
    if stand_in_for(resource) is None:
        return reason_without_claim(resource)
    return (
        f"{resource} is left as it is: rendering {document.rendered} makes it;"
        " write its claim there by hand"
    )
