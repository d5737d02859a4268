"""Reasons about the scheduler that a pod names: it is not the default one, or the input does not
show that it runs.
"""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope

_VIEW = "the rest is what kube-scheduler would say"
WITHOUT_CLAIMS = (
    "request the devices as resources of a device plugin, or choose a scheduler that allocates"
    " claims"
)
"""The advice for pods whose scheduler does not allocate claims."""


class UnseenScheduler(Cause, frozen=True, kw_only=True):
    """``spec.schedulerName`` names a scheduler, and nothing in the input shows that it runs."""

    page = ReasonPage(
        "scheduler-bypass",
        "kube-scheduler does not schedule this pod",
        "spec.schedulerName names another scheduler, and the input does not show that it runs; or"
        " spec.nodeName was set by hand or by a scheduler that does not allocate claims. Where no"
        " scheduler runs that allocates claims, the pod's claims stay unallocated.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulerName} {.spec.nodeName}'; kubectl"
        " get pods -A",
        "See that the scheduler runs, or correct a misspelt name. Instead of nodeName use"
        " nodeSelector, so that a scheduler places the pod.",
        Progress.STOPPED,
    )

    plugin: str
    """The name in ``spec.schedulerName``."""
    schedulers: tuple[str, ...] = ()
    title: str = ""
    """The scheduler that facts know by that name; empty for an unknown one."""
    selector: str = ""
    """A label of the scheduler's pods, as ``kubectl get pods -l`` takes it."""
    takes_claims: bool = True
    """False if the scheduler is known not to allocate the claims of pods."""
    absent: bool = False
    """True if the input shows all pods, and none of them runs the scheduler."""
    nearest: str | None = None
    """A similar name."""
    nearest_runs: bool = False
    """True if a scheduler with the similar name runs."""

    @property
    def lead(self) -> str:
        """The first clause of a headline."""
        if self.title:
            seen = (
                "nothing of it runs" if self.absent else "the input does not show whether it runs"
            )
            return (
                f"{self.title} is to schedule the pod, and {seen} (spec.schedulerName is"
                f" {self.plugin})"
            )
        absent = ", and no scheduler of that name runs" if self.absent else ""
        meant = f"; did you mean {self.nearest}?" if self.nearest else ""
        return (
            "kube-scheduler ignores the pod: its spec.schedulerName is"
            f" {self.plugin}{absent}{meant}"
        )

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "plugin": self.plugin,
            "found": self.schedulers,
            "selector": self.selector,
            "nearest": self.nearest,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.title or self.absent or self.nearest:
            joint = " " if self.nearest and not self.title else "; "
            return f"{self.lead}{joint}{_VIEW}"
        return (
            f"{self.lead}, and the input does not show whether {self.plugin} runs or allocates"
            f" claims; {_VIEW}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.nearest and not self.nearest_runs:
            yield NextStep(f"if {self.nearest} is meant, and runs, correct spec.schedulerName")
        shown = quote_command("kubectl get pods -A -l {}", self.selector) if self.selector else ""
        yield NextStep(
            f"see whether {self.title or f'scheduler {self.plugin}'} runs",
            shown or "kubectl get pods -A",
        )


class RunningScheduler(Cause, frozen=True, kw_only=True):
    """A scheduler other than kube-scheduler runs, and schedules the pod."""

    page = ReasonPage(
        "other-scheduler",
        "another scheduler schedules this pod",
        "spec.schedulerName names a scheduler that runs. It decides when and where the pod starts;"
        " explain quotes what it has written about the pod and says what kube-scheduler would do."
        " Where kube-scheduler would place the pod, the other scheduler has a reason of its own: a"
        " gang, a queue, a quota, or a fault.",
        "kubectl describe pod -n NS NAME (its condition PodScheduled, and events from that"
        " scheduler)",
        "Nothing is wrong with the name. Look at the group, the queue and the log of that"
        " scheduler.",
        Progress.STOPPED,
    )

    plugin: str
    """The name in ``spec.schedulerName``."""
    title: str
    """The scheduler with its version; for an unknown one, its name."""
    running: tuple[str, ...] = ()
    """The workloads that run the scheduler, ``KIND/NAMESPACE/NAME``."""
    words: str = ""
    """The newest message that it wrote about the pod."""
    refusal: str = ""
    """The end of a sentence: the scheduler does not allocate the pod's claims. Empty if it does."""
    instead: str = ""
    """The advice for pods of this scheduler, as an imperative."""
    group: str = ""
    """The resource and the name of the object for the pod's group, separated by a space."""

    @property
    def lead(self) -> str:
        """The first clause of a headline."""
        scheduler = f"{self.title} schedules the pod (spec.schedulerName is {self.plugin})"
        if self.refusal:
            return f"{scheduler}, and {self.refusal}"
        return f'{scheduler}, and says: "{self.words}"' if self.words else scheduler

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "plugin": self.plugin,
            "found": self.running,
            "group": self.group,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"{self.lead}; {_VIEW}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.refusal:
            yield NextStep(self.instead or WITHOUT_CLAIMS)
        if self.group:
            resource, name = self.group.split(" ", 1)
            yield NextStep(
                f"see what {self.title} says of the pod's group",
                quote_command("kubectl get {} {} -n {} -o yaml", resource, name, asked.namespace),
            )
        yield NextStep(
            f"see what {self.title} says of the pod",
            quote_command("kubectl describe pod {} -n {}", asked.name, asked.namespace),
        )
        for target in self.running[:1]:
            kind, namespace, name = target.split("/", 2)
            yield NextStep(
                f"read its log: what does it say of {asked.name}?",
                quote_command(
                    "kubectl logs -n {} {} --since=10m", namespace, f"{kind.lower()}/{name}"
                ),
            )
