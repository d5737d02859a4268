"""The probable intent of a condition on a device, guessed from the values that the devices have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cel import reading
from dractl.cel.conditions import Comparison, Excerpt, Literal, first_arguments
from dractl.cel.lookups import Lookup
from dractl.cel.tokens import tokenize
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.fixes.preference import Preference
from dractl.model import Quantity, Version
from dractl.model.nearest import nearest

_MIG_PROFILE = re.compile(r"(\d+)g\.(\d+)gb")
_DEFAULT_LITERALS = {"int": "-1", "bool": "false", "string": "''", "version": "semver('0.0.0')"}
_LIST_TYPES = ("bools", "ints", "strings", "versions")
_MAX_SUBSTITUTES = 3  # other values that are tried for one literal
_MAX_AMBIGUOUS_LENGTH = 3  # letters and digits; shorter values are prefixes of too many others


class Rewrite(Struct, frozen=True):
    """Another text for a condition."""

    title: str
    """The action of the rewrite, as an imperative."""
    text: str
    """The new text."""
    preference: Preference = Preference.CORRECT
    """The rank of the fix."""
    degree: int = 0
    """The order among rewrites of one preference, the smallest first."""
    corrects: bool = False
    """True if it is probably the condition that was meant, judged by the devices' own values."""
    variant: bool = False
    """True if it names a product with a similar name but other numbers."""

    def apply_to(self, whole: str, part: Excerpt) -> Rewrite:
        """Return this rewrite of a condition ``part`` as a rewrite of the whole expression."""
        return replace(self, text=whole[: part.start] + self.text + whole[part.end :])


def correct_condition(devices: Devices, text: str, lost: Sequence[DeviceID]) -> Iterator[Rewrite]:
    """Yield other texts for one condition that is false, or fails, on the devices ``lost``."""
    program = reading(text)
    comparison_by_lookup = {
        comparison.lookup: comparison
        for comparison in program.comparisons
        if comparison.default is None
    }
    yield from _complete_versions(text)
    yield from _loosen_patterns(text)
    values_by_lookup = {
        lookup: [selectors.value_of(devices, device, lookup) for device in lost]
        for lookup in program.lookups
        if lookup.name
    }
    all_values = (value for values in values_by_lookup.values() for value in values)
    yield from _correct_case(text, list(dict.fromkeys(v for v in all_values if v is not None)))
    for comparison in program.comparisons:
        if comparison.lookup is None and comparison.operator in ("==", "in"):
            yield from _correct_driver(text, comparison, lost)
    for lookup in program.lookups:
        if not lookup.name:
            continue
        values = values_by_lookup[lookup]
        present = [value for value in values if value is not None]
        if not present:
            yield from _swap_maps(devices, text, lookup, comparison_by_lookup.get(lookup), lost)
        elif len(present) == len(values) and lookup in comparison_by_lookup:
            kind = _attribute_type(devices, lost, lookup)
            yield from _correct_value(text, comparison_by_lookup[lookup], lookup, kind, present)
        if lookup.kind == "attributes" and not lookup.tested and len(present) < len(values):
            yield from _accept_both_names(devices, text, lookup, lost)
            for guarded_text in _guard_lookup(devices, text, lookup):
                title = f"guard {lookup.name}, which some devices lack,"
                yield Rewrite(title, guarded_text, degree=1)


def rename_lookup(text: str, lookup_to_rename: Lookup, full_name: str) -> str:
    """Return an expression in which a name is replaced by ``full_name`` wherever it is looked up.

    ``full_name`` is the domain, or domain and name.
    """
    domain, _, name = full_name.partition("/")
    spans = {
        span
        for lookup in reading(text).lookups
        if (lookup.kind, lookup.full_name) == (lookup_to_rename.kind, lookup_to_rename.full_name)
        for span in (
            (*lookup.domain_span, domain),
            *([(*lookup.name_span, name)] if name and lookup.name else []),
        )
    }
    for start, end, replacement in sorted(spans, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


# -- literals by themselves --


def _complete_versions(text: str) -> Iterator[Rewrite]:
    """Yield the text with all three parts of a semantic version."""
    for argument, _ in first_arguments(tokenize(text), "semver"):
        version = _complete_version(argument.text)
        if version is not None and version != argument.text:
            title = f"use semver('{version}') instead of semver('{argument.text}')"
            new_text = text[: argument.start] + version + text[argument.end :]
            yield Rewrite(title, new_text, corrects=True)


def _complete_version(version: str) -> str | None:
    """Return ``9.0.0`` for ``9.0``; None unless it can be read as a version."""
    with suppress(ValueError):
        return Version.parse_tolerant(version).text
    return None


def _loosen_patterns(text: str) -> Iterator[Rewrite]:
    """Yield the text with a pattern without the anchors at its ends, or with a search for a
    substring in place of a prefix or suffix.
    """
    for call in _string_calls(text):
        if call.function == "matches":
            pattern = call.content.removeprefix("^").removesuffix("$")
            if pattern and pattern != call.content:
                yield Rewrite(
                    f"match '{pattern}' instead of '{call.content}'",
                    call.with_content(text, pattern),
                    corrects=True,
                )
        elif call.function in ("startsWith", "endsWith"):
            yield Rewrite(
                f"use contains('{call.content}') instead of {call.function}('{call.content}')",
                f"{text[: call.function_start]}contains{text[call.function_end :]}",
                corrects=True,
            )


def _correct_case(text: str, present: Sequence[str]) -> Iterator[Rewrite]:
    """Yield the text with a substring, prefix or pattern in the letter case of devices' values."""
    for call in _string_calls(text):
        is_pattern = call.function == "matches" and not call.content.startswith("(?")
        if call.function in ("contains", "startsWith", "endsWith"):
            for content in _find_cases(call.content, present):
                yield Rewrite(
                    f"use {call.function}('{content}') instead of "
                    f"{call.function}('{call.content}')",
                    call.with_content(text, content),
                    corrects=True,
                )
        elif is_pattern and _differs_by_case(call.content, present):
            yield Rewrite(
                f"match '(?i){call.content}', in any case, instead of '{call.content}'",
                f"{text[: call.content_start]}(?i){text[call.content_start :]}",
                corrects=True,
            )


def _find_cases(content: str, present: Sequence[str]) -> Iterator[str]:
    """Yield a substring in the letter case of each value that contains it in another case."""
    for value in present:
        start = value.lower().find(content.lower())
        corrected = value[start : start + len(content)]
        if start >= 0 and corrected != content:
            yield corrected


class _StringCall(Struct, frozen=True):
    """A call of a method with a string literal as its first argument."""

    function: str
    """The name of the method."""
    function_start: int
    """The offset at which the name begins in the expression."""
    function_end: int
    """The offset at which the name ends."""
    content: str
    """The literal without its quotes."""
    content_start: int
    """The offset at which the literal's content begins in the expression."""

    def with_content(self, text: str, content: str) -> str:
        """Return the expression with other content in the literal."""
        end = self.content_start + len(self.content)
        return text[: self.content_start] + content + text[end:]


def _string_calls(text: str) -> Iterator[_StringCall]:
    """Yield the calls of methods with a string that is not empty."""
    tokens = tokenize(text)
    for dot, name, opening, argument in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        is_call = dot.text == "." and opening.text == "("
        if is_call and argument.kind == "string" and argument.content:
            yield _StringCall(
                name.text, name.start, name.end, argument.content, argument.content_start
            )


def _differs_by_case(pattern: str, present: Sequence[str]) -> bool:
    """Return whether a pattern of letters and dots matches a value only in another letter case."""
    letters = pattern.replace(".*", "").lower()
    return (
        bool(letters)
        and letters.replace("-", "").replace(" ", "").isalnum()
        and any(letters in value.lower() for value in present)
    )


def _correct_driver(
    text: str, comparison: Comparison, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """Yield the text with the name of a device's driver in place of a similar name."""
    drivers = {device.driver for device in lost}
    for literal in comparison.literals[:1]:
        for driver in _find_intended_values(
            str(literal.value), sorted(drivers - {literal.value}), ""
        ):
            new_text = text[: literal.start] + _quote(driver, literal) + text[literal.end :]
            yield Rewrite(f"change driver {literal.value} to {driver}", new_text, corrects=True)


# -- names --


def _swap_maps(
    devices: Devices,
    text: str,
    lookup: Lookup,
    comparison: Comparison | None,
    lost: Sequence[DeviceID],
) -> Iterator[Rewrite]:
    """Look a capacity up among capacities instead of attributes, or an attribute vice versa."""
    other_lookup = replace(lookup, kind="capacity" if lookup.kind == "attributes" else "attributes")
    if not any(selectors.value_of(devices, device, other_lookup) is not None for device in lost):
        return
    head = text[lookup.start : lookup.domain_start].replace(lookup.kind, other_lookup.kind)
    operand = head + text[lookup.domain_start : lookup.end]
    title = f"read {lookup.full_name} from device.{other_lookup.kind}"
    if (
        comparison is None
        or comparison.literals[0].kind == "quantity"
        or other_lookup.kind == "attributes"
    ):
        yield Rewrite(title, text[: lookup.start] + operand + text[lookup.end :], corrects=True)
        return
    literal = comparison.literals[0]
    is_single = len(comparison.literals) == 1 and comparison.operator != "in"
    if is_single and literal.kind in ("string", "int"):
        values = (selectors.value_of(devices, device, other_lookup) for device in lost)
        amount = _add_unit(str(literal.value), [value for value in values if value is not None])
        new_comparison = f"{operand}.compareTo(quantity('{amount}')) {comparison.operator} 0"
        new_text = text[: comparison.start] + new_comparison + text[comparison.end :]
        yield Rewrite(f"{title}, and compare it with quantity('{amount}')", new_text, corrects=True)


def _add_unit(number_text: str, present: Sequence[str]) -> str:
    """Return a plain number with the unit that it probably lacks, judged by the devices' own
    amounts.

    If the largest amount is over 2^20 times the number, the number lacks ``Gi``, or ``G`` if
    no device has as many GiB.
    """
    number = Quantity.parse(number_text).milli_value() if number_text.isdigit() else 0
    largest = max((Quantity.parse(value).milli_value() for value in present), default=0)
    if not 0 < number < largest >> 20:
        return number_text
    return next(
        (
            f"{number_text}{unit}"
            for unit in ("Gi", "G")
            if Quantity.parse(f"{number_text}{unit}").milli_value() <= largest
        ),
        number_text,
    )


def _accept_both_names(
    devices: Devices, text: str, lookup: Lookup, lost: Sequence[DeviceID]
) -> Iterator[Rewrite]:
    """Apply the condition to whichever of two names a device has: drivers rename attributes."""
    devices_without = [d for d in lost if selectors.value_of(devices, d, lookup) is None]
    other_name = selectors.misfit(devices, text, devices_without).nearest
    if other_name is None or "/" not in other_name or other_name == lookup.full_name:
        return
    test = f"'{lookup.name}' in device.attributes['{lookup.domain}']"
    new_text = f"({test} ? {text} : {rename_lookup(text, lookup, other_name)})"
    yield Rewrite(
        f"read {other_name} on devices without {lookup.full_name}", new_text, corrects=True
    )


def _guard_lookup(devices: Devices, text: str, lookup: Lookup) -> Iterator[str]:
    """Yield the condition, made false where an attribute is missing.

    The first form is ``attributes['d'].?x.orValue(…)`` with a default that hardly any condition
    accepts. The second is ``'x' in device.attributes['d'] && …``. It can stay within the server's
    cost limit where the first does not: the estimate assumes the longest possible result of
    ``orValue``.
    """
    attribute_type = next(
        (
            attribute.type
            for item in devices.slices
            for device in item.spec.devices
            if (attribute := device.attribute(lookup.full_name, item.spec.driver)) is not None
        ),
        None,
    )
    default = _DEFAULT_LITERALS.get(attribute_type or "")
    head = text[: lookup.name_start].rstrip()
    if default is not None and not lookup.optional and head.endswith("."):
        yield f"{head}?{lookup.name}.orValue({default}){text[lookup.end :]}"
    if not lookup.optional:
        condition = f"({text})" if "||" in text or "?" in text else text
        yield f"'{lookup.name}' in device.attributes['{lookup.domain}'] && {condition}"


# -- values --


def _correct_value(
    text: str, comparison: Comparison, lookup: Lookup, kind: str | None, present: Sequence[str]
) -> Iterator[Rewrite]:
    """Yield comparisons with a literal that the devices' values satisfy."""
    literal = comparison.literals[0]
    head = text[: comparison.start] + text[lookup.start : lookup.end]
    tail = text[comparison.end :]

    def compare(condition: str) -> str:
        return f"{head}{condition}{tail}"

    if comparison.operator == "!=":
        return
    if comparison.operator == "in":
        yield from _correct_list(comparison, lookup, kind, present, compare)
    elif literal.kind == "quantity" and kind != "version":
        if kind == "quantity":
            yield from _reachable_bound(comparison, lookup, "quantity", present, compare)
    elif literal.kind == "semver" or kind == "version":
        version = _complete_version(str(literal.value))
        if literal.kind != "semver" and version is not None:
            title = f"compare {lookup.name}, a version, with semver('{version}')"
            condition = f".compareTo(semver('{version}')) {comparison.operator} 0"
            yield Rewrite(title, compare(condition), corrects=True)
        yield from _reachable_bound(comparison, lookup, "semver", present, compare)
    elif comparison.operator == "==":
        yield from _correct_equality(text, comparison, lookup, kind, present)
    elif kind == "int" and literal.kind == "string":
        title = f"compare {lookup.name}, an int, with {literal.value} without quotes"
        condition = f" {comparison.operator} {literal.value}"
        yield Rewrite(title, compare(condition), corrects=True)
    elif kind == "int":
        best = (max if ">" in comparison.operator else min)(int(value) for value in present)
        operator = _inclusive(comparison.operator)
        title = f"change {lookup.name} {comparison.operator} {literal.text} to {operator} {best}"
        yield Rewrite(title, compare(f" {operator} {best}"), Preference.LESS)


def _correct_equality(
    text: str, comparison: Comparison, lookup: Lookup, kind: str | None, present: Sequence[str]
) -> Iterator[Rewrite]:
    """Yield the value that was meant, or others, in place of a literal that no device has."""
    literal = comparison.literals[0]
    if kind in _LIST_TYPES:
        condition = f"{literal.text} in {text[lookup.start : lookup.end]}"
        new_text = text[: comparison.start] + condition + text[comparison.end :]
        yield Rewrite(f"look for {literal.text} in the list {lookup.name}", new_text, corrects=True)
        return
    intended = _find_intended_values(str(literal.value), list(dict.fromkeys(present)), kind)
    substitutes = _substitutes(str(literal.value), present)
    nearest_value = nearest(str(literal.value), present, 0.8)
    for position, value in enumerate(
        dict.fromkeys([*intended, *substitutes][: _MAX_SUBSTITUTES + len(intended)])
    ):
        corrects = value in intended[:1]
        new_text = (
            text[: literal.start] + _format_literal(value, kind, literal) + text[literal.end :]
        )
        yield Rewrite(
            f"change {lookup.name} == {literal.text} to {_format_literal(value, kind, literal)}",
            new_text,
            Preference.CORRECT if corrects else Preference.ADAPT,
            degree=position,
            corrects=corrects,
            variant=not corrects and value == nearest_value,
        )


def _substitutes(wanted: str, present: Sequence[str]) -> list[str]:
    """Return the values that could be asked for instead, the most frequent first.

    For a MIG profile (``3g.20gb``), only smaller profiles are returned, the largest first.
    """
    values = sorted(dict.fromkeys(present), key=lambda v: -present.count(v))
    wanted_size = _profile_size(wanted)
    sizes = {value: size for value in values if (size := _profile_size(value)) is not None}
    if wanted_size is None or len(sizes) < len(values):
        return values
    return sorted(
        (v for v in values if sizes[v] < wanted_size), key=lambda v: sizes[v], reverse=True
    )


def _profile_size(value: str) -> tuple[int, int] | None:
    """Return memory and compute slices of a MIG profile, in this order."""
    match = _MIG_PROFILE.match(value)
    return None if match is None else (int(match[2]), int(match[1]))


def _correct_list(
    comparison: Comparison,
    lookup: Lookup,
    kind: str | None,
    present: Sequence[str],
    compare: Callable[[str], str],
) -> Iterator[Rewrite]:
    """Yield the comparison with the values that the list was meant to have."""
    distinct_values = list(dict.fromkeys(present))
    intended = dict.fromkeys(
        value
        for literal in comparison.literals
        for value in _find_intended_values(str(literal.value), distinct_values, kind)
    )
    if intended:
        values = [_format_literal(value, kind, comparison.literals[0]) for value in intended]
        listed = f"[{', '.join(values)}]"
        title = f"change the list for {lookup.name} to {listed}"
        yield Rewrite(title, compare(f" in {listed}"), corrects=True)


def _reachable_bound(
    comparison: Comparison,
    lookup: Lookup,
    function: str,
    present: Sequence[str],
    compare: Callable[[str], str],
) -> Iterator[Rewrite]:
    """Yield the comparison with a bound that the best of the devices reaches."""
    if function == "quantity":
        ordered = sorted(present, key=lambda value: Quantity.parse(value).milli_value())
    else:
        ordered = sorted(present, key=lambda value: [int(n) for n in re.findall(r"\d+", value)])
    operator = _inclusive(comparison.operator)
    best = ordered[0 if operator == "<=" else -1]
    title = (
        f"change {lookup.name} {comparison.operator} {comparison.literals[0].value} "
        f"to {operator} {best}"
    )
    condition = f".compareTo({function}('{best}')) {operator} 0"
    yield Rewrite(title, compare(condition), Preference.LESS)


def _inclusive(operator: str) -> str:
    """Return the operator of a bound that includes the value itself: ``>=`` for ``>``."""
    if operator == "==":
        return operator
    return ">=" if ">" in operator else "<="


def _find_intended_values(literal: str, values: Sequence[str], kind: str | None) -> list[str]:
    """Return the values that a literal was meant to be.

    They are equal except for case and punctuation, made of the same words, contain the literal, or
    are a letter or two away. A number is never corrected: L4, L40 and L40S are three products.
    """
    if kind in ("int", "bool"):
        return [value for value in values if value == literal]
    plain = _strip_punctuation(literal)
    words = set(_words(literal))
    return (
        [value for value in values if _strip_punctuation(value) == plain]
        or [value for value in values if set(_words(value)) == words]
        or [value for value in values if plain and _contains_part(value, plain)]
        or [value for value in values if words and words <= set(_words(value))]
        or sorted(
            (
                v
                for v in values
                if len(_strip_punctuation(v)) > _MAX_AMBIGUOUS_LENGTH
                and _begins_with_part(literal, _strip_punctuation(v))
            ),
            key=len,
        )[-1:]
        or [
            v
            for v in [nearest(literal, values, 0.8)]
            if v is not None and _numbers(v) == _numbers(literal)
        ]
    )


def _contains_part(text: str, part: str) -> bool:
    """Return whether a text has a part that ends at the end of a word or between two letters."""
    plain, ends = _strip_punctuation(text), set(accumulate(map(len, _words(text))))
    end = plain.find(part) + len(part)
    return part in plain and (end in ends or plain[end - 1 : end + 1].isalpha())


def _begins_with_part(text: str, part: str) -> bool:
    """Return whether a text begins with a part that ends at a word boundary."""
    return _strip_punctuation(text).startswith(part) and _contains_part(text, part)


def _numbers(text: str) -> list[str]:
    """Return the numbers in a text."""
    return re.findall(r"\d+", text)


def _words(text: str) -> list[str]:
    """Return the words and numbers of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def _strip_punctuation(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(_words(text))


def _attribute_type(devices: Devices, lost: Sequence[DeviceID], reference: Lookup) -> str | None:
    """Return the type of the value that a lookup reads, as the first device has it."""
    if reference.kind == "capacity":
        return "quantity"
    attributes = (devices.attribute(device, reference.full_name) for device in lost)
    return next((attribute.type for attribute in attributes if attribute is not None), None)


def _format_literal(value: str, kind: str | None, like: Literal) -> str:
    """Format a value as a CEL literal of a type."""
    return value if kind in ("int", "bool") else _quote(value, like)


def _quote(value: str, like: Literal) -> str:
    """Quote a value as another literal is quoted."""
    quote = like.text[0] if like.text[:1] in ("'", '"') else "'"
    return f"{quote}{value}{quote}"
