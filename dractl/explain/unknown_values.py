"""Decides whether an answer depends on values of described machines that no source shows."""

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.cluster.state import ClusterState
from dractl.explain import inquire
from dractl.explain.ask import CLAIMS
from dractl.explain.inquire import Inquiry, InquiryResult
from dractl.explain.reasons.machines import NotKnownOfMachine
from dractl.model import Target
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt
from dractl.simulation.conditions import SelectorRewriter
from dractl.simulation.unknown_values import (
    ConditionRemover,
    list_conditions,
    list_unknown_values,
    make_absence_rewriter,
    make_guard_rewriter,
    rewrite_conditions,
)


class OtherCluster(Struct, frozen=True):
    """A cluster in which the conditions of selectors on unknown values are rewritten."""

    scheduler: Scheduler
    rewriter: SelectorRewriter

    def ask(self, inquiry: Inquiry) -> Inquiry:
        """Return the inquiry in this cluster."""
        question = inquiry.question
        if question.kind in CLAIMS:
            question = replace(question, value=self.rewriter.rewrite(question.value))
        again = inquire.make_inquiry(self.scheduler.state, question)
        return replace(again, subject=inquiry.subject, notes=inquiry.notes)

    def nodes_with_fit(self, inquiry: Inquiry) -> set[str]:
        """Return the nodes on which the subject fits in this cluster."""
        return _nodes_with_fit(inquire.run_attempt(self.scheduler, self.ask(inquiry)).attempt)


class Settlement(Struct, frozen=True):
    """The outcome of an attempt where values are unknown."""

    doubt: NotKnownOfMachine | None = None
    """The unknown values that decide the attempt; None if no unknown value does."""
    cluster: OtherCluster | None = None
    """The cluster whose answer holds for all values; None for the cluster of the attempt itself."""


class Bounds:
    """The bounds of a verdict in a cluster with described machines.

    An unknown value is absent from the slices, so most selectors that read it fail. Another attempt
    is made in a cluster in which no condition on an unknown value counts: if the subject does not
    fit there, it fits for no value. A selector can also be true because a value is absent, which
    proves nothing. So an attempt is made in a cluster in which such selectors match no device: if
    the subject fits there, it fits for every value.
    """

    def __init__(self, state: ClusterState, features: Features) -> None:
        self.state = state
        self.features = features
        self.names_by_node = list_unknown_values(state)
        self._names = frozenset[str]().union(*self.names_by_node.values())
        self._target = Target(features.release, features.on)

    def settle(self, inquiry: Inquiry, result: InquiryResult) -> Settlement:
        """Return whether unknown values decide an attempt, and the cluster whose answer holds for
        all values.
        """
        attempt, reads = result.attempt, self._reads(result)
        if not reads:
            return Settlement()
        nodes = _nodes_with_fit(attempt)
        if nodes:
            is_certain = nodes - self.names_by_node.keys() or self._absence.nodes_with_fit(inquiry)
            return Settlement(doubt=None if is_certain else self._doubt(reads, nodes))
        fails = attempt.fatal_node is not None
        if fails and self._guarded.nodes_with_fit(inquiry):
            return Settlement(cluster=self._guarded)
        doubt = self._doubt(reads, self._unconditional.nodes_with_fit(inquiry))
        if doubt is not None:
            return Settlement(doubt=doubt)
        if all(node.name in self.names_by_node for node in attempt.nodes):
            return Settlement(cluster=self._unconditional)
        return Settlement(cluster=self._guarded if fails else None)

    def _doubt(self, reads: frozenset[str], nodes: set[str]) -> NotKnownOfMachine | None:
        """Return the unknown values of nodes on which a subject may fit; None if all are known."""
        by_node = {node: reads & self.names_by_node.get(node, frozenset()) for node in nodes}
        doubted = tuple(sorted(node for node, names in by_node.items() if names))
        names = tuple(sorted(frozenset[str]().union(*by_node.values())))
        return NotKnownOfMachine(names=names, nodes=doubted) if doubted else None

    def _reads(self, result: InquiryResult) -> frozenset[str]:
        """Return the unknown values on which the claims and their classes have conditions."""
        if not self._names or not result.compares or result.attempt.stops:
            return frozenset()
        return list_conditions(result.attempt.claims, self.state, self._names, self._target)

    @cached_property
    def _unconditional(self) -> OtherCluster:
        """The cluster in which no condition on an unknown value counts."""
        classes = self.state.objects("DeviceClass").values()
        return self._rewrite(ConditionRemover(self._names, self._target, classes))

    @cached_property
    def _absence(self) -> OtherCluster:
        """The cluster in which no device meets a condition on the absence of an unknown value."""
        return self._rewrite(make_absence_rewriter(self._names, self._target))

    @cached_property
    def _guarded(self) -> OtherCluster:
        """The cluster in which no device meets a condition on a value that it lacks."""
        return self._rewrite(make_guard_rewriter(self._names, self._target))

    def _rewrite(self, rewriter: SelectorRewriter) -> OtherCluster:
        state = rewrite_conditions(self.state, rewriter)
        return OtherCluster(Scheduler(state, self.features), rewriter)


def _nodes_with_fit(attempt: Attempt) -> set[str]:
    """Return the nodes on which an attempt would place its subject."""
    return {node.name for node in attempt.nodes if node.fits} if attempt.fits else set()
