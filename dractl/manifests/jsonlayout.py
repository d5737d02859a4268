"""Changed values in JSON text: equal parts keep their text, and new parts follow the layout around
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.manifests.jsontext import end_of, items, members, top_level


class NoPlace(Exception):
    """Raised if the text has no place for further objects."""


def rewrite(text: str, place: int, old: Any, new: Any) -> str:
    """Return the text of ``new`` in place of the value ``old`` at an offset.

    If a list grows, its new items are assumed to be at its front.
    """
    end = end_of(text, place)
    if old == new:
        return text[place:end]
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        places_by_name = {name: (key, value) for name, key, value in members(text, place)}
        layout = _Layout(
            text, [(key, end_of(text, value)) for key, value in places_by_name.values()], place, end
        )
        (first_key, first_value), *_ = places_by_name.values()
        colon = text[end_of(text, first_key) : first_value]
        parts = [
            text[places_by_name[name][0] : places_by_name[name][1]]
            + rewrite(text, places_by_name[name][1], old[name], value)
            if name in places_by_name and name in old
            else json.dumps(name) + colon + layout.write(value)
            for name, value in new.items()
        ]
        return layout.join("{", parts, "}")
    if isinstance(old, list) and isinstance(new, list) and old and len(new) >= len(old):
        places = list(items(text, place))
        layout = _Layout(text, [(value, end_of(text, value)) for value in places], place, end)
        added = len(new) - len(old)
        parts = [layout.write(item) for item in new[:added]]
        parts += [rewrite(text, *pair) for pair in zip(places, old, new[added:], strict=True)]
        return layout.join("[", parts, "]")
    return json.dumps(new)


def with_objects(text: str, added: Sequence[Mapping[str, Any]]) -> str:
    """Return the text with the objects of ``added``. They become items if the text is a List,
    follow the last object if the text has several objects, and are put into a new List together
    with the object if the text has one. Raises NoPlace for a list of objects of one kind, such as
    PodList.
    """
    if not added:
        return text
    (value, place, end), *further = top_level(text)
    if further:
        return (
            text.rstrip()
            + "".join("\n" + _Layout.for_object(text, place).write(item, 0) for item in added)
            + "\n"
        )
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "List" and value.get("items"):
        places = {name: at for name, _, at in members(text, place)}
        at = places["items"]
        spans = [(item, end_of(text, item)) for item in items(text, at)]
        layout = _Layout(text, spans, at, end_of(text, at))
        parts = [text[start:stop] for start, stop in spans] + [layout.write(item) for item in added]
        return text[:at] + layout.join("[", parts, "]") + text[end_of(text, at) :]
    if not isinstance(kind, str) or kind.endswith("List"):
        raise NoPlace
    layout = _Layout.for_object(text, place)
    outer, inner = layout.newline(1), layout.newline(2)
    parts = [
        text[place:end].replace("\n", "\n" + layout.unit * 2),
        *(layout.write(item, 2) for item in added),
    ]
    comma = "," if layout.unit else layout.separator
    empty = layout.write({"apiVersion": "v1", "kind": "List", "items": []}, 0)
    head = empty[: empty.rindex("]")]
    body = head + inner + (comma + inner).join(parts) + outer + "]" + layout.newline(0) + "}"
    return text[:place] + body + text[end:]


class _Layout:
    """The layout of a map or a list: the text before its first value, between values and after the
    last one.
    """

    def __init__(self, text: str, spans: Sequence[tuple[int, int]], place: int, end: int) -> None:
        self._before = text[place + 1 : spans[0][0]]
        self._after = text[max(stop for _, stop in spans) : end - 1]
        wide = "\n" in self._before
        self._space = " " if text.partition('":')[2].startswith(" ") else ""
        self.separator = "," + (self._before if wide else self._space)
        if len(spans) > 1:
            self.separator = text[spans[0][1] : spans[1][0]]
        self._break = "\r\n" if "\r\n" in self._before else "\n"
        self._indent = self._before.rpartition("\n")[2] if wide else ""
        self.unit = self._indent.removeprefix(self._after.rpartition("\n")[2]) if wide else ""

    @classmethod
    def for_object(cls, text: str, place: int) -> _Layout:
        """Return the layout of the object at an offset."""
        spans = [(key, end_of(text, value)) for _, key, value in members(text, place)]
        return cls(text, spans, place, end_of(text, place))

    def newline(self, depth: int) -> str:
        """Return a line break and the indentation of a depth; "" if everything is on one line."""
        return self._break + self.unit * depth if self.unit else ""

    def write(self, value: Any, depth: int | None = None) -> str:
        """Return the text of a new value. ``depth`` is the indentation depth of the line on
        which the value begins; the default is the depth of the values of this map or list.
        """
        if not self.unit:
            return json.dumps(value, separators=("," + self._space, ":" + self._space))
        indent = self._indent if depth is None else self.unit * depth
        return json.dumps(value, indent=self.unit).replace("\n", self._break + indent)

    def join(self, opening: str, parts: Sequence[str], closing: str) -> str:
        """Return values between brackets."""
        return opening + self._before + self.separator.join(parts) + self._after + closing
