"""Names that were probably meant."""

from collections.abc import Iterable

from dractl.model.nearest import nearest

_SHOWN = 24  # names that one sentence lists


def meant(name: str, known: Iterable[str], lead: str) -> str:
    """The known name that was probably meant, else all of them; the part before the last slash counts little."""
    keys = sorted(known)
    by_last: dict[str, list[str]] = {}
    for key in keys:
        by_last.setdefault(key.rpartition("/")[2], []).append(key)
    near = nearest(name.rpartition("/")[2], by_last)
    if near:
        return f"did you mean {nearest(name, by_last[near], alike=0)}?"
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{lead} {', '.join(keys[:_SHOWN]) or 'none'}{more}"
