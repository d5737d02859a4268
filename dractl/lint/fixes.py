"""Edits that fix findings, and their application to the text of a file.

Functions that make a fix return None if there is none.
"""

import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from msgspec.structs import replace

from dractl.lint.finding import Edit, TextFix
from dractl.lint.hints import rewrite
from dractl.lint.model import Replacement
from dractl.lint.standard import qualify
from dractl.manifests import Document, Position
from dractl.objects import mapping
from dractl.objects.pods import PodSpec
from dractl.validation.formats import label_errors
from dractl.validation.previews import is_doubt
from dractl.validation.violation import Path, Violation

_COMMENT = r"(?:^|\s)(#.*)$"
_REQUEST_FIELDS = frozenset(
    {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations"}
)
_CLAIMS_OF_LIMITS = (("resources", "limits", "claims"), ("resources", "requests", "claims"))
_UNIT = r"([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGTP]i?)[Bb]|(?:cores?|cpus?|gpus?|devices?|[Bb]ytes?))"
_CLAIM_FIELDS = frozenset({"resourceClaims", "claims", "apiVersion", "kind"})


def fix_for_violation(document: Document, violation: Violation) -> TextFix | None:
    """Return the edits that fix a violation, if the intended value is clear; else None."""
    if is_doubt(violation):
        return None
    if violation.issues:
        return _rewrite_expression(document, violation)
    if violation.offset is not None or not violation.path:
        return None
    if violation.rule == "PC-09" and isinstance(document.at(violation.path), dict):
        violation = replace(violation, path=(*violation.path, "name"))
    if violation.path[-3:] in _CLAIMS_OF_LIMITS:
        return _move_into(document, violation.path, (*violation.path[:-2], "claims"))
    if violation.rule == "wrong-type":
        return _convert(document, violation) or _drop_unit(document, violation)
    if violation.path[-1] == "count" and "allocationMode" in violation.message:
        edit = removal(document, violation.path)
        return TextFix("remove count", (edit,), safe=False) if edit is not None else None
    written = violation.path[-1] if violation.key else document.at(violation.path)
    if not isinstance(written, str):
        return None
    if (
        violation.rule == "unknown-field"
        and violation.path[-2:-1] == ("devices",)
        and written in _REQUEST_FIELDS
    ):
        requests = document.at((*violation.path[:-1], "requests"))
        is_single = isinstance(requests, list) and len(requests) == 1
        to = (*violation.path[:-1], "requests", 0, "exactly", written)
        return _move_into(document, violation.path, to) if is_single else None
    if violation.moved_to is not None:
        return _move(document, violation.path, violation.moved_to)
    if violation.key:
        return None
    if violation.nearest is None:
        meant = (
            _guess_request(written, violation)
            or _guess_claim(document, violation)
            or _respell(written, violation)
        )
        return replacement(document, Replacement(violation.path, meant)) if meant else None
    safe = _is_similar(written, violation.nearest)
    return replacement(document, Replacement(violation.path, violation.nearest, safe=safe))


def _drop_unit(document: Document, violation: Violation) -> TextFix | None:
    """Return the fix that drops a unit after a number (``2 gpus`` becomes ``2``) or the B of bytes
    (``10 GiB`` becomes ``10Gi``).
    """
    written = document.at(violation.path)
    match = (
        re.fullmatch(_UNIT, written)
        if isinstance(written, str) and "quantity" in violation.message
        else None
    )
    if match is None:
        return None
    meant = match[1] + (match[2] or "")
    return replacement(document, Replacement(violation.path, meant, f"write {meant}"))


def _move_into(document: Document, path: Path, to: Path) -> TextFix | None:
    """Return the fix that moves a field into an existing map, after the map's other fields.

    A map that becomes empty by the move is removed.
    """
    holder = document.at(to[:-1])
    if not isinstance(holder, dict) or not holder or to[-1] in holder:
        return None
    removed = path[:-1] if path[:-2] == to[:-1] and len(document.at(path[:-1])) == 1 else path
    cut = removal(document, removed)
    remaining = [name for name in holder if (*to[:-1], name) != removed]
    key, value = document.locate(path, key=True), document.locate(path)
    title = f"move it to {to[-2]}" if to[:-1] else "move it to the top of the object"
    if cut is None or (not remaining and removed == path):
        return None
    if not remaining:  # the map around the field would be empty, so the field replaces it
        return _in_place(document, removed, path, title)
    text = _lines(document, key, value)
    end = document.locate((*to[:-1], remaining[-1]))
    if _in_flow(document, to[:-1]):
        if value.line != value.end_line:
            return None
        return TextFix(title, (cut, Edit(_range_after(end), f", {text}")), safe=False)
    indent = document.locate((*to[:-1], remaining[0]), key=True).column - 1
    shifted = "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())
    place = Position(end.file, end.end_line + 1, 1, end.end_line + 1, 1)
    if end.end_column == 1:  # the block already ends at the start of the next line
        place = Position(end.file, end.end_line, 1, end.end_line, 1)
    return TextFix(title, (cut, Edit(place, shifted)), safe=False)


def _lines(document: Document, key: Position, value: Position) -> str:
    """Return the text of a field, without its indentation."""
    first = document.line(key.line)
    if key.line == value.end_line:
        return first[key.column - 1 : value.end_column - 1]
    further = [
        document.line(line)[key.column - 1 :] for line in range(key.line + 1, value.end_line + 1)
    ]
    return "\n".join((first[key.column - 1 :], *further)).rstrip()


def _in_place(document: Document, outer: Path, inner: Path, title: str) -> TextFix | None:
    """Return the fix that replaces a map by the only field that it has."""
    whole, end = document.locate(outer, key=True), document.locate(outer)
    key, value = document.locate(inner, key=True), document.locate(inner)
    if key.line == whole.line and value.line != value.end_line:
        return None
    text = _lines(document, key, value)
    indent = " " * (whole.column - 1)
    shifted = "\n".join(
        line if not at else indent + line for at, line in enumerate(text.splitlines())
    )
    return TextFix(title, (Edit(_range_between(whole, end), shifted),), safe=False)


def _rewrite_expression(document: Document, violation: Violation) -> TextFix | None:
    written = document.at(violation.path)
    parts = rewrite(written, violation.issues) if isinstance(written, str) else ()
    fixes = [
        replacement(document, Replacement(violation.path, text, f"write {text}", span=(start, end)))
        for start, end, text in parts
    ]
    titles = ", ".join(dict.fromkeys(fix.title.removeprefix("write ") for fix in fixes))
    return (
        TextFix(f"write {titles}", tuple(edit for fix in fixes for edit in fix.edits), safe=False)
        if fixes
        else None
    )


def _respell(written: str, violation: Violation) -> str | None:
    """Return the name in the form that the rule requires: a standard attribute with its domain, or
    a label in lower case.
    """
    if violation.rule in ("RC-22", "RC-23"):
        return qualify(written)
    lower = written.lower().replace("_", "-")
    return (
        lower
        if "RFC 1123 label" in violation.message and lower != written and not label_errors(lower)
        else None
    )


def _guess_request(written: str, violation: Violation) -> str | None:
    """Return the request that was meant: the alternative of this name, written without its request,
    or else the only request; None if several are possible.
    """
    if violation.type != "FieldValueInvalid" or "name of a request" not in violation.message:
        return None
    subrequests = [name for name in violation.allowed if name.partition("/")[2] == written]
    meant = subrequests or violation.allowed
    return meant[0] if len(meant) == 1 else None


def _guess_claim(document: Document, violation: Violation) -> str | None:
    """Return the only claim of a pod; None if a container names it, or if the pod has several."""
    container = violation.path[:-4]  # the path without resources, claims, the index and the name
    if violation.rule != "PC-09" or len(violation.allowed) != 1 or len(container) < 2:
        return None
    path = container[:-2] if isinstance(container[-1], int) else container[:-1]
    pod = PodSpec(document, path, mapping(document.at(path)))
    named = {claim.get("name") for _, claim in pod.uses}
    return violation.allowed[0] if named.isdisjoint(violation.allowed) else None


def _move(document: Document, path: Path, to: Path) -> TextFix | None:
    """Return the fix that moves a field.

    The field gets its right name, or is moved below ``exactly`` if it belongs to a request; the
    content of a wrapper replaces the wrapper.
    """
    # In pods and workloads, lint reports only errors about claims, so it would not report an error
    # that another move causes.
    if not (document.api_version or "").startswith("resource.k8s.io/") and _CLAIM_FIELDS.isdisjoint(
        to
    ):
        return None
    holder = document.at(path[:-1])
    if to == path[:-1]:
        return _unwrap(document, path)
    if to[:-1] == path[:-1]:
        if not isinstance(holder, dict) or to[-1] in holder:
            return None
        old, new = str(path[-1]), str(to[-1])
        return replacement(
            document,
            Replacement(path, new, f"rename {old} to {new}", key=True, safe=_is_similar(old, new)),
        )
    if to == (*path[:-1], "exactly", path[-1]):
        return _move_below_exactly(document, path) or _move_into(document, path, to)
    if (*to[:-2], to[-1]) == path and isinstance(holder, dict) and to[-2] not in holder:
        return _wrap(document, path, str(to[-2]))
    return _move_into(document, path, to)


def _is_similar(written: str, nearest: str) -> bool:
    """Return True if a name is so similar to another that nothing else can be meant."""
    return SequenceMatcher(None, written.lower(), nearest.lower()).ratio() > 0.85


def replacement(document: Document, change: Replacement) -> TextFix:
    """Return the edit of a scalar or key, which keeps its quotes, or of a part of a scalar."""
    position, new = document.locate(change.path, key=change.key), change.text
    quote = document.line(position.line)[position.column - 1 : position.column]
    if change.span is None:
        new = _quote(new, quote) if quote in _QUOTES else new
    else:
        start, end = change.span
        part = _range_between(
            document.locate(change.path, offset=start), document.locate(change.path, offset=end - 1)
        )
        if quote in _QUOTES:
            position, new = part, _quote(new, quote)[1:-1]
        elif quote not in ("|", ">") and start == 0 and new.startswith(_SPECIAL):
            new = _quote(f"{new}{document.at(change.path)[end:]}", "'")
        else:
            position = part
    return TextFix(change.title or f"replace by {change.text}", (Edit(position, new),), change.safe)


_QUOTES = ("'", '"')
_SPECIAL = tuple("\"'[]{}&*!|>%@`#,?:-")
"""Characters with which no plain scalar of YAML begins."""


def _quote(text: str, quote: str) -> str:
    inside = (
        text.replace("'", "''") if quote == "'" else text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f"{quote}{inside}{quote}"


def _convert(document: Document, violation: Violation) -> TextFix | None:
    """Return the fix that converts a value to the required type: it adds or removes quotes, or puts
    the value into the map that it belongs in.
    """
    meant, place = violation.meant, document.locate(violation.path)
    value = document.at(violation.path)
    if isinstance(meant, list) and len(meant) == 1 and meant[0] == value:
        return _wrap_in_list(document, violation.path)
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


def _wrap_in_list(document: Document, path: Path) -> TextFix | None:
    key, place, value = document.locate(path, key=True), document.locate(path), document.at(path)
    line = document.line(place.line)
    if not isinstance(value, dict) or line[place.column - 1 : place.column] == "{":
        plain = place.line == place.end_line
        brackets = (Edit(_range_before(place), "["), Edit(_range_after(place), "]"))
        return TextFix("write a list", brackets, safe=False) if plain else None
    start = place.column - 1
    if start - (key.column - 1) < 2 or line[:start].strip():
        return None
    dash = Position(place.file, place.line, start - 1, place.line, start + 1)
    return TextFix("write a list", (Edit(dash, "- "),), safe=False)


def _move_below_exactly(document: Document, path: Path) -> TextFix | None:
    """Return the fix that moves the fields of a request, which are next to its name as in v1beta1,
    one level deeper.

    The fields must be consecutive, and follow ``exactly`` if the request has an empty one. The
    first field carries the fix for all of them.
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
            title,
            (Edit(_range_before(first), "exactly: {"), Edit(_range_after(last), "}")),
            safe=True,
        )
    if any(document.line(key.line)[: key.column - 1].strip(" -") for key in keys):
        return None
    if "exactly" in request:
        if document.line(first.line - 1).strip() != "exactly:":
            return None
        return TextFix(title, tuple(_indent_lines(document, first, last, first.line)), safe=True)
    opened = Edit(_range_before(first), f"exactly:\n{' ' * (first.column - 1)}  ")
    return TextFix(
        title, (opened, *_indent_lines(document, first, last, first.line + 1)), safe=True
    )


def _indent_lines(document: Document, first: Position, last: Position, start: int) -> list[Edit]:
    """Return the edits that move lines, from ``start`` to the last one, two columns to the
    right.
    """
    lines = range(start, last.end_line + (last.end_column > 1 or last.line == last.end_line))
    return [Edit(_line_start(first, line), "  ") for line in lines if document.line(line).strip()]


def _wrap(document: Document, path: Path, wrapper: str) -> TextFix | None:
    """Return the fix that wraps a field in its missing parent."""
    key, value = document.locate(path, key=True), document.locate(path)
    title = f"put {path[-1]} below {wrapper}"
    if _in_flow(document, path[:-1]):
        return TextFix(
            title,
            (Edit(_range_before(key), f"{wrapper}: {{"), Edit(_range_after(value), "}")),
            safe=False,
        )
    if document.line(key.line)[: key.column - 1].strip(" -"):
        return None
    opened = Edit(_range_before(key), f"{wrapper}:\n{' ' * (key.column - 1)}  ")
    return TextFix(title, (opened, *_indent_lines(document, key, value, key.line + 1)), safe=False)


def _unwrap(document: Document, path: Path) -> TextFix | None:
    """Return the fix that puts a field's content in place of the field."""
    content = document.at(path)
    if not content:
        return _remove_empty(document, path)
    if not isinstance(content, dict):
        return None
    title = f"remove {path[-1]} around {', '.join(map(str, content))}"
    key, value = document.locate(path, key=True), document.locate(path)
    children = [document.locate((*path, name), key=True) for name in content]
    first = min(children, key=lambda child: (child.line, child.column))
    if _in_flow(document, path):
        if value.line != value.end_line or (len(content) > 1 and not _in_flow(document, path[:-1])):
            return None
        text = document.line(value.line)[value.column : value.end_column - 2].strip().rstrip(",")
        return TextFix(title, (Edit(_range_between(key, value), text),), safe=True)
    lines_between = [document.line(line).strip() for line in range(key.line + 1, first.line)]
    after_key = document.line(key.line)[key.end_column - 1 :].strip()
    if (
        any(lines_between)
        or after_key != ":"
        or document.line(first.line)[: first.column - 1].strip()
    ):
        return None
    shift = first.column - key.column
    lines = range(first.line + 1, value.end_line + 1)
    dedented = [line for line in lines if document.line(line).strip()]
    if shift <= 0 or any(document.line(line)[:shift].strip() for line in dedented):
        return None
    join = Position(key.file, key.line, key.column, first.line, first.column)
    edits = [Edit(join, ""), *(Edit(_line_start(key, line, shift), "") for line in dedented)]
    return TextFix(title, tuple(edits), safe=True)


def _remove_empty(document: Document, path: Path) -> TextFix | None:
    """Return the fix that removes a field without content, up to the next field of its map.

    The last field is removed together with the separator before it.
    """
    holder = document.at(path[:-1])
    key, names = document.locate(path, key=True), list(holder) if isinstance(holder, dict) else []
    if len(names) < 2 or document.at(path) not in ({}, None):
        return None
    at = names.index(path[-1])
    if at + 1 < len(names):
        next_key = document.locate((*path[:-1], names[at + 1]), key=True)
        span = Position(key.file, key.line, key.column, next_key.line, next_key.column)
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
        return None  # a comment may belong to the field
    return TextFix(f"remove {path[-1]}", (Edit(span, ""),), safe=True)


def removal(document: Document, path: Path) -> Edit | None:
    """Return the edit that removes a key of a map with its value, except comments.

    Return None if other text precedes the key in its line, and the value ends on a later line.
    """
    key, value = document.locate(path, key=True), document.locate(path)
    if not document.line(key.line)[: key.column - 1].strip():
        comments = "".join(
            " " * (key.column - 1) + match[1] + "\n"
            for line in range(key.line, value.end_line + 1)
            if (match := re.search(_COMMENT, document.line(line)))
        )
        return Edit(Position(key.file, key.line, 1, value.end_line + 1, 1), comments)
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


def _range_before(place: Position) -> Position:
    return Position(place.file, place.line, place.column, place.line, place.column)


def _range_after(place: Position) -> Position:
    return Position(place.file, place.end_line, place.end_column, place.end_line, place.end_column)


def _range_between(first: Position, last: Position) -> Position:
    return Position(first.file, first.line, first.column, last.end_line, last.end_column)


def _line_start(place: Position, line: int, width: int = 0) -> Position:
    """Return the range of the first ``width`` characters of a line."""
    return Position(place.file, line, 1, line, 1 + width)


def apply_text_fixes(text: str, fixes: Iterable[TextFix]) -> tuple[str, int]:
    """Return a file's text with the fixes, and the number of fixes that were applied: a fix that
    touches an earlier one is left for the next round.

    Line ends stay as in the file.
    """
    starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]
    newline = "\r\n" if "\r\n" in text else "\n"

    def offset(line: int, column: int) -> int:
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    taken: list[tuple[int, int, str]] = []  # in the order of their places, with no two that touch
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
        if any(_touches(span, taken) for span in ranges):
            continue
        for span in ranges:
            insort(taken, span)
        count += 1
    parts: list[str] = []
    done = 0
    for start, end, new in taken:
        parts += (text[done:start], new)
        done = end
    return "".join((*parts, text[done:])), count


def _touches(span: tuple[int, int, str], taken: Sequence[tuple[int, int, str]]) -> bool:
    """Return True if a range begins at the start of one of the taken ranges, or overlaps one; only
    the nearest ranges before and after it can do so.
    """
    at = bisect_left(taken, span)
    return any(
        span[0] == other[0] or (span[0] < other[1] and other[0] < span[1])
        for other in taken[max(at - 1, 0) : at + 1]
    )
