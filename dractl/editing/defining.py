"""The objects that a value names: a DeviceClass, a ResourceClaimTemplate or a ResourceClaim."""

import os
from collections.abc import Iterator

from msgspec import Struct

from dractl.editing.judging import Range, range_of
from dractl.editing.places import place_at, strip_quotes
from dractl.lint.repository import CLAIM_FIELDS, Repositories, load_unrendered
from dractl.manifests import Document, load_readable

_KINDS = {"deviceClassName": "DeviceClass", **CLAIM_FIELDS}
"""The kinds of objects that are named, by the field (k8s.io/api resource/v1 and core/v1)."""


class Definition(Struct, frozen=True):
    """The place of an object's name."""

    file: str
    """The file as it was given, or its absolute path."""
    range: Range
    """The characters of the name."""


def definitions(
    text: str, name: str, line: int, column: int, repositories: Repositories
) -> tuple[Definition, ...]:
    """Return the definitions of the object that the value at a position names.

    Definitions in the open text come first, then definitions in its repository; ``name`` is the
    name of the file with the text. Namespaces are not compared: folders and kustomizations often
    set them.
    """
    place = place_at(text, line, column)
    kind = _KINDS.get(str(place.path[-1])) if place is not None and not place.key else None
    if place is None or kind is None:
        return ()
    wanted = strip_quotes(place.before + place.after)
    data = text.encode("utf-8", "surrogatepass")
    open_text = load_readable(["-"], stdin=data, stdin_name=name)
    paths = [
        path
        for path in repositories.files_defining(name, (kind, wanted))
        if path != os.path.abspath(name)
    ]
    documents = [*open_text.documents, *load_unrendered(paths).documents]
    return tuple(_names_of(documents, kind, wanted))


def _names_of(documents: list[Document], kind: str, wanted: str) -> Iterator[Definition]:
    for document in documents:
        if (document.kind, document.name) == (kind, wanted):
            position = document.locate(("metadata", "name"))
            yield Definition(position.file, range_of(position))
