"""Spellings that cel-go accepts and cel-cpp does not, replaced by equivalent ones of the same
length.

Offsets do not change.
"""

from dractl.cel.tokens import Token, brackets, is_name, tokenize

_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")


FLATTEN = "FLATTEN"
"""A name for ``flatten`` without a depth, for which cel-cpp accepts and returns lists of any
type.
"""


def rewrite_for_cel_cpp(text: str, shared: bool, lists: bool) -> tuple[str, dict[int, str]]:
    """Return the text for cel-cpp, and the field of each ``has(device.FIELD)`` that was replaced,
    by the offset of the replacement's operator. The test is replaced because cel-cpp confuses it
    with the field itself.

    ``shared`` and ``lists`` say what the environment declares
    (:class:`dractl.cel.environment.Declarations`).
    """
    fields: dict[int, str] = {}
    if "has" in text and "device" in text:
        text = _replace_tests(text, _FIELDS if shared else _FIELDS[:-1], fields)
    if "exists_one" in text:
        text = _rename_two_variable_macros(text)
    if lists and "flatten" in text:
        text = _flatten(text)
    return text, fields


def _replace_tests(text: str, known: tuple[str, ...], fields: dict[int, str]) -> str:
    """Replace ``has(device.driver)`` by ``(!false)``, with ``!false`` in place of ``device``."""
    tokens = tokenize(text)
    for i in range(len(tokens) - 5):
        has, opening, device, dot, field, closing = tokens[i : i + 6]
        if (has.text, opening.text, device.text, dot.text, closing.text) != (
            "has",
            "(",
            "device",
            ".",
            ")",
        ):
            continue
        before = tokens[i - 1] if i else None
        if field.text in known and (before is None or _may_precede(before)):
            for token, stand_in in ((has, ""), (device, "!false"), (dot, ""), (field, "")):
                text = text[: token.start] + stand_in.ljust(len(token.text)) + text[token.end :]
            fields[device.start] = field.text
    return text


def _may_precede(token: Token) -> bool:
    """Return True if an operand may follow this token."""
    return token.text == "in" or (
        token.kind == "operator" and token.text not in (".", ".?", ")", "]", "}")
    )


def _rename_two_variable_macros(text: str) -> str:
    """Replace ``exists_one(i, x, …)`` by ``existsOne``, which is cel-cpp's name for it."""
    tokens = tokenize(text)
    closing = brackets(text)
    for i, token in enumerate(tokens[:-1]):
        if token.text != "exists_one" or token.kind != "name" or tokens[i + 1].text != "(":
            continue
        start = tokens[i + 1].start
        end = closing.get(start, len(text))
        commas = 0
        skip_to = -1
        for inner in tokens[i + 2 :]:
            if inner.start >= end:
                break
            if inner.start < skip_to:
                continue
            if inner.text[0] in "([{" and inner.kind == "operator":
                skip_to = closing.get(inner.start, end)
            commas += inner.text == "," and inner.kind == "operator"
        if commas == 2:
            text = text[: token.start] + "existsOne " + text[token.end :]
    return text


def _flatten(text: str) -> str:
    tokens = tokenize(text)
    for dot, name, opening, closing in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        if (dot.text, name.text, opening.text, closing.text) == (".", "flatten", "(", ")"):
            text = text[: name.start] + FLATTEN + text[name.end :]
    return text


def drop_double_parentheses(text: str) -> str:
    """Return the text without parentheses directly around parentheses: cel-cpp accepts 32 levels of
    nesting, cel-go 250.
    """
    tokens = tokenize(text)
    closing = brackets(text)
    ends = {token.start: i for i, token in enumerate(tokens)}
    characters = list(text)
    for i, token in enumerate(tokens[:-1]):
        inner = tokens[i + 1]
        if (
            token.text != "("
            or inner.text != "("
            or token.start not in closing
            or inner.start not in closing
        ):
            continue
        if ends[closing[inner.start]] + 1 == ends[closing[token.start]]:
            # Blank the outer pair, or the inner pair if the outer one encloses a call's arguments.
            start = inner.start if i and is_name(tokens[i - 1]) else token.start
            characters[start] = characters[closing[start]] = " "
    return "".join(characters)
