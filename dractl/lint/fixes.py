"""Edits that fix findings, and the text after them."""

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from msgspec.structs import replace

from dractl.lint.finding import Edit, TextFix
from dractl.lint.hints import rewritten
from dractl.lint.model import Replacement
from dractl.lint.standard import qualified
from dractl.manifests import Document, Position
from dractl.objects import mapping
from dractl.objects.pods import PodSpec
from dractl.validation.formats import label_errors
from dractl.validation.previews import is_doubt
from dractl.validation.violation import Path, Violation

_COMMENT = re.compile(r"(?:^|\s)(#.*)$")
_OF_REQUESTS = frozenset(
    {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations"}
)
_CLAIMS_OF_LIMITS = (("resources", "limits", "claims"), ("resources", "requests", "claims"))
_UNIT = re.compile(
    r"([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGTP]i?)[Bb]|(?:cores?|cpus?|gpus?|devices?|[Bb]ytes?))"
)
_OF_CLAIMS = frozenset({"resourceClaims", "claims", "apiVersion", "kind"})


def for_violation(document: Document, violation: Violation) -> TextFix | None:
    """The edits that fix a violation, if the intended value is clear; else None."""
    if is_doubt(violation):
        return None
    if violation.issues:
        return _rewritten(document, violation)
    if violation.offset is not None or not violation.path:
        return None
    if violation.rule == "PC-09" and isinstance(document.at(violation.path), dict):
        violation = replace(violation, path=(*violation.path, "name"))
    if violation.path[-3:] in _CLAIMS_OF_LIMITS:
        return _into(document, violation.path, (*violation.path[:-2], "claims"))
    if violation.rule == "wrong-type":
        return _converted(document, violation) or _without_unit(document, violation)
    if violation.path[-1] == "count" and "allocationMode" in violation.message:
        edit = removal(document, violation.path)
        return TextFix("remove count", (edit,), safe=False) if edit is not None else None
    written = violation.path[-1] if violation.key else document.at(violation.path)
    if not isinstance(written, str):
        return None
    if (
        violation.rule == "unknown-field"
        and violation.path[-2:-1] == ("devices",)
        and written in _OF_REQUESTS
    ):
        requests = document.at((*violation.path[:-1], "requests"))
        only = isinstance(requests, list) and len(requests) == 1
        to = (*violation.path[:-1], "requests", 0, "exactly", written)
        return _into(document, violation.path, to) if only else None
    if violation.moved_to is not None:
        return _moved(document, violation.path, violation.moved_to)
    if violation.key:
        return None
    if violation.nearest is None:
        meant = (
            _among(written, violation)
            or _left(document, violation)
            or _respelled(written, violation)
        )
        return replacement(document, Replacement(violation.path, meant)) if meant else None
    safe = _alike(written, violation.nearest)
    return replacement(document, Replacement(violation.path, violation.nearest, safe=safe))


def _without_unit(document: Document, violation: Violation) -> TextFix | None:
    """A quantity without the word behind it, or with the suffix of bytes as quantities have it."""
    written = document.at(violation.path)
    found = (
        _UNIT.fullmatch(written)
        if isinstance(written, str) and "quantity" in violation.message
        else None
    )
    if found is None:
        return None
    meant = found[1] + (found[2] or "")
    return replacement(document, Replacement(violation.path, meant, f"write {meant}"))


def _into(document: Document, path: Path, to: Path) -> TextFix | None:
    """A field moved into a map that exists, behind its other fields; what it leaves empty goes, too."""
    holder = document.at(to[:-1])
    if not isinstance(holder, dict) or not holder or to[-1] in holder:
        return None
    gone = path[:-1] if path[:-2] == to[:-1] and len(document.at(path[:-1])) == 1 else path
    cut = removal(document, gone)
    kept = [name for name in holder if (*to[:-1], name) != gone]
    key, value = document.locate(path, key=True), document.locate(path)
    title = f"move it to {to[-2]}" if to[:-1] else "move it to the top of the object"
    if cut is None or (not kept and gone == path):
        return None
    if not kept:  # what it stood in becomes the field itself
        return _in_place(document, gone, path, title)
    text = _lines(document, key, value)
    end = document.locate((*to[:-1], kept[-1]))
    if _in_flow(document, to[:-1]):
        if value.line != value.end_line:
            return None
        return TextFix(title, (cut, Edit(_after(end), f", {text}")), safe=False)
    indent = document.locate((*to[:-1], kept[0]), key=True).column - 1
    shifted = "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())
    behind = Position(end.file, end.end_line + 1, 1, end.end_line + 1, 1)
    if end.end_column == 1:  # a block that ends with its line
        behind = Position(end.file, end.end_line, 1, end.end_line, 1)
    return TextFix(title, (cut, Edit(behind, shifted)), safe=False)


def _lines(document: Document, key: Position, value: Position) -> str:
    """The text of a field, its lines from its own column on."""
    first = document.line(key.line)
    if key.line == value.end_line:
        return first[key.column - 1 : value.end_column - 1]
    rest = [
        document.line(line)[key.column - 1 :] for line in range(key.line + 1, value.end_line + 1)
    ]
    return "\n".join((first[key.column - 1 :], *rest)).rstrip()


def _in_place(document: Document, outer: Path, inner: Path, title: str) -> TextFix | None:
    """A field in place of the map that has nothing else."""
    whole, end = document.locate(outer, key=True), document.locate(outer)
    key, value = document.locate(inner, key=True), document.locate(inner)
    if key.line == whole.line and value.line != value.end_line:
        return None
    text = _lines(document, key, value)
    indent = " " * (whole.column - 1)
    shifted = "\n".join(
        line if not at else indent + line for at, line in enumerate(text.splitlines())
    )
    return TextFix(title, (Edit(_from(whole, end), shifted),), safe=False)


def _rewritten(document: Document, violation: Violation) -> TextFix | None:
    written = document.at(violation.path)
    parts = rewritten(written, violation.issues) if isinstance(written, str) else ()
    made = [
        replacement(document, Replacement(violation.path, text, f"write {text}", span=(start, end)))
        for start, end, text in parts
    ]
    titles = ", ".join(dict.fromkeys(fix.title.removeprefix("write ") for fix in made))
    return (
        TextFix(f"write {titles}", tuple(edit for fix in made for edit in fix.edits), safe=False)
        if made
        else None
    )


def _respelled(written: str, violation: Violation) -> str | None:
    """The name in the form that the rule wants: a standard attribute with its domain, a label in lower case."""
    if violation.rule in ("RC-22", "RC-23"):
        return qualified(written)
    lower = written.lower().replace("_", "-")
    return (
        lower
        if "RFC 1123 label" in violation.message and lower != written and not label_errors(lower)
        else None
    )


def _among(written: str, violation: Violation) -> str | None:
    """The name of a request that was meant: the only one, or the alternative whose request was left out."""
    if violation.type != "FieldValueInvalid" or "name of a request" not in violation.message:
        return None
    subrequests = [name for name in violation.allowed if name.partition("/")[2] == written]
    meant = subrequests or violation.allowed
    return meant[0] if len(meant) == 1 else None


def _left(document: Document, violation: Violation) -> str | None:
    """The only claim of a pod, if no container names it."""
    container = violation.path[:-4]  # its resources, claims, number, name
    if violation.rule != "PC-09" or len(violation.allowed) != 1 or len(container) < 2:
        return None
    path = container[:-2] if isinstance(container[-1], int) else container[:-1]
    pod = PodSpec(document, path, mapping(document.at(path)))
    named = {claim.get("name") for _, claim in pod.uses}
    return violation.allowed[0] if named.isdisjoint(violation.allowed) else None


def _moved(document: Document, path: Path, to: Path) -> TextFix | None:
    """A field under its right name or, if it is a request's, below ``exactly``; or a wrapper's content in its place."""
    # For pods and workloads, only errors about claims would be reported.
    if not (document.api_version or "").startswith("resource.k8s.io/") and _OF_CLAIMS.isdisjoint(
        to
    ):
        return None
    holder = document.at(path[:-1])
    if to == path[:-1]:
        return _unwrapped(document, path)
    if to[:-1] == path[:-1]:
        if not isinstance(holder, dict) or to[-1] in holder:
            return None
        old, new = str(path[-1]), str(to[-1])
        return replacement(
            document,
            Replacement(path, new, f"rename {old} to {new}", key=True, safe=_alike(old, new)),
        )
    if to == (*path[:-1], "exactly", path[-1]):
        return _below_exactly(document, path) or _into(document, path, to)
    if (*to[:-2], to[-1]) == path and isinstance(holder, dict) and to[-2] not in holder:
        return _wrapped(document, path, str(to[-2]))
    return _into(document, path, to)


def _alike(written: str, nearest: str) -> bool:
    """True if a name is so similar to another that nothing else can be meant."""
    return SequenceMatcher(None, written.lower(), nearest.lower()).ratio() > 0.85


def replacement(document: Document, wanted: Replacement) -> TextFix:
    """The edit of one scalar or key, quoted as it was; or of a part of a scalar."""
    position, new = document.locate(wanted.path, key=wanted.key), wanted.text
    quote = document.line(position.line)[position.column - 1 : position.column]
    if wanted.span is None:
        new = _quoted(new, quote) if quote in _QUOTES else new
    else:
        start, end = wanted.span
        inside = _from(
            document.locate(wanted.path, offset=start), document.locate(wanted.path, offset=end - 1)
        )
        if quote in _QUOTES:
            position, new = inside, _quoted(new, quote)[1:-1]
        elif quote not in ("|", ">") and start == 0 and new.startswith(_SPECIAL):
            new = _quoted(f"{new}{document.at(wanted.path)[end:]}", "'")
        else:
            position = inside
    return TextFix(wanted.title or f"replace by {wanted.text}", (Edit(position, new),), wanted.safe)


_QUOTES = ("'", '"')
_SPECIAL = tuple("\"'[]{}&*!|>%@`#,?:-")
"""What no plain scalar of YAML begins with."""


def _quoted(text: str, quote: str) -> str:
    inside = (
        text.replace("'", "''") if quote == "'" else text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f"{quote}{inside}{quote}"


def _converted(document: Document, violation: Violation) -> TextFix | None:
    """A value converted to the required type: without or with quotes, or in the map that it belongs in."""
    meant, place = violation.meant, document.locate(violation.path)
    value = document.at(violation.path)
    if isinstance(meant, list) and len(meant) == 1 and meant[0] == value:
        return _listed(document, violation.path)
    if meant is None or place.line != place.end_line:
        return None
    written = document.line(place.line)[place.column - 1 : place.end_column - 1]
    if isinstance(meant, dict) and len(meant) == 1 and not isinstance(value, dict | list):
        (name,) = meant
        return TextFix(
            f"write {{{name}: ...}}", (Edit(place, f"{{{name}: {written}}}"),), safe=True
        )
    if isinstance(meant, bool | int):
        new = str(meant).lower()
        return TextFix(f"write {new} without quotes", (Edit(place, new),), safe=True)
    if isinstance(meant, str):
        return TextFix("put it in quotes", (Edit(place, f'"{written}"'),), safe=True)
    return None


def _listed(document: Document, path: Path) -> TextFix | None:
    key, place, value = document.locate(path, key=True), document.locate(path), document.at(path)
    line = document.line(place.line)
    if not isinstance(value, dict) or line[place.column - 1 : place.column] == "{":
        plain = place.line == place.end_line
        brackets = (Edit(_before(place), "["), Edit(_after(place), "]"))
        return TextFix("write a list", brackets, safe=False) if plain else None
    start = place.column - 1
    if start - (key.column - 1) < 2 or line[:start].strip():
        return None
    dash = Position(place.file, place.line, start - 1, place.line, start + 1)
    return TextFix("write a list", (Edit(dash, "- "),), safe=False)


def _below_exactly(document: Document, path: Path) -> TextFix | None:
    """The fields of a request next to its name, as in v1beta1, moved one level deeper.

    They must be consecutive, and follow ``exactly`` if the request has it. The first of them carries the fix for all.
    """
    holder = path[:-1]
    request = document.at(holder)
    if not isinstance(request, dict) or request.get("exactly") or "firstAvailable" in request:
        return None
    fields = [name for name in request if name not in ("name", "exactly")]
    if path[-1] != fields[0]:
        return None
    keys = [document.locate((*holder, name), key=True) for name in fields]
    ends = [document.locate((*holder, name)) for name in fields]
    first, last = keys[0], max(ends, key=lambda end: (end.end_line, end.end_column))
    for between in (name for name in ("name", "exactly") if name in request):
        place = document.locate((*holder, between), key=True)
        if (
            (first.line, first.column)
            < (place.line, place.column)
            < (last.end_line, last.end_column)
        ):
            return None
    title = "put the fields of the request below exactly"
    if _in_flow(document, holder):
        if "exactly" in request:
            return None
        return TextFix(
            title, (Edit(_before(first), "exactly: {"), Edit(_after(last), "}")), safe=True
        )
    if any(document.line(key.line)[: key.column - 1].strip(" -") for key in keys):
        return None
    if "exactly" in request:
        if document.line(first.line - 1).strip() != "exactly:":
            return None
        return TextFix(title, tuple(_deeper(document, first, last, first.line)), safe=True)
    opened = Edit(_before(first), f"exactly:\n{' ' * (first.column - 1)}  ")
    return TextFix(title, (opened, *_deeper(document, first, last, first.line + 1)), safe=True)


def _deeper(document: Document, first: Position, last: Position, start: int) -> list[Edit]:
    """The lines from ``start`` to the last one two columns further right."""
    lines = range(start, last.end_line + (last.end_column > 1 or last.line == last.end_line))
    return [Edit(_line_start(first, line), "  ") for line in lines if document.line(line).strip()]


def _wrapped(document: Document, path: Path, wrapper: str) -> TextFix | None:
    """A field in a map of its own, which is missing around it."""
    key, value = document.locate(path, key=True), document.locate(path)
    title = f"put {path[-1]} below {wrapper}"
    if _in_flow(document, path[:-1]):
        return TextFix(
            title, (Edit(_before(key), f"{wrapper}: {{"), Edit(_after(value), "}")), safe=False
        )
    if document.line(key.line)[: key.column - 1].strip(" -"):
        return None
    opened = Edit(_before(key), f"{wrapper}:\n{' ' * (key.column - 1)}  ")
    return TextFix(title, (opened, *_deeper(document, key, value, key.line + 1)), safe=False)


def _unwrapped(document: Document, path: Path) -> TextFix | None:
    """A field's content in place of the field itself."""
    inside = document.at(path)
    if not inside:
        return _removed(document, path)
    if not isinstance(inside, dict):
        return None
    title = f"remove {path[-1]} around {', '.join(map(str, inside))}"
    key, value = document.locate(path, key=True), document.locate(path)
    children = [document.locate((*path, name), key=True) for name in inside]
    first = min(children, key=lambda child: (child.line, child.column))
    if _in_flow(document, path):
        if value.line != value.end_line or (len(inside) > 1 and not _in_flow(document, path[:-1])):
            return None
        text = document.line(value.line)[value.column : value.end_column - 2].strip().rstrip(",")
        return TextFix(title, (Edit(_from(key, value), text),), safe=True)
    between = [document.line(line).strip() for line in range(key.line + 1, first.line)]
    after_key = document.line(key.line)[key.end_column - 1 :].strip()
    if any(between) or after_key != ":" or document.line(first.line)[: first.column - 1].strip():
        return None
    shift = first.column - key.column
    lines = range(first.line + 1, value.end_line + 1)
    dedented = [line for line in lines if document.line(line).strip()]
    if shift <= 0 or any(document.line(line)[:shift].strip() for line in dedented):
        return None
    join = Position(key.file, key.line, key.column, first.line, first.column)
    edits = [Edit(join, ""), *(Edit(_line_start(key, line, shift), "") for line in dedented)]
    return TextFix(title, tuple(edits), safe=True)


def _removed(document: Document, path: Path) -> TextFix | None:
    """A field without content, up to the next of its map; the last one with what separates it from the one before."""
    holder = document.at(path[:-1])
    key, names = document.locate(path, key=True), list(holder) if isinstance(holder, dict) else []
    if len(names) < 2 or document.at(path) not in ({}, None):
        return None
    at = names.index(path[-1])
    if at + 1 < len(names):
        after = document.locate((*path[:-1], names[at + 1]), key=True)
        span = Position(key.file, key.line, key.column, after.line, after.column)
    else:
        before = document.locate((*path[:-1], names[at - 1]))
        value = document.locate(path) if document.at(path) == {} else None
        line = document.line(key.line)
        ends = (
            (value.end_line, value.end_column)
            if value
            else (key.line, line.find(":", key.column - 1) + 2)
        )
        span = Position(key.file, before.end_line, before.end_column, *ends)
    if any("#" in document.line(line) for line in range(span.line, span.end_line + 1)):
        return None  # a comment may be about it
    return TextFix(f"remove {path[-1]}", (Edit(span, ""),), safe=True)


def removal(document: Document, path: Path) -> Edit | None:
    """The edit that removes a key of a map with its value, but for comments; None where its text is not plain."""
    key, value = document.locate(path, key=True), document.locate(path)
    if not document.line(key.line)[: key.column - 1].strip():
        kept = "".join(
            " " * (key.column - 1) + found[1] + "\n"
            for line in range(key.line, value.end_line + 1)
            if (found := _COMMENT.search(document.line(line)))
        )
        return Edit(Position(key.file, key.line, 1, value.end_line + 1, 1), kept)
    if key.line != value.end_line:
        return None
    line = document.line(key.line)
    start, end = key.column - 1, value.end_column - 1
    after = re.match(r"\s*,\s*", line[end:])
    before = re.search(r"\s*,\s*$", line[:start])
    if after:
        end += after.end()
    elif before:
        start = before.start()
    return Edit(Position(key.file, key.line, start + 1, key.line, end + 1), "")


def _in_flow(document: Document, path: Path) -> bool:
    place = document.locate(path)
    return document.line(place.line)[place.column - 1 : place.column] == "{"


def _before(place: Position) -> Position:
    return Position(place.file, place.line, place.column, place.line, place.column)


def _after(place: Position) -> Position:
    return Position(place.file, place.end_line, place.end_column, place.end_line, place.end_column)


def _from(first: Position, last: Position) -> Position:
    return Position(first.file, first.line, first.column, last.end_line, last.end_column)


def _line_start(place: Position, line: int, width: int = 0) -> Position:
    """The first ``width`` characters of a line."""
    return Position(place.file, line, 1, line, 1 + width)


def applied(text: str, fixes: Iterable[TextFix]) -> tuple[str, int]:
    """A file's text with the fixes, and how many were applied: one that touches an earlier one has to wait.

    Line ends stay those of the file.
    """
    starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]
    newline = "\r\n" if "\r\n" in text else "\n"

    def offset(line: int, column: int) -> int:
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    taken: list[tuple[int, int, str]] = []  # in the order of their places; none touches another
    count = 0
    for fix in fixes:
        ranges = [
            (
                offset(edit.position.line, edit.position.column),
                offset(edit.position.end_line, edit.position.end_column),
                edit.text.replace("\n", newline),
            )
            for edit in fix.edits
        ]
        if any(_touches(this, taken) for this in ranges):
            continue
        for this in ranges:
            insort(taken, this)
        count += 1
    parts: list[str] = []
    done = 0
    for start, end, new in taken:
        parts += (text[done:start], new)
        done = end
    return "".join((*parts, text[done:])), count


def _touches(this: tuple[int, int, str], taken: Sequence[tuple[int, int, str]]) -> bool:
    """True if an edit begins with one of others, or overlaps one; that must be the nearest before it or after it."""
    at = bisect_left(taken, this)
    return any(
        this[0] == other[0] or (this[0] < other[1] and other[0] < this[1])
        for other in taken[max(at - 1, 0) : at + 1]
    )
