"""The first sentence of an answer: a value made of its parts, which become text once."""

from __future__ import annotations

from msgspec import Struct

from dractl.reasons.base import Cause
from dractl.reasons.phrases import Names, Scope, capital


class Told(Struct, frozen=True):
    """A cause in a headline. ``joint`` ties it to what stands before it. ``brief``: without who holds the devices, whom
    ``whose`` then names in few words."""

    cause: Cause
    joint: str = ""
    scope: Scope = Scope.ONE
    brief: bool = False
    whose: bool = False

    def text(self, names: Names) -> str:
        said = (self.cause.brief if self.brief else self.cause.said)(names, self.scope)
        return self.joint + said + (self.cause.whose if self.whose else "")


class Headline(Struct, frozen=True):
    """The first sentence of an answer. ``lead`` is its main clause, and ``told`` the causes that complete it or take
    its place. The cause ``underlying`` these comes before them, and ``before`` all of it what it depends on."""

    lead: str = ""
    told: tuple[Told, ...] = ()
    underlying: Cause | None = None
    before: str = ""

    def text(self, names: Names) -> str:
        """The sentence, as the user has named things."""
        causes = "".join(part.text(names) for part in self.told)
        if self.underlying is None:
            return f"{self.before}{self.lead}{causes}"
        first = self.underlying.said(names)
        if self.underlying.asks:
            return f"{self.before}{first} {capital(self.lead)}{causes}"
        return f"{self.before}{first}; {self.lead}{causes}"
