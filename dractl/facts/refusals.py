"""Words with which drivers, the kubelet and container runtimes refuse to prepare or start a pod's
devices. The pack has a file for each of these programs, with the meanings of the words and advice.
"""

import html
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
"""Files that are about no single driver: the words of libraries that drivers share, of the kubelet,
of runtimes.
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
"""Names that texts can have in braces besides the named groups of their own patterns."""

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
    """The command that does or shows it."""


class Advice(Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of words, in clauses, and the next steps. A text in which a name in braces has no
    value is left out.
    """

    meaning: tuple[str, ...]
    steps: tuple[StepFact, ...]


class RefusalFact(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An explanation of words about a claim or a device that cannot be prepared."""

    id: str
    """A name in kebab case, unique in its file."""
    words: tuple[str, ...]
    """Patterns (RE2) one of which is found in the words. Named groups can stand in texts."""
    blames: Blame
    """The part at fault. Only ``hardware`` advises to reset or replace a device."""
    meaning: tuple[str, ...]
    steps: tuple[StepFact, ...]
    general: bool = False
    """True if any entry that is not general is better where both explain the words."""
    devices: tuple[str, ...] = ()
    """Values of the driver's attribute ``type`` of the claim's devices to which it applies; empty:
    all.
    """
    gone: Advice | None = None
    """The advice if no claim of the input has the UID in the words."""
    foreign: Advice | None = None
    """The advice where the words name a device that the claim has from another driver."""
    is_not: str = ""
    """A fault with which it is easily confused."""
    waits_for: str = ""
    """The prefix of the names of Deployments whose pods the driver waits for."""
    source: str
    """Path and line in the repository that the file names."""
    read: str = ""
    """Date on which it was read, where that is not the date of the file."""

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
    """A driver whose code this one was made from: its entries count after the file's own."""
    refusals: tuple[RefusalFact, ...]


class RefusalMatch(Struct, frozen=True):
    """An entry that explains words."""

    fact: RefusalFact
    groups: Mapping[str, str]
    """The named groups of the pattern that have a value."""
    start: int
    """The offset in the words at which the pattern begins."""


@cache
def refusal_file(name: str) -> RefusalFile | None:
    """Return the file of a driver, or one of the other files; None if the pack has none."""
    chosen = pack.current()
    if name not in chosen.entries(FOLDER):
        return None
    return chosen.read(f"{FOLDER}/{name}.json", RefusalFile)


@cache
def refusals(driver: str) -> tuple[RefusalFact, ...]:
    """Return the refusals of a driver: its own entries, then the entries of the driver that it was
    made from, then the entries for any driver.
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
    """Return the entry whose pattern begins last in the words; of several such entries, the first.

    Go wraps an error from left to right, so the last part is the cause of the parts before it. An
    entry that is not general comes before general ones.
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
    """Return words without colours, control characters and markup, to be compared with patterns."""
    return _TAG.sub("", html.unescape(_ANSI.sub("", words)))


@lru_cache(1 << 10)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern as RE2 does, which takes linear time; with Python's module where RE2 is not
    installed.

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
    """Yield the names in braces of a text. Raises ValueError for a text that is no template."""
    for _, name, spec, conversion in Formatter().parse(text):
        if name is not None:
            if spec or conversion or not name.isidentifier():
                raise ValueError(f"{{{name}}} is not a name alone")
            yield name


for _known in (refusal_file, refusals):
    pack.forget_with(_known.cache_clear)
