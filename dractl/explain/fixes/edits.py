"""JSON patch operations for an object as it is: fields are added with missing parents, list items found by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from dractl.cluster.changes import parse_pointer, pointer
from dractl.cluster.state import at

Operation = Mapping[str, Any]
Path = tuple[str | int, ...]


def remove(*path: str | int) -> Operation:
    """The operation that removes what is at a path."""
    return {"op": "remove", "path": pointer(*path)}


def replace(path: Path, new: Any) -> Operation:
    """The operation that replaces what is at ``path``."""
    return {"op": "replace", "path": pointer(*path), "value": new}


def put(value: Any, path: Path, new: Any) -> Operation:
    """The operation that sets the field at ``path``, together with the parents that ``value`` lacks."""
    for depth in range(1, len(path)):
        if at(value, *path[:depth]) is None:
            for part in reversed(path[depth:]):
                new = {part: new}
            return {"op": "add", "path": pointer(*path[:depth]), "value": new}
    return {
        "op": "add" if at(value, *path) is None else "replace",
        "path": pointer(*path),
        "value": new,
    }


def append(value: Any, path: Path, items: Sequence[Any]) -> tuple[Operation, ...]:
    """The operations that append ``items`` to the list at ``path``, which may be missing or empty."""
    if at(value, *path):
        return tuple({"op": "add", "path": pointer(*path, "-"), "value": item} for item in items)
    return (put(value, path, list(items)),)


def drop(value: Any, path: Path) -> Operation:
    """The operation that removes the field at ``path``, and the mapping around it if it holds nothing else."""
    parent = at(value, *path[:-1]) if len(path) > 1 else None
    if (
        isinstance(parent, dict)
        and list(parent) == [path[-1]]
        and path[-2:-1] not in (("spec",), ("metadata",))
    ):
        return drop(value, path[:-1])
    return remove(*path)


def move_operation(
    operation: Operation, source: Any, target: Any, prefix: Path
) -> Operation | None:
    """An operation on ``source`` as one on ``target``, where the same things stand below ``prefix``: items of lists are
    found by their names. None where ``target`` has nothing of what would be removed, replaced or moved."""
    where = _locate(parse_pointer(str(operation["path"])), source, target, prefix)
    if where is None:
        return None
    path, there = where
    match operation["op"]:
        case "remove":
            return remove(*path) if there else None
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
    """Where ``target`` has what ``source`` has at ``path``, and whether it is there; None where an item is missing."""
    found: list[str | int] = list(prefix)
    here, there = source, at(target, *prefix)
    for part in path:
        if isinstance(here, list) and part != "-":
            item = here[int(part)] if part.isdigit() and int(part) < len(here) else None
            index = _find_index(item, there)
            if index is None:
                return None
            found.append(index)
            here, there = item, there[index]
        else:
            found.append(part)
            here = here.get(part) if isinstance(here, dict) else None
            there = there.get(part) if isinstance(there, dict) else None
    return tuple(found), there is not None


def _find_index(item: Any, items: Any) -> int | None:
    if not isinstance(items, list):
        return None
    name = item.get("name") if isinstance(item, dict) else None
    same = (
        i for i, other in enumerate(items) if other == item or (name and at(other, "name") == name)
    )
    return next(same, None)
