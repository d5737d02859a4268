"""The probable meaning of a document that the API server cannot decode.

The server stops at the first step that fails. A draft corrects the faults that it can and drops
other parts, so that other errors can be reported in the same run. It remembers the place of each
value in the document.
"""

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from dractl.lint.placeholders import holds_placeholder
from dractl.manifests import Document, Position
from dractl.manifests.documents import DoubledKey, Spot, Within
from dractl.model import Target
from dractl.model.paths import at as value_at
from dractl.validation.decoding import DRA_GROUP, decode, identify
from dractl.validation.schemas import schemas_of
from dractl.validation.violation import Path, Violation

HIDING = frozenset({"wrong-type", "unknown-field", "duplicate-key", "merged-key", "not-served"})
"""Violations that keep the server from its later steps."""

_SIMILAR_VERSIONS = {
    "resource.k8s.io/v1alpha3": ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"),
    "resource.k8s.io/v1beta1": ("resource.k8s.io/v1alpha3",),
    "resource.k8s.io/v1beta2": ("resource.k8s.io/v1",),
    "resource.k8s.io/v1": ("resource.k8s.io/v1beta2",),
}
"""Versions with the same fields, except for fields of later releases; for v1alpha3, a
DeviceTaintRule uses the second one.
"""


class Draft:
    """A document's value as it was probably meant.

    ``doubtful`` has the maps that lost a field, and the paths that lost a value; missing values
    there are not reported.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self.value: dict[str, Any] = document.value
        self.doubtful: set[Path] = set()
        self._moves: list[tuple[Path, Path]] = []

    def improve(self, violations: Iterable[Violation], target: Target) -> bool:
        """Correct the subjects of ``violations`` (with paths of this draft); return True if that
        changed the draft.
        """
        before = self.value
        for holder, alike in groupby(violations, _holder_of_homeless):
            if holder is not None:
                # All violations are corrected in one step, since there can be many.
                self.value = _remove_keys(
                    self.value, holder, frozenset(violation.path[-1] for violation in alike)
                )
                self.doubtful.add(holder)
                continue
            for violation in alike:
                match violation.rule:
                    case "wrong-type":
                        self._convert(violation)
                    case "unknown-field":
                        self._move(violation)
                    case "not-served":
                        self._serve(violation, target)
        return self.value is not before

    def source_path(self, path: Path) -> Path:
        """Return the path in the document that corresponds to a path in the draft."""
        for new, old in reversed(self._moves):
            if path[: len(new)] == new:
                return (*old, *path[len(new) :])
        return path

    @property
    def document(self) -> Document:
        """The draft as a document: its values are from the draft, its places from the file."""
        written = self._document
        return written.another(self.value, _SourcePlaces(self, written), derived=written.derived)

    def misses(self, violation: Violation) -> bool:
        """Return True if a violation only reports a missing value where the draft dropped one."""
        holder = violation.path[:-1] if violation.type == "FieldValueRequired" else violation.path
        return violation.path in self.doubtful or holder in self.doubtful

    def _convert(self, violation: Violation) -> None:
        path, value = violation.path, violation.meant
        written = value_at(self.value, *path)
        # These fields belong beside limits and requests
        if path[-2:] in (("limits", "claims"), ("requests", "claims")):
            self.value = _remove_keys(self.value, path[:-1], path[-1:])
            self._put((*path[:-2], "claims"), written, path)
            return
        if value is None or holds_placeholder(written):
            value = None  # null counts as absent everywhere
            self.doubtful.add(path)
        elif isinstance(value, dict) and isinstance(written, list):
            self._moves.append((path, self.source_path((*path, 0))))
        elif isinstance(value, list):
            whole = not isinstance(written, dict) or value[0] is written
            olds = [path] if whole else [(*path, name) for name in written]
            self._moves += [((*path, at), self.source_path(old)) for at, old in enumerate(olds)]
        self.value = _set_value(self.value, path, value)

    def _move(self, violation: Violation) -> None:
        path, to = violation.path, violation.moved_to
        value = value_at(self.value, *path)
        self.value = _remove_keys(self.value, path[:-1], path[-1:])
        if to == path[:-1] and isinstance(value, dict):
            for name, item in value.items():
                self._put((*to, name), item, (*path, name))
        elif to is not None and not self._put(to, value, path):
            self.doubtful.add(path[:-1])

    def _put(self, path: Path, value: Any, old: Path) -> bool:
        if value_at(self.value, *path) is not None:
            return False
        for end in range(1, len(path)):  # the maps on the path to the value
            if isinstance(path[end], str) and value_at(self.value, *path[:end]) is None:
                self.value = _set_value(self.value, path[:end], {})
        self.value = _set_value(self.value, path, value)
        self._moves.append((path, self.source_path(old)))
        return True

    def _serve(self, violation: Violation, target: Target) -> None:
        """Change to the version in which the document decodes, or to the kind that was probably
        meant.
        """
        kind = self.value.get("kind")
        if violation.moved_to is not None:
            self._move(violation)
            return
        if violation.path == ("kind",):
            if violation.nearest and isinstance(kind, str) and _alike(kind, violation.nearest):
                self.value = {**self.value, "kind": violation.nearest}
            return
        versions = violation.allowed or (
            _newest(kind, target) if not self.value.get("apiVersion") else ()
        )
        for version in sorted(versions, key=lambda version: version != violation.nearest):
            draft = {**self.value, "apiVersion": version}
            shape = identify(draft, target)
            if not isinstance(shape, list) and not decode(draft, shape, target, ()):
                self.value = draft
                return
        similar = [
            version
            for version in _SIMILAR_VERSIONS.get(str(self.value.get("apiVersion")), ())
            if version in versions
        ]
        if similar:
            self.value = {**self.value, "apiVersion": similar[0]}


class _SourcePlaces(Within):
    """Finds the positions at which the values of a draft were written in the document."""

    def __init__(self, draft: Draft, document: Document) -> None:
        super().__init__(document)
        self._draft = draft

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        return self._outer.locate(self._draft.source_path(path), key=key, offset=offset)

    def source(self, path: Path) -> Spot | None:
        """Return the value of another file that a value was rendered from."""
        return self._outer.source(self._draft.source_path(path))

    def faults(self) -> tuple[DoubledKey, ...]:
        return self._outer.faults


def _alike(written: str, meant: str) -> bool:
    return SequenceMatcher(None, written.lower(), meant.lower()).ratio() > 0.9


def _newest(kind: object, target: Target) -> tuple[str, ...]:
    versions = schemas_of(target.release).versions(kind) if isinstance(kind, str) else ()
    return tuple(version for version in versions if version.startswith(DRA_GROUP)) or versions


def _set_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of ``value`` with ``new`` at ``path``; everything outside the path is
    shared.
    """
    if not path:
        return new
    step, below = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        return [
            _set_value(item, below, new) if at == step else item for at, item in enumerate(value)
        ]
    if isinstance(value, dict):
        return {**value, step: _set_value(value.get(step), below, new)}
    return value


def _holder_of_homeless(violation: Violation) -> Path | None:
    """Return the parent of an unknown field that belongs nowhere else; None for any other
    violation.
    """
    return (
        violation.path[:-1]
        if violation.rule == "unknown-field" and violation.moved_to is None
        else None
    )


def _remove_keys(value: Any, holder: Path, names: Collection[str | int]) -> Any:
    """Return a copy of ``value`` without some keys of the map at ``holder``."""
    if not holder:
        return (
            {name: item for name, item in value.items() if name not in names}
            if isinstance(value, dict)
            else value
        )
    step, below = holder[0], holder[1:]
    if isinstance(value, list) and isinstance(step, int):
        return [
            _remove_keys(item, below, names) if at == step else item
            for at, item in enumerate(value)
        ]
    if isinstance(value, dict) and step in value:
        return {**value, step: _remove_keys(value[step], below, names)}
    return value
