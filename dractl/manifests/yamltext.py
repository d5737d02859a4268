"""Values and places of YAML text.

A plain document is decoded without PyYAML. For the values of other documents, and for places in any
document, PyYAML composes the nodes.

Documents are split and decoded as kubectl and the API server do: apimachinery's YAMLReader
(pkg/util/yaml/decoder.go) and sigs.k8s.io/yaml over go-yaml v2 (decode.go), whose messages are
kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from typing import Any, Literal

from dractl.manifests import plainyaml
from dractl.manifests.chunks import Chunk, Unreadable, split
from dractl.manifests.documents import Broken, Document, DoubledKey, Path, Provenance, expand
from dractl.manifests.resolve import (
    MERGE,
    PLAIN,
    STR,
    Unresolvable,
    json_number,
    key_text,
    plain,
    resolve_tagged,
)
from dractl.manifests.scalars import offsets
from dractl.manifests.source import Position, Source
from dractl.manifests.text import MAX_DEPTH, bad_character

_DEFINITION = (
    r"""(?m)^["']?kind["']?[ \t]*:[ \t]*["']?CustomResourceDefinition["']?[ \t]*(?:#.*)?\r?$"""
)
_HELM_SOURCE = r"(?m)^# Source: (\S[^\r\n]*)"
# The quantifier is possessive, since backtracking would take 400 bytes of memory for each line.
_BLANK_OR_COMMENT = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|\Z))*+")

# go-yaml v2 decode.go: between these numbers of decoded nodes, the allowed share of nodes from
# aliases falls from 99 % to 10 %.
_ALIAS_LOW, _ALIAS_HIGH = 400_000, 4_000_000


def read(source: Source, *, definitions: bool = True) -> Iterator[Document | Broken]:
    """Yield every document of a YAML file: a Document, the items of a List, or Broken. Empty
    documents are left out.

    A document that is not an object (a list, a string) is a Document whose value is not a dict.
    Without ``definitions``, CustomResourceDefinitions are skipped before they are parsed: they can
    be as large as everything else together.
    """
    text = source.text
    searched = not definitions and "CustomResourceDefinition" in text
    index = 0
    for chunk in split(text):
        body = _BLANK_OR_COMMENT.match(text, chunk.start, chunk.end)
        if chunk.separator is None and body is not None and body.end() == chunk.end:
            continue
        if (
            searched
            and chunk.separator is None
            and re.search(_DEFINITION, text[chunk.start : chunk.end])
        ):
            index += 1
            continue
        try:
            document = _document(source, chunk, index, "" if body is None else body.group())
        except Unreadable as failure:
            yield Broken(
                source.name, index, source.position(failure.offset), failure.message, failure.hint
            )
        else:
            if document is not None:
                yield from expand(document)
        index += 1


def read_definitions(source: Source, kinds: Collection[str]) -> Iterator[Document | Broken]:
    """Yield the CustomResourceDefinitions of a file that may define one of the kinds."""
    any_kind = "|".join(map(re.escape, kinds))
    names = re.compile(
        rf"""(?m)(?:^|[{{,])[ \t]*["']?kind["']?[ \t]*:[ \t]*["']?(?:{any_kind})\b"""
    )
    for chunk in split(source.text):
        text = source.text[chunk.start : chunk.end]
        if re.search(_DEFINITION, text) is not None and names.search(text) is not None:
            yield from read(Source(source.name, text))


def _document(source: Source, chunk: Chunk, index: int, above: str) -> Document | None:
    """Return a document, or None if it is empty; ``above`` has the comments before its first line.
    Raises Unreadable.
    """
    text = source.text
    if chunk.separator is not None:
        raise Unreadable(
            f"invalid Yaml document separator: {chunk.separator[:60]}",
            chunk.separator_start,
            "only a comment may follow `---` on its line",
        )
    if (bad := bad_character(text, chunk.start, chunk.end)) is not None:
        raise Unreadable(bad[1], bad[0], bad[2])
    value, faults = _decode(source, chunk)
    if value is None:
        return None
    origin = re.search(_HELM_SOURCE, above) if "# Source:" in above else None
    locator = YamlLocator(source, chunk, faults)
    provenance = Provenance(origin[1].rstrip()) if origin else None
    return Document(source.name, index, value, locator, provenance=provenance)


def _decode(source: Source, chunk: Chunk) -> tuple[Any, tuple[DoubledKey, ...]]:
    """Return the value of a document, None if it is empty, and the errors that only strict decoding
    reports.
    """
    text = source.text[chunk.start : chunk.end]
    value = plainyaml.read(text)
    if value is not plainyaml.UNKNOWN:
        return value, ()
    node = _compose(source.text, chunk)
    if node is None:
        return None, ()
    decoder = _Decoder(source, chunk.start, aliases="*" in text)
    return decoder.decode(node), tuple(decoder.faults)


def _compose(text: str, chunk: Chunk) -> Any:
    # Most documents are plain, and importing PyYAML takes a seventh of dractl's start.
    from dractl.manifests.composing import compose

    return compose(text, chunk)


# -- decoding --------------------------------------------------------------------------------------


class _Decoder:
    """Decodes a node tree as go-yaml does into an untyped value (decode.go), then as
    sigs.k8s.io/yaml into JSON's types.
    """

    def __init__(self, source: Source, shift: int, *, aliases: bool) -> None:
        self.source = source
        self.shift = shift
        self.aliases = aliases
        self.faults: list[DoubledKey] = []
        self._open: set[int] = set()
        # Node -> value, nodes decoded for it, its height
        self._done: dict[int, tuple[Any, int, int]] = {}
        self._count = 0
        self._alias_count = 0
        self._height = 0

    def decode(self, node: Any) -> Any:
        return self._value(node, (), 0)

    def _fail(self, message: str, node: Any, hint: str | None = None) -> Unreadable:
        return Unreadable(message, self.shift + node.start_mark.index, hint)

    def _scalar(self, node: Any) -> Any:
        tag = node.tag
        if tag == STR:
            return node.value
        if tag == PLAIN:
            return plain(node.value)
        try:
            return resolve_tagged(tag, node.value)
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
                text = "+Inf" if value > 0 else "-Inf"
                if math.isnan(value):
                    text = "NaN"
                raise self._fail(
                    f"json: unsupported value: {text}", node, "quote it if a string is meant"
                )
            return json_number(value)
        if depth >= MAX_DEPTH:
            raise self._fail(f"nested more than {MAX_DEPTH} levels deep", node)
        if not self.aliases:
            self._count += 1
            return (
                self._mapping(node, path, depth)
                if kind == "mapping"
                else self._sequence(node, path, depth)
            )
        return self._alias_value(node, path, depth)

    def _alias_value(self, node: Any, path: Path, depth: int) -> Any:
        """Return a collection that aliases may refer to. It is decoded once, but counted as often
        as go-yaml would decode it.
        """
        identity = id(node)
        if identity in self._open:
            name = re.search(
                r"&([^\s,\[\]{}]+)", self.source.text[self.shift + node.start_mark.index :]
            )
            raise self._fail(f"anchor '{name[1] if name else ''}' value contains itself", node)
        if identity in self._done:
            value, count, height = self._done[identity]
            self._count_expansion(count, node)
            self._height = max(self._height, depth + height)
            if depth + height > MAX_DEPTH:
                raise self._fail(f"nested more than {MAX_DEPTH} levels deep", node)
            return value
        self._open.add(identity)
        before, outer, self._height = self._count, self._height, depth
        self._count += 1
        value = (
            self._mapping(node, path, depth)
            if node.id == "mapping"
            else self._sequence(node, path, depth)
        )
        self._done[identity] = value, self._count - before, self._height - depth + 1
        self._height = max(outer, self._height)
        self._open.discard(identity)
        return value

    def _count_expansion(self, count: int, node: Any) -> None:
        self._count += count + 1
        self._alias_count += count
        if self._alias_count <= 100 or self._count <= 1000:
            return
        share = min(1.0, max(0.0, (self._count - _ALIAS_LOW) / (_ALIAS_HIGH - _ALIAS_LOW)))
        if self._alias_count / self._count > 0.99 - 0.89 * share:
            raise self._fail("document contains excessive aliasing", node)

    def _sequence(self, node: Any, path: Path, depth: int) -> list[Any]:
        return [
            self._value(item, (*path, number), depth + 1) for number, item in enumerate(node.value)
        ]

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
            kind = "map" if node.id == "mapping" else "list"
            raise self._fail(
                f"invalid map key: a {kind}", node, "quote the key if it begins with { or ["
            )
        if node.tag == STR:
            return str(node.value)
        value = self._scalar(node)
        name = key_text(value)
        if name is None:
            shown = "null" if value is None else node.value
            raise self._fail(f"unsupported map key: {shown}", node, "keys are strings: quote it")
        return name

    def _set(
        self,
        result: dict[str, Any],
        name: str,
        value: Any,
        path: Path,
        node: Any,
        *,
        merged: bool = False,
    ) -> None:
        if name in result:
            start = self.shift + node.start_mark.index
            place = self.source.position(start, self.shift + node.end_mark.index)
            message = f"key {json.dumps(name, ensure_ascii=False)} already set in map"
            self.faults.append(DoubledKey(message, (*path, name), place, merged))
        # go-yaml v2: unless decoding is strict, the last value counts, even the value of a later
        # merge.
        result[name] = value

    def _merge(self, node: Any, result: dict[str, Any], path: Path, depth: int) -> set[str]:
        """Set the merged values, and return their names."""
        names: set[str] = set()
        # Earlier maps take precedence
        merged = reversed(node.value) if node.id == "sequence" else (node,)
        for part in merged:
            if part.id != "mapping":
                raise self._fail("map merge requires map or sequence of maps as the value", part)
            for name, value in self._value(part, path, depth + 1).items():
                self._set(result, name, value, path, part, merged=True)
                names.add(name)
        return names


def is_merge(node: Any) -> bool:
    """Return True for a merge key (go-yaml's isMerge): a plain ``<<``, or one with the tag for
    it.
    """
    return bool(node.id == "scalar" and node.value == "<<" and node.tag in (PLAIN, MERGE))


# -- locating --------------------------------------------------------------------------------------


class YamlLocator:
    """Finds values of one document in its text. The document is composed again when the first place
    is requested.
    """

    __slots__ = ("_chunk", "_faults", "_maps", "_root", "_source")

    def __init__(self, source: Source, chunk: Chunk, faults: tuple[DoubledKey, ...]) -> None:
        self._source = source
        self._chunk = chunk
        self._faults = faults
        self._root: Any = None
        self._maps: dict[int, dict[str, tuple[Any, Any]]] = {}

    def __reduce__(self) -> tuple[type[YamlLocator], tuple[Source, Chunk, tuple[DoubledKey, ...]]]:
        """Return a copy without nodes for another process, which composes the document again only
        if it needs a place.
        """
        return YamlLocator, (self._source, self._chunk, self._faults)

    def faults(self) -> tuple[DoubledKey, ...]:
        return self._faults

    def source(self, path: Path) -> None:
        """Return None: all values are in the file itself."""

    def line(self, number: int) -> str:
        return self._source.line(number)

    def text(self) -> str:
        return self._source.text

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        if self._root is None:
            self._root = _compose(self._source.text, self._chunk)
        node, key_node, exists = self._root, None, True
        for step in path:
            entry = self._entry(node, step)
            if entry is None:
                exists = False
                break
            key_node, node = entry
        if not exists:
            return self._span(key_node) if key_node is not None else self._first_line(node)
        if offset is not None and node.id == "scalar":
            return self._source.position(*self._character(node, offset))
        if key_node is not None and (key or node.start_mark.index == node.end_mark.index):
            return self._span(key_node)
        return self._span(node)

    def _entry(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        """Return two nodes for a path step: the key (None in a list) and the value."""
        if isinstance(step, str):
            return self._children(node).get(step) if node.id == "mapping" else None
        if node.id == "sequence" and 0 <= step < len(node.value):
            return None, node.value[step]
        return None

    def _children(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """Return the entries of a map by key, read once, since many findings can be in one map. The
        last entry of a key counts.
        """
        entries = self._maps.get(id(node))
        if entries is None:
            entries = self._maps[id(node)] = {}
            for key_node, value_node in node.value:
                if is_merge(key_node):
                    for part in reversed(
                        value_node.value if value_node.id == "sequence" else (value_node,)
                    ):
                        entries.update(self._children(part) if part.id == "mapping" else {})
                elif key_node.id == "scalar":
                    name = (
                        key_node.value if key_node.tag == STR else key_text(plain(key_node.value))
                    )
                    if name is not None:
                        entries[name] = key_node, value_node
        return entries

    def _shift(self) -> int:
        start = self._chunk.start
        return start + self._source.text.startswith("\ufeff", start)

    def _span(self, node: Any) -> Position:
        shift = self._shift()
        start, end = shift + node.start_mark.index, shift + node.end_mark.index
        if node.id != "scalar" or getattr(node, "style", None) in ("|", ">"):
            # Block nodes end where the next token begins
            end = start + len(self._source.text[start:end].rstrip())
        return self._source.position(start, end)

    def _first_line(self, node: Any) -> Position:
        start = self._shift() + node.start_mark.index
        text = self._source.text
        ends = [
            place
            for place in (text.find("\n", start), text.find("\r", start), self._chunk.end)
            if place >= 0
        ]
        return self._source.position(start, start + len(text[start : min(ends)].rstrip()))

    def _character(self, node: Any, offset: int) -> tuple[int, int]:
        """Return the offsets of the beginning and the end of a scalar's character; an escaped one
        has several characters.
        """
        shift, text = self._shift(), self._source.text
        start, end = shift + node.start_mark.index, shift + node.end_mark.index
        places = offsets(text, start, end, _style(node), node.value)
        at = max(0, min(offset, len(places) - 1))
        begin, after = places[at], places[min(at + 1, len(places) - 1)]
        return begin, (
            after if _style(node) in ("'", '"') and text[begin:after].strip() else begin + 1
        )


def _style(node: Any) -> Literal["", "'", '"', "|", ">"]:
    return node.style or ""
