"""The machines that would serve a claim or a pod: the same question, asked about a cluster of each machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import text_at
from dractl.explain.explain import Explainer
from dractl.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.allocation import Features
    from dractl.cluster import ClusterState
    from dractl.explain.answer import Explanation
    from dractl.explain.ask import Question
    from dractl.explain.explain import Options


@record
class Comparison:
    """One subject on each machine, in the order in which the machines were given."""

    answers: tuple[tuple[str, Explanation], ...]

    @property
    def fits(self) -> bool:
        """True if a machine serves it."""
        return any(answer.fits for _, answer in self.answers)


def compare(
    state: ClusterState,
    machines: Mapping[str, ClusterState],
    questions: Callable[[ClusterState], Sequence[Question]],
    features: Features,
    options: Options,
) -> tuple[Comparison, ...]:
    """A comparison for each question. Of ``state`` everything counts but its nodes, and the ResourceSlices of single
    nodes: such devices are those of the machines (name -> what drivers would publish there)."""
    shared = {key: item for key, item in state.all("ResourceSlice").items() if not text_at(item, "spec", "nodeName")}
    alone = state.only({"Node": {}, "ResourceSlice": shared})
    columns = []
    for name, published in machines.items():
        there = published.merged(alone)
        explainer = Explainer(there, features, options)
        columns.append([(name, explainer.explain(question)) for question in questions(there)])
    return tuple(Comparison(answers) for answers in zip(*columns, strict=True))
