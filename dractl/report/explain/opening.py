"""The first sentence of an answer on a screen: a short line with the cause, then the reason for it,
then the consequences.
"""

import re
from collections.abc import Iterator

from dractl.explain.answer import Explanation, When
from dractl.explain.reasons.headline import Clauses

_ROOM = 77  # columns of the first line without its mark
_JOINT = re.compile(r"; | (?=\((?:[^()]|\([^()]*\))*\)(?:$|;|,| \())|: (?!\d)")
_BUT = ", but "
"""The words before a cause that restricts the main clause instead of explaining it."""
_SUBCLAUSE = re.compile("and |but |which |whose ")
_COMMA = re.compile(rf", (?={_SUBCLAUSE.pattern})")
# A text before a colon is a clause if it has at least this number of words; a shorter text is a
# name such as ``request gpu``.
_CLAUSE = 4
_REQUEST_OF_CLAIM = re.compile(
    r"claim \S+, (sub)?request \S+"
)  # the scheduler's name for a request


def lines(e: Explanation) -> list[str]:
    """Return the sentence in lines; the first also says how many things are in the way.

    The first line has at most 77 columns if the sentence has a clause that is short enough.
    """
    first, *others = split_clauses(e.clauses) if e.clauses is not None else [e.headline]
    if others and _SUBCLAUSE.match(others[0]):  # the subclause continues the first line
        clause, *following = others
        return [f"{first},", _add_count(clause, e), *following]
    return [_add_count(first, e), *others]


def paragraphs(e: Explanation) -> list[str]:
    """Return the lines for a page that breaks lines itself: none ends with the comma before a
    subclause.
    """
    first, *others = lines(e)
    return [f"{first} {others[0]}", *others[1:]] if first.endswith(",") else [first, *others]


def _add_count(line: str, e: Explanation) -> str:
    """Return a line with ``; 3 things are in the way on gpu-1`` at its end if there are several
    obstacles.
    """
    if len(e.obstacles) < 2:
        return line
    nodes = e.obstacles[0].nodes
    place = f" on {nodes[0]}" if nodes else ""
    joint = " " if line.endswith("?") else "; "
    return f"{line}{joint}{len(e.obstacles)} things are in the way{place}"


WHEN_SENTENCES: dict[When, str] = {
    "never": "never as it is, even on an idle node",
    "now-held": "not now: others hold what it needs",
    "blocked": "held back before any node is looked at",
}


def obstacle_lines(e: Explanation) -> list[str]:
    """Return a heading with a line for each obstacle; nothing if there is only one."""
    if len(e.obstacles) < 2:
        return []
    heading = f"In the way ({WHEN_SENTENCES[e.when]})" if e.when is not None else "In the way"
    return [heading, *(f"{obstacle.have} [{obstacle.code}]" for obstacle in e.obstacles)]


def split_clauses(told: Clauses) -> list[str]:
    """Return the lines of a sentence, given in parts."""
    lead, cause, others = told.lead, told.cause, [other.lstrip("; ") for other in told.others]
    whole = lead + told.joint + cause + "".join(told.others)
    if len(whole) <= _ROOM and (lead or not others):
        return [whole]
    first, *why = _split_sentence(lead + told.joint + cause, len(lead))
    if len(first) <= _ROOM or not lead:
        return [first, *why, *others]
    first, *why = _split_sentence(cause)
    if told.joint == _BUT:
        return [lead, _BUT.lstrip(", ") + first, *why, *others]
    if len(first) <= _ROOM:
        return [
            first,
            *why,
            *others,
            f"so it {lead}" if lead.startswith(("fits", "does not")) else lead,
        ]
    return [lead, f"because {first}", *why, *others]


def _split_sentence(text: str, after: int = 0) -> Iterator[str]:
    """Yield a sentence in two parts if it is longer than the first line. The first part has as many
    clauses as fit on this line, and at least ``after`` characters. If the first clause is longer
    than the line, it is the whole first part.
    """
    strong, weak = (
        [cut for cut in joint.finditer(text) if cut.start() > after and _ends(text, cut, after)]
        for joint in (_JOINT, _COMMA)
    )
    cuts = [cut for cut in strong if cut.start() <= _ROOM] or [
        cut for cut in weak if cut.start() <= _ROOM
    ]
    if len(text) <= _ROOM or not (cuts or strong):
        yield text
        return
    cut = cuts[-1] if cuts else strong[0]
    continuation = text[cut.end() :]
    if cut[0] == ": " and continuation.startswith('"'):  # a quoted message
        yield f"{text[: cut.start()]}:"
        yield continuation
        return
    yield text[: cut.start()]
    yield ("because " if cut[0] == ": " and not text.endswith("?") else "") + continuation


def _ends(text: str, joint: re.Match[str], after: int) -> bool:
    """Return True if a clause ends at a joint: not within parentheses, and not after
    a mere name.
    """
    left = text[: joint.start()]
    last = re.split(r"[;:] ", left[after:])[-1]
    is_clause = len(last.split()) >= _CLAUSE and not _REQUEST_OF_CLAIM.fullmatch(last)
    return left.count("(") == left.count(")") and (joint[0] != ": " or is_clause)
