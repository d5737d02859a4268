"""The results of loading: documents whose values can be located, and unreadable ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from dractl.manifests.definitions import DefinitionFile
from dractl.manifests.source import Position
from dractl.model.paths import at as value_at

Path = tuple["str | int", ...]


class DoubledKey(Struct, frozen=True):
    """An error that only strict decoding reports in a readable document: a duplicate key."""

    message: str
    path: Path
    position: Position
    merged: bool = False
    """True if one of the two keys comes from a merge key (``<<``), which only the server's own YAML
    decoder rejects.
    """


class Broken(Struct, frozen=True):
    """A document that cannot be read, with its place, and with the reason: the API server's own
    message, if it has one for this.
    """

    file: str
    index: int
    position: Position
    message: str
    hint: str | None = None
    excerpt: str = ""
    """The source line at which ``position`` begins."""
    refused: bool = True
    """True if the API server refuses the document too. Only kubectl refuses text after an object,
    which go-yaml ignores.
    """


class Skipped(Struct, frozen=True):
    """A file or folder that was not read, or not as a whole."""

    file: str
    why: str
    """The reason."""
    hint: str | None = None
    """The remedy, as an imperative."""
    unread: bool = False
    """True if it could not be read, so that the results for other files are incomplete."""
    judged: bool = False
    """True if the file itself was judged, but not the files and objects that it lists, makes or
    applies.
    """


class Locator(Protocol):
    """Finds the places of the values of one document in a file."""

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position: ...
    def source(self, path: Path) -> Spot | None: ...
    def faults(self) -> Sequence[DoubledKey]: ...
    def line(self, number: int) -> str: ...
    def text(self) -> str: ...


class Spot(Struct, frozen=True):
    """A value of another document: of a chart's values, or of a patch."""

    document: Document
    """The document that has the value."""
    path: Path
    """The value's path in that document."""


class Embedding(Struct, frozen=True):
    """The place of a document's text in a string of another document."""

    document: Document
    """The document that has the string."""
    path: Path
    """The string's path in that document."""
    number: int
    """The position of the document among the documents of the string."""


class Within:
    """The base class of locators for a document that is made from the document ``outer`` or from a
    part of it.
    """

    def __init__(self, outer: Document) -> None:
        self._outer = outer

    def source(self, path: Path) -> Spot | None:  # noqa: ARG002
        """Return None, since the value is in the outer document."""
        return None

    def faults(self) -> Sequence[DoubledKey]:
        return ()

    def line(self, number: int) -> str:
        return self._outer.line(number)

    def text(self) -> str:
        return self._outer.text


class Provenance(Struct, frozen=True):
    """The way in which a document was rendered, if it was rendered."""

    origin: str | None = None
    """The template named by Helm's ``# Source:``; None if Helm did not render the document."""
    rendered: str | None = None
    """The chart or the kustomization that it was rendered from; the file is then the source
    template or resource, whose text differs. None if the document is as written.
    """
    variant: str | None = None
    """The values file of a further rendering of a chart; None for the first rendering."""
    layers: Sequence[Document] = ()
    """Documents of other files that contribute values: a chart's values, a kustomization's
    patches.
    """
    world: str | None = None
    """The name of the cluster to which a GitOps controller applies the document, together with all
    other objects of that world; None if none applies it.
    """
    embedding: Embedding | None = None
    """The string that contains the text of the document, if the text is not in a file of its
    own.
    """


_AS_WRITTEN = Provenance()


class Document:
    """One Kubernetes object of a file (or one item of a List in it).

    ``value`` is a plain dict of str, int, float, bool, None, list and dict, as the API server gets
    it from sigs.k8s.io/yaml; it may share parts (YAML aliases) and must not be changed. ``index``
    counts the documents of the file from 0; the items of a List have the index of the List.
    ``derived`` is True if its values are computed from others in the file, and so cannot be edited
    there. ``paged`` is True if its List continues in another response (ListMeta.continue of
    k8s.io/apimachinery pkg/apis/meta/v1).
    """

    __slots__ = (
        "_locator",
        "_prefix",
        "api_version",
        "derived",
        "file",
        "index",
        "kind",
        "name",
        "namespace",
        "paged",
        "provenance",
        "value",
    )

    def __init__(
        self,
        file: str,
        index: int,
        value: dict[str, Any],
        locator: Locator,
        *,
        prefix: Path = (),
        derived: bool = False,
        paged: bool = False,
        provenance: Provenance | None = None,
    ) -> None:
        self.provenance = provenance or _AS_WRITTEN
        self.paged = paged
        self.derived = derived
        self.file = file
        self.index = index
        self.value = value
        fields = value if isinstance(value, dict) else {}
        self.api_version = _text(fields, "apiVersion")
        self.kind = _text(fields, "kind")
        metadata = fields.get("metadata")
        about = metadata if isinstance(metadata, dict) else {}
        self.name = _text(about, "name")
        self.namespace = _text(about, "namespace")
        self._locator = locator
        self._prefix = prefix

    @property
    def origin(self) -> str | None:
        """The template named by Helm's ``# Source:``; None if Helm did not render the document."""
        return self.provenance.origin

    @property
    def rendered(self) -> str | None:
        """The chart or the kustomization that it was rendered from."""
        return self.provenance.rendered

    @property
    def variant(self) -> str | None:
        """The values file of a further rendering of a chart; None for the first rendering."""
        return self.provenance.variant

    @property
    def layers(self) -> Sequence[Document]:
        """The documents of other files that contribute values."""
        return self.provenance.layers

    @property
    def world(self) -> str | None:
        """The cluster to which a GitOps controller applies the document; None if none does."""
        return self.provenance.world

    @property
    def embedding(self) -> Embedding | None:
        """The string of another document that contains the text of this document."""
        return self.provenance.embedding

    @property
    def built(self) -> bool:
        """True if the file does not contain the object in this form: a kustomization makes the
        object, or a further rendering of a chart makes it, with another values file.
        """
        return self.rendered is not None and (self.origin is None or self.variant is not None)

    @property
    def is_kustomized(self) -> bool:
        """True for an object that a kustomization makes."""
        return self.rendered is not None and self.origin is None

    @property
    def editable(self) -> bool:
        """True if the file contains the values unchanged."""
        return self.rendered is None and not self.derived

    @property
    def faults(self) -> tuple[DoubledKey, ...]:
        """The errors of this document that only strict decoding reports; paths are the document's
        own.
        """
        depth = len(self._prefix)
        faults = self._locator.faults()
        if not depth:
            return tuple(faults)
        return tuple(
            replace(fault, path=fault.path[depth:])
            for fault in faults
            if fault.path[:depth] == self._prefix
        )

    def part(self, path: Path) -> Document:
        """Return the object at a path as a document of its own."""
        return self.another(
            self.at(path), self._locator, prefix=(*self._prefix, *path), derived=self.derived
        )

    def another(
        self,
        value: Any,
        locator: Locator,
        *,
        prefix: Path = (),
        derived: bool = False,
        paged: bool = False,
    ) -> Document:
        """Return a document with another value, at the same place in the file as this one."""
        return Document(
            self.file,
            self.index,
            value,
            locator,
            prefix=prefix,
            derived=derived,
            paged=paged,
            provenance=self.provenance,
        )

    def with_value(self, value: dict[str, Any]) -> Document:
        """Return the document with another value; places stay where they are."""
        return self.another(
            value, self._locator, prefix=self._prefix, derived=self.derived, paged=self.paged
        )

    def at(self, path: Path) -> Any:
        """Return the value at a path; None if there is none."""
        return value_at(self.value, *path)

    def locate(self, path: Path, *, key: bool = False, offset: int | None = None) -> Position:
        """Return the place of the value at ``path``; with ``key``, the place of its key; with
        ``offset``, the place of that code point of its text.

        ``offset`` counts code points of the value, so it is also right for quoted strings with
        escapes and for block scalars. If the path does not exist (a missing required field), return
        the place of the nearest enclosing value: its key, or its beginning. An empty value is
        placed at its key.
        """
        return self._locator.locate(self._prefix + tuple(path), key=key, offset=offset)

    def source(self, path: Path) -> Spot | None:
        """Return the value of another file that supplies the value at a path as a whole; None if
        there is none.
        """
        return self._locator.source(self._prefix + tuple(path))

    def line(self, number: int) -> str:
        """Return a line of the file, counted from 1."""
        return self._locator.line(number)

    def excerpt(self, position: Position) -> str:
        """Return the line at which a position begins; the position may be in another file that
        supplies a value of this document.
        """
        homes = (item for item in (self, *self.layers) if item.file == position.file)
        home = next(homes, None)
        return home.line(position.line) if home is not None else ""

    @property
    def text(self) -> str:
        """The whole text of the file, which is the same for all its documents, and which alone
        contains the comments.
        """
        return self._locator.text()

    def __repr__(self) -> str:
        return (
            f"<Document {self.file}[{self.index}] {self.kind} {self.namespace or ''}/{self.name}>"
        )


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


class Inputs(Struct, frozen=True):
    """Everything that was loaded, in a stable order."""

    documents: tuple[Document, ...]
    broken: tuple[Broken, ...]
    skipped: tuple[Skipped, ...]
    files: int
    """The number of files that were examined."""
    digests: dict[str, str] = {}
    """The digests of the files' bytes, by name, for files that may concern DRA."""
    folders: tuple[str, ...] = ()
    """Folders that were walked."""
    undecided: tuple[str, ...] = ()
    """Files that were not parsed or rendered whole, and so may define objects of any name."""
    around: frozenset[str] = frozenset()
    """Files that nobody asked about, but whose objects the other files may refer to."""
    kustomizations: tuple[str, ...] = ()
    """The kustomizations of ``around``."""
    beyond: tuple[str, ...] = ()
    """Files that would be in ``around``, but were not read because they are too many or too
    large.
    """
    appliers: tuple[str, ...] = ()
    """Files with objects of Flux or Argo CD, which apply other files."""
    definitions: tuple[DefinitionFile, ...] = ()

    @property
    def unread(self) -> tuple[Skipped, ...]:
        """The paths that could not be read."""
        return tuple(item for item in self.skipped if item.unread)


MAX_LIST_DEPTH = 8


def expand(document: Document, depth: int = 0) -> Iterable[Document]:
    """Return the document, or the items if it is a ``List`` or a typed ``*List``, as kubectl
    flattens them.

    Items of a typed list without apiVersion or kind inherit them (``ResourceClaimList``:
    ``ResourceClaim``), as apimachinery's unstructured decoder does
    (pkg/apis/meta/v1/unstructured/helpers.go decodeToList). Items that are not objects are included
    so that they can be reported; their value is not a dict.
    """
    kind = document.kind or ""
    items = (
        document.value.get("items") if kind.endswith("List") and depth <= MAX_LIST_DEPTH else None
    )
    return _items(document, kind, items, depth) if isinstance(items, list) else (document,)


def _items(document: Document, kind: str, items: list[Any], depth: int) -> Iterator[Document]:
    value = document.value
    inherited = (
        {"apiVersion": value.get("apiVersion"), "kind": kind[: -len("List")]}
        if kind != "List"
        else {}
    )
    metadata = value.get("metadata")
    paged = document.paged or (isinstance(metadata, dict) and bool(metadata.get("continue")))
    for number, item in enumerate(items):
        if (
            isinstance(item, dict)
            and inherited
            and not (item.get("kind") and item.get("apiVersion"))
        ):
            missing = {
                name: text for name, text in inherited.items() if text and not item.get(name)
            }
            item = {**item, **missing}  # noqa: PLW2901
        prefix = (*document._prefix, "items", number)
        inner = document.another(item, document._locator, prefix=prefix, paged=paged)
        if inner.kind is not None and inner.kind.endswith("List"):
            yield from expand(inner, depth + 1)
        else:
            yield inner
