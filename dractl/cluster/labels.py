"""Label selectors as kubectl's ``-l`` takes them (k8s.io/apimachinery/pkg/labels/selector.go)."""

import re
from collections.abc import Mapping

from msgspec import Struct

from dractl.errors import UsageError

_TERM = re.compile(
    r"(?P<no>!)?\s*(?P<key>[A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9])?)\s*"
    r"(?:(?P<operator>==?|!=)\s*(?P<value>[A-Za-z0-9_.-]*)"
    r"|\s(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?\s*"
)

_EXAMPLES = ("app=web", "'app!=web'", "'app in (web, api)'", "app", "'!app'")


class Term(Struct, frozen=True):
    """A requirement on one label."""

    key: str
    values: frozenset[str] | None
    """The values of which the label must have one; None for any value."""
    negated: bool
    """True if the label must not have any of these values."""

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Return True if the labels meet the requirement; a label that is absent meets every
        negation.
        """
        has = self.key in labels and (self.values is None or str(labels[self.key]) in self.values)
        return has is not self.negated


class LabelQuery(Struct, frozen=True):
    """Requirements that must all be met."""

    terms: tuple[Term, ...]

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Return True if the labels meet every requirement."""
        return all(term.matches(labels) for term in self.terms)


def parse_labels(text: str, option: str = "-l") -> LabelQuery:
    """Parse a query such as ``app=web,tier!=test,zone in (a, b),!canary``.

    Raises UsageError for anything else; ``option`` is the option that contains it.
    """
    terms = []
    for part in re.split(r",(?![^(]*\))", text):
        match = _TERM.fullmatch(part.strip())
        if match is None or (match["no"] and (match["operator"] or match["word"])):
            raise UsageError(
                f"{option} cannot read {part.strip()!r}",
                hint=", ".join(f"{option} {example}" for example in _EXAMPLES),
            )
        if match["word"]:
            values = frozenset(value.strip() for value in match["values"].split(","))
            terms.append(Term(match["key"], values, match["word"] == "notin"))
        elif match["operator"]:
            terms.append(Term(match["key"], frozenset({match["value"]}), match["operator"] == "!="))
        else:
            terms.append(Term(match["key"], None, bool(match["no"])))
    return LabelQuery(tuple(terms))
