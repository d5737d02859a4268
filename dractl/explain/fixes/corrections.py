"""Probable intent of a condition on a device, judged by the values that the devices have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cel import reading
from dractl.cel.conditions import Comparison, Excerpt, Literal
from dractl.cel.lookups import Lookup
from dractl.cel.tokens import tokenize
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.fixes.preference import Preference
from dractl.model import Quantity
from dractl.model.nearest import nearest

_SHORT_VERSION = re.compile(r"v?(\d+(?:\.\d+){0,2})")
_MIG_PROFILE = re.compile(r"(\d+)g\.(\d+)gb")
_DEFAULT_LITERALS = {"int": "-1", "bool": "false", "string": "''", "version": "semver('0.0.0')"}
_LIST_TYPES = ("bools", "ints", "strings", "versions")
_MAX_SUBSTITUTES = 3  # values that are tried
_MAX_AMBIGUOUS_LENGTH = (
    3  # letters and digits of a value that is too short to be the beginning of another
)


class Rewrite(Struct, frozen=True):
    """Another text for a condition, with an imperative for its title. ``corrects``: it is what was meant, as far as the
    devices' own values can tell. ``variant``: it names a product of nearly that name, with other numbers."""

    title: str
    text: str
    preference: Preference = Preference.CORRECT
    degree: int = 0
    corrects: bool = False
    variant: bool = False

    def apply_to(self, whole: str, part: Excerpt) -> Rewrite:
        """The same edit of the whole expression that the condition is part of."""
        return replace(self, text=whole[: part.start] + self.text + whole[part.end :])


def correct_condition(devices: Devices, text: str, lost: Sequence[DeviceID]) -> Iterator[Rewrite]:
    """Other texts for one condition that is false, or fails, on the devices ``lost``."""
    program = reading(text)
    compared = {found.lookup: found for found in program.comparisons if found.default is None}
    yield from _complete_versions(text)
    yield from _loosen_patterns(text)
    seen = [
        selectors.value_of(devices, device, lookup)
        for lookup in program.lookups
        if lookup.name
        for device in lost
    ]
    yield from _correct_case(text, list(dict.fromkeys(v for v in seen if v is not None)))
    for found in program.comparisons:
        if found.lookup is None and found.operator in ("==", "in"):
            yield from _correct_driver(text, found, lost)
    for lookup in program.lookups:
        values = (
            [selectors.value_of(devices, device, lookup) for device in lost] if lookup.name else []
        )
        present = [v for v in values if v is not None]
        if lookup.name and not present:
            yield from _swap_maps(devices, text, lookup, compared.get(lookup), lost)
        if present and len(present) == len(values) and lookup in compared:
            kind = _attribute_type(devices, lost, lookup)
            yield from _correct_value(text, compared[lookup], lookup, kind, present)
        if (
            lookup.kind == "attributes"
            and lookup.name
            and not lookup.tested
            and len(present) < len(values)
        ):
            yield from _accept_both_names(devices, text, lookup, lost)
            for guarded in _guard_lookup(devices, text, lookup):
                yield Rewrite(f"guard {lookup.name}, which some devices lack,", guarded, degree=1)


def rename_lookup(text: str, wrong: Lookup, right: str) -> str:
    """An expression with a name corrected wherever it is looked up: the domain, or domain and name."""
    domain, _, name = right.partition("/")
    places = {
        place
        for lookup in reading(text).lookups
        if (lookup.kind, lookup.full_name) == (wrong.kind, wrong.full_name)
        for place in (
            (*lookup.domain_span, domain),
            *([(*lookup.name_span, name)] if name and lookup.name else []),
        )
    }
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# -- literals by themselves --


def _complete_versions(text: str) -> Iterator[Rewrite]:
    """Semantic versions with all of their three parts."""
    tokens = tokenize(text)
    for name, opening, argument in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (
            name.text != "semver"
            or opening.text != "("
            or argument.kind != "string"
            or argument.content is None
        ):
            continue
        whole = _complete_version(argument.content)
        if whole is not None and whole != argument.content:
            start = argument.content_start
            changed = text[:start] + whole + text[start + len(argument.content) :]
            yield Rewrite(
                f"use semver('{whole}') instead of semver('{argument.content}')",
                changed,
                corrects=True,
            )


def _complete_version(version: str) -> str | None:
    """``9.0`` as ``9.0.0``; None where it is not a version of one to three numbers."""
    match = _SHORT_VERSION.fullmatch(version.strip())
    if match is None:
        return None
    numbers = [str(int(part)) for part in match[1].split(".")]
    return ".".join([*numbers, "0", "0"][:3])


def _loosen_patterns(text: str) -> Iterator[Rewrite]:
    """A pattern without the anchors at its ends, and a substring where a prefix or suffix was asked for."""
    tokens = tokenize(text)
    for dot, name, opening, argument in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        if (
            dot.text != "."
            or opening.text != "("
            or argument.kind != "string"
            or not argument.content
        ):
            continue
        content, start = argument.content, argument.content_start
        if (
            name.text == "matches"
            and (bare := content.removeprefix("^").removesuffix("$")) != content
            and bare
        ):
            changed = text[:start] + bare + text[start + len(content) :]
            yield Rewrite(f"match '{bare}' instead of '{content}'", changed, corrects=True)
        elif name.text in ("startsWith", "endsWith"):
            changed = text[: name.start] + "contains" + text[name.end :]
            yield Rewrite(
                f"use contains('{content}') instead of {name.text}('{content}')",
                changed,
                corrects=True,
            )


def _correct_case(text: str, present: Sequence[str]) -> Iterator[Rewrite]:
    """A substring, prefix or pattern in the case in which the devices' values have it."""
    tokens = tokenize(text)
    for dot, name, opening, argument in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        if (
            dot.text != "."
            or opening.text != "("
            or argument.kind != "string"
            or not argument.content
        ):
            continue
        content, start = argument.content, argument.content_start
        for value in present if name.text in ("contains", "startsWith", "endsWith") else ():
            at = value.lower().find(content.lower())
            right = value[at : at + len(content)]
            if at >= 0 and right != content:
                changed = text[:start] + right + text[start + len(content) :]
                yield Rewrite(
                    f"use {name.text}('{right}') instead of {name.text}('{content}')",
                    changed,
                    corrects=True,
                )
        if (
            name.text == "matches"
            and not content.startswith("(?")
            and _differs_by_case(content, present)
        ):
            changed = f"{text[:start]}(?i){text[start:]}"
            yield Rewrite(
                f"match '(?i){content}', in any case, instead of '{content}'",
                changed,
                corrects=True,
            )


def _differs_by_case(pattern: str, present: Sequence[str]) -> bool:
    """True if a pattern of letters and dots matches a value in another case only."""
    plain = pattern.replace(".*", "").lower()
    return (
        bool(plain)
        and plain.replace("-", "").replace(" ", "").isalnum()
        and any(plain in v.lower() for v in present)
    )


def _correct_driver(text: str, found: Comparison, lost: Sequence[DeviceID]) -> Iterator[Rewrite]:
    drivers = {device.driver for device in lost}
    for literal in found.literals[:1]:
        for driver in _intended_values(str(literal.value), sorted(drivers - {literal.value}), ""):
            changed = text[: literal.start] + _quote(driver, literal) + text[literal.end :]
            yield Rewrite(f"change driver {literal.value} to {driver}", changed, corrects=True)


# -- names --


def _swap_maps(
    devices: Devices, text: str, lookup: Lookup, found: Comparison | None, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """A capacity that was looked up among the attributes, or an attribute among the capacities."""
    other = replace(lookup, kind="capacity" if lookup.kind == "attributes" else "attributes")
    if not any(selectors.value_of(devices, device, other) is not None for device in lost):
        return
    head = text[lookup.start : lookup.domain_start].replace(lookup.kind, other.kind)
    operand = head + text[lookup.domain_start : lookup.end]
    title = f"read {lookup.full_name} from device.{other.kind}"
    if found is None or found.literals[0].kind == "quantity" or other.kind == "attributes":
        yield Rewrite(title, text[: lookup.start] + operand + text[lookup.end :], corrects=True)
        return
    literal = found.literals[0]
    if literal.kind in ("string", "int") and len(found.literals) == 1 and found.operator != "in":
        there = (selectors.value_of(devices, device, other) for device in lost)
        amount = _add_unit(str(literal.value), [value for value in there if value is not None])
        compared = f"{operand}.compareTo(quantity('{amount}')) {found.operator} 0"
        changed = text[: found.start] + compared + text[found.end :]
        yield Rewrite(f"{title}, and compare it with quantity('{amount}')", changed, corrects=True)


def _add_unit(written: str, present: Sequence[str]) -> str:
    """A plain number as the amount that it can mean beside the devices' own: in GiB or GB, where theirs are millions of
    times larger. Of both the one that some device has."""
    number = Quantity.parse(written).milli_value() if written.isdigit() else 0
    largest = max((Quantity.parse(value).milli_value() for value in present), default=0)
    if not 0 < number < largest >> 20:
        return written
    return next(
        (
            f"{written}{u}"
            for u in ("Gi", "G")
            if Quantity.parse(f"{written}{u}").milli_value() <= largest
        ),
        written,
    )


def _accept_both_names(
    devices: Devices, text: str, lookup: Lookup, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """The condition on whichever of two names a device has: drivers rename attributes."""
    lacking = [d for d in lost if selectors.value_of(devices, d, lookup) is None]
    other = selectors.misfit(devices, text, lacking).nearest
    if other is None or "/" not in other or other == lookup.full_name:
        return
    test = f"'{lookup.name}' in device.attributes['{lookup.domain}']"
    changed = f"({test} ? {text} : {rename_lookup(text, lookup, other)})"
    yield Rewrite(f"read {other} on devices without {lookup.full_name}", changed, corrects=True)


def _guard_lookup(devices: Devices, text: str, lookup: Lookup) -> Iterator[str]:
    """The condition, made false where an attribute is missing.

    Either ``attributes['d'].?x.orValue(…)`` with a value that hardly any condition wants, or ``'x' in
    device.attributes['d'] && …``, which stays within the server's cost limit where a function of ``orValue``, whose
    result is taken to be as long as can be, does not."""
    known = next(
        (
            attribute.type
            for item in devices.slices
            for device in item.spec.devices
            if (attribute := device.attribute(lookup.full_name, item.spec.driver)) is not None
        ),
        None,
    )
    default = _DEFAULT_LITERALS.get(known or "")
    head = text[: lookup.name_start].rstrip()
    if default is not None and not lookup.optional and head.endswith("."):
        yield f"{head}?{lookup.name}.orValue({default}){text[lookup.end :]}"
    if not lookup.optional:
        condition = f"({text})" if "||" in text or "?" in text else text
        yield f"'{lookup.name}' in device.attributes['{lookup.domain}'] && {condition}"


# -- values --


def _correct_value(
    text: str, found: Comparison, lookup: Lookup, kind: str | None, present: Sequence[str]
) -> Iterator[Rewrite]:
    """A literal that the devices' values satisfy."""
    literal = found.literals[0]
    operand, before, after = text[lookup.start : lookup.end], text[: found.start], text[found.end :]

    def changed(comparison: str) -> str:
        return f"{before}{operand}{comparison}{after}"

    if found.operator == "!=":
        return
    if found.operator == "in":
        yield from _correct_list(found, lookup, kind, present, changed)
    elif literal.kind == "quantity" and kind != "version":
        if kind == "quantity":
            yield from _lower_bound(found, lookup, "quantity", present, changed)
    elif literal.kind == "semver" or kind == "version":
        whole = _complete_version(str(literal.value))
        if literal.kind != "semver" and whole is not None:
            comparison = f".compareTo(semver('{whole}')) {found.operator} 0"
            title = f"compare {lookup.name}, a version, with semver('{whole}')"
            yield Rewrite(title, changed(comparison), corrects=True)
        yield from _lower_bound(found, lookup, "semver", present, changed)
    elif found.operator == "==":
        yield from _correct_equality(text, found, lookup, kind, present)
    elif kind == "int" and literal.kind == "string":
        comparison = f" {found.operator} {literal.value}"
        title = f"compare {lookup.name}, an int, with {literal.value} without quotes"
        yield Rewrite(title, changed(comparison), corrects=True)
    elif kind == "int":
        best = (max if ">" in found.operator else min)(int(v) for v in present)
        operator = ">=" if ">" in found.operator else "<="
        title = f"change {lookup.name} {found.operator} {literal.text} to {operator} {best}"
        yield Rewrite(title, changed(f" {operator} {best}"), Preference.LESS)


def _correct_equality(
    text: str, found: Comparison, lookup: Lookup, kind: str | None, present: Sequence[str]
) -> Iterator[Rewrite]:
    literal = found.literals[0]
    if kind in _LIST_TYPES:
        changed = f"{text[: found.start]}{literal.text} in {text[lookup.start : lookup.end]}{text[found.end :]}"
        yield Rewrite(f"look for {literal.text} in the list {lookup.name}", changed, corrects=True)
        return
    meant = _intended_values(str(literal.value), list(dict.fromkeys(present)), kind)
    others = _substitutes(str(literal.value), present)
    near = nearest(str(literal.value), present, 0.8)
    for position, value in enumerate(
        dict.fromkeys([*meant, *others][: _MAX_SUBSTITUTES + len(meant)])
    ):
        corrects = value in meant[:1]
        changed = (
            text[: literal.start] + _format_literal(value, kind, literal) + text[literal.end :]
        )
        yield Rewrite(
            f"change {lookup.name} == {literal.text} to {_format_literal(value, kind, literal)}",
            changed,
            Preference.CORRECT if corrects else Preference.ADAPT,
            degree=position,
            corrects=corrects,
            variant=not corrects and value == near,
        )


def _substitutes(wanted: str, present: Sequence[str]) -> list[str]:
    """Values to ask for instead: the most frequent first; of MIG profiles (``3g.20gb``) the largest that is smaller."""
    values = sorted(dict.fromkeys(present), key=lambda v: -present.count(v))
    size = _profile_size(wanted)
    sizes = {value: found for value in values if (found := _profile_size(value)) is not None}
    if size is None or len(sizes) < len(values):
        return values
    return sorted((v for v in values if sizes[v] < size), key=lambda v: sizes[v], reverse=True)


def _profile_size(value: str) -> tuple[int, int] | None:
    match = _MIG_PROFILE.match(value)
    return None if match is None else (int(match[2]), int(match[1]))


def _correct_list(
    found: Comparison,
    lookup: Lookup,
    kind: str | None,
    present: Sequence[str],
    changed: Callable[[str], str],
) -> Iterator[Rewrite]:
    """The values that the entries of a list stand for."""
    known = list(dict.fromkeys(present))
    meant = {
        value: None
        for literal in found.literals
        for value in _intended_values(str(literal.value), known, kind)
    }
    if meant:
        values = [_format_literal(value, kind, found.literals[0]) for value in meant]
        title = f"change the list for {lookup.name} to [{', '.join(values)}]"
        yield Rewrite(title, changed(f" in [{', '.join(values)}]"), corrects=True)


def _lower_bound(
    found: Comparison,
    lookup: Lookup,
    function: str,
    present: Sequence[str],
    changed: Callable[[str], str],
) -> Iterator[Rewrite]:
    """A bound that the best of the devices reaches."""
    op = found.operator
    if function == "quantity":
        ordered = sorted(present, key=lambda v: Quantity.parse(v).milli_value())
    else:
        ordered = sorted(present, key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
    best = ordered[-1 if ">" in op or op == "==" else 0]
    operator = "==" if op == "==" else ">=" if ">" in op else "<="
    title = f"change {lookup.name} {op} {found.literals[0].value} to {operator} {best}"
    yield Rewrite(title, changed(f".compareTo({function}('{best}')) {operator} 0"), Preference.LESS)


def _intended_values(written: str, known: Sequence[str], kind: str | None) -> list[str]:
    """The known values that a literal was meant to be: alike but for case and punctuation, made of the same words,
    containing what was written, or a letter or two away. A number is never corrected: L4, L40 and L40S are three
    products."""
    if kind in ("int", "bool"):
        return [value for value in known if value == written]
    plain = _strip_punctuation(written)
    words = set(_words(written))
    return (
        [value for value in known if _strip_punctuation(value) == plain]
        or [value for value in known if set(_words(value)) == words]
        or [value for value in known if plain and _contains_part(value, plain)]
        or [value for value in known if words and words <= set(_words(value))]
        or sorted(
            (
                v
                for v in known
                if len(_strip_punctuation(v)) > _MAX_AMBIGUOUS_LENGTH
                and _begins_with_part(written, _strip_punctuation(v))
            ),
            key=len,
        )[-1:]
        or [
            v
            for v in [nearest(written, known, 0.8)]
            if v is not None and _numbers(v) == _numbers(written)
        ]
    )


def _contains_part(text: str, part: str) -> bool:
    """True if a text has a part that ends where one of its words does, or between letters."""
    plain, ends = _strip_punctuation(text), set(accumulate(map(len, _words(text))))
    end = plain.find(part) + len(part)
    return part in plain and (end in ends or plain[end - 1 : end + 1].isalpha())


def _begins_with_part(text: str, part: str) -> bool:
    return _strip_punctuation(text).startswith(part) and _contains_part(text, part)


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _strip_punctuation(text: str) -> str:
    return "".join(_words(text))


def _attribute_type(devices: Devices, lost: Sequence[DeviceID], reference: Lookup) -> str | None:
    if reference.kind == "capacity":
        return "quantity"
    found = (devices.attribute(device, reference.full_name) for device in lost)
    return next((a.type for a in found if a is not None), None)


def _format_literal(value: str, kind: str | None, like: Literal) -> str:
    return value if kind in ("int", "bool") else _quote(value, like)


def _quote(value: str, like: Literal) -> str:
    quote = like.text[0] if like.text[:1] in ("'", '"') else "'"
    return f"{quote}{value}{quote}"
