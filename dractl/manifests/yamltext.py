"""Values and places of YAML text: a document that is not plain is composed for its value, and any for places.

Documents are split and decoded as kubectl and the API server do: apimachinery's YAMLReader (pkg/util/yaml/decoder.go)
and sigs.k8s.io/yaml over go-yaml v2 (decode.go), whose messages are kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import yaml
from msgspec import Struct
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from dractl.manifests import plainyaml
from dractl.manifests.documents import Broken, Document, Fault, Path, expand
from dractl.manifests.resolve import MERGE, STR, Unresolvable, json_number, key_text, plain, tagged
from dractl.manifests.scalars import offsets, value_start
from dractl.manifests.source import Position, Source
from dractl.manifests.text import MAX_DEPTH, MAX_KEYS, bad_character, brackets_nest_deeply

_SEPARATOR = re.compile(r"^---([^\r\n]*)(?:\r\n?|\n|\Z)", re.MULTILINE)
_DEFINITION = r"""(?m)^["']?kind["']?[ \t]*:[ \t]*["']?CustomResourceDefinition["']?[ \t]*(?:#.*)?\r?$"""
_HELM_SOURCE = r"(?m)^# Source: (\S[^\r\n]*)"
_BLANK_OR_COMMENT = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z))*+"
)  # possessive: to go back takes 400 bytes a line
_LONG_LINE = re.compile(r"[^\r\n]{1000}")
_LARGE = 1 << 20
_PLAIN = ""  # the tag of scalars without one, where their text decides

# go-yaml v2 decode.go: the part of a document that may come from aliases, by the number of decoded nodes.
_ALIAS_LOW, _ALIAS_HIGH = 400_000, 4_000_000


class _Failure(Exception):
    """A document that cannot be read: go-yaml's message and the offset in the document's text."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Chunk(Struct, frozen=True):
    """One document's part of a file's text, and the text after its ``---`` if that is more than a comment."""

    start: int
    end: int
    separator: str | None = None
    separator_start: int = 0


def split(text: str) -> Iterator[Chunk]:
    """The documents of a stream, as YAMLReader.Read splits them: at lines that begin with ``---``."""
    start, separator, separator_start = 0, None, 0
    for match in _SEPARATOR.finditer(text):
        yield Chunk(start, match.start(), separator, separator_start)
        rest = match[1].strip()
        separator, separator_start = (
            (rest, match.end(1) - len(match[1].lstrip())) if rest[:1] not in ("", "#") else (None, 0)
        )
        start = match.end()
    yield Chunk(start, len(text), separator, separator_start)


def read(source: Source, *, definitions: bool = True) -> Iterator[Document | Broken]:
    """Every document of a YAML file: a Document, the items of a List, or Broken. Empty documents are left out.

    A document that is not an object (a list, a string) is a Document whose value is not a dict. Without
    ``definitions``, CustomResourceDefinitions are skipped before they are parsed: they can be as large as everything
    else together.
    """
    text = source.text
    index = 0
    for chunk in split(text):
        body = _BLANK_OR_COMMENT.match(text, chunk.start, chunk.end)
        if chunk.separator is None and body is not None and body.end() == chunk.end:
            continue
        if not definitions and chunk.separator is None and re.search(_DEFINITION, text[chunk.start : chunk.end]):
            index += 1
            continue
        try:
            document = _document(source, chunk, index)
        except _Failure as failure:
            yield Broken(source.name, index, source.position(failure.offset), failure.message, failure.hint)
        else:
            if document is not None:
                yield from expand(document)
        index += 1


def _document(source: Source, chunk: Chunk, index: int) -> Document | None:
    text = source.text
    if chunk.separator is not None:
        raise _Failure(
            f"invalid Yaml document separator: {chunk.separator[:60]}",
            chunk.separator_start,
            "only a comment may follow `---` on its line",
        )
    if (bad := bad_character(text, chunk.start, chunk.end)) is not None:
        raise _Failure(bad[1], bad[0], bad[2])
    value, faults = _decoded(source, chunk)
    if value is None:
        return None
    leading = _BLANK_OR_COMMENT.match(text, chunk.start, chunk.end)
    above = leading.group() if leading is not None else ""
    origin = re.search(_HELM_SOURCE, above) if "# Source:" in above else None
    locator = YamlLocator(source, chunk, faults)
    return Document(source.name, index, value, locator, origin=origin[1].rstrip() if origin else None)


def _decoded(source: Source, chunk: Chunk) -> tuple[Any, tuple[Fault, ...]]:
    """The value of a document, None if it is empty, and the errors that only strict decoding reports."""
    text = source.text[chunk.start : chunk.end]
    value = plainyaml.read(text)
    if value is not plainyaml.UNKNOWN:
        return value, ()
    node = compose(source.text, chunk)
    if node is None:
        return None, ()
    decoder = _Decoder(source, chunk.start, aliases="*" in text)
    return decoder.decode(node), tuple(decoder.faults)


# --- composing ---------------------------------------------------------------------------------------------------


class _Resolver:
    """The resolver that PyYAML's composers ask for the tag of a node without one: ours only reports whether the text
    decides."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        return _PLAIN if implicit is True or (implicit is not False and implicit[0]) else STR

    def descend_resolver(self, *_: Any) -> None: ...
    def ascend_resolver(self) -> None: ...


@cache
def composer_class() -> Any:
    """PyYAML's parser and composer: libyaml's, or the one in Python where PyYAML was built without it."""
    if not yaml.__with_libyaml__:
        return python_composer()

    class FastComposer(_Resolver, CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)

    return FastComposer


def python_composer() -> Any:
    """The same in Python alone: 20 times slower."""

    class PythonComposer(_Resolver, Reader, Scanner, Parser, Composer):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)

        def dispose(self) -> None: ...

    return PythonComposer


def compose(text: str, chunk: Chunk) -> Any:
    """The node tree of the first document of the chunk (text after ``...`` is ignored, as in go-yaml)."""
    part = text[chunk.start : chunk.end].removeprefix("\ufeff")
    shift = chunk.start + (chunk.end - chunk.start - len(part))
    make = composer_class()
    try:
        # libyaml's composer recurses in C and would overflow the stack; its parser does not.
        if len(part) > _LARGE or _LONG_LINE.search(part) or brackets_nest_deeply(part):
            _check_bounds(make(part), shift)
        composer = make(part)
        try:
            node = composer.get_node() if composer.check_node() else None
        except yaml.composer.ComposerError:
            node = _compose_events(make(part), shift)
        finally:
            composer.dispose()
    except yaml.MarkedYAMLError as error:
        marked: Any = error
        mark = marked.problem_mark or marked.context_mark
        offset = shift + (mark.index if mark is not None else 0)
        raise _Failure(*_explain(marked, text, min(offset, chunk.end), chunk.end, shift)) from None
    except yaml.YAMLError as error:
        raise _Failure(str(error), chunk.start) from None
    except RecursionError:
        raise _Failure(f"nested more than {MAX_DEPTH} levels deep", chunk.start) from None
    if node is not None and "\\" in part and re.search(_REFUSED_ESCAPE, part):
        _refuse_escapes(node, part, shift)
    if node is not None and "!" in part and re.search(_NON_SPECIFIC_TAG, part):
        _keep_texts(node, part)
    return node


def long_scalars(source: Source) -> Iterator[tuple[int, int, bool]]:
    """The first and the last line of every scalar of several lines, and whether it is a block scalar. A document that
    cannot be read counts as one scalar."""
    text = source.text
    for chunk in split(text):
        try:
            root = compose(text, chunk)
        except _Failure:
            yield source.position(chunk.start).line - 1, source.position(chunk.end, chunk.end).line, True
            continue
        for node in _scalars(root) if root is not None else ():
            if node.start_mark.line == node.end_mark.line:
                continue
            start, end = chunk.start + node.start_mark.index, chunk.start + node.end_mark.index
            end = start + len(text[start:end].rstrip())  # a block scalar ends where the next key begins
            yield source.position(start).line, source.position(end, end).line, node.style in ("|", ">")


def _check_bounds(parser: Any, shift: int) -> None:
    """Refuses what nests too deeply and a map of too many keys before nodes are made of it."""
    events: Any = yaml.events
    room: list[float] = []  # of each open collection how many nodes it may still have
    while (event := parser.get_event()) is not None:
        if room and isinstance(event, events.NodeEvent):
            room[-1] -= 1
            if room[-1] < 0:
                raise _Failure(f"a map of more than {MAX_KEYS:,} keys", shift + event.start_mark.index)
        if isinstance(event, events.CollectionStartEvent):
            room.append(2 * MAX_KEYS if isinstance(event, events.MappingStartEvent) else math.inf)
            if len(room) > MAX_DEPTH:
                raise _Failure(f"nested more than {MAX_DEPTH} levels deep", shift + event.start_mark.index)
        elif isinstance(event, events.CollectionEndEvent):
            room.pop()
        elif isinstance(event, events.DocumentEndEvent):
            return


def _compose_events(parser: Any, shift: int) -> Any:
    """Composes documents that PyYAML's composers refuse and go-yaml accepts: with an anchor that is set again; reports
    those that both refuse."""
    events: Any = yaml.events
    nodes: Any = yaml.nodes
    resolver, anchors = _Resolver(), dict[str, Any]()
    root: Any = None
    stack: list[Any] = []
    while (event := parser.get_event()) is not None and not isinstance(event, events.DocumentEndEvent):
        if isinstance(event, events.CollectionEndEvent):
            done = stack.pop()
            done.end_mark = event.end_mark
            if isinstance(done, nodes.MappingNode):
                done.value = list(zip(done.value[::2], done.value[1::2], strict=True))
            continue
        if not isinstance(event, events.NodeEvent):
            continue
        node: Any
        if isinstance(event, events.AliasEvent):
            node = anchors.get(event.anchor)
            if node is None:
                raise _Failure(f"unknown anchor '{event.anchor}' referenced", shift + event.start_mark.index)
            if node in stack:
                raise _Failure(f"anchor '{event.anchor}' value contains itself", shift + event.start_mark.index)
        elif isinstance(event, events.ScalarEvent):
            tag = event.tag if event.tag not in (None, "!") else resolver.resolve(None, event.value, event.implicit)
            node = nodes.ScalarNode(tag, event.value, event.start_mark, event.end_mark, style=event.style or "")
        else:
            kind = nodes.MappingNode if isinstance(event, events.MappingStartEvent) else nodes.SequenceNode
            node = kind(event.tag or _PLAIN, [], event.start_mark, None, flow_style=event.flow_style)
        if not isinstance(event, events.AliasEvent) and event.anchor is not None:
            anchors[event.anchor] = node
        if stack:
            stack[-1].value.append(node)
        else:
            root = node
        if isinstance(event, events.CollectionStartEvent):
            stack.append(node)
    return root


_REFUSED_ESCAPE = r"\\(?:/|u[dD][89a-fA-F])"
_QUOTED_ESCAPE = r'"(?:[^"\\]|\\(?!/|u[dD][89a-fA-F])[\s\S])*\\(?=(/|u[dD][89a-fA-F]))'


def _refuse_escapes(root: Any, text: str, shift: int) -> None:
    """Refuses escapes that go-yaml v2 does not accept: ``\\/`` in double quotes, which libyaml accepts since YAML 1.2,
    and halves of a surrogate pair, which PyYAML's own scanner accepts."""
    for node in _scalars(root):
        if node.style != '"':
            continue
        start = value_start(text, node.start_mark.index, node.end_mark.index)
        found = re.match(_QUOTED_ESCAPE, text[start : node.end_mark.index])
        if found is not None:
            slash = found[1] == "/"
            message = "found unknown escape character" if slash else "found invalid Unicode character escape code"
            raise _Failure(message, shift + start + found.end() - 1, _ESCAPE_HINT if slash else None)


_DESCRIBED = re.compile(r"Name: {2,}\S+\n(?:Namespace|Labels|Roles|Annotations|Priority): ")
_ESCAPE_HINT = "a backslash is an escape within double quotes: use single quotes, or write it twice"
_NON_SPECIFIC_TAG = r"!(?:<!>)?\s"
_TAGGED_NON_SPECIFIC = r"(?:&\S+\s+)?!(?:<!>)?\s"


def _keep_texts(root: Any, text: str) -> None:
    """A scalar behind ``!`` is a string (go-yaml v2 resolve.go: no resolvable tag); libyaml drops that tag.

    ``! <<`` is a merge all the same (decode.go isMerge).
    """
    behind_tag = re.compile(_TAGGED_NON_SPECIFIC).match
    for node in _scalars(root):
        if node.tag == _PLAIN and node.value != "<<" and behind_tag(text, node.start_mark.index):
            node.tag = STR


def _scalars(root: Any) -> Iterator[Any]:
    """Every scalar of a node tree, in the order of the text; what aliases share comes once."""
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node.id == "scalar":
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            children = [part for pair in node.value for part in pair] if node.id == "mapping" else node.value
            stack.extend(reversed(children))


def _explain(error: Any, text: str, offset: int, end: int, shift: int) -> tuple[str, int, str | None]:
    """The parser's problem in go-yaml's words, its place, and its usual cause."""
    problem = error.problem or str(error)
    hint = None
    if _DESCRIBED.match(text):
        hint = "this is what `kubectl describe` prints: save `kubectl get -o yaml` of the same objects instead"
    elif "cannot start any token" in problem and text[offset : offset + 1] == "\t":
        hint = "a tab cannot indent YAML: use spaces"
    elif "cannot start any token" in problem and text[offset : offset + 1] in "%@`":
        hint = f"a value that begins with {text[offset : offset + 1]} must be quoted"
    elif "mapping values are not allowed" in problem:
        hint = "quote the value if the `: ` belongs to it, or check the indentation"
    elif "unknown escape character" in problem:
        hint = _ESCAPE_HINT
    elif "could not find expected ':'" in problem:
        hint = "a key without `:`, or a line that is indented less than the string it belongs to"
    elif "did not find expected key" in problem:
        hint = "check the indentation; a value that begins with [, {, *, &, ! or a quote must be quoted as a whole"
    if not text[offset:end].strip() and problem.startswith(("did not find expected", "found unexpected end")):
        mark = error.context_mark  # at the end of the text nothing is visible: point at what was opened
        if mark is not None:
            offset = shift + mark.index
        opened = max(text.rfind(bracket, 0, end) for bracket in "[{")
        if hint is None and opened >= 0:
            line, column = text.count("\n", 0, opened) + 1, opened - text.rfind("\n", 0, opened)
            hint = f"is {text[opened]} at {line}:{column} closed?"
    return problem, offset, hint


# --- decoding ----------------------------------------------------------------------------------------------------


class _Decoder:
    """Decodes a node tree as go-yaml does into an untyped value (decode.go), then as sigs.k8s.io/yaml into JSON's
    types."""

    def __init__(self, source: Source, shift: int, *, aliases: bool) -> None:
        self.source = source
        self.shift = shift
        self.aliases = aliases
        self.faults: list[Fault] = []
        self._open: set[int] = set()
        self._done: dict[int, tuple[Any, int, int]] = {}  # node -> value, nodes decoded for it, its height
        self._count = 0
        self._alias_count = 0
        self._height = 0

    def decode(self, node: Any) -> Any:
        return self._value(node, (), 0)

    def _fail(self, message: str, node: Any, hint: str | None = None) -> _Failure:
        return _Failure(message, self.shift + node.start_mark.index, hint)

    def _scalar(self, node: Any) -> Any:
        tag = node.tag
        if tag == STR:
            return node.value
        if tag == _PLAIN:
            return plain(node.value)
        try:
            return tagged(tag, node.value)
        except Unresolvable as error:
            raise self._fail(str(error), node) from None

    def _value(self, node: Any, path: Path, depth: int) -> Any:
        kind = node.id
        if kind == "scalar":
            self._count += 1
            value = self._scalar(node)
            if type(value) is not float:
                return value
            if not math.isfinite(value):
                text = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
                raise self._fail(f"json: unsupported value: {text}", node, "quote it if a string is meant")
            return json_number(value)
        if depth >= MAX_DEPTH:
            raise self._fail(f"nested more than {MAX_DEPTH} levels deep", node)
        if not self.aliases:
            self._count += 1
            return self._mapping(node, path, depth) if kind == "mapping" else self._sequence(node, path, depth)
        return self._shared(node, path, depth)

    def _shared(self, node: Any, path: Path, depth: int) -> Any:
        """A collection that aliases may refer to: decoded once and counted as often as go-yaml would decode it."""
        identity = id(node)
        if identity in self._open:
            name = re.search(r"&([^\s,\[\]{}]+)", self.source.text[self.shift + node.start_mark.index :])
            raise self._fail(f"anchor '{name[1] if name else ''}' value contains itself", node)
        if identity in self._done:
            value, count, height = self._done[identity]
            self._expanded(count, node)
            self._height = max(self._height, depth + height)
            if depth + height > MAX_DEPTH:
                raise self._fail(f"nested more than {MAX_DEPTH} levels deep", node)
            return value
        self._open.add(identity)
        before, outer, self._height = self._count, self._height, depth
        self._count += 1
        value = self._mapping(node, path, depth) if node.id == "mapping" else self._sequence(node, path, depth)
        self._done[identity] = value, self._count - before, self._height - depth + 1
        self._height = max(outer, self._height)
        self._open.discard(identity)
        return value

    def _expanded(self, count: int, node: Any) -> None:
        self._count += count + 1
        self._alias_count += count
        if self._alias_count <= 100 or self._count <= 1000:
            return
        share = min(1.0, max(0.0, (self._count - _ALIAS_LOW) / (_ALIAS_HIGH - _ALIAS_LOW)))
        if self._alias_count / self._count > 0.99 - 0.89 * share:
            raise self._fail("document contains excessive aliasing", node)

    def _sequence(self, node: Any, path: Path, depth: int) -> list[Any]:
        return [self._value(item, (*path, number), depth + 1) for number, item in enumerate(node.value)]

    def _mapping(self, node: Any, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: set[str] = set()
        for key_node, value_node in node.value:
            if is_merge(key_node):
                merged |= self._merge(value_node, result, path, depth)
                continue
            name = self._key(key_node)
            value = self._value(value_node, (*path, name), depth + 1)
            self._set(result, name, value, path, key_node, merged=name in merged)
        return result

    def _key(self, node: Any) -> str:
        if node.id != "scalar":
            what = "map" if node.id == "mapping" else "list"
            raise self._fail(f"invalid map key: a {what}", node, "quote the key if it begins with { or [")
        if node.tag == STR:
            return str(node.value)
        value = self._scalar(node)
        name = key_text(value)
        if name is None:
            shown = "null" if value is None else node.value
            raise self._fail(f"unsupported map key: {shown}", node, "keys are strings: quote it")
        return name

    def _set(
        self, result: dict[str, Any], name: str, value: Any, path: Path, node: Any, *, merged: bool = False
    ) -> None:
        if name in result:
            start = self.shift + node.start_mark.index
            place = self.source.position(start, self.shift + node.end_mark.index)
            message = f"key {json.dumps(name, ensure_ascii=False)} already set in map"
            self.faults.append(Fault(message, (*path, name), place, merged))
        result[name] = value  # leniently, the last one counts; so does a merge that comes later (go-yaml v2)

    def _merge(self, node: Any, result: dict[str, Any], path: Path, depth: int) -> set[str]:
        """Sets the merged values, and returns their names."""
        names: set[str] = set()
        merged = reversed(node.value) if node.id == "sequence" else (node,)  # earlier ones take precedence
        for part in merged:
            if part.id != "mapping":
                raise self._fail("map merge requires map or sequence of maps as the value", part)
            for name, value in self._value(part, path, depth + 1).items():
                self._set(result, name, value, path, part, merged=True)
                names.add(name)
        return names


def is_merge(node: Any) -> bool:
    """True for go-yaml's isMerge: a plain ``<<`` (or one that is tagged so)."""
    return bool(node.id == "scalar" and node.value == "<<" and node.tag in (_PLAIN, MERGE))


# --- locating ----------------------------------------------------------------------------------------------------


class YamlLocator:
    """Finds values of one document in its text. The document is composed again for the first place that is
    requested."""

    __slots__ = ("_chunk", "_faults", "_maps", "_root", "_source")

    def __init__(self, source: Source, chunk: Chunk, faults: tuple[Fault, ...]) -> None:
        self._source = source
        self._chunk = chunk
        self._faults = faults
        self._root: Any = None
        self._maps: dict[int, dict[str, tuple[Any, Any]]] = {}

    def __reduce__(self) -> tuple[type[YamlLocator], tuple[Source, Chunk, tuple[Fault, ...]]]:
        """Another process composes the document again, if it needs a place at all."""
        return YamlLocator, (self._source, self._chunk, self._faults)

    def faults(self) -> tuple[Fault, ...]:
        return self._faults

    def line(self, number: int) -> str:
        return self._source.line(number)

    def text(self) -> str:
        return self._source.text

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        if self._root is None:
            self._root = compose(self._source.text, self._chunk)
        node, key_node, found = self._root, None, True
        for step in path:
            entry = self._entry(node, step)
            if entry is None:
                found = False
                break
            key_node, node = entry
        if not found:
            return self._span(key_node) if key_node is not None else self._first_line(node)
        if offset is not None and node.id == "scalar":
            return self._source.position(*self._character(node, offset))
        if key_node is not None and (key or node.start_mark.index == node.end_mark.index):
            return self._span(key_node)
        return self._span(node)

    def _entry(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        """The child for a path step: its key's node (None in a list) and its own."""
        if isinstance(step, str):
            return self._children(node).get(step) if node.id == "mapping" else None
        if node.id == "sequence" and 0 <= step < len(node.value):
            return None, node.value[step]
        return None

    def _children(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """By key the entries of a map, read once: many findings can lie in it. The last one of a key counts."""
        known = self._maps.get(id(node))
        if known is None:
            known = self._maps[id(node)] = {}
            for key_node, value_node in node.value:
                if is_merge(key_node):
                    for part in reversed(value_node.value if value_node.id == "sequence" else (value_node,)):
                        known.update(self._children(part) if part.id == "mapping" else {})
                elif key_node.id == "scalar":
                    name = key_node.value if key_node.tag == STR else key_text(plain(key_node.value))
                    if name is not None:
                        known[name] = key_node, value_node
        return known

    def _shift(self) -> int:
        start = self._chunk.start
        return start + self._source.text.startswith("\ufeff", start)

    def _span(self, node: Any) -> Position:
        shift = self._shift()
        start, end = shift + node.start_mark.index, shift + node.end_mark.index
        if node.id != "scalar" or getattr(node, "style", None) in ("|", ">"):
            end = start + len(self._source.text[start:end].rstrip())  # block nodes end where the next token begins
        return self._source.position(start, end)

    def _first_line(self, node: Any) -> Position:
        start = self._shift() + node.start_mark.index
        text = self._source.text
        ends = [place for place in (text.find("\n", start), text.find("\r", start), self._chunk.end) if place >= 0]
        return self._source.position(start, start + len(text[start : min(ends)].rstrip()))

    def _character(self, node: Any, offset: int) -> tuple[int, int]:
        """Where a character of a scalar begins and ends: an escaped one has several."""
        shift, text = self._shift(), self._source.text
        start, end = shift + node.start_mark.index, shift + node.end_mark.index
        places = offsets(text, start, end, _style(node), node.value)
        at = max(0, min(offset, len(places) - 1))
        begin, after = places[at], places[min(at + 1, len(places) - 1)]
        return begin, after if _style(node) in ("'", '"') and text[begin:after].strip() else begin + 1


def _style(node: Any) -> Literal["", "'", '"', "|", ">"]:
    return node.style or ""
