"""The first sentence of an answer: a value made of its parts, which become text once."""

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.phrases import Names, Scope, capitalize


class HeadlineCause(Struct, frozen=True):
    """A cause in a headline. ``joint`` ties it to what stands before it. ``brief``: without who
    holds the devices, whom ``whose`` then names in few words.
    """

    cause: Cause
    joint: str = ""
    scope: Scope = Scope.ONE
    brief: bool = False
    whose: bool = False

    def text(self, names: Names) -> str:
        said = (self.cause.brief if self.brief else self.cause.full_sentence)(names, self.scope)
        return self.joint + said + (self.cause.holders_clause if self.whose else "")


class Clauses(Struct, frozen=True):
    """A headline in parts, for a report that puts each on a line of its own."""

    lead: str
    joint: str
    cause: str
    others: tuple[str, ...] = ()


class Headline(Struct, frozen=True):
    """The first sentence of an answer. ``lead`` is its main clause, and ``causes`` the causes that
    complete it or take its place. The cause ``underlying`` these comes before them, and ``before``
    all of it what it depends on.
    """

    lead: str = ""
    causes: tuple[HeadlineCause, ...] = ()
    underlying: Cause | None = None
    before: str = ""

    def text(self, names: Names) -> str:
        """The sentence, as the user has named things."""
        causes = "".join(part.text(names) for part in self.causes)
        if self.underlying is None:
            return f"{self.before}{self.lead}{causes}"
        first = self.underlying.full_sentence(names)
        if self.underlying.is_question:
            return f"{self.before}{first} {capitalize(self.lead)}{causes}"
        return f"{self.before}{first}; {self.lead}{causes}"

    def clauses(self, names: Names) -> Clauses:
        """The same in parts."""
        if self.underlying is not None:
            follows = replace(self, underlying=None, before="").text(names)
            return Clauses("", "", self.before + self.underlying.full_sentence(names), (follows,))
        if not self.causes:
            return Clauses("", "", self.text(names))
        first, *others = self.causes
        said = replace(first, joint="").text(names)
        return Clauses(
            self.before + self.lead, first.joint, said, tuple(other.text(names) for other in others)
        )
