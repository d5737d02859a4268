"""Reasons about the group with which kube-scheduler places a pod: PodGroups, and the Workloads of
1.35.

Kubernetes pkg/scheduler/framework/plugins/gangscheduling, pkg/scheduler/schedule_one_podgroup.go.
"""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope
from dractl.program import program_name

_SEE = (
    "kubectl get podgroups.scheduling.k8s.io -n NS NAME -o yaml; dractl explain podgroup/NAME -n NS"
)


class PodGroupMissing(Cause, frozen=True, kw_only=True):
    """The PodGroup (or Workload) that the pod names does not exist."""

    page = ReasonPage(
        "podgroup-missing",
        "the PodGroup that the pod names does not exist",
        "spec.schedulingGroup of the pod names a PodGroup (in 1.35 spec.workloadRef a Workload)"
        " that is not in its namespace. The scheduler does not try the pod until it is created: the"
        " pod has no condition and no event.",
        "kubectl get podgroups.scheduling.k8s.io -n NS",
        "Create the PodGroup. The group of a pod cannot be changed: recreate pods that name the"
        " wrong one.",
        Progress.STOPPED,
    )
    identity = ("group",)

    group: str
    """``PodGroup namespace/name``."""
    nearest: str | None = None
    """A group with a similar name."""
    groups: tuple[str, ...] = ()
    """The groups of the namespace."""
    unseen: bool = False
    """True if the input has no group at all, and the scheduler has not tried the pod."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "group": self.group,
            "nearest": self.nearest,
            "found": self.groups,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.unseen:
            return (
                f"{self.group} is not in the input, and the scheduler has not tried the pod: does"
                " it exist?"
            )
        near = f"; there is {self.nearest}" if self.nearest else ""
        return f"{self.group} does not exist, so the scheduler tries none of its pods{near}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        resource = _subject_word(self.group).partition("/")[0]
        if self.nearest:
            yield NextStep(
                f"if {self.nearest} is meant, correct the name of the group where the pod is"
                " written, and recreate the pod: the group of a pod cannot be changed",
                quote_command("kubectl delete pod {} -n {}", asked.name, asked.namespace),
            )
        yield NextStep(
            f"create {self.group}, or see why its controller has not",
            quote_command("kubectl get {}s.scheduling.k8s.io -n {}", resource, asked.namespace),
        )


class PodGroupRefused(Cause, frozen=True, kw_only=True):
    """kube-scheduler tries no pod of the group."""

    page = ReasonPage(
        "podgroup-refused",
        "kube-scheduler tries no pod of the PodGroup",
        "From 1.37 on, all pods of a PodGroup must have the priority of the PodGroup, and the same"
        " schedulerName and preemptionPolicy. A topology constraint names a node label, and the"
        " pods only run on nodes with that label.",
        "kubectl get podgroups.scheduling.k8s.io -n NS NAME -o yaml (condition"
        " PodGroupInitiallyScheduled)",
        "Give PodGroup and pods the same priorityClassName and recreate them; label the nodes.",
        Progress.STOPPED,
    )
    identity = ("group",)

    group: str
    text: str
    """The scheduler's message."""

    def facts(self) -> Facts:
        return {**super().facts(), "group": self.group}

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"the scheduler tries no pod of {self.group}: {self.text}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        name = self.group.rpartition("/")[2]
        yield NextStep(
            "compare the group with its pods",
            quote_command(
                "kubectl get podgroups.scheduling.k8s.io {} -n {} -o yaml", name, asked.namespace
            ),
        )


class GangTooSmall(Cause, frozen=True, kw_only=True):
    """Fewer pods of a gang fit than have to start at once."""

    page = ReasonPage(
        "gang-waits",
        "the pod fits, but not with its gang",
        "The pods of a gang start together or not at all: spec.schedulingPolicy.gang.minCount of a"
        " PodGroup says how many. kube-scheduler places one after the other, and if fewer than"
        " minCount have a node in the end, it takes all back. From 1.37 on a single pod that is"
        " held back before scheduling (a gate, a claim that does not exist) holds back its whole"
        " PodGroup, gang or not.",
        _SEE,
        "Free devices or add nodes until minCount pods fit, let each pod ask for less, or lower"
        " minCount (from 1.37 on it can be changed). Create the pods that are missing, and release"
        " those that are held back.",
        Progress.STOPPED,
    )
    identity = ("group",)
    steps_beside_fixes = True

    group: str
    """``PodGroup namespace/name``."""
    want: int
    """The number of pods that have to start at once."""
    have: int
    """The number of pods that fit."""
    placed: int = 0
    """The number of fitting pods that have a node already."""
    pod: str
    """The next pod, which does not fit."""
    why: Headline
    """The headline of that pod."""
    names: Names
    """The names that this pod gives its claims and requests."""
    domain: str = ""
    """The label (``key=value``) of the nodes, if a topology constraint keeps the pods together."""

    def facts(self) -> Facts:
        return {**super().facts(), "group": self.group, "want": self.want, "have": self.have}

    def sentence(self, names: Names, scope: Scope) -> str:
        more = self.have - self.placed
        here = f" ({self.placed} on nodes, {more} more)" if self.placed else ""
        together = f" on nodes with {self.domain}" if self.domain else ""
        fit = "fits" if self.have == 1 else "fit"
        if self.want == 1:
            lead = f"no {'other ' if self.placed else ''}pod of {self.group} fits{together}"
        else:
            lead = (
                f"{self.group} starts with {self.want} pods at once or none, and {self.have}"
                f" {fit}{together}{here}"
            )
        return f"{lead}; the next one, {self.pod}: {self.why.text(self.names)}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"see how many pods of {self.group} fit, and whether another order or shape would"
            " place all",
            quote_command(
                f"{program_name()} explain {{}} -n {{}}", _subject_word(self.group), asked.namespace
            ),
        )


class GangIncomplete(Cause, frozen=True, kw_only=True):
    """A gang has fewer pods than have to start at once."""

    page = GangTooSmall.page
    identity = ("group",)
    steps_beside_fixes = True

    group: str
    want: int
    have: int

    def facts(self) -> Facts:
        return {**super().facts(), "group": self.group, "want": self.want, "have": self.have}

    def sentence(self, names: Names, scope: Scope) -> str:
        exist = f"only {self.have} exist{'s' if self.have == 1 else ''}"
        return (
            f"{self.group} starts with {self.want} pods at once or none, and {exist}; the scheduler"
            " tries none before"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        missing = self.want - self.have
        yield NextStep(
            f"find what creates the pods of {self.group}, and why {missing}"
            f" {'is' if missing == 1 else 'are'} missing",
            quote_command(
                "kubectl get events -n {} --field-selector reason=FailedCreate", asked.namespace
            ),
        )


class GangHeldBack(Cause, frozen=True, kw_only=True):
    """A pod of the group is held back before scheduling, and the others wait for it."""

    page = GangTooSmall.page
    identity = ("group",)
    steps_beside_fixes = True

    group: str
    pod: str
    why: Headline
    """The headline of the pod."""
    names: Names
    """The names that this pod gives its claims and requests."""

    def facts(self) -> Facts:
        return {**super().facts(), "group": self.group}

    def sentence(self, names: Names, scope: Scope) -> str:
        why = self.why.text(self.names)
        return (
            f"{self.group} waits for its pod {self.pod}, which is held back before scheduling:"
            f" {why}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        ask = quote_command(
            f"{program_name()} explain {{}} -n {{}}", f"pod/{self.pod}", asked.namespace
        )
        yield NextStep(f"see what holds back pod {self.pod}", ask)


def _subject_word(group: str) -> str:
    """Return ``podgroup/NAME`` for ``PodGroup namespace/NAME``."""
    return f"{group.partition(' ')[0].lower()}/{group.rpartition('/')[2]}"
