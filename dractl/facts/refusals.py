"""Messages with which drivers, the kubelet and container runtimes refuse to prepare or start a
pod's devices. The pack has a file for each of these programs, with explanations of the messages,
and advice.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from string import Formatter
from typing import Any, Literal

from msgspec import Struct

from dractl.facts import pack

FOLDER = "refusals"
ANY_DRIVER, KUBELET, RUNTIME = "any-driver", "kubelet", "runtime"
OTHERS = (ANY_DRIVER, KUBELET, RUNTIME)
"""Files that are not about a single driver: messages of libraries that drivers share, of the
kubelet, and of runtimes.
"""

CONTEXT = frozenset(
    {
        "driver",
        "node",
        "namespace",
        "pod",
        "claim",
        "device",
        "sharers",
        "holder",
        "foreign",
        "program",
    }
)
"""Names that texts may have in braces, in addition to the named groups of their own patterns."""

CLAIM_UID = "claim_uid"
"""The named group for the UID of a claim, which is looked up among the claims of the input."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_TAG = re.compile(
    r"</?(?:a|b|br|code|div|em|font|i|li|p|pre|span|strong|tt|ul)(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)

Blame = Literal["hardware", "parameters", "claim", "pod", "driver", "node", "installation", "wait"]


class StepFact(Struct, frozen=True, forbid_unknown_fields=True):
    """A step."""

    do: str
    """An imperative."""
    run: str = ""
    """The command for this step."""


class Advice(Struct, frozen=True, forbid_unknown_fields=True):
    """The explanation of a message, in clauses, and the next steps. A text is left out if a name in
    its braces has no value.
    """

    meaning: tuple[str, ...]
    steps: tuple[StepFact, ...]


class RefusalFact(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An explanation of messages about a claim or a device that cannot be prepared."""

    id: str
    """A name in kebab case, unique in its file."""
    words: tuple[str, ...]
    """Patterns (RE2), one of which must match a part of the message. Texts can use their named
    groups.
    """
    blames: Blame
    """The part at fault. Advice to reset or replace a device is given only for ``hardware``."""
    meaning: tuple[str, ...]
    steps: tuple[StepFact, ...]
    general: bool = False
    """True if any entry that is not general takes precedence when both explain the message."""
    devices: tuple[str, ...] = ()
    """The values of the driver's attribute ``type`` for devices of the claim to which the entry
    applies; empty for all.
    """
    gone: Advice | None = None
    """The advice if no claim of the input has the UID in the message."""
    foreign: Advice | None = None
    """The advice if the message names a device of another driver that the claim has."""
    is_not: str = ""
    """A fault with which this one is easily confused."""
    waits_for: str = ""
    """The prefix of the names of Deployments whose pods the driver waits for."""
    source: str
    """Path and line in the repository that the file names."""
    read: str = ""
    """The date on which it was read, if that is not the date of the file."""

    @property
    def advices(self) -> tuple[Advice, ...]:
        """Return all advice of the entry."""
        advices = (Advice(self.meaning, self.steps), self.gone, self.foreign)
        return tuple(advice for advice in advices if advice is not None)


class RefusalFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of refusals."""

    of: str
    """A driver, ``any-driver``, ``kubelet`` or ``runtime``."""
    source: str
    """Repositories with the tags or commits that were read."""
    read: str
    like: str = ""
    """A driver on whose code this driver is based; entries of that driver follow the file's own
    entries.
    """
    refusals: tuple[RefusalFact, ...]


class RefusalMatch(Struct, frozen=True):
    """An entry that explains a message."""

    fact: RefusalFact
    groups: Mapping[str, str]
    """The named groups of the pattern, with their values."""
    start: int
    """The offset in the message at which the match begins."""


@cache
def refusal_file(name: str) -> RefusalFile | None:
    """Return the file of a driver, or one of :data:`OTHERS`; None if the pack lacks the file."""
    chosen = pack.current()
    if name not in chosen.entries(FOLDER):
        return None
    return chosen.read(f"{FOLDER}/{name}.json", RefusalFile)


@cache
def refusals(driver: str) -> tuple[RefusalFact, ...]:
    """Return the refusals of a driver: first its own, then the refusals of the driver on which it
    is based, then the refusals of any driver.
    """
    facts: list[RefusalFact] = []
    file = refusal_file(driver)
    parts = (driver,) if driver in OTHERS else (driver, file.like if file else "", ANY_DRIVER)
    for name in parts:
        part = refusal_file(name) if name else None
        facts += part.refusals if part is not None else ()
    return tuple(facts)


def match_words(
    words: str, facts: Iterable[RefusalFact], device_types: Iterable[str] = ()
) -> RefusalMatch | None:
    """Return the entry whose pattern matches last in the message; if several match at the same
    place, the first of these entries. None if no entry explains the message.

    Go wraps an error from left to right, so the last part is the cause of the parts before it. An
    entry that is not general takes precedence over general ones.
    """
    text, types = clean_words(words), frozenset(device_types)
    matches = [
        RefusalMatch(
            fact, {name: value for name, value in match.groupdict().items() if value}, match.start()
        )
        for fact in facts
        if not fact.devices or not types.isdisjoint(fact.devices)
        for pattern in fact.words
        for match in compile_pattern(pattern).finditer(text)
    ]
    return max(matches, key=lambda match: (not match.fact.general, match.start), default=None)


def clean_words(words: str) -> str:
    """Return a message without colours, control characters and markup, for matching with
    patterns.
    """
    from html import unescape

    return _TAG.sub("", unescape(_ANSI.sub("", words)))


@lru_cache(1 << 10)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern with RE2, which matches in linear time, or with Python's module if RE2 is
    not installed.

    Raises ValueError for an invalid pattern.
    """
    try:
        import re2
    except ImportError:
        return re.compile(pattern)
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(str(error)) from None


def fields_of(text: str) -> Iterator[str]:
    """Yield the names in braces in a text. Raises ValueError if the text is no template."""
    for _, name, spec, conversion in Formatter().parse(text):
        if name is not None:
            if spec or conversion or not name.isidentifier():
                raise ValueError(f"{{{name}}} is not a name alone")
            yield name


for _known in (refusal_file, refusals):
    pack.forget_with(_known.cache_clear)
