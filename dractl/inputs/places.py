"""The places at which people edit the values of objects that a GitOps controller applies: files,
patches, and the variables of Flux.
"""

import re
from typing import Any

from dractl.inputs.layering import Member
from dractl.inputs.substitution import Variables, substitute
from dractl.manifests import Document
from dractl.manifests.built import Places
from dractl.manifests.documents import Path, Provenance, Spot, Within
from dractl.manifests.source import Position
from dractl.model.paths import at

_PLAIN_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""A DNS subdomain (k8s.io/apimachinery pkg/util/validation IsDNS1123Subdomain)."""
_NAMES = ("name", "namespace", "driver")


def place_member(member: Member, provenance: Provenance | None = None) -> Document:
    """Return an object at its places in its file and in patches."""
    before = member.before
    places = _AppliedPlaces(member.value, before, member.patches)
    return Document(before.file, before.index, member.value, places, provenance=provenance)


class _AppliedPlaces(Places):
    """Finds the values of an object that a controller applies."""

    def source(self, path: Path) -> Spot | None:
        """Return the source of a value: in a patch, or in the object as it is written."""
        spot = super().source(path)
        before = self._outer
        if spot is None and path and before.editable and before.at(path) == at(self._value, *path):
            return Spot(before, path)
        return spot


class SubstitutedPlaces(Within):
    """Finds the values of an object in which variables are substituted."""

    def __init__(self, outer: Document, value: dict[str, Any], variables: Variables) -> None:
        super().__init__(outer)
        self._value = value
        self._variables = variables

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        if key or self._is_same(path):
            return self._outer.locate(path, key=key, offset=offset)
        if offset is not None:
            return self._locate_character(path, offset)
        spot = self._find_culprit(path)
        return spot.document.locate(spot.path) if spot else self._outer.locate(path)

    def source(self, path: Path) -> Spot | None:
        """Return the variable that a value consists of, or the source of the value itself."""
        if self._is_same(path):
            return self._outer.source(path)
        spot = self._find_whole(path)
        if spot is None or spot.document.at(spot.path) != at(self._value, *path):
            return None
        return spot.document.source(spot.path) or spot

    def _is_same(self, path: Path) -> bool:
        return bool(self._outer.at(path) == at(self._value, *path))

    def _find_whole(self, path: Path) -> Spot | None:
        """Return the place of the variable that a value consists of."""
        made = substitute(str(self._outer.at(path)), self._variables)
        is_whole = len(made.pieces) == 1 and made.pieces[0].made == (0, len(made.text))
        return self._variables.spots.get(made.pieces[0].name) if is_whole else None

    def _find_culprit(self, path: Path) -> Spot | None:
        """Return the place of the variable that is at fault in a finding about a whole value.

        In the name of an object, this is the first variable whose value alone is not a valid name.
        If there is none, the name may be right, and the object with this name is missing.
        """
        if not str(path[-1:][0] if path else "").lower().endswith(_NAMES):
            return self._find_whole(path)
        made = substitute(str(self._outer.at(path)), self._variables)
        for piece in made.pieces:
            is_plain = _PLAIN_NAME.fullmatch(made.text[slice(*piece.made)]) is not None
            if not is_plain and piece.name in self._variables.spots:
                return self._variables.spots[piece.name]
        return None

    def _locate_character(self, path: Path, offset: int) -> Position:
        """Return the place of a character of a value: in the value of a variable if the character
        comes from one, or else in the text with the variables.
        """
        text = str(self._outer.at(path))
        has_objects = "\n" in text  # names of these objects are found in the text itself
        shift = 0
        for piece in substitute(text, self._variables).pieces:
            start, end = piece.made
            if offset < start:
                break
            spot = self._variables.spots.get(piece.name)
            if offset < end:
                if spot is not None and not has_objects:
                    return spot.document.locate(spot.path, offset=offset - start)
                return self._outer.locate(path, offset=piece.start)
            shift = piece.end - end
        return self._outer.locate(path, offset=offset + shift)
