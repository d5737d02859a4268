"""A plan: the running pods that have to move so that others fit, step by step."""

from typing import Literal

from msgspec import Struct

from dractl.cluster.state import ClusterState, Key

Verdict = Literal["fits", "plan", "none", "undecided"]


class Step(Struct, frozen=True):
    """A pod that moves to another node, or ends."""

    pod: Key
    """Namespace and name of the pod."""

    owner: str | None
    """``KIND/NAMESPACE/NAME`` of the workload that recreates the pod; None for a bare pod."""

    source: str
    """The node that the pod leaves."""

    target: str
    """The next node of the pod, "" if the pod ends and gets no other node."""

    cordon: tuple[str, ...] = ()
    """The nodes that are cordoned until the new pod has its node."""

    alternatives: tuple[str, ...] = ()
    """Further nodes that kube-scheduler may choose; the plan works with each of them."""

    gang: str = ""
    """The gang of the pod, which moves as a whole; "" if the pod has none."""

    delay: int = 0
    """Seconds after which a Job recreates the pod."""

    ready_pods: int = 0
    """The number of ready pods that the owner has when the new pod runs."""


class Plan(Struct, frozen=True):
    """The result of a search for the pods that have to move."""

    subject: str
    """The subject as it was named, or ``KIND/NAMESPACE/NAME``."""

    verdict: Verdict
    """``fits``: nothing has to move. ``none``: no plan exists. ``undecided``: no plan was found,
    but the search was not complete.
    """

    before: ClusterState
    """The present cluster, with the pods of the subject."""

    after: ClusterState
    """The cluster after the steps."""

    subjects: tuple[Key, ...] = ()
    """The pods of the subject."""

    steps: tuple[Step, ...] = ()
    """The steps in their order."""

    places: tuple[tuple[Key, str], ...] = ()
    """The pods that moved (under their old names) and the subject's pods, each with its node."""

    reasons: tuple[str, ...] = ()
    """The reasons why there is no plan, or the parts of the search that were left out."""

    notes: tuple[str, ...] = ()
    """Warnings to read before the plan is carried out."""

    is_hopeless: bool = False
    """True if the subject would fit on no node even without any other pod."""

    @property
    def moved(self) -> int:
        """The number of pods that move."""
        return sum(bool(step.target) for step in self.steps)

    @property
    def ended(self) -> int:
        """The number of pods that end without a place."""
        return len(self.steps) - self.moved
