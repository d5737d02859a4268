"""Values and places of JSON text. Values are read by the standard library, values of a large list
by msgspec; places by scanning the text again.
"""

import json
import re
from collections.abc import Iterator
from itertools import compress, islice
from math import isfinite
from operator import ne
from sys import intern
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.json import encode

from dractl.manifests.documents import Broken, Document, DoubledKey, Path, expand
from dractl.manifests.resolve import json_number
from dractl.manifests.scalars import Piece
from dractl.manifests.shared_keys import SharedKeys
from dractl.manifests.source import Position, Source
from dractl.manifests.text import MAX_DEPTH, brackets_nest_deeply
from dractl.model.paths import list_at

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _constant(name: str) -> Any:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def _number(text: str) -> Any:
    return json_number(float(text))


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_number)
_MIN_LARGE_LENGTH = 16 * 1024 * 1024
"""The number of characters from which a list is read item by item, so that equal parts of its items
are shared.
"""
_MAX_FAULTS = 400  # maximum number of faults in one document
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_ITEM = msgspec.json.Decoder(float_hook=lambda text: _finite(_number(text)))
_SHARED_PARTS = frozenset(
    {"allocatable", "capacity", "containers", "managedFields", "nodeInfo", "requests"}
)
"""Parts that many nodes, pods, claims or slices have in common."""
_MAX_KEPT_VALUES = 10_000
"""The maximum number of attribute values that are kept for comparison. More values than this are
probably all different, as UUIDs are.
"""


class _KubectlList(Struct, forbid_unknown_fields=True, rename="camel"):
    """A List with the fields that kubectl writes."""

    api_version: msgspec.Raw
    items: list[msgspec.Raw]
    kind: msgspec.Raw
    metadata: msgspec.Raw = msgspec.Raw()


_KUBECTL_LIST = msgspec.json.Decoder(_KubectlList)


def _list(text: str) -> dict[str, Any] | None:
    """Return the value of a text that is one List, in half the standard library's time and memory.
    None for any other text, and for half a surrogate pair, which only the standard library decodes.
    """
    try:
        parts, items = _parts(text)
        shared = _SharedValues()
        decoded = [_share_parts(_ITEM.decode(item), shared) for item in items]
        return {
            name: decoded if name == "items" else _ITEM.decode(part) for name, part in parts.items()
        }
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _parts(text: str) -> tuple[dict[str, msgspec.Raw], list[msgspec.Raw]]:
    """Return the fields of a list, and its items; a list that kubectl wrote is read in one pass."""
    try:
        listed = _KUBECTL_LIST.decode(text)
    except msgspec.ValidationError:
        parts = _PARTS.decode(text)
        return parts, _ITEMS.decode(parts.get("items", b""))
    metadata = {"metadata": listed.metadata} if bytes(listed.metadata) else {}
    return {
        "apiVersion": listed.api_version,
        "items": msgspec.Raw(),
        "kind": listed.kind,
        **metadata,
    }, listed.items


def _finite(number: Any) -> Any:
    if not isfinite(number):
        raise ValueError("as text it would be null")
    return number


class _EarlierDevice(Struct):
    """A device with which later ones are compared."""

    names: list[str]
    attributes: dict[str, Any]
    other_names: tuple[str, ...]
    """The names of the attributes that are not plain strings, or in which the latest devices
    differ.
    """


class _SharedValues(Struct):
    """The values that items of a list share."""

    parts: dict[bytes, Any] = field(default_factory=dict)
    """Parts of objects, by their text."""
    values: dict[bytes, Any] = field(default_factory=dict)
    """Values of attributes, by their text."""
    earlier_devices: dict[tuple[int, int], _EarlierDevice] = field(default_factory=dict)
    """An earlier device. The key is the index of the device in its slice, and the number of its
    attributes.
    """
    keys: SharedKeys = field(default_factory=SharedKeys)
    """The keys of devices, of their attributes, and of the results of allocations."""


def _share_parts(item: Any, shared: _SharedValues) -> Any:
    """Return an item that shares with earlier items the parts that are equal in both."""
    if not isinstance(item, dict):
        return item
    spec, status = item.get("spec"), item.get("status")
    devices = spec.get("devices") if isinstance(spec, dict) else None
    parts: list[Any] = [item.get("metadata"), spec, status, devices]
    for part in parts:
        for name in _SHARED_PARTS.intersection(part) if isinstance(part, dict) else ():
            part[name] = shared.parts.setdefault(encode(part[name]), part[name])
    if isinstance(devices, list):
        devices[:] = [
            _share_parts_of_device(device, index, shared) if isinstance(device, dict) else device
            for index, device in enumerate(devices)
        ]
    results = list_at(status, "allocation", "devices", "results") if status else []
    results[:] = [
        _share_strings(result, shared) if isinstance(result, dict) else result for result in results
    ]
    return item


def _share_parts_of_device(
    device: dict[str, Any], index: int, shared: _SharedValues
) -> dict[str, Any]:
    if isinstance(device_name := device.get("name"), str):
        device["name"] = intern(device_name)
    parts = device.get("basic", device)  # in v1beta1
    if isinstance(parts, dict):
        if isinstance(capacity := parts.get("capacity"), dict):
            parts["capacity"] = shared.parts.setdefault(encode(capacity), capacity)
        if isinstance(attributes := parts.get("attributes"), dict):
            parts["attributes"] = _attributes(attributes, index, shared)
    return shared.keys.copy(device)


def _share_strings(result: dict[str, Any], shared: _SharedValues) -> dict[str, Any]:
    for name, value in result.items():
        if type(value) is str:
            result[name] = intern(value)
    return shared.keys.copy(result)


def _attributes(attributes: dict[str, Any], index: int, shared: _SharedValues) -> dict[str, Any]:
    """Return the attributes of a device, with values that are shared with earlier devices. Most
    attributes have the same strings as those of an earlier device at this index of a slice. Other
    attributes are compared by their text, since True equals 1 in Python.
    """
    names = list(attributes)
    earlier = shared.earlier_devices.get((index, len(names)))
    if earlier is None or earlier.names != names:
        return _keep_attributes(attributes, index, shared)
    merged = earlier.attributes.copy()
    for name in earlier.other_names:
        merged[name] = attributes[name]
    if merged != attributes:
        differing = compress(names, map(ne, attributes.values(), earlier.attributes.values()))
        others = {*differing, *_names_of_other_types(earlier.attributes)}
        if 2 * len(others) > len(names):
            return _keep_attributes(attributes, index, shared)
        merged = earlier.attributes.copy()
        earlier.other_names = tuple(others)
    for name in earlier.other_names:
        merged[name] = _share_value(attributes[name], shared)
    return merged


def _keep_attributes(
    attributes: dict[str, Any], index: int, shared: _SharedValues
) -> dict[str, Any]:
    """Return the attributes with shared values, and compare later devices with them."""
    shared_attributes = shared.keys.copy(
        {name: _share_value(value, shared) for name, value in attributes.items()}
    )
    shared.earlier_devices[index, len(attributes)] = _EarlierDevice(
        list(attributes), shared_attributes, _names_of_other_types(shared_attributes)
    )
    return shared_attributes


def _names_of_other_types(attributes: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        [name for name, value in attributes.items() if type(value) is not dict or not _texts(value)]
    )


def _share_value(value: Any, shared: _SharedValues) -> Any:
    text = encode(value)
    if text in shared.values:
        return shared.values[text]
    copy = shared.keys.copy(value) if isinstance(value, dict) else value
    if len(shared.values) < _MAX_KEPT_VALUES:
        shared.values[text] = copy
    return copy


def _texts(value: dict[str, Any]) -> bool:
    return all(type(item) is str for item in value.values())


class NotJson(Exception):
    """The text is not a stream of JSON values: the error and its offset. ``after`` is the number of
    values before it, and ``place`` the beginning of the value with the error.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.after = 0
        self.place = 0


def read(source: Source) -> Iterator[Document | Broken]:
    """Yield every object of a JSON file, which may contain several in sequence; the items of Lists.
    Raises NotJson.
    """
    for index, (value, place, _) in enumerate(top_level(source.text)):
        if value is not None:
            yield from expand(Document(source.name, index, value, JsonLocator(source, place)))


def is_json(text: str) -> bool:
    """Return True if a text is JSON, not YAML that begins with a brace."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return any(value is not None for value, _, _ in top_level(text))
    except NotJson:
        return False


def top_level(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the values of a stream of JSON, each with the offsets of its beginning and of its end.
    Raises NotJson.
    """
    place, count = _space(text, 0), 0
    while place < len(text):
        try:
            value, end = _value(text, place)
        except NotJson as error:
            error.after, error.place = count, place
            raise
        yield value, place, end
        place, count = _space(text, end), count + 1


def _space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match is not None else place


def _value(text: str, place: int) -> tuple[Any, int]:
    whole = len(text) >= _MIN_LARGE_LENGTH and not place
    deep = whole and brackets_nest_deeply(text)  # before decoding, which takes memory
    try:
        listed = _list(text) if whole else None
        value, end = _DECODER.raw_decode(text, place) if listed is None else (listed, len(text))
    except json.JSONDecodeError as error:
        raise NotJson(error.msg[:1].lower() + error.msg[1:], error.pos) from None
    except (
        ValueError
    ) as error:  # a constant such as NaN, or an integer with more digits than Python converts
        raise NotJson(str(error), place) from None
    except RecursionError:
        raise NotJson(f"nested more than {MAX_DEPTH} levels deep", place) from None
    # Strings with brackets can make the quick test fail, so then the value itself is measured.
    if (brackets_nest_deeply(text, place, end) if listed is None else deep) and _nests_deeply(
        value
    ):
        raise NotJson(f"nested more than {MAX_DEPTH} levels deep", place)
    if listed is None and _SURROGATE_ESCAPE.search(text, place, end):
        value = _replace_surrogates(value)
    return value, end


def _nests_deeply(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _replace_surrogates(value: Any) -> Any:
    """Replace half a surrogate pair by U+FFFD, as Go's encoding/json reads it."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    return value


class JsonLocator:
    """Finds values of one JSON document. The containers on a path are scanned once
    and remembered.
    """

    __slots__ = ("_children", "_faults", "_source", "_start")

    def __init__(self, source: Source, start: int) -> None:
        self._source = source
        self._start = start
        self._faults: tuple[DoubledKey, ...] | None = None
        self._children: dict[int, dict[str, tuple[int, int]] | list[int]] = {}

    def source(self, path: Path) -> None:
        """Return None: all values are in the file itself."""

    def line(self, number: int) -> str:
        return self._source.line(number)

    def text(self) -> str:
        return self._source.text

    def faults(self) -> tuple[DoubledKey, ...]:
        """Return the first duplicate keys. The document is read once more to find them."""
        if self._faults is None:
            self._faults = (
                tuple(islice(self._duplicates(self._start, ()), _MAX_FAULTS))
                if self._has_duplicates()
                else ()
            )
        return self._faults

    def _has_duplicates(self) -> bool:
        has_duplicates = False

        def notice(pairs: list[tuple[str, Any]]) -> None:
            nonlocal has_duplicates
            if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
                has_duplicates = True

        json.JSONDecoder(object_pairs_hook=notice).raw_decode(self._source.text, self._start)
        return has_duplicates

    def _duplicates(self, place: int, path: Path) -> Iterator[DoubledKey]:
        text = self._source.text
        if text[place] == "{":
            seen = set()
            for name, key_place, value_place in members(text, place):
                if name in seen:
                    position = self._source.position(key_place, end_of(text, key_place))
                    message = f"key {json.dumps(name, ensure_ascii=False)} already set in map"
                    yield DoubledKey(message, (*path, name), position)
                seen.add(name)
                yield from self._duplicates(value_place, (*path, name))
        elif text[place] == "[":
            for number, value_place in enumerate(items(text, place)):
                yield from self._duplicates(value_place, (*path, number))

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        text = self._source.text
        place, key_place = self._start, None
        for step in path:
            child = self._child(place, step)
            if child is None:
                if key_place is not None:
                    return self._source.position(key_place, end_of(text, key_place))
                return self._source.position(place)
            key_place, place = child
        if offset is not None and text[place] == '"':
            pieces = _string_pieces(text, place)
            at = max(0, min(offset, len(pieces) - 1))
            after = pieces[at + 1].place if at + 1 < len(pieces) else None
            return self._source.position(pieces[at].place, after)
        if key and key_place is not None:
            place = key_place
        return self._source.position(place, end_of(text, place))

    def _child(self, place: int, step: str | int) -> tuple[int | None, int] | None:
        opening = self._source.text[place]
        if place not in self._children and opening in "{[":
            self._children[place] = (
                {name: (key, value) for name, key, value in members(self._source.text, place)}
                if opening == "{"
                else list(items(self._source.text, place))
            )
        children = self._children.get(place)
        if isinstance(children, dict):
            return children.get(step) if isinstance(step, str) else None
        if isinstance(children, list) and isinstance(step, int) and 0 <= step < len(children):
            return None, children[step]
        return None


def end_of(text: str, place: int) -> int:
    """Return the offset after the value at an offset."""
    return _DECODER.raw_decode(text, place)[1]


def members(text: str, place: int) -> Iterator[tuple[str, int, int]]:
    """Yield the members of the object at ``place``: the name, the place of the name, and the place
    of the value.
    """
    place = _space(text, place + 1)
    while text[place] != "}":
        name, end = _DECODER.raw_decode(text, place)
        value = _space(text, _space(text, end) + 1)
        yield _SURROGATE.sub("\ufffd", name), place, value
        place = _space(text, end_of(text, value))
        if text[place] == ",":
            place = _space(text, place + 1)


def items(text: str, place: int) -> Iterator[int]:
    """Yield the place of each item of the list at ``place``."""
    place = _space(text, place + 1)
    while text[place] != "]":
        yield place
        place = _space(text, end_of(text, place))
        if text[place] == ",":
            place = _space(text, place + 1)


def _string_pieces(text: str, place: int) -> list[Piece]:
    """Return each code point of the string at ``place``, and its closing quote."""
    pieces: list[Piece] = []
    place += 1
    while (char := text[place]) != '"':
        start = place
        if char != "\\":
            place += 1
        elif text[place + 1] != "u":
            char = _ESCAPES.get(text[place + 1], text[place + 1])
            place += 2
        else:
            code = int(text[place + 2 : place + 6], 16)
            place += 6
            if 0xD800 <= code < 0xDC00 and re.match(
                r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", text[place : place + 6]
            ):
                code = (
                    0x10000
                    + ((code - 0xD800) << 10)
                    + int(text[place + 2 : place + 6], 16)
                    - 0xDC00
                )
                place += 6
            char = chr(code)
        pieces.append(Piece(char, start))
    return [*pieces, Piece('"', place)]
