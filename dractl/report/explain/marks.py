"""The mark before an answer, in text and HTML."""

from msgspec import Struct

from dractl.explain.answer import FITS, Explanation, Verdict
from dractl.report.canvas import Canvas


class Mark(Struct, frozen=True):
    """A character, with its ANSI style and its CSS class."""

    text: str
    style: str
    look: str

    def paint(self, canvas: Canvas) -> str:
        """Return the mark as a terminal shows it."""
        return canvas.paint(self.text, self.style)


YES = Mark("✓", "1;32", "good")
NO = Mark("✗", "1;31", "bad")
UNKNOWN = Mark("?", "1;33", "warn")
_WAITING = Mark("…", "1;33", "warn")


def mark_verdict(verdict: Verdict) -> Mark:
    """Return a tick, a cross, or a question mark if the answer is unknown."""
    if verdict == "undecided":
        return UNKNOWN
    return YES if verdict in FITS else NO


def mark_answer(answer: Explanation) -> Mark:
    """Return the mark of the verdict; dots if the subject only waits for the scheduler."""
    return _WAITING if answer.waits else mark_verdict(answer.verdict)
