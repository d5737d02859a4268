"""The nodes of a YAML document, as PyYAML composes them; documents that go-yaml refuses are refused
with its messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import yaml
from msgspec import Struct
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from dractl.manifests.chunks import Chunk, Unreadable, split
from dractl.manifests.resolve import PLAIN, STR
from dractl.manifests.scalars import value_start
from dractl.manifests.source import Source
from dractl.manifests.text import MAX_DEPTH, MAX_KEYS, brackets_nest_deeply

if yaml.__with_libyaml__:
    from yaml._yaml import CParser

_LONG_LINE = re.compile(r"[^\r\n]{1000}")
_LARGE = 1 << 20


class _Resolver:
    """A resolver for PyYAML's composers, which ask it for the tag of a node without one. It always
    answers that the text decides.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        return PLAIN if implicit is True or (implicit is not False and implicit[0]) else STR

    def descend_resolver(self, *_: Any) -> None: ...
    def ascend_resolver(self) -> None: ...


@cache
def composer_class() -> Any:
    """Return PyYAML's parser and composer: libyaml's, or the ones in Python if PyYAML was built
    without it.
    """
    if not yaml.__with_libyaml__:
        return python_composer()

    class FastComposer(_Resolver, CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)

    return FastComposer


def python_composer() -> Any:
    """Return the parser and composer that are written in Python, which are 20 times slower."""

    class PythonComposer(_Resolver, Reader, Scanner, Parser, Composer):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)

        def dispose(self) -> None: ...

    return PythonComposer


def compose(text: str, chunk: Chunk) -> Any:
    """Return the node tree of the first document of the chunk (text after ``...`` is ignored, as in
    go-yaml).
    """
    part = text[chunk.start : chunk.end].removeprefix("\ufeff")
    shift = chunk.start + (chunk.end - chunk.start - len(part))
    make = composer_class()
    try:
        # libyaml's composer recurses in C and would overflow the stack; its parser does not.
        if len(part) > _LARGE or _LONG_LINE.search(part) or brackets_nest_deeply(part):
            _check_bounds(make(part), shift)
        composer = make(part)
        try:
            node = composer.get_node() if composer.check_node() else None
        except yaml.composer.ComposerError:
            node = _compose_events(make(part), shift)
        finally:
            composer.dispose()
    except yaml.MarkedYAMLError as error:
        marked: Any = error
        mark = marked.problem_mark or marked.context_mark
        offset = shift + (mark.index if mark is not None else 0)
        if marked.problem == "exceeded maximum nesting depth":  # libyaml 0.2.6 has its own limit
            raise Unreadable(f"nested more than {MAX_DEPTH} levels deep", offset) from None
        raise _explain(marked, text, min(offset, chunk.end), chunk.end, shift) from None
    except yaml.YAMLError as error:
        raise Unreadable(str(error), chunk.start) from None
    except RecursionError:
        raise Unreadable(f"nested more than {MAX_DEPTH} levels deep", chunk.start) from None
    if node is not None and "\\" in part and re.search(_REFUSED_ESCAPE, part):
        _refuse_escapes(node, part, shift)
    if node is not None and "!" in part and re.search(_NON_SPECIFIC_TAG, part):
        _keep_texts(node, part)
    return node


class MultilineScalar(Struct, frozen=True):
    """A scalar of several lines, or a document that cannot be read."""

    first: int
    """The first line."""
    last: int
    """The last line."""
    is_block: bool
    """True for a block scalar, in which a hash sign is part of the text."""
    is_readable: bool = True
    """False for a document that cannot be read; all of it may be text."""


def multiline_scalars(source: Source) -> Iterator[MultilineScalar]:
    """Yield every scalar of several lines; a document that cannot be read counts as one."""
    text = source.text
    for chunk in split(text):
        try:
            root = compose(text, chunk)
        except Unreadable:
            first = source.position(chunk.start).line - 1
            last = source.position(chunk.end, chunk.end).line
            yield MultilineScalar(first, last, is_block=True, is_readable=False)
            continue
        for node in _scalars(root) if root is not None else ():
            if node.start_mark.line == node.end_mark.line:
                continue
            start, end = chunk.start + node.start_mark.index, chunk.start + node.end_mark.index
            # A block scalar ends where the next key begins
            end = start + len(text[start:end].rstrip())
            first, last = source.position(start).line, source.position(end, end).line
            yield MultilineScalar(first, last, node.style in ("|", ">"))


def string_starts(scalars: Iterable[MultilineScalar]) -> dict[int, int]:
    """Return, for each line of a string of several lines but the first, the line at which the
    string begins.
    """
    return {
        line: scalar.first
        for scalar in scalars
        if scalar.is_readable
        for line in range(scalar.first + 1, scalar.last + 1)
    }


def _check_bounds(parser: Any, shift: int) -> None:
    """Refuse documents that nest too deeply and maps of too many keys before nodes are made of
    them.
    """
    events: Any = yaml.events
    room: list[float] = []  # for each open collection, the number of nodes that it may still have
    while (event := parser.get_event()) is not None:
        if room and isinstance(event, events.NodeEvent):
            room[-1] -= 1
            if room[-1] < 0:
                raise Unreadable(
                    f"a map of more than {MAX_KEYS:,} keys", shift + event.start_mark.index
                )
        if isinstance(event, events.CollectionStartEvent):
            room.append(2 * MAX_KEYS if isinstance(event, events.MappingStartEvent) else math.inf)
            if len(room) > MAX_DEPTH:
                raise Unreadable(
                    f"nested more than {MAX_DEPTH} levels deep", shift + event.start_mark.index
                )
        elif isinstance(event, events.CollectionEndEvent):
            room.pop()
        elif isinstance(event, events.DocumentEndEvent):
            return


def _compose_events(parser: Any, shift: int) -> Any:
    """Compose documents that only PyYAML's composers refuse because an anchor is defined again;
    report documents that go-yaml refuses as well.
    """
    events: Any = yaml.events
    nodes: Any = yaml.nodes
    resolver, anchors = _Resolver(), dict[str, Any]()
    root: Any = None
    stack: list[Any] = []
    while (event := parser.get_event()) is not None and not isinstance(
        event, events.DocumentEndEvent
    ):
        if isinstance(event, events.CollectionEndEvent):
            done = stack.pop()
            done.end_mark = event.end_mark
            if isinstance(done, nodes.MappingNode):
                done.value = list(zip(done.value[::2], done.value[1::2], strict=True))
            continue
        if not isinstance(event, events.NodeEvent):
            continue
        node: Any
        if isinstance(event, events.AliasEvent):
            node = anchors.get(event.anchor)
            if node is None:
                raise Unreadable(
                    f"unknown anchor '{event.anchor}' referenced", shift + event.start_mark.index
                )
            if node in stack:
                raise Unreadable(
                    f"anchor '{event.anchor}' value contains itself", shift + event.start_mark.index
                )
        elif isinstance(event, events.ScalarEvent):
            tag = (
                event.tag
                if event.tag not in (None, "!")
                else resolver.resolve(None, event.value, event.implicit)
            )
            node = nodes.ScalarNode(
                tag, event.value, event.start_mark, event.end_mark, style=event.style or ""
            )
        else:
            kind = (
                nodes.MappingNode
                if isinstance(event, events.MappingStartEvent)
                else nodes.SequenceNode
            )
            node = kind(event.tag or PLAIN, [], event.start_mark, None, flow_style=event.flow_style)
        if not isinstance(event, events.AliasEvent) and event.anchor is not None:
            anchors[event.anchor] = node
        if stack:
            stack[-1].value.append(node)
        else:
            root = node
        if isinstance(event, events.CollectionStartEvent):
            stack.append(node)
    return root


_REFUSED_ESCAPE = r"\\(?:/|u[dD][89a-fA-F])"
_QUOTED_ESCAPE = r'"(?:[^"\\]|\\(?!/|u[dD][89a-fA-F])[\s\S])*\\(?=(/|u[dD][89a-fA-F]))'


def _refuse_escapes(root: Any, text: str, shift: int) -> None:
    r"""Refuse escapes that go-yaml v2 does not accept: ``\/`` in double quotes, which libyaml
    accepts since YAML 1.2, and halves of a surrogate pair, which PyYAML's own scanner accepts.
    """
    for node in _scalars(root):
        if node.style != '"':
            continue
        start = value_start(text, node.start_mark.index, node.end_mark.index)
        match = re.match(_QUOTED_ESCAPE, text[start : node.end_mark.index])
        if match is not None:
            slash = match[1] == "/"
            message = (
                "found unknown escape character"
                if slash
                else "found invalid Unicode character escape code"
            )
            raise Unreadable(
                message, shift + start + match.end() - 1, _ESCAPE_HINT if slash else None
            )


_DESCRIBED = re.compile(r"Name: {2,}\S+\n(?:Namespace|Labels|Roles|Annotations|Priority): ")
_ESCAPE_HINT = "a backslash is an escape within double quotes: use single quotes, or write it twice"
_NON_SPECIFIC_TAG = r"!(?:<!>)?\s"
_TAGGED_NON_SPECIFIC = r"(?:&\S+\s+)?!(?:<!>)?\s"


def _keep_texts(root: Any, text: str) -> None:
    """Keep a scalar with the tag ``!`` as a string (go-yaml v2 resolve.go: no resolvable tag),
    since libyaml drops that tag.

    ``! <<`` is a merge nevertheless (decode.go isMerge).
    """
    behind_tag = re.compile(_TAGGED_NON_SPECIFIC).match
    for node in _scalars(root):
        if node.tag == PLAIN and node.value != "<<" and behind_tag(text, node.start_mark.index):
            node.tag = STR


def _scalars(root: Any) -> Iterator[Any]:
    """Yield every scalar of a node tree, in the order of the text; a scalar that aliases share
    comes once.
    """
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node.id == "scalar":
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            children = (
                [part for pair in node.value for part in pair]
                if node.id == "mapping"
                else node.value
            )
            stack.extend(reversed(children))


def _explain(error: Any, text: str, offset: int, end: int, shift: int) -> Unreadable:
    """Return the parser's problem in go-yaml's words, with its place and its most likely cause."""
    problem = error.problem or str(error)
    hint = None
    if _DESCRIBED.match(text):
        hint = (
            "this is what `kubectl describe` prints: save `kubectl get -o yaml` of the same objects"
            " instead"
        )
    elif "cannot start any token" in problem and text[offset : offset + 1] == "\t":
        hint = "a tab cannot indent YAML: use spaces"
    elif "cannot start any token" in problem and text[offset : offset + 1] in "%@`":
        hint = f"a value that begins with {text[offset : offset + 1]} must be quoted"
    elif "mapping values are not allowed" in problem:
        hint = "quote the value if the `: ` belongs to it, or check the indentation"
    elif "unknown escape character" in problem:
        hint = _ESCAPE_HINT
    elif "could not find expected ':'" in problem:
        hint = "a key without `:`, or a line that is indented less than the string it belongs to"
    elif "did not find expected key" in problem:
        hint = (
            "check the indentation; a value that begins with [, {, *, &, ! or a quote must be"
            " quoted as a whole"
        )
    if not text[offset:end].strip() and problem.startswith(
        ("did not find expected", "found unexpected end")
    ):
        # Nothing is visible at the end of the text, so point at the opening character
        mark = error.context_mark
        if mark is not None:
            offset = shift + mark.index
        is_bracket = text[offset : offset + 1] in tuple("[{'\"")
        opened = offset if is_bracket else max(text.rfind(bracket, shift, end) for bracket in "[{")
        if opened >= 0:
            line, column = text.count("\n", 0, opened) + 1, opened - text.rfind("\n", 0, opened)
            hint = f"is {text[opened]} at {line}:{column} closed?"
    return Unreadable(problem, offset, hint)
