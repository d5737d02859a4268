"""The first sentence of an answer, as a value with parts that are joined to text only at the
end.
"""

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.phrases import Names, Scope, capitalize


class HeadlineCause(Struct, frozen=True):
    """A cause in a headline."""

    cause: Cause
    joint: str = ""
    """The words that join the cause to the text before it."""
    scope: Scope = Scope.ONE
    brief: bool = False
    """True to leave the holders of the devices out of the sentence."""
    names_holders: bool = False
    """True if a clause names the holders after the brief sentence."""

    def text(self, names: Names) -> str:
        """Return the cause as text, with the words that join it."""
        compose = self.cause.brief if self.brief else self.cause.full_sentence
        holders = self.cause.holders_clause if self.names_holders else ""
        return self.joint + compose(names, self.scope) + holders


class Clauses(Struct, frozen=True):
    """The parts of a headline, for a report that puts each on its own line."""

    lead: str
    joint: str
    cause: str
    others: tuple[str, ...] = ()


class Headline(Struct, frozen=True):
    """The first sentence of an answer."""

    lead: str = ""
    """The main clause."""
    causes: tuple[HeadlineCause, ...] = ()
    """The causes that complete the main clause, or that replace it."""
    root_cause: Cause | None = None
    """The cause that underlies the others; the sentence begins with it."""
    prefix: str = ""
    """Words at the beginning of the sentence: the condition under which it holds."""

    def text(self, names: Names) -> str:
        """Return the sentence with the names that the user has given."""
        causes = "".join(part.text(names) for part in self.causes)
        if self.root_cause is None:
            return f"{self.prefix}{self.lead}{causes}"
        sentence = self.root_cause.full_sentence(names)
        if self.root_cause.is_question:
            return f"{self.prefix}{sentence} {capitalize(self.lead)}{causes}"
        return f"{self.prefix}{sentence}; {self.lead}{causes}"

    def clauses(self, names: Names) -> Clauses:
        """Return the sentence in parts."""
        if self.root_cause is not None:
            follows = replace(self, root_cause=None, prefix="").text(names)
            return Clauses("", "", self.prefix + self.root_cause.full_sentence(names), (follows,))
        if not self.causes:
            return Clauses("", "", self.text(names))
        first, *others = self.causes
        sentence = replace(first, joint="").text(names)
        return Clauses(
            self.prefix + self.lead,
            first.joint,
            sentence,
            tuple(other.text(names) for other in others),
        )
