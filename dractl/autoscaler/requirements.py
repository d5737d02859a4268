"""Requirements on labels as Karpenter compares them: sets of values that a label may have.

sigs.k8s.io/karpenter pkg/scheduling/requirement.go and requirements.go. Since the node does not
exist yet, two requirements are compatible if some value meets both.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from dractl.model import NodeSelectorRequirement


class Requirement(Struct, frozen=True):
    """The values that a label may have."""

    values: frozenset[str] = frozenset()
    excludes: bool = False
    """True if the label may have every value except ``values``."""
    lowest: int | None = None
    """The smallest integer that the label may have; only set together with ``excludes``."""
    highest: int | None = None

    @property
    def is_empty(self) -> bool:
        """True if the label must not exist."""
        return not self.excludes and not self.values

    @property
    def needs_label(self) -> bool:
        """True if a node without the label does not meet the requirement, as with the operators In,
        Exists, Gt and Lt (Operator).
        """
        return bool(self.values) != self.excludes

    def allows(self, value: str) -> bool:
        """Return True if the label may have a value."""
        if (value in self.values) == self.excludes:
            return False
        return _is_within(value, self.lowest, self.highest)

    def intersect(self, other: "Requirement") -> "Requirement":
        """Return the values that meet both (Requirement.Intersection)."""
        lowest = max(_present(self.lowest, other.lowest), default=None)
        highest = min(_present(self.highest, other.highest), default=None)
        if lowest is not None and highest is not None and lowest > highest:
            return Requirement()
        if self.excludes and other.excludes:
            values = {v for v in self.values | other.values if _is_within(v, lowest, highest)}
            return Requirement(frozenset(values), True, lowest, highest)
        listed, limit = (other, self) if self.excludes else (self, other)
        return Requirement(frozenset(v for v in listed.values if limit.allows(v)))


Requirements = Mapping[str, Requirement]

_NORMALIZED = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Obsolete names of labels (NormalizedLabels in pkg/apis/v1/labels.go)."""


def make_requirement(requirement: NodeSelectorRequirement) -> Requirement:
    """Return a requirement of a NodePool or a pod (NewRequirementWithFlexibility)."""
    bound = _parse_integer(requirement.values[0]) if requirement.values else None
    match requirement.operator:
        case "In":
            return Requirement(frozenset(requirement.values))
        case "NotIn":
            return Requirement(frozenset(requirement.values), True)
        case "DoesNotExist":
            return Requirement()
        case "Gt" | "Gte" if bound is not None:
            return Requirement(excludes=True, lowest=bound + (requirement.operator == "Gt"))
        case "Lt" | "Lte" if bound is not None:
            return Requirement(excludes=True, highest=bound - (requirement.operator == "Lt"))
    return Requirement(excludes=True)


def require_labels(labels: Mapping[str, str]) -> dict[str, Requirement]:
    """Return labels as requirements."""
    return merge(
        *({_normalize(key): Requirement(frozenset((value,)))} for key, value in labels.items())
    )


def require_expressions(expressions: Iterable[NodeSelectorRequirement]) -> dict[str, Requirement]:
    """Return requirements by key; if there are several on one label, all of them must be met."""
    return merge(*({_normalize(item.key): make_requirement(item)} for item in expressions))


def merge(*several: Requirements) -> dict[str, Requirement]:
    """Return the conjunction of requirements (Requirements.Add)."""
    merged: dict[str, Requirement] = {}
    for requirements in several:
        for key, requirement in requirements.items():
            earlier = merged.get(key)
            merged[key] = requirement if earlier is None else earlier.intersect(requirement)
    return merged


def find_conflict(offered: Requirements, wanted: Requirements) -> str | None:
    """Return the first label for which no value meets both requirements
    (Requirements.Intersects).
    """
    for key, requirement in wanted.items():
        other = offered.get(key)
        if (
            other is not None
            and other.intersect(requirement).is_empty
            and (requirement.needs_label or other.needs_label)
        ):
            return key
    return None


def find_missing(
    offered: Requirements, wanted: Requirements, well_known: Collection[str]
) -> str | None:
    """Return the first wanted label that is not offered (Requirements.Compatible)."""
    return next(
        (
            key
            for key, requirement in wanted.items()
            if key not in well_known and key not in offered and requirement.needs_label
        ),
        None,
    )


def _normalize(key: str) -> str:
    return _NORMALIZED.get(key, key)


def _is_within(value: str, lowest: int | None, highest: int | None) -> bool:
    if lowest is None and highest is None:
        return True
    number = _parse_integer(value)
    return (
        number is not None
        and (lowest is None or number >= lowest)
        and (highest is None or number <= highest)
    )


def _parse_integer(text: str) -> int | None:
    """Parse an integer as Go's strconv.Atoi does; None for an error."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _present(*bounds: int | None) -> list[int]:
    return [bound for bound in bounds if bound is not None]
