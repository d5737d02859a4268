"""explain of many subjects: a table with the first reason of each, fixes that help several
subjects, and a summary.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.answer import SEVERITY, Explanation, Fix
from dractl.report.canvas import Canvas
from dractl.report.explain.marks import mark_answer
from dractl.report.explain.text import clean_text, hang_text, release_title
from dractl.report.plain import plural, wrap, wrap_anywhere
from dractl.views import age

_MIN_WIDTH = 36
"""Minimum width of a message beside its subject."""
_LINE_LIMITS = (0, 3, 1)
"""Maximum numbers of lines of a message, in the order in which they are tried until the table fits
on the screen; 0 means any number.
"""
_WORDS = {"error": "in error", "unallocatable": "unschedulable"}
"""Verdicts in the words of a summary."""
_SHORT = {
    "deployment": "deploy",
    "statefulset": "sts",
    "daemonset": "ds",
    "replicaset": "rs",
    "resourceclaim": "claim",
}


def table(
    answers: Sequence[Explanation], canvas: Canvas, *, now: float | None = None, screen: int = 0
) -> str:
    """Return a row for each answer with its first reason, one for the first fix that several
    answers have in common, and a summary. On a terminal of ``screen`` lines no line is wider than
    the canvas. Messages are wrapped, and shortened only if the table would not fit on the terminal
    with the prompt. If the table still does not fit, fixes are left out, fixes for the fewest pods
    first, and then the empty line above the summary.
    """
    answers = _group_by_fix(answers)
    columns = _Columns.of(answers, canvas, now, screen)
    summary = _summary(answers, canvas)
    for limit in _LINE_LIMITS if screen else (0,):
        rows = [*_rows(answers, replace(columns, limit=limit), canvas, now)]
        lines = 1 + sum(len(row.lines) for row in rows)
        over = lines + len(summary) + 1 - screen if screen else 0
        if over <= 0:
            break
    fixes = [row for row in rows if row.pods]
    if 0 < over < len(fixes):
        fewest = sorted(fixes, key=lambda row: (row.pods, -rows.index(row)))[: over + 1]
        rows = [row for row in rows if row not in fewest]
        summary.append(f"{len(fewest)} more fixes: -v shows each subject in full")
        lines -= len(fewest)
    summary += _notes(answers, canvas)
    between = [""] if not screen or lines + len(summary) + 2 <= screen else []
    body = [line for row in rows for line in row.lines]
    return canvas.plain("\n".join([columns.head(canvas), *body, *between, *summary])) + "\n"


class _Columns(Struct, frozen=True):
    """The widths of the columns."""

    subject: int
    age: int
    """The width of the ages, with two spaces; 0 if no age is known."""
    code: int
    """The width of the codes, with two spaces; 0 if the codes are placed before the messages."""
    width: int
    """The width of a message; 0 for an unlimited width."""
    below: bool
    """True if messages have lines of their own, because there is no room beside the subject."""
    limit: int = 0
    """Maximum number of lines of a message or a fix; 0 means any number."""

    @staticmethod
    def of(
        answers: Sequence[Explanation], canvas: Canvas, now: float | None, screen: int
    ) -> "_Columns":
        """Measure the answers."""
        subject = max(len("SUBJECT"), *(len(canvas.plain(_short_title(e))) for e in answers))
        ages = max(len(age(e.age, now)) for e in answers)
        aged = max(len("AGE"), ages) + 2 if ages else 0
        code = max(len("REASON"), *(len(_code(e)) for e in answers)) + 2
        beside = canvas.width - subject - aged - code - 4
        below = screen > 0 and beside < _MIN_WIDTH
        if below and subject + aged + code + 4 > canvas.width:
            code = 0
        room = canvas.width - 4 if below else beside
        return _Columns(subject, aged, code, room if screen else 0, below)

    def head(self, canvas: Canvas) -> str:
        """Return the header line."""
        names = f"  {'SUBJECT':<{self.subject}}  {'AGE' if self.age else '':<{self.age}}"
        code = f"{'REASON' if self.code else '':<{self.code}}"
        return canvas.paint(f"{names}{code}{'' if self.below else 'WHY'}".rstrip(), "1")

    def wrap_text(self, text: str, width: int, canvas: Canvas) -> list[str]:
        """Return the lines of a text in a column of the given width, up to the allowed number."""
        if not self.width:
            return [text]
        lines = wrap_anywhere(text, width)
        if not self.limit or len(lines) <= self.limit:
            return lines
        return [*lines[: self.limit - 1], canvas.cut(" ".join(lines[self.limit - 1 :]), width)]


class _Row(Struct, frozen=True):
    """An answer or a fix in the table: its lines, and the number of pods that the fix is for."""

    lines: tuple[str, ...]
    pods: int = 0


def _rows(
    answers: Sequence[Explanation], columns: _Columns, canvas: Canvas, now: float | None
) -> Iterator[_Row]:
    # How many answers since the last row of a fix have the same first fix, and how many pods these
    # answers stand for.
    same = pods = 0
    for number, e in enumerate(answers, 1):
        yield _Row(tuple(_subject(e, columns, canvas, now)))
        if not e.fixes:
            continue
        same, pods = same + 1, pods + 1 + len(e.alike)
        if number == len(answers) or _first_fix(answers[number]) != _first_fix(e):
            yield _fix(e.fixes[0], same, pods, columns, canvas)
            same = pods = 0
    most = _best_relief(answers)
    if most is not None:
        yield _fix(most, 1, 0, columns, canvas, most=True)


def _subject(e: Explanation, columns: _Columns, canvas: Canvas, now: float | None) -> Iterator[str]:
    """Yield the subject, its age and the code of its first reason, with the message beside or below
    them.
    """
    why = clean_text(e.reasons[0].brief if e.reasons else e.headline, canvas)
    title, mark = canvas.plain(_short_title(e)), mark_answer(e).paint(canvas)
    left = f"{title:<{columns.subject}}  {age(e.age, now):<{columns.age}}"
    if columns.below:
        yield f"{mark} {left}{_code(e) if columns.code else ''}".rstrip()
        text = why if columns.code else f"{_code(e)}: {why}"
        yield from (f"    {line}" for line in columns.wrap_text(text, columns.width, canvas))
        return
    left = f"{left}{_code(e):<{columns.code}}"
    first, *others = columns.wrap_text(why, columns.width, canvas)
    yield f"{mark} {left}{first}"
    yield from (f"  {'':<{len(left)}}{line}" for line in others)


def _fix(
    fix: Fix, subjects: int, pods: int, columns: _Columns, canvas: Canvas, *, most: bool = False
) -> _Row:
    """Return the row of a fix. The row says how many of the pods that wait for the fix fit after
    it. If this is unknown, the row says how many subjects the fix is for. ``most`` is True for a
    fix that helps the most pods.
    """
    whom = f" for {'both' if subjects == 2 else f'all {subjects}'}" if subjects > 1 else ""
    if fix.relief is not None:
        whom = f" for {'most, ' if most else ''}{fix.relief.fits} of {plural(fix.relief.of, 'pod')}"
    text = clean_text(fix.title + (f" ({fix.effect})" if fix.effect else ""), canvas)
    left = f"    fix{whom}: "
    first, *others = columns.wrap_text(text, canvas.width - len(left), canvas)
    return _Row((left + first, *(f"{'':<{len(left)}}{line}" for line in others)), pods)


def _summary(answers: Sequence[Explanation], canvas: Canvas) -> list[str]:
    """Return the number of subjects by verdict, with the release."""
    counts: Counter[str] = Counter()
    for e in answers:
        counts["fit" if e.fits else e.verdict] += 1 + len(e.alike)
    verdicts = ", ".join(
        f"{counts[verdict]} {_WORDS.get(verdict, verdict)}"
        for verdict in (*SEVERITY, "fit")
        if counts[verdict]
    )
    text = f"{plural(counts.total(), 'subject')} for {release_title(answers[0])}: {verdicts}"
    return wrap(text, max(canvas.width, 30))


def _notes(answers: Sequence[Explanation], canvas: Canvas) -> Iterator[str]:
    """Yield notes on unread resources, once for all answers."""
    blinds = (blind for e in answers for blind in e.unread)
    for note in dict.fromkeys(f"{blind.lack}: {blind.effect}" for blind in blinds):
        yield from hang_text("  note: ", note, canvas, hanging=8)


def _code(e: Explanation) -> str:
    return e.reasons[0].code if e.reasons else e.verdict


def _first_fix(e: Explanation) -> str:
    return e.fixes[0].title if e.fixes else ""


def _group_by_fix(answers: Sequence[Explanation]) -> list[Explanation]:
    """Return the answers in their order, except that answers with the same first fix and verdict
    are next to each other.
    """
    together: dict[object, list[Explanation]] = {}
    for number, e in enumerate(answers):
        together.setdefault((e.verdict, _first_fix(e)) if e.fixes else number, []).append(e)
    return [e for those in together.values() for e in those]


def _best_relief(answers: Sequence[Explanation]) -> Fix | None:
    """Return the fix after which the most pods fit, unless it is the first fix of an answer."""
    fixes = [fix for e in answers for fix in e.fixes if fix.relief is not None]
    best = max(fixes, key=_count_relieved, default=None)
    shown = best is None or any(
        _count_relieved(e.fixes[0]) == _count_relieved(best) for e in answers if e.fixes
    )
    return None if shown else best


def _count_relieved(fix: Fix) -> int:
    return fix.relief.fits if fix.relief is not None else 0


def _short_title(e: Explanation) -> str:
    """Return the subject with its kind as people type it; for equal replicas, the workload and
    their number.
    """
    kind, space, name = (e.workload or e.subject.title).partition(" ")
    number = f" ×{1 + len(e.alike)}" if e.alike else ""
    return f"{_SHORT.get(kind, kind)}{space}{name}{number}"
