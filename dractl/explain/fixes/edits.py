"""Make JSON patch operations for an object: create parents, and find list entries by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from dractl.cluster.changes import parse_pointer, pointer
from dractl.cluster.state import at

Operation = Mapping[str, Any]
Path = tuple[str | int, ...]


def remove(path: Path) -> Operation:
    """Return the operation that removes the value at ``path``."""
    return {"op": "remove", "path": pointer(*path)}


def replace(path: Path, new: Any) -> Operation:
    """Return the operation that replaces the value at ``path``."""
    return {"op": "replace", "path": pointer(*path), "value": new}


def put(value: Any, path: Path, new: Any) -> Operation:
    """Return the operation that sets a field, and creates the parents that ``value`` lacks."""
    for depth in range(1, len(path)):
        if at(value, *path[:depth]) is None:
            for part in reversed(path[depth:]):
                new = {part: new}
            return {"op": "add", "path": pointer(*path[:depth]), "value": new}
    operation = "add" if at(value, *path) is None else "replace"
    return {"op": operation, "path": pointer(*path), "value": new}


def append(value: Any, path: Path, entries: Sequence[Any]) -> tuple[Operation, ...]:
    """Return the operations that append entries to the list at ``path``, or that create the list if
    it is missing.
    """
    if at(value, *path):
        end = pointer(*path, "-")
        return tuple({"op": "add", "path": end, "value": entry} for entry in entries)
    return (put(value, path, list(entries)),)


def drop(value: Any, path: Path) -> Operation:
    """Return the operation that removes a field, and the map around it if that becomes empty."""
    parent = at(value, *path[:-1]) if len(path) > 1 else None
    is_only_field = isinstance(parent, dict) and list(parent) == [path[-1]]
    if is_only_field and path[-2:-1] not in (("spec",), ("metadata",)):
        return drop(value, path[:-1])
    return remove(path)


def move_operation(
    operation: Operation, source: Any, target: Any, prefix: Path
) -> Operation | None:
    """Translate an operation on ``source`` into one on ``target``, which has the same fields below
    ``prefix``.

    Entries of lists are found by their names. Return None if ``target`` lacks the value that would
    be removed, replaced or moved.
    """
    location = _locate(parse_pointer(str(operation["path"])), source, target, prefix)
    if location is None:
        return None
    path, exists = location
    match operation["op"]:
        case "remove":
            return remove(path) if exists else None
        case "move":
            origin = _locate(parse_pointer(str(operation["from"])), source, target, prefix)
            if origin is None or not origin[1]:
                return None
            return {"op": "move", "from": pointer(*origin[0]), "path": pointer(*path)}
        case _ if path[-1] == "-":
            if at(target, *path[:-1]):
                return {**operation, "path": pointer(*path)}
            return put(target, path[:-1], [operation["value"]])
        case _:
            return put(target, path, operation["value"])


def _locate(
    path: Sequence[str], source: Any, target: Any, prefix: Path
) -> tuple[Path, bool] | None:
    """Return the path in ``target`` that corresponds to ``path`` in ``source``, and whether
    ``target`` has a value there.

    Return None if an entry of a list is missing.
    """
    target_path: list[str | int] = list(prefix)
    source_value, target_value = source, at(target, *prefix)
    for part in path:
        if isinstance(source_value, list) and part != "-":
            is_entry = part.isdigit() and int(part) < len(source_value)
            entry = source_value[int(part)] if is_entry else None
            index = _find_index(entry, target_value)
            if index is None:
                return None
            target_path.append(index)
            source_value, target_value = entry, target_value[index]
        else:
            target_path.append(part)
            source_value = source_value.get(part) if isinstance(source_value, dict) else None
            target_value = target_value.get(part) if isinstance(target_value, dict) else None
    return tuple(target_path), target_value is not None


def _find_index(entry: Any, entries: Any) -> int | None:
    """Return the index of an equal entry, or of one of the same name."""
    if not isinstance(entries, list):
        return None
    name = entry.get("name") if isinstance(entry, dict) else None
    indices = (
        index
        for index, other in enumerate(entries)
        if other == entry or (name and at(other, "name") == name)
    )
    return next(indices, None)
