"""What the manifests of a repository hold, so that some of its files are judged as in a run of all.

Each file is read once, and remembered with its size and times: in the process, and in the user's cache from one run to
the next.
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
_MAX_LOOSE = 5_000
"""Of a folder that is no repository."""
_DUMP = 1024 * 1024
"""Bytes of a file that is no manifest of a folder that is no repository, but a dump beside it."""
_SETTLED = 2.0
"""Seconds after which a file that changes has another time, on any file system."""
_FIELDS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}
_USABLE = frozenset({"DeviceClass", *_FIELDS.values()})
"""The kinds of objects that others name."""

Name = tuple[str, str]
"""The kind and the name of an object."""
_DEFINITION = "CustomResourceDefinition"
_LABELS: Name = ("Namespace", "")
"""Stands for all that tells the labels of namespaces."""
_DRIVERS: Name = ("ResourceSlice", "")
"""Stands for all that tells what drivers publish: slices, and what :mod:`dractl.lint.evidence` reads."""


class Part(Struct, frozen=True, array_like=True):
    """A manifest: its size and times in nanoseconds, the names of its objects that others may use, and those that its
    objects use.

    ``parts``: the files and folders that a kustomization consists of, and ``affix`` what it adds to their names.
    ``undecided``: it is a template, or not YAML, and may define anything. ``applies``: it has objects of Flux or Argo
    CD, which apply other files.
    """

    state: tuple[int, int, int]
    defines: tuple[Name, ...] = ()
    uses: tuple[Name, ...] = ()
    parts: tuple[str, ...] = ()
    undecided: bool = False
    affix: tuple[str, str] = ("", "")
    applies: bool = False

    @property
    def matters(self) -> bool:
        return bool(self.defines or self.uses or self.parts or self.undecided)


State = tuple[int, int, int]
"""The size of a file, and its times in nanoseconds."""


class Index(Struct, frozen=True):
    """The manifests of a repository by absolute path, and the paths of those that there was no time to read."""

    parts: Mapping[str, Part]
    unread: Sequence[str] = ()


class _Kept(Struct, frozen=True, array_like=True):
    format: str
    top: str
    parts: dict[str, Part]


class Repositories:
    """The manifests of repositories, remembered in ``store``; ``exclude`` and ``gitignore`` as in :func:`listed`."""

    def __init__(
        self, store: Store | None = None, exclude: Sequence[str] = (), *, gitignore: bool = True
    ) -> None:
        self._store = store
        self._exclude = exclude
        self._gitignore = gitignore
        self._parts: dict[str, dict[str, Part]] = {}

    def parts(self, top: str, files: Collection[str] = ()) -> Index:
        """The manifests below a folder by absolute path, in the order of a run of all, as far as a budget reaches: those
        near some ``files`` first."""
        if top not in self._parts:
            self._parts[top] = self._kept(top)
        known, now = self._parts[top], time.time_ns()
        states = self._states(top)
        found = {
            path: known[path] for path, state in states.items() if _is_same(known, path, state)
        }
        changed = [path for path in states if path not in found]
        budget, kustomizations = Budget(), Kustomizations()
        unread: list[str] = []
        for path in sort_by_distance(changed, files) if changed else ():
            # Files that were asked about are read in any case.
            part = _part(path, states[path], kustomizations, None if path in files else budget)
            if part is None:
                unread.append(path)
            else:
                found[path] = part
        found = {path: found[path] for path in states if path in found}
        self._parts[top] = found
        if self._store is not None and found != known:
            settled = now - int(_SETTLED * 1e9)
            kept = {path: part for path, part in found.items() if max(part.state[1:]) < settled}
            with suppress(UnicodeEncodeError):  # the name of a file is not UTF-8
                self._store.put(_key(top), msgspec.msgpack.encode(_Kept(_FORMAT, top, kept)))
        return Index(found, unread)

    def _states(self, top: str) -> dict[str, State]:
        """The sizes and times of the manifests below a folder."""
        versioned = os.path.exists(os.path.join(top, ".git"))
        entries = _listed(top, self._exclude, gitignore=self._gitignore)
        return {
            entry.path: (entry.status.st_size, entry.status.st_mtime_ns, entry.status.st_ctime_ns)
            for entry in islice(entries, _MAX_FILES if versioned else _MAX_LOOSE)
            if isinstance(entry, Entry)
            and entry.status is not None
            and (versioned or entry.status.st_size <= _DUMP)
        }

    def _kept(self, top: str) -> dict[str, Part]:
        data = self._store.get(_key(top)) if self._store is not None else None
        try:
            kept = msgspec.msgpack.decode(data or b"", type=_Kept)
        except msgspec.MsgspecError:
            return {}
        return kept.parts if (kept.format, kept.top) == (_FORMAT, top) else {}


def _listed(top: str, exclude: Sequence[str], *, gitignore: bool) -> Iterator[Entry | Skipped]:
    """The manifests of a repository, or of the working directory; those in any other folder, not below it."""
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


def _part(
    path: str, state: State, kustomizations: Kustomizations, budget: Budget | None
) -> Part | None:
    """What a file defines and uses; None if the budget is too small for it."""
    if budget is not None and not budget.scan(state[0]):
        return None
    own = kustomizations.kustomization(os.path.dirname(path)) if is_kustomization(path) else None
    parts = tuple(sorted(own.resources | own.patches)) if own is not None else ()
    affix = own.affix if own is not None else ("", "")
    data = read_file(path) or b""
    applies = names_applier(data)
    if not is_relevant(data):
        return Part(state, parts=parts, affix=affix, applies=applies)
    if budget is not None and not budget.parse(state[0]):
        return None
    choice = FileFilter(changed_files=True)
    inputs = load_readable([path], choice=choice, render=lambda _: (Rendered(None),))
    names = names_of(inputs, readings(inputs.documents, kustomizations))
    return Part(
        state, tuple(names.defined), tuple(names.used), parts, bool(names.undecided), affix, applies
    )


class Names(Struct, frozen=True):
    """The names that an input defines, with their files, and those that it uses. ``through``: what the files that
    define something use, since who uses their objects asks for that, too. ``undecided`` as in :class:`Part`."""

    defined: Mapping[Name, Collection[str]]
    used: Collection[Name]
    through: Mapping[str, Collection[Name]]
    undecided: Sequence[str]


def names_of(inputs: Inputs, readable: Iterable[Reading]) -> Names:
    """The names in an input; prose defines nothing for others."""
    defined: defaultdict[Name, dict[str, None]] = defaultdict(
        dict
    )  # with files in order, each once
    used: defaultdict[str, list[Name]] = defaultdict(list)
    for file, documents in groupby(inputs.documents, attrgetter("file")):
        if file.endswith(SUFFIXES):
            continue
        together = list(documents)
        if any(map(tells_labels, together)):
            defined[_LABELS][file] = None
        if evidence_of(together) != NOTHING:
            defined[_DRIVERS][file] = None
    for source in inputs.definitions:
        for group_name in groups_in(source):
            defined[_DEFINITION, group_name][source.name] = None
    for reading in readable:
        document = reading.document
        used[document.file] += _used(reading)
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


def _used(reading: Reading) -> Iterator[Name]:
    """What judgements about a document ask others for."""
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
                (kind, name) for field, kind in _FIELDS.items() if (name := text(entry.get(field)))
            )


def surrounded(
    inputs: Inputs, repositories: Repositories, render: Renderer | None = None
) -> Inputs:
    """The input with those files of its repositories that the findings in it depend on, in the order of a run of all.

    ``render`` as in :func:`load_readable`.
    """
    rank: dict[str, int] = {}
    around: list[str] = []
    unasked: set[str] = set()
    found = inputs
    for top, files in _homes(inputs).items():
        index = repositories.parts(top, files)
        parts = index.parts
        rank |= {path: len(rank) + at for at, path in enumerate(parts)}
        own = (document for document in inputs.documents if os.path.abspath(document.file) in files)
        needed = _Needed(parts)
        needed.belonging(files)
        together = frozenset(needed.files)
        used = [name for reading in readings(own, Kustomizations()) for name in _used(reading)]
        needed.named(used)
        wanted = [path for path in parts if path in needed.files and path not in files]
        nearest = sort_by_distance(wanted, files)
        nearest.sort(key=lambda path: path not in together)
        budget = Budget()
        near = {path for path in nearest if budget.parse(parts[path].state[0])}
        around += [path for path in wanted if path in near]
        skipped = [*index.unread, *(path for path in wanted if path not in near)]
        unread = _naming(skipped, used, parts)
        undecided = [path for path, part in parts.items() if part.undecided and path not in files]
        appliers = [path for path, part in parts.items() if part.applies]
        if appliers:  # what they apply may have any file of the repository
            unasked |= {display_path(path) for path in parts if path not in files}
        found = replace(
            found,
            undecided=(*found.undecided, *map(display_path, undecided), *map(display_path, unread)),
            kustomizations=(*found.kustomizations, *map(display_path, needed.kustomizations)),
            beyond=(*found.beyond, *map(display_path, unread)),
            appliers=tuple(dict.fromkeys((*found.appliers, *map(display_path, appliers)))),
        )
    if not rank:
        return found
    charts = {_chart(os.path.abspath(name)) for name in inputs.digests}
    more = load_readable(
        list(map(display_path, around)),
        choice=FileFilter(changed_files=True),
        render=lambda chart: (
            render(chart) if render and os.path.abspath(chart) in charts else (Rendered(None),)
        ),
    )
    documents = [*inputs.documents, *more.documents]
    documents.sort(key=lambda document: rank.get(os.path.abspath(document.file), -1))
    others = {chart_of(path) for path in around} - charts - {None}
    values = {display_path(os.path.join(str(chart), "values.yaml")) for chart in others}
    return replace(
        found,
        documents=tuple(documents),
        definitions=(*inputs.definitions, *more.definitions),
        around=frozenset({*more.digests, *values, *unasked} - {*inputs.digests}),
    )


def _naming(paths: Sequence[str], used: Iterable[Name], parts: Mapping[str, Part]) -> list[str]:
    """The files among those that were not read that may define a name which nothing that was read defines: it stands in
    their bytes, or they are too large even to search."""
    defined = {name for part in parts.values() for name in part.defines} if paths else ()
    names = [text.encode() for kind, text in used if text and (kind, text) not in defined]
    budget = Budget()
    found: list[str] = []
    for path in paths if names else ():
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        data = read_file(path) if budget.scan(size) else None
        if data is None or any(name in data for name in names):
            found.append(path)
    return found


def _chart(path: str) -> str | None:
    """The folder of the chart that a template or values, by absolute path, are of."""
    return os.path.dirname(path) if is_values(path) else chart_of(path)


class Others(Struct, frozen=True):
    """What matters to a share of an input among the files of the shares before it, or of those after it: files that
    define what it uses, and files that may define anything."""

    files: Sequence[str]
    undecided: Sequence[str]


def others_of(shares: Sequence[Names]) -> list[tuple[Others, Others]]:
    """What matters to each share of an input before and after it, by the names in all shares."""
    return [
        (_others(share, shares[:at]), _others(share, shares[at + 1 :]))
        for at, share in enumerate(shares)
    ]


def _others(share: Names, side: Sequence[Names]) -> Others:
    found: set[str] = set()
    seen: set[Name] = set()
    open_ = list(share.used)
    while open_:
        name = open_.pop()
        if name not in seen:
            seen.add(name)
            for other in side:
                files = other.defined.get(name, ())
                found.update(files)
                open_ += (used for file in files for used in other.through[file])
    files = [file for other in side for file in other.through if file in found]
    return Others(files, [file for other in side for file in other.undecided])


def among(
    others: tuple[Others, Others],
    inputs: Inputs,
    readable: Sequence[Reading],
    kustomizations: Kustomizations,
) -> tuple[Inputs, list[Reading]]:
    """A share of an input with what matters to it of the others, and how its documents are read."""
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
    """The files of an input by repository, without those of repositories that the input has as a whole."""
    folders: dict[str, list[str]] = {}
    for path in inputs.digests:
        folders.setdefault(os.path.dirname(path), []).append(path)
    found: dict[str, set[str]] = {}
    for folder, files in folders.items():
        top = repository(os.path.abspath(folder))
        if not _within(top, inputs.folders):
            found.setdefault(top, set()).update(filter(os.path.isfile, map(os.path.abspath, files)))
    return {top: files for top, files in found.items() if files}


def _within(top: str, folders: Iterable[str]) -> bool:
    return os.path.join(top, "").startswith(
        tuple(os.path.join(os.path.abspath(folder), "") for folder in folders)
    )


def is_whole(paths: Iterable[str]) -> bool:
    """True if paths are folders with all of their repositories."""
    return all(
        os.path.isdir(path) and _within(repository(os.path.abspath(path)), [path]) for path in paths
    )


class _Needed:
    """The files of a repository that judgements about some of them depend on."""

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

    def belonging(self, files: Iterable[str]) -> None:
        """What belongs together with files: in a folder, a kustomization or a chart."""
        read = Kustomizations()
        folders: dict[str, list[str]] = {}
        charts: dict[str | None, list[str]] = {}
        for path in self._parts:
            folders.setdefault(os.path.dirname(path), []).append(path)
            charts.setdefault(chart_of(path), []).append(path)
        for path in files:
            home, naming, chart = read.home_of(path), read.naming(path), _chart(path)
            near = (
                folders.get(os.path.dirname(path), ())
                if naming is None
                else naming.resources | naming.patches
            )
            self.files.update(item for item in near if read.home_of(item) == home)
            if chart is not None:
                self.files.update(charts.get(chart, ()))
        self._built(files)

    def _built(self, files: Iterable[str]) -> None:
        """The kustomizations that consist of some of the files, and all that these consist of."""
        wholes = self._wholes
        found: dict[str, None] = {}
        above = [
            path
            for file in files
            for path in (file, *wholes.get(file, ()))
            if is_kustomization(path)
        ]
        while above:
            path = above.pop()
            if path not in found:
                found[path] = None
                above += wholes.get(os.path.dirname(path), ())
        below = list(found)
        while below:
            path = below.pop()
            if path in self._parts:
                self.files.add(path)
            for item in self._parts[path].parts if path in self._parts else ():
                inner = [os.path.join(item, name) for name in NAMES]
                new = [path for path in inner if path in self._parts and path not in found]
                found |= dict.fromkeys(new)
                below += [item, *new]
        self._found.update(found)

    def named(self, wanted: Iterable[Name]) -> None:
        """The files with the objects of these names, and with those that these use in turn."""
        definitions: dict[Name, list[str]] = {}
        for path, part in self._parts.items():
            for name in part.defines:
                definitions.setdefault(name, []).append(path)
        open_ = [
            *wanted,
            *(
                name
                for path in self.files
                if path in self._parts
                for name in self._parts[path].uses
            ),
        ]
        unfinished = [name for name in definitions if "${" in name[1]]
        seen: set[Name] = set()
        while open_:
            name = open_.pop()
            if name not in seen:
                seen.add(name)
                open_ += (
                    other
                    for other in unfinished
                    if other[0] == name[0] and may_become(other[1], name[1])
                )
                found = definitions.get(name, ())
                self.files.update(found)
                self._built(self._making(name, definitions) if not found else ())
                open_ += (item for path in found for item in self._parts[path].uses)

    def _making(self, name: Name, definitions: Container[Name]) -> list[str]:
        """The kustomizations that make an object of this name of one with another."""
        kind, text = name
        found = []
        for path, (before, behind) in self._naming.items():
            inside = text[len(before) : len(text) - len(behind)]
            made = inside and text == f"{before}{inside}{behind}"
            if made and (
                (kind, inside) in definitions or self._making((kind, inside), definitions)
            ):
                found.append(path)
        return found


def repository(folder: str) -> str:
    """The top of the repository of a folder; of one in none, the working directory if that is above and not the
    user's home, else itself."""
    top = folder
    while not os.path.exists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            here = os.getcwd()
            below = folder.startswith(os.path.join(here, "")) and here not in (
                top,
                os.path.expanduser("~"),
            )
            return here if below else folder
        top = parent
    return top
