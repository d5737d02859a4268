"""Selectors of labels, nodes and pods, as pods, claims, volumes and budgets have them."""

from collections.abc import Mapping

from msgspec import Struct

from dractl.allocation.nodes import label_matches
from dractl.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dractl.model.paths import at, integer_at, list_at, map_at, maps_at, text_at
from dractl.objects import Raw

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""The field of an affinity whose terms must hold."""


class LabelSelector(Struct, frozen=True):
    """Requirements on the labels of an object, all of which must be met; without requirements, it
    selects every object.
    """

    match_labels: Mapping[str, str]
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Decide whether labels meet all requirements (labels.Selector of apimachinery)."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            label_matches(requirement, labels) for requirement in self.match_expressions
        )


class AffinityTerm(Struct, frozen=True):
    """A required term of pod affinity or anti-affinity.

    Without ``namespaces`` and ``namespace_selector`` it applies to the namespace of the pod that
    has the term.
    """

    topology_key: str
    selector: LabelSelector | None
    """The pods that the term is about; None selects no pod."""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class SpreadConstraint(Struct, frozen=True):
    """A topology spread constraint with ``whenUnsatisfiable: DoNotSchedule``."""

    topology_key: str
    selector: LabelSelector | None
    max_skew: int | None
    min_domains: int | None
    ignores_affinity: bool
    """``nodeAffinityPolicy: Ignore``."""
    honors_taints: bool
    """``nodeTaintsPolicy: Honor``."""


def node_selector(raw: Raw) -> NodeSelector:
    """Read the node selector of a pod, a claim or a volume."""
    return NodeSelector(
        tuple(
            [
                NodeSelectorTerm(
                    tuple(map(requirement, maps_at(term, "matchExpressions"))),
                    tuple(map(requirement, maps_at(term, "matchFields"))),
                )
                for term in maps_at(raw, "nodeSelectorTerms")
            ]
        )
    )


def label_selector(raw: object) -> LabelSelector | None:
    """Read a label selector; None if there is none."""
    if not isinstance(raw, dict):
        return None
    expressions = tuple(map(requirement, maps_at(raw, "matchExpressions")))
    return LabelSelector(map_at(raw, "matchLabels"), expressions)


def affinity_term(raw: Raw) -> AffinityTerm:
    """Read a required term of pod affinity or anti-affinity."""
    return AffinityTerm(
        text_at(raw, "topologyKey"),
        label_selector(at(raw, "labelSelector")),
        tuple(name for name in list_at(raw, "namespaces") if isinstance(name, str)),
        label_selector(at(raw, "namespaceSelector")),
    )


def spread_constraint(raw: Raw) -> SpreadConstraint:
    """Read a topology spread constraint."""
    return SpreadConstraint(
        text_at(raw, "topologyKey"),
        label_selector(at(raw, "labelSelector")),
        integer_at(raw, "maxSkew"),
        integer_at(raw, "minDomains"),
        ignores_affinity=raw.get("nodeAffinityPolicy") == "Ignore",
        honors_taints=raw.get("nodeTaintsPolicy") == "Honor",
    )


def requirement(raw: Raw) -> NodeSelectorRequirement:
    """Read a requirement on a label from a node selector, a label selector or a NodePool."""
    values = tuple([value for value in list_at(raw, "values") if isinstance(value, str)])
    return NodeSelectorRequirement(text_at(raw, "key"), text_at(raw, "operator"), values)
