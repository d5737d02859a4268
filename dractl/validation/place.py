"""Values of a document with their paths, as rules traverse them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from dractl.model.quantity import Quantity
from dractl.validation.violation import Path

_FLAT_REQUEST = r"(devices\.requests\[\d+\])\.exactly\b"
_BASIC_DEVICE = r"^(spec\.devices\[\d+\])\.(?!name$)"


class Place(Struct, frozen=True, eq=False):
    """A value and the path to it. ``path`` and ``field`` are built only on demand.

    The accessors rely on successful decoding: null is absent, an absent string is "", an absent
    list empty.
    """

    value: Any
    parent: Place | None = None
    step: str | int = ""
    """The step from the parent. For the root it is the version of the document, if there is
    generated validation for it.
    """
    kind: Literal["field", "index", "key"] = "field"
    shown: str | None = None
    """The server's spelling of a key that the server shortens; None for other keys."""

    def child(self, name: str, *inner: str) -> Place:
        """Return the field of that name, then the field inside it, and so on; the value is None if
        a field is absent.
        """
        value = self.value
        place = Place(value.get(name) if isinstance(value, dict) else None, self, name)
        return place.child(*inner) if inner else place

    def index(self, index: int, value: Any = None) -> Place:
        return Place(value, self, index, "index")

    def key(self, key: str, shown: str | None = None) -> Place:
        """Return the entry of a map. ``shown`` is the server's spelling of a key that it
        shortens.
        """
        value = self.value
        return Place(value.get(key) if isinstance(value, dict) else None, self, key, "key", shown)

    @property
    def set(self) -> bool:
        return self.value is not None

    @property
    def text(self) -> str:
        return self.value or ""

    @property
    def integer(self) -> int:
        return int(self.value or 0)

    @property
    def quantity(self) -> Quantity:
        return Quantity() if self.value is None else Quantity.parse(self.value)

    @property
    def size(self) -> int:
        """Number of items or entries."""
        return len(self.value or ())

    def items(self) -> Iterator[Place]:
        """Yield the items of a list."""
        for index, value in enumerate(self.value or ()):
            yield Place(value, self, index, "index")

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield the entries of a map, unchanged."""
        yield from (self.value or {}).items()

    @property
    def path(self) -> Path:
        return tuple(place.step for place in self._ancestry())

    @property
    def field(self) -> str:
        """Path as the API server spells it."""
        return self._spell(shortened=True)

    def _spell(self, *, shortened: bool) -> str:
        text = ""
        for place in self._ancestry():
            if place.kind == "field":
                text += f".{place.step}" if text else str(place.step)
            else:
                text += f"[{place.shown if shortened and place.shown is not None else place.step}]"
        return text

    @property
    def shortened(self) -> bool:
        """True if this is an entry whose key the server shortens."""
        return self.shown not in (None, self.step)

    @property
    def declared(self) -> str:
        """The path in the spelling of 1.37's generated validation, which uses the version of the
        input.
        """
        root = self
        while root.parent is not None:
            root = root.parent
        if not root.step:
            return self.field
        field = self._spell(shortened=False)
        if root.step != "v1beta1":
            return field
        return re.sub(_BASIC_DEVICE, r"\1.basic.", re.sub(_FLAT_REQUEST, r"\1", field))

    def _ancestry(self) -> list[Place]:
        way = []
        place = self
        while place.parent is not None:
            way.append(place)
            place = place.parent
        return way[::-1]
