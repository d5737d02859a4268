"""The content of the manifests of a repository, so that linting some of the files gives the same
findings for these files as linting all files.

Each file is read once, and remembered with its size and times: in the process, and in the user's
cache from one run to the next.
"""

import os
import time
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import groupby, islice
from operator import attrgetter

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dractl import __version__
from dractl.lint.evidence import NOTHING, evidence_of
from dractl.lint.foreign_pods import needs_schema
from dractl.lint.namespaces import tells_labels
from dractl.lint.nearby import Budget, sort_by_distance
from dractl.lint.placeholders import may_become
from dractl.lint.pod_schemas import groups_in
from dractl.lint.reading import Reading, readings
from dractl.lint.relevance import class_mappings, group
from dractl.lint.store import Store
from dractl.manifests import Inputs, Skipped
from dractl.manifests.content import MANIFEST_SUFFIXES, read_file
from dractl.manifests.files import Entry, list_files
from dractl.manifests.kustomize import NAMES, Kustomizations, is_kustomization
from dractl.manifests.load import FileFilter, is_relevant, load_readable, names_applier
from dractl.manifests.markdown import SUFFIXES
from dractl.manifests.naming import display_path
from dractl.manifests.rendered import Rendered, Renderer
from dractl.manifests.templates import chart_of, is_values
from dractl.objects import text

_FORMAT = f"6 {__version__}"
_MAX_FILES = 50_000
_MAX_FILES_WITHOUT_REPOSITORY = 5_000
"""The number of files that are read in a folder that is no repository."""
_MAX_BYTES_WITHOUT_REPOSITORY = 1024 * 1024
"""The size from which a file of such a folder counts as a dump, not as a manifest."""
_SETTLED_SECONDS = 2.0
"""The seconds after which a further change of a file gives it another time stamp, on any file
system.
"""
CLAIM_FIELDS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}
"""The kinds of objects that an entry of a pod's claims can name, by the field of the entry."""
_USABLE = frozenset({"DeviceClass", *CLAIM_FIELDS.values()})
"""The kinds of objects that others name."""

Name = tuple[str, str]
"""The kind and the name of an object."""
_DEFINITION = "CustomResourceDefinition"
_LABELS: Name = ("Namespace", "")
"""Stands for every object that shows the labels of namespaces."""
_DRIVERS: Name = ("ResourceSlice", "")
"""Stands for every object that shows what drivers publish: slices, and the objects that
:mod:`dractl.lint.evidence` reads.
"""


class Part(Struct, frozen=True, array_like=True):
    """A manifest, with the names that connect it to others."""

    state: tuple[int, int, int]
    """The size of the file, and its times in nanoseconds."""
    defines: tuple[Name, ...] = ()
    """The names of its objects that others may use."""
    uses: tuple[Name, ...] = ()
    """The names that its objects use."""
    parts: tuple[str, ...] = ()
    """The files and folders that a kustomization consists of."""
    undecided: bool = False
    """True if it is a template, or not YAML, and so may define objects of any name."""
    affix: tuple[str, str] = ("", "")
    """The prefix and suffix that a kustomization adds to names."""
    applies: bool = False
    """True if it has objects of Flux or Argo CD, which apply other files."""

    @property
    def matters(self) -> bool:
        return bool(self.defines or self.uses or self.parts or self.undecided)


State = tuple[int, int, int]
"""The size of a file, and its times in nanoseconds."""


class Index(Struct, frozen=True):
    """The manifests of a repository."""

    parts: Mapping[str, Part]
    """The manifests by absolute path."""
    unread: Sequence[str] = ()
    """The paths for which the budget of time was not enough."""


class _StoredIndex(Struct, frozen=True, array_like=True):
    format: str
    top: str
    parts: dict[str, Part]


class Repositories:
    """The manifests of repositories, cached in ``store``. ``exclude`` and ``gitignore`` have the
    meaning of :func:`listed`.
    """

    def __init__(
        self, store: Store | None = None, exclude: Sequence[str] = (), *, gitignore: bool = True
    ) -> None:
        self._store = store
        self._exclude = exclude
        self._gitignore = gitignore
        self._parts: dict[str, dict[str, Part]] = {}

    def parts(self, top: str, files: Collection[str] = ()) -> Index:
        """Return the manifests below a folder by absolute path, in the order of a run over all
        files. If the budget is not enough for all manifests, the ones near ``files`` come first.
        """
        if top not in self._parts:
            self._parts[top] = self._load_parts(top)
        remembered, now = self._parts[top], time.time_ns()
        states = self._states(top)
        current = {
            path: remembered[path]
            for path, state in states.items()
            if _is_same(remembered, path, state)
        }
        changed = [path for path in states if path not in current]
        budget, kustomizations = Budget(), Kustomizations()
        unread: list[str] = []
        for path in sort_by_distance(changed, files) if changed else ():
            # Files that the user named are read in any case.
            part = _read_part(path, states[path], kustomizations, None if path in files else budget)
            if part is None:
                unread.append(path)
            else:
                current[path] = part
        current = {path: current[path] for path in states if path in current}
        self._parts[top] = current
        if self._store is not None and current != remembered:
            settled = now - int(_SETTLED_SECONDS * 1e9)
            stored = {path: part for path, part in current.items() if max(part.state[1:]) < settled}
            with suppress(UnicodeEncodeError):  # the name of a file is not UTF-8
                self._store.put(
                    _key(top), msgspec.msgpack.encode(_StoredIndex(_FORMAT, top, stored))
                )
        return Index(current, unread)

    def files_defining(self, file: str, name: Name) -> list[str]:
        """Return the files of the repository of a file that define a name, by absolute path."""
        path = os.path.abspath(file)
        index = self.parts(repository(os.path.dirname(path)), [path])
        return [path for path, part in index.parts.items() if name in part.defines]

    def _states(self, top: str) -> dict[str, State]:
        """Return the sizes and times of the manifests below a folder."""
        versioned = os.path.exists(os.path.join(top, ".git"))
        entries = _list_manifests(top, self._exclude, gitignore=self._gitignore)
        return {
            entry.path: (entry.status.st_size, entry.status.st_mtime_ns, entry.status.st_ctime_ns)
            for entry in islice(entries, _MAX_FILES if versioned else _MAX_FILES_WITHOUT_REPOSITORY)
            if isinstance(entry, Entry)
            and entry.status is not None
            and (versioned or entry.status.st_size <= _MAX_BYTES_WITHOUT_REPOSITORY)
        }

    def _load_parts(self, top: str) -> dict[str, Part]:
        data = self._store.get(_key(top)) if self._store is not None else None
        try:
            kept = msgspec.msgpack.decode(data or b"", type=_StoredIndex)
        except msgspec.MsgspecError:
            return {}
        return kept.parts if (kept.format, kept.top) == (_FORMAT, top) else {}


def _list_manifests(
    top: str, exclude: Sequence[str], *, gitignore: bool
) -> Iterator[Entry | Skipped]:
    """Yield the manifests of a repository or of the working directory; in any other folder, yield
    only the files directly in it.
    """
    if os.path.exists(os.path.join(top, ".git")) or top == os.getcwd():
        yield from list_files([top], exclude, gitignore=gitignore)
        return
    with suppress(OSError):
        files = sorted(
            os.path.join(top, name) for name in os.listdir(top) if name.endswith(MANIFEST_SUFFIXES)
        )
        yield from list_files(list(filter(os.path.isfile, files)), exclude)


def _key(top: str) -> str:
    return blake2b(os.fsencode(top), digest_size=16).hexdigest()


def _is_same(known: Mapping[str, Part], path: str, state: State) -> bool:
    return path in known and known[path].state == state


def _read_part(
    path: str, state: State, kustomizations: Kustomizations, budget: Budget | None
) -> Part | None:
    """Return the names that a file defines and uses; None if the budget is too small for it."""
    if budget is not None and not budget.scan(state[0]):
        return None
    kustomization = (
        kustomizations.kustomization(os.path.dirname(path)) if is_kustomization(path) else None
    )
    parts = (
        tuple(sorted(kustomization.resources | kustomization.patches))
        if kustomization is not None
        else ()
    )
    affix = kustomization.affix if kustomization is not None else ("", "")
    data = read_file(path) or b""
    applies = names_applier(data)
    if not is_relevant(data):
        return Part(state, parts=parts, affix=affix, applies=applies)
    if budget is not None and not budget.parse(state[0]):
        return None
    inputs = load_unrendered([path])
    names = names_of(inputs, readings(inputs.documents, kustomizations))
    return Part(
        state, tuple(names.defined), tuple(names.used), parts, bool(names.undecided), affix, applies
    )


def load_unrendered(paths: Sequence[str]) -> Inputs:
    """Read files as they are written, without rendering their charts."""
    return load_readable(
        paths, choice=FileFilter(changed_files=True), render=lambda _: (Rendered(None),)
    )


class Names(Struct, frozen=True):
    """The names of an input."""

    defined: Mapping[Name, Collection[str]]
    """The names that it defines, with their files."""
    used: Collection[Name]
    """The names that it uses."""
    through: Mapping[str, Collection[Name]]
    """The names that each defining file uses itself, by file: whoever uses its objects needs these
    names as well.
    """
    undecided: Sequence[str]
    """The files that may define objects of any name."""


def names_of(inputs: Inputs, readable: Iterable[Reading]) -> Names:
    """Return the names in an input; examples in prose define nothing for other files."""
    defined: defaultdict[Name, dict[str, None]] = defaultdict(
        dict
    )  # the keys of a value are files: each occurs once, and they keep their order
    used: defaultdict[str, list[Name]] = defaultdict(list)
    for file, documents in groupby(inputs.documents, attrgetter("file")):
        if file.endswith(SUFFIXES):
            continue
        together = list(documents)
        if any(map(tells_labels, together)):
            defined[_LABELS][file] = None
        if evidence_of(together) != NOTHING:
            defined[_DRIVERS][file] = None
    for definition in inputs.definitions:
        for group_name in groups_in(definition.read()):
            defined[_DEFINITION, group_name][definition.name] = None
    for reading in readable:
        document = reading.document
        used[document.file] += _list_uses(reading)
        if document.file.endswith(SUFFIXES):
            continue
        if document.kind == "ResourceSlice":
            defined[_DRIVERS][document.file] = None
        elif document.kind in _USABLE and document.name and not reading.patch:
            defined[document.kind, document.name][document.file] = None
    defining = {file for files in defined.values() for file in files}
    through = {file: used[file] for file in inputs.digests if file in defining}
    return Names(
        defined, {name for names in used.values() for name in names}, through, inputs.undecided
    )


def _list_uses(reading: Reading) -> Iterator[Name]:
    """Yield the names on which judgements about a document depend, and that other documents may
    define.
    """
    subject = reading.subject
    yield _DRIVERS
    if reading.foreign and needs_schema(reading.document):
        yield _DEFINITION, group(reading.document.value)
    for _, name in class_mappings(subject.value):
        yield "DeviceClass", name
    for request in subject.claim.alternatives if subject.claim else ():
        yield "DeviceClass", request.device_class
        if "adminAccess" in request.fields:
            yield _LABELS
    for pod in subject.pods:
        for _, entry in pod.claims:
            yield from (
                (kind, name)
                for field, kind in CLAIM_FIELDS.items()
                if (name := text(entry.get(field)))
            )


class _Neighbours(Struct, frozen=True):
    """The files of one repository on which the findings in some of its files depend."""

    files: Sequence[str]
    """The neighbours to read, in the order of the repository."""
    kustomizations: Sequence[str]
    """The kustomizations among the files that are needed."""
    unread: Sequence[str]
    """Files that may define a name, and are too large or too many to be read."""
    undecided: Sequence[str]
    """Files that may define objects of any name once they are rendered."""
    appliers: Sequence[str]
    """Files with a Flux or Argo CD applier."""


def _find_neighbours(inputs: Inputs, files: Collection[str], index: Index) -> _Neighbours:
    """Find the neighbours of some files; the nearest ones if there are too many to read."""
    parts = index.parts
    needed = _NeededFiles(parts)
    needed.add_belonging(files)
    together = frozenset(needed.files)
    has_others = bool(index.unread) or not parts.keys() <= set(files)
    used_names = _list_used_names(inputs, files) if has_others else []
    needed.add_named(used_names)
    wanted_paths = [path for path in parts if path in needed.files and path not in files]
    by_distance = sort_by_distance(wanted_paths, files)
    by_distance.sort(key=lambda path: path not in together)
    budget = Budget()
    affordable = {path for path in by_distance if budget.parse(parts[path].state[0])}
    skipped = [*index.unread, *(path for path in wanted_paths if path not in affordable)]
    return _Neighbours(
        [path for path in wanted_paths if path in affordable],
        needed.kustomizations,
        _may_define(skipped, used_names, parts),
        [path for path, part in parts.items() if part.undecided and path not in files],
        [path for path, part in parts.items() if part.applies],
    )


def _list_used_names(inputs: Inputs, files: Collection[str]) -> list[Name]:
    """Return the names that the documents of some files use."""
    own_documents = (
        document for document in inputs.documents if os.path.abspath(document.file) in files
    )
    return [
        name
        for reading in readings(own_documents, Kustomizations())
        for name in _list_uses(reading)
    ]


def add_neighbours(
    inputs: Inputs, repositories: Repositories, render: Renderer | None = None
) -> Inputs:
    """Add the files on which the findings in an input depend, in the order of a run over all files
    of its repositories.

    ``render`` has the meaning of :func:`load_readable`.
    """
    rank: dict[str, int] = {}
    paths: list[str] = []
    applicable: set[str] = set()
    whole = inputs
    for top, files in _homes(inputs).items():
        index = repositories.parts(top, files)
        rank |= {path: len(rank) + at for at, path in enumerate(index.parts)}
        neighbours = _find_neighbours(inputs, files, index)
        paths += neighbours.files
        if neighbours.appliers:  # the appliers may apply any file of the repository
            applicable |= {display_path(path) for path in index.parts if path not in files}
        whole = _note_neighbours(whole, neighbours)
    return _load_neighbours(whole, paths, rank, applicable, render) if rank else whole


def _note_neighbours(inputs: Inputs, neighbours: _Neighbours) -> Inputs:
    """Return the input with the names of its neighbours that matter to findings."""
    unread = tuple(map(display_path, neighbours.unread))
    return replace(
        inputs,
        undecided=(*inputs.undecided, *map(display_path, neighbours.undecided), *unread),
        kustomizations=(*inputs.kustomizations, *map(display_path, neighbours.kustomizations)),
        beyond=(*inputs.beyond, *unread),
        appliers=tuple(dict.fromkeys((*inputs.appliers, *map(display_path, neighbours.appliers)))),
    )


def _load_neighbours(
    inputs: Inputs,
    paths: Sequence[str],
    rank: Mapping[str, int],
    applicable: Iterable[str],
    render: Renderer | None,
) -> Inputs:
    """Add the documents of neighbours to an input; all documents are sorted by the rank of their
    files.
    """
    charts = {_chart(os.path.abspath(name)) for name in inputs.digests}
    more = load_readable(
        list(map(display_path, paths)),
        choice=FileFilter(changed_files=True),
        render=lambda chart: (
            render(chart) if render and os.path.abspath(chart) in charts else (Rendered(None),)
        ),
    )
    documents = [*inputs.documents, *more.documents]
    documents.sort(key=lambda document: rank.get(os.path.abspath(document.file), -1))
    others = {chart_of(path) for path in paths} - charts - {None}
    values = {display_path(os.path.join(str(chart), "values.yaml")) for chart in others}
    return replace(
        inputs,
        documents=tuple(documents),
        definitions=(*inputs.definitions, *more.definitions),
        around=frozenset({*more.digests, *values, *applicable} - {*inputs.digests}),
    )


def _may_define(paths: Sequence[str], used: Iterable[Name], parts: Mapping[str, Part]) -> list[str]:
    """Return the files among the unread ones that may define a name which nothing else defines.

    Such a file contains the name, or is too large even to be searched.
    """
    defined = {name for part in parts.values() for name in part.defines} if paths else ()
    names = [text.encode() for kind, text in used if text and (kind, text) not in defined]
    budget = Budget()
    candidates: list[str] = []
    for path in paths if names else ():
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        data = read_file(path) if budget.scan(size) else None
        if data is None or any(name in data for name in names):
            candidates.append(path)
    return candidates


def _chart(path: str) -> str | None:
    """Return the folder of the chart to which a template or values file belongs, by
    absolute path.
    """
    return os.path.dirname(path) if is_values(path) else chart_of(path)


class Needs(Struct, frozen=True):
    """The files of other batches that matter to a batch of an input."""

    files: Sequence[str]
    """The files that define a name which the batch uses."""
    undecided: Sequence[str]
    """The files that may define objects of any name."""


def needs_of_batches(shares: Sequence[Names]) -> list[tuple[Needs, Needs]]:
    """Return, for each batch, the files that matter to it, judged by the names in files: first
    files of earlier batches, then files of later batches.
    """
    return [
        (_needs(share, shares[:at]), _needs(share, shares[at + 1 :]))
        for at, share in enumerate(shares)
    ]


def _needs(share: Names, side: Sequence[Names]) -> Needs:
    needed_files: set[str] = set()
    visited: set[Name] = set()
    queue = list(share.used)
    while queue:
        name = queue.pop()
        if name not in visited:
            visited.add(name)
            for other in side:
                files = other.defined.get(name, ())
                needed_files.update(files)
                queue += (used for file in files for used in other.through[file])
    files = [file for other in side for file in other.through if file in needed_files]
    return Needs(files, [file for other in side for file in other.undecided])


def add_needs(
    others: tuple[Needs, Needs],
    inputs: Inputs,
    readable: Sequence[Reading],
    kustomizations: Kustomizations,
) -> tuple[Inputs, list[Reading]]:
    """Add to a batch of an input the files of other batches that matter to it, and return its
    documents as they are read.
    """
    before, after = (
        load_readable(side.files, choice=FileFilter(changed_files=True)) for side in others
    )
    whole = replace(
        inputs,
        documents=(*before.documents, *inputs.documents, *after.documents),
        undecided=(*others[0].undecided, *inputs.undecided, *others[1].undecided),
        around=frozenset((*before.digests, *after.digests)),
        definitions=(*before.definitions, *inputs.definitions, *after.definitions),
    )
    return whole, [
        *readings(before.documents, kustomizations),
        *readable,
        *readings(after.documents, kustomizations),
    ]


def _homes(inputs: Inputs) -> dict[str, set[str]]:
    """Return the files of an input by repository; a repository that the input contains as a whole
    has none.
    """
    folders: dict[str, list[str]] = {}
    for path in inputs.digests:
        folders.setdefault(os.path.dirname(path), []).append(path)
    homes: dict[str, set[str]] = {}
    for folder, files in folders.items():
        top = repository(os.path.abspath(folder))
        if not _is_within(top, inputs.folders):
            homes.setdefault(top, set()).update(filter(os.path.isfile, map(os.path.abspath, files)))
    return {top: files for top, files in homes.items() if files}


def _is_within(top: str, folders: Iterable[str]) -> bool:
    return os.path.join(top, "").startswith(
        tuple(os.path.join(os.path.abspath(folder), "") for folder in folders)
    )


def is_whole(paths: Iterable[str]) -> bool:
    """Return True if every path is a folder that contains its whole repository."""
    return all(
        os.path.isdir(path) and _is_within(repository(os.path.abspath(path)), [path])
        for path in paths
    )


class _NeededFiles:
    """The files of a repository on which judgements about some of its files depend."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = {path: part for path, part in parts.items() if part.matters}
        self.files: set[str] = set()
        self._found: set[str] = set()
        self._naming = {
            path: part.affix for path, part in self._parts.items() if part.affix != ("", "")
        }
        self._wholes: dict[str, list[str]] = {}
        for path, part in self._parts.items():
            for item in part.parts:
                self._wholes.setdefault(item, []).append(path)

    @property
    def kustomizations(self) -> list[str]:
        """The kustomizations that are needed, in the order of the files."""
        return [path for path in self._parts if path in self._found]

    def add_belonging(self, files: Iterable[str]) -> None:
        """Add the files that belong together with some files: in the same folder, kustomization or
        chart.
        """
        kustomizations = Kustomizations()
        folders: dict[str, list[str]] = {}
        charts: dict[str | None, list[str]] = {}
        for path in self._parts:
            folders.setdefault(os.path.dirname(path), []).append(path)
            charts.setdefault(chart_of(path), []).append(path)
        for path in files:
            home, naming, chart = (
                kustomizations.home_of(path),
                kustomizations.naming(path),
                _chart(path),
            )
            near = (
                folders.get(os.path.dirname(path), ())
                if naming is None
                else naming.resources | naming.patches
            )
            self.files.update(item for item in near if kustomizations.home_of(item) == home)
            if chart is not None:
                self.files.update(charts.get(chart, ()))
        self._add_kustomizations(files)

    def _add_kustomizations(self, files: Iterable[str]) -> None:
        """Add the kustomizations that contain some of the files, and all files of these
        kustomizations.
        """
        wholes = self._wholes
        reached: dict[str, None] = {}
        above = [
            path
            for file in files
            for path in (file, *wholes.get(file, ()))
            if is_kustomization(path)
        ]
        while above:
            path = above.pop()
            if path not in reached:
                reached[path] = None
                above += wholes.get(os.path.dirname(path), ())
        below = list(reached)
        while below:
            path = below.pop()
            if path in self._parts:
                self.files.add(path)
            for item in self._parts[path].parts if path in self._parts else ():
                inner = [os.path.join(item, name) for name in NAMES]
                new = [path for path in inner if path in self._parts and path not in reached]
                reached |= dict.fromkeys(new)
                below += [item, *new]
        self._found.update(reached)

    def add_named(self, wanted: Iterable[Name]) -> None:
        """Add the files that define these names. Objects in these files can use further names, so
        add the files that define those names, too.
        """
        definitions: dict[Name, list[str]] = {}
        for path, part in self._parts.items():
            for name in part.defines:
                definitions.setdefault(name, []).append(path)
        queue = [
            *wanted,
            *(
                name
                for path in self.files
                if path in self._parts
                for name in self._parts[path].uses
            ),
        ]
        unfinished = [name for name in definitions if "${" in name[1]]
        visited: set[Name] = set()
        while queue:
            name = queue.pop()
            if name not in visited:
                visited.add(name)
                queue += (
                    other
                    for other in unfinished
                    if other[0] == name[0] and may_become(other[1], name[1])
                )
                defining = definitions.get(name, ())
                self.files.update(defining)
                self._add_kustomizations(
                    self._find_renaming(name, definitions) if not defining else ()
                )
                queue += (item for path in defining for item in self._parts[path].uses)

    def _find_renaming(self, name: Name, definitions: Container[Name]) -> list[str]:
        """Return the kustomizations that make an object of this name by renaming another one."""
        kind, text = name
        kustomizations = []
        for path, (before, behind) in self._naming.items():
            inside = text[len(before) : len(text) - len(behind)]
            matches = inside and text == f"{before}{inside}{behind}"
            if matches and (
                (kind, inside) in definitions or self._find_renaming((kind, inside), definitions)
            ):
                kustomizations.append(path)
        return kustomizations


def repository(folder: str) -> str:
    """Return the top of the repository of a folder.

    Without a repository it is the working directory, if that is above the folder and not the user's
    home; else the folder.
    """
    top = folder
    while not os.path.exists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            working_directory = os.getcwd()
            below = folder.startswith(
                os.path.join(working_directory, "")
            ) and working_directory not in (top, os.path.expanduser("~"))
            return working_directory if below else folder
        top = parent
    return top
