"""Loads the documents of paths."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import InputError
from dractl.manifests import jsontext, markdown, yamltext
from dractl.manifests.content import MANIFEST_SUFFIXES, Content, read_file
from dractl.manifests.definitions import DefinitionFile
from dractl.manifests.documents import Broken, Document, Inputs, Skipped
from dractl.manifests.files import Entry, contents, read_all
from dractl.manifests.jsontext import NotJson
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.naming import display_path, name_paths
from dractl.manifests.rendered import Rendered, Renderer, in_template
from dractl.manifests.source import Source
from dractl.manifests.templates import (
    chart_of,
    fill,
    holds_template,
    is_values,
    is_ytt,
    rendering_hint,
)
from dractl.manifests.text import decode, digest
from dractl.manifests.unrendered import report_unrendered
from dractl.program import program_name

# Byte strings that occur in files about DRA: the group, the kinds (also under a misspelt group),
# and the fields of pods. Searching for each of them is ten times faster than one regular expression
# with alternatives.
_NAMES = (
    b"resource.k8s.io",
    b"resourceClaim",
    b"ResourceClaim",
    b"ResourceSlice",
    b"DeviceClass",
    b"DeviceTaintRule",
    b"ResourcePoolStatusRequest",
    b"deviceClassMappings",  # a field of Kueue's configuration
    b"claimCreationSpec",  # a field of NVIDIA's NIMService
)
_CONTAINER_CLAIMS = rb"""\bclaims["']?\s*:"""  # in a container; its pod may lack resourceClaims
# An extended resource such as example.com/gpu: 1 may be provided by a device class; the port-like
# example.com/app:1 is an image.
_EXTENDED_AMOUNT = rb"""/[\w.-]+(?:["']\s*:\s*|\s*:\s+)["']?[0-9]"""
_EXTENDED = rb"[a-z0-9]\.[a-z0-9.-]+" + _EXTENDED_AMOUNT
_DEFINITION = rb"""(?m)^kind:\s*["']?CustomResourceDefinition\b"""
_ABOUT_DRIVERS = (
    b"DeviceAttributes",
    b"SriovResourceFilter",
    b"TimeSlicingSettings",
    b"MPSSupport",
    b"ClusterQueue",
    b"kind: PriorityClass",
    b"--cloud-provider",
)
"""Words in objects that matter although they do not name DRA: objects that add attributes, values
of a chart with gates of the NVIDIA driver, quotas of Kueue, and priorities and settings for Cluster
Autoscaler.
"""
# The labels of a namespace decide whether its claims may use adminAccess
NAMESPACE = rb"""["']?kind["']?\s*:\s*["']?Namespace(?:List)?\b"""
APPLIER_GROUPS = ("kustomize.toolkit.fluxcd.io/", "argoproj.io/")
"""Groups of objects that apply others to a cluster, of Flux and Argo CD."""
_APPLIERS = tuple(map(str.encode, APPLIER_GROUPS))
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, which cannot be searched as bytes
_LOGS_BEGIN, _LOGS_END = "==== START logs for container ", "==== END logs for container "
_MAX_YAML_FALLBACK = 1024 * 1024
_UNQUOTED_KEY = r"\s*\{\s*[A-Za-z]"  # certainly no JSON
_NO_OBJECT = r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:#[^\n]*\Z|\Z|---(?:\s|\Z)|\.\.\.(?:\s|\Z))"


def load(
    paths: Sequence[str],
    *,
    stdin: bytes | None = None,
    stdin_name: str = "<stdin>",
    exclude: Sequence[str] = (),
    relevant_only: bool = True,
) -> Inputs:
    """Load manifests.

    ``paths`` are files of any name, folders (walked for ``*.yaml``, ``*.yml``, ``*.json``),
    archives (tar, zip, compressed or not; named ``archive/member``) and ``-`` for ``stdin``.
    ``exclude`` are patterns as in .gitignore. With ``relevant_only``, CustomResourceDefinitions and
    files that do not mention DRA are skipped. Raises InputError for a path that is missing, damaged
    or too large, and for a file that cannot be read below a folder.
    """
    inputs = load_readable(
        paths,
        stdin=stdin,
        stdin_name=stdin_name,
        choice=FileFilter(exclude),
        relevant_only=relevant_only,
        digests=relevant_only,
    )
    for item in inputs.unread:
        raise InputError(item.why, place=item.file, hint=item.hint)
    return inputs


class FileFilter(Struct, frozen=True):
    """The choice of the files below the paths that are read."""

    exclude: Sequence[str] = ()
    """Patterns as in .gitignore of files that are left out."""
    changed_files: bool = False
    """True if a path is merely a file that changed, as a pre-commit hook passes it."""
    gitignore: bool = False
    """True to skip files that git ignores, and folders of vendored packages."""
    suffixes: tuple[str, ...] = MANIFEST_SUFFIXES
    """The ends of the names of manifests."""


_NO_FILTER = FileFilter()


def load_readable(
    paths: Sequence[str],
    *,
    stdin: bytes | None = None,
    stdin_name: str = "<stdin>",
    choice: FileFilter = _NO_FILTER,
    relevant_only: bool = True,
    overlay: Mapping[str, bytes] = MappingProxyType({}),
    render: Renderer | None = None,
    digests: bool = True,
) -> Inputs:
    """Load manifests as :func:`load` does, but collect unreadable files in ``Inputs.unread`` and
    load all others.

    Standard input, and a file that is the only path, are taken for manifests. Any part of them that
    is not a Kubernetes object is Broken, whatever it mentions. ``choice`` filters the files that
    are read. ``overlay`` has the contents of files that are not written yet, by name. ``render``
    makes the manifests of a chart, whose templates are skipped otherwise. With ``digests``, each
    loaded file gets its digest; for a dump, this takes a fortieth of the time of an answer.
    """
    contents = read_all(
        name_paths(paths),
        stdin,
        stdin_name,
        choice.exclude,
        force_exclude=choice.changed_files,
        gitignore=choice.gitignore,
        suffixes=choice.suffixes,
    )
    alone = len(paths) == 1 and not choice.changed_files
    loaded = _load_examined(
        map(partial(_examine, overlay, alone, relevant_only), contents),
        relevant_only=relevant_only,
        overlay=overlay,
        render=render,
        digested=digests,
    )
    return replace(loaded, folders=tuple(filter(os.path.isdir, paths)))


class Examined(Struct, frozen=True):
    """A file that was read, with the facts that a search of its bytes shows."""

    content: Content
    is_meant: bool
    """True if the user has declared that the file contains manifests, by naming it."""
    names_dra: bool
    is_relevant: bool
    """True if the file may concern DRA."""
    is_applier: bool
    """True if the file may have objects of Flux or Argo CD."""


def _examine(
    overlay: Mapping[str, bytes], alone: bool, relevant_only: bool, content: Content | Skipped
) -> Examined | Skipped:
    """Search a file once for the words that decide how it is read; without ``relevant_only``,
    every file counts.
    """
    if isinstance(content, Skipped):
        return content
    if content.name in overlay:
        content = replace(content, data=overlay[content.name])
    is_meant = content.named and (alone or not content.on_disk)
    names = not relevant_only or _has_any(content.data, _NAMES)
    return Examined(
        content,
        is_meant,
        names,
        is_meant or names or _is_beside_dra(content.data),
        content.on_disk and _has_any(content.data, _APPLIERS),
    )


class Relevant(Struct, frozen=True):
    """The files that may concern DRA, and the skipped files, in the order of the input."""

    examined: Sequence[Examined | Skipped]
    files: int
    """The number of files that were examined."""
    appliers: Sequence[str] = ()
    """Files with objects of Flux or Argo CD, which apply other files."""


def read_relevant(entries: Iterable[Entry | Skipped], *, alone: bool) -> Relevant:
    """Read listed files, and keep the ones that may concern DRA.

    ``alone`` is True if the user names only one path, which then certainly contains manifests.
    """
    files = 0
    kept: list[Examined | Skipped] = []
    appliers: list[str] = []
    for item in map(partial(_examine, {}, alone, True), contents(entries)):
        if isinstance(item, Skipped):
            kept.append(item)
            continue
        files += 1
        if item.is_applier:
            appliers.append(item.content.name)
        if item.is_relevant:
            kept.append(item)
    return Relevant(kept, files, appliers)


def load_relevant(read: Relevant) -> Inputs:
    """Load files that have been read as :func:`load_readable` does; charts are not rendered."""
    loaded = _load_examined(
        read.examined, relevant_only=True, overlay={}, render=None, digested=True
    )
    return replace(loaded, files=read.files, appliers=tuple(read.appliers))


def _chart(content: Content, charts: dict[str, str | None]) -> str | None:
    """Return the chart that a file is a template of; ``charts`` has the charts of folders."""
    if not content.on_disk:
        return content.chart
    folder = os.path.dirname(content.name)
    if folder not in charts:
        charts[folder] = chart_of(content.name)
    return charts[folder]


def _is_part(name: str) -> bool:
    """Return True for a file that belongs to manifests, but is no manifest itself."""
    return is_values(name) or is_kustomization(name)


def _load_examined(
    examined: Iterable[Examined | Skipped],
    *,
    relevant_only: bool,
    overlay: Mapping[str, bytes],
    render: Renderer | None,
    digested: bool,
) -> Inputs:
    documents: list[Document] = []
    broken: list[Broken] = []
    skipped: list[Skipped] = []
    files = 0
    digests: dict[str, str] = {}
    undecided, appliers = list[str](), list[str]()
    templates: dict[str, dict[str, Source]] = {}
    charts: dict[str, str | None] = {}  # by folder: the chart whose templates it has
    definitions: list[DefinitionFile] = []
    for item in examined:
        if isinstance(item, Skipped):
            skipped.append(item)
            continue
        files += 1
        content, data, name = item.content, item.content.data, item.content.name
        if item.is_applier:
            appliers.append(name)
        if not item.is_relevant:
            if content.named and (item.is_applier or _is_part(name)):
                digests[name] = digest(data)
            continue
        if digested:
            digests[name] = digest(data)
        defines = relevant_only and item.names_dra and is_definition(data)
        chart = _chart(content, charts)
        if chart is not None:
            if item.names_dra and not defines:
                templates.setdefault(chart, {})[name] = Source(name, decode(data))
            continue
        source = Source(name, decode(data) if relevant_only else _drop_logs(decode(data)))
        if defines:
            is_on_disk = content.on_disk and name not in overlay
            definitions.append(DefinitionFile(name, None if is_on_disk else source.text))
        signs = replace(item, content=replace(content, data=b""))
        del item, content, data  # frees memory, since the data is as large as the text
        for document in _file_documents(
            source, meant=signs.is_meant, names=signs.names_dra, definitions=not relevant_only
        ):
            _add(document, documents, broken, skipped)
            if not isinstance(document, Document):
                undecided.append(source.name)
    for chart, sources in templates.items():
        read = partial(_values, overlay=overlay, digests=digests if digested else {})
        for result in _chart_documents(chart, sources, render, read, definitions=not relevant_only):
            _add(result, documents, broken, skipped)
            if isinstance(result, Skipped):
                undecided.append(result.file)
    made = (tuple(documents), tuple(broken), tuple(skipped), files, digests)
    loaded = Inputs(*made, definitions=tuple(definitions))
    return replace(loaded, undecided=tuple(undecided), appliers=tuple(appliers))


def _chart_documents(
    chart: str,
    sources: Mapping[str, Source],
    render: Renderer | None,
    read: Callable[[str], Document | None],
    *,
    definitions: bool,
) -> Iterator[Document | Broken | Skipped]:
    """Yield the documents that the templates of a chart make with each of its values; ``read``
    parses them.
    """
    defaults = read(os.path.join(chart, "values.yaml"))
    can_render = render is not None and os.path.isdir(chart)
    renderings = render(chart) if render is not None and can_render else (Rendered(None, ""),)
    complete = [item for item in renderings if item.data is not None]
    if not complete:
        yield from _render_without_helm(
            chart, sources, defaults, renderings[0], definitions=definitions
        )
        return
    unused = dict(sources)
    for at, item in enumerate(complete):
        layers = [
            *filter(None, map(read, reversed(item.values))),
            *([defaults] if defaults else []),
        ]
        variant = item.values[-1] if at and item.values else None
        for document in _documents_of_chart(item.data or b"", chart, sources, layers, variant):
            unused.pop(document.file, None)
            yield document
    values = complete[0].values
    yield from report_unrendered(
        chart, unused, [*filter(None, map(read, reversed(values))), defaults]
    )
    for item in renderings:
        if item.data is None and item.is_variant:
            yield Skipped(item.values[-1], f"the chart was not rendered with it: {item.why}")


def _render_without_helm(
    chart: str,
    sources: Mapping[str, Source],
    values: Document | None,
    rendered: Rendered,
    *,
    definitions: bool,
) -> Iterator[Document | Broken | Skipped]:
    """Yield the documents of templates that need no helm; the other templates are skipped."""
    name = _name(chart)
    for source in sources.values():
        text = (
            fill(source.text, values.value if values else {}, name)
            if rendered.why is None
            else None
        )
        if text is not None:
            yield from _template_documents(text, chart, source, values)
        elif "{{" in source.text:
            hint = None if rendered.why else rendering_hint(chart)
            yield Skipped(source.name, _skip_reason(rendered), hint)
        else:  # a template without {{ renders to itself
            yield from _file_documents(source, meant=False, names=True, definitions=definitions)


def _skip_reason(rendered: Rendered) -> str:
    """Return the reason why a template is skipped; None in ``why`` means that helm is absent."""
    if rendered.why is None:
        return "a template of a Helm chart, and helm is not installed"
    return rendered.why or "a template of a Helm chart"


def _file_documents(
    source: Source, *, meant: bool, names: bool, definitions: bool
) -> Iterator[Document | Broken | Skipped]:
    """Yield the documents of a file. ``meant`` is True if the user has declared that the file
    contains manifests; ``names`` is True if the file mentions DRA.
    """
    if source.name.endswith(markdown.SUFFIXES):
        for item in _read_yaml(
            Source(source.name, markdown.mask(source.text)), definitions=definitions
        ):
            if isinstance(item, Document) and isinstance(item.value, dict):
                if item.kind and item.api_version:  # otherwise the document is a part of an object
                    yield item
            elif isinstance(item, Broken):
                yield Skipped(
                    f"{source.name}:{item.position.line}", "a block that is not YAML by itself"
                )
        return
    if is_ytt(source.text):
        yield Skipped(source.name, "a ytt template", f"ytt -f FOLDER | {program_name()} lint -")
        return
    items = _read(source, definitions=definitions)
    faulty = [item for item in items if isinstance(item, Broken)] if meant or names else []
    if faulty and (
        holds_template(source.text) or all(_may_be_substituted(source, item) for item in faulty)
    ):
        yield Skipped(source.name, "a template, not YAML", rendering_hint(None))
        return
    yield from (replace(item, excerpt=source.line(item.position.line)) for item in faulty)
    for item in items:
        if isinstance(item, Document):
            if isinstance(item.value, dict):
                yield item
            elif meant or _lists_objects(item.value):
                yield _no_object(item)


def _add(
    item: Document | Broken | Skipped,
    documents: list[Document],
    broken: list[Broken],
    skipped: list[Skipped],
) -> None:
    if isinstance(item, Document):
        documents.append(item)
    elif isinstance(item, Broken):
        broken.append(item)
    else:
        skipped.append(item)


def _values(path: str, overlay: Mapping[str, bytes], digests: dict[str, str]) -> Document | None:
    """Return the values in a file, if it has any."""
    name = display_path(path)
    data = overlay.get(name)
    if data is None:
        data = read_file(path, _MAX_YAML_FALLBACK)
    if data is None:
        return None
    digests[name] = digest(data)
    items = read_text(name, decode(data))
    first = items[0] if items else None
    return first if isinstance(first, Document) and isinstance(first.value, dict) else None


def _name(chart: str) -> str:
    about = _values(os.path.join(chart, "Chart.yaml"), {}, {})
    return str(about.value.get("name")) if about else os.path.basename(os.path.abspath(chart))


def _template_documents(
    text: str, chart: str, source: Source, values: Document | None
) -> Iterator[Document]:
    """Yield the documents of a template whose values are filled in, with its lines kept."""
    for item in _read_yaml(Source(chart, text), definitions=False):
        if isinstance(item, Document) and isinstance(item.value, dict):
            path = os.path.relpath(source.name, chart)
            origin = os.path.join(os.path.basename(chart), path)
            item.provenance = replace(item.provenance, origin=origin)
            yield in_template(item, source, [values] if values else [])


def _documents_of_chart(
    data: bytes,
    chart: str,
    sources: Mapping[str, Source],
    values: Sequence[Document],
    variant: str | None,
) -> Iterator[Document]:
    """Yield the documents rendered from a chart, provided that they come from the templates in
    ``sources``; ``variant`` is the values file, if the chart was rendered with other values before.
    """
    by_path = {os.path.relpath(name, chart): source for name, source in sources.items()}
    for item in _read_yaml(Source(chart, decode(data)), definitions=False):
        if isinstance(item, Document) and isinstance(item.value, dict) and item.origin:
            template = by_path.get(os.path.normpath(item.origin.partition("/")[2]))
            if template is not None:
                yield in_template(item, template, values, variant)


def read_text(name: str, text: str) -> list[Document | Broken]:
    """Return the documents of one file's text."""
    return _read(Source(name, text), definitions=False)


def _may_be_substituted(source: Source, item: Broken) -> bool:
    """Return True if a document may become YAML once Terraform or a shell fills in the line that
    does not parse.
    """
    line = source.line(item.position.line)
    return "${" in line or line.lstrip().startswith("%{")


def is_relevant(data: bytes) -> bool:
    """Return True if a file may contain anything that concerns DRA, judged by its bytes alone."""
    return names_dra(data) or _is_beside_dra(data)


def _is_beside_dra(data: bytes) -> bool:
    """Return True if a file that does not name DRA may concern it."""
    return (
        _has_any(data, _ABOUT_DRIVERS)
        or (b"claims" in data and re.search(_CONTAINER_CLAIMS, data) is not None)
        or ((b"requests" in data or b"limits" in data) and _has_extended_amount(data))
        or (b"devices" in data and b"kind" not in data)  # maybe a claim whose kind is missing
        or (b"Namespace" in data and re.search(NAMESPACE, data) is not None)
        or data.startswith(_WIDE)
    )


def _has_extended_amount(data: bytes) -> bool:
    """Return True if a file may have an amount of an extended resource. A pattern that begins with
    a character is searched for first, since that takes a tenth of the time.
    """
    has_amount = re.search(_EXTENDED_AMOUNT, data) is not None
    return has_amount and re.search(_EXTENDED, data) is not None


def names_applier(data: bytes) -> bool:
    """Return True if a file may have objects of Flux or Argo CD, which apply other files."""
    return _has_any(data, _APPLIERS)


def is_definition(data: bytes) -> bool:
    """Return True if a file contains a CustomResourceDefinition."""
    return b"CustomResourceDefinition" in data and re.search(_DEFINITION, data) is not None


def names_dra(data: bytes) -> bool:
    """Return True if a file names the API group, one of its kinds or a pod's field for claims."""
    return _has_any(data, _NAMES)


def _has_any(data: bytes, words: Sequence[bytes]) -> bool:
    # A generator takes five times as long, and every file is tested three times. The operator `in`
    # takes a third longer, since it tries a word as a number first (Objects/bytes_methods.c).
    find = data.find
    for word in words:  # noqa: SIM110
        if find(word) >= 0:
            return True
    return False


def _drop_logs(text: str) -> str:
    """Return a dump without the logs that kubectl cluster-info dump writes between its objects,
    line for line (k8s.io/kubectl pkg/cmd/clusterinfo/clusterinfo_dump.go).
    """
    kept: list[str] = []
    place = 0
    while (begin := text.find(f"\n{_LOGS_BEGIN}", place)) >= 0 and (
        end := text.find(f"\n{_LOGS_END}", begin)
    ) >= 0:
        behind = text.find("\n", end + 1)
        behind = len(text) if behind < 0 else behind
        kept += (text[place:begin], "\n" * text.count("\n", begin, behind))
        place = behind
    return "".join((*kept, text[place:]))


def _read(source: Source, *, definitions: bool) -> list[Document | Broken]:
    if not source.text.lstrip().startswith(("{", "[")):
        return _read_yaml(source, definitions=definitions)
    read: list[Document | Broken] = []
    try:
        read.extend(jsontext.read(source))
    except jsontext.NotJson as error:
        # YAML that begins with a brace: comments, trailing commas, further documents behind `---`.
        if _continues(source.text, error) and (
            error.after
            or len(source.text) <= _MAX_YAML_FALLBACK
            or re.match(_UNQUOTED_KEY, source.text) is not None
        ):
            documents = _read_yaml(source, definitions=definitions)
            if not source.name.endswith(".json") or not any(
                isinstance(item, Broken) for item in documents
            ):
                return documents
        hint = "the next object begins with { or follows a line of ---" if error.after else None
        message = f"not JSON: {error.message}"
        return [
            *read,
            Broken(
                source.name,
                error.after,
                source.position(error.offset),
                message,
                hint,
                refused=not error.after,
            ),
        ]
    return read


def _continues(text: str, error: NotJson) -> bool:
    """Return True if a text that is not JSON may be YAML as kubectl reads it: from the start, or
    after one object and `---` (k8s.io/apimachinery pkg/util/yaml YAMLOrJSONDecoder). go-yaml
    ignores other text after an object.
    """
    return error.after == 0 or (
        error.after == 1 and re.match(_NO_OBJECT, text[error.place :]) is not None
    )


def _read_yaml(source: Source, *, definitions: bool) -> list[Document | Broken]:
    return list(yamltext.read(source, definitions=definitions))


def _lists_objects(value: object) -> bool:
    """Return True if a document that is not an object lists objects of DRA, which kubectl would not
    accept. Other lists and strings (patches, values, playbooks) are not mistakes.
    """
    items = value if isinstance(value, list) else []
    versions = (
        item.get("apiVersion") for item in items if isinstance(item, dict) and "kind" in item
    )
    return any(
        isinstance(version, str) and version.startswith("resource.k8s.io/") for version in versions
    )


def _no_object(document: Document) -> Broken:
    kinds = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    message = (
        f"the document is {kinds.get(type(document.value), 'an unsupported value')}, not a"
        " Kubernetes object"
    )
    hint = "an object has the keys apiVersion, kind and metadata"
    if _lists_objects(document.value):
        hint = (
            "write the objects as documents with --- between them, or as the items of an object of"
            " kind List"
        )
    return Broken(document.file, document.index, document.locate(()), message, hint)
