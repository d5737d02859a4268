"""The answer to a question: inquire, diagnose, conclude, look for fixes, and build the explanation."""

from collections.abc import Callable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment import Aligner
from dractl.allocation import Features
from dractl.capacity.gangs import HeldBack, TooFewFit, Undecided, unchecked, waiting
from dractl.capacity.plugins import handed_out
from dractl.cluster.devices import Devices
from dractl.cluster.podgroups import PodGroup, object_of, podgroup
from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, Key, text_at
from dractl.explain import inquire, not_pending
from dractl.explain.answer import Explanation
from dractl.explain.ask import CLAIMS, Question
from dractl.explain.build import Parts, build, of_group, of_idle
from dractl.explain.conclude import Conclusion, conclude, of_attempt
from dractl.explain.context import Case, case_of
from dractl.explain.diagnosis.gangs import NO_GANG, GangDiagnosis, diagnose_gang
from dractl.explain.diagnosis.pods import steps_for_orphaned_slices
from dractl.explain.fixes import FixProblem, Found, corrections, find_fixes
from dractl.explain.fixes.candidates import Company
from dractl.explain.fixes.gangs import of_other_pod
from dractl.explain.fixes.owners import Owners
from dractl.explain.fleet import node_report, stuck_pods
from dractl.explain.inquire import Inquiry, InquiryResult
from dractl.explain.rank import Diagnosis, diagnose, diagnosis_of
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.previews import NotKnownOfPreview
from dractl.explain.reasons.running import NotPrepared
from dractl.explain.reasons.scheduling import PlacedByHand
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt

_UNSEEN = 4  # nodes where a device plugin has handed out devices that are told
_CORRECTIONS = 4  # that one fix may consist of


class Options(Struct, frozen=True):
    """How to answer. ``explain_node`` narrows the answer to one node; ``fixes`` is how many are looked for. ``corrected``: so
    many corrections have been made already, each not enough by itself. ``notes`` are true of every answer."""

    release_assumed: bool = False
    node: str | None = None
    fixes: int = 8
    corrected: int = 0
    notes: tuple[str, ...] = ()


class Explainer:
    """Answers questions about one cluster."""

    def __init__(
        self, state: ClusterState, features: Features, options: Options | None = None
    ) -> None:
        self.state = state
        self.features = features
        self.options = options or Options()
        self.scheduler = Scheduler(state, features)
        self.devices = Devices(state, self.scheduler.slices)
        self.groups: dict[str, GangDiagnosis] = {}

    @cached_property
    def aligner(self) -> Aligner:
        """Judges allocations of this cluster."""
        return Aligner(self.scheduler)

    def explain(self, question: Question, attempt: Attempt | None = None) -> Explanation:
        """The answer to one question: a pod, a claim, a template, or a node. ``attempt`` is the scheduler's attempt to
        place the pod, where it has been made already."""
        if question.kind == "Node":
            return self._node(question)
        return self._about(inquire.make_inquiry(self.state, question, attempt))

    def _node(self, question: Question) -> Explanation:
        name = question.key[1]
        return node_report.explain_node(
            self.scheduler,
            self.devices,
            question,
            assumed=self.options.release_assumed,
            stuck=tuple(stuck_pods.find_stuck_pods(self.scheduler, name)),
            condition=stuck_pods.node_condition(self.state, name),
        )

    def _about(self, inquiry: Inquiry) -> Explanation:
        if inquiry.waits:
            attempted = inquire.run_attempt(self.scheduler, inquiry)
            released = inquire.release_stale_allocation(self.scheduler, inquiry, attempted)
            if released is not None:
                state, again = released
                return Explainer(state, self.features, self.options)._about(again)
            conclusion, parts = self._waiting(attempted)
        elif inquiry.claim is not None:
            conclusion, parts = not_pending.conclude_claim(inquiry.claim)
            value = inquiry.claim.value if inquiry.claim.allocated else None
            parts = replace(parts, alignment=self.aligner.align_claims([value] if value else []))
        else:
            conclusion, parts = self._placed(inquiry)
        parts = replace(parts, notes=(*self.options.notes, *self._unseen(parts.case), *parts.notes))
        assumed = self.options.release_assumed
        return build(
            self.scheduler,
            self.devices,
            inquiry.question,
            inquiry.subject,
            conclusion,
            parts,
            assumed=assumed,
        )

    def _unseen(self, case: Case | None) -> list[str]:
        """What kube-scheduler cannot see on the nodes that it would take."""
        fitting = (
            {node.name for node in case.attempt.nodes if node.fits} if case is not None else set()
        )
        if not fitting or self.options.corrected:
            return []
        found = [
            f"{one}, which kube-scheduler does not see"
            for one in handed_out(self.state)
            if one.node in fitting
        ]
        return found[:_UNSEEN]

    def _placed(self, inquiry: Inquiry) -> tuple[Conclusion, Parts]:
        """The answer about a pod that is on its node, or has ended; with changes after which it can start: the
        scheduler places it, or the driver takes its claims."""
        question, claims = (
            inquiry.question,
            inquiry.entry.claims if inquiry.entry is not None else (),
        )
        conclusion, parts = not_pending.conclude_placed_pod(self.scheduler, question, claims)
        if not ended(question.value):
            node = text_at(question.value, "spec", "nodeName")
            values = [claim.value for claim in claims if claim.allocated and claim.value]
            parts = replace(parts, alignment=self.aligner.align_claims(values, node))
        cause = conclusion.causes[0] if conclusion.causes else None
        if isinstance(cause, PlacedByHand) or (isinstance(cause, NotPrepared) and cause.faults):
            case = case_of(
                self.scheduler, self.devices, question, self.scheduler.pod(question.value)
            )
            fixes = self._search(case, (cause,))
            parts = replace(parts, fixes=fixes.fixes, notes=(*parts.notes, *fixes.notes))
        return conclusion, parts

    def _waiting(self, attempted: InquiryResult) -> tuple[Conclusion, Parts]:
        diagnosis = self._diagnosed(attempted)
        conclusion = conclude(diagnosis)
        fixes = self._fixes(diagnosis, conclusion)
        steps = of_idle(self.state, attempted.question) if attempted.compares else ()
        steps = steps or of_group(
            attempted.question, diagnosis.group, conclusion.causes, fixes.fixes
        )
        return conclusion, Parts(
            case=diagnosis.case,
            found=diagnosis.found,
            fixes=fixes.fixes,
            then=(*fixes.next, *steps_for_orphaned_slices(diagnosis.case)),
            steps=steps,
            notes=(*attempted.notes, *conclusion.notes, *fixes.notes),
            blind=attempted.blind,
        )

    def _diagnosed(self, attempted: InquiryResult) -> Diagnosis:
        """The diagnosis, on the one node that is asked about if it is one."""
        here = self.options.node
        question, attempt = attempted.question, attempted.attempt
        group = (
            self.group(question) if attempted.compares and question.kind not in CLAIMS else NO_GANG
        )
        if here is not None:
            attempt = replace(attempt, nodes=tuple(n for n in attempt.nodes if n.name == here))
        case = case_of(self.scheduler, self.devices, question, attempt)
        return diagnose(replace(attempted, attempt=attempt), case, group, one_node=here is not None)

    # -- groups --

    def group(self, question: Question) -> GangDiagnosis:
        """The group that kube-scheduler places a pod with; looked at once for all its pods."""
        pod = self.state.get("Pod", question.key)
        member = None if pod is None else _named(pod, question.key)
        group = None if member is None else podgroup(self.state, member)
        if member is None or group is None:
            return NO_GANG
        if group.name not in self.groups:
            self.groups[group.name] = self._looked_at(member, group)
        return self.groups[group.name]

    def _looked_at(self, member: Raw, group: PodGroup) -> GangDiagnosis:
        waits = waiting(self.state, member, group, self.features)
        if waits is None:
            return GangDiagnosis(notes=tuple(unchecked(group)))
        if isinstance(waits, Undecided):
            name = waits.group.replace("/", " ", 1)
            started = f"{waits.fits} of the {waits.minimum} pods with which {name} starts fit"
            return GangDiagnosis(
                notes=(f"{started}; whether all do was not decided, as placing them took too long",)
            )
        if not isinstance(waits, HeldBack | TooFewFit):
            return diagnose_gang(waits, self.state)
        pod = waits.pod
        there = Explainer(
            waits.state if isinstance(waits, TooFewFit) else self.state, self.features
        )
        stopped = Question(
            "Pod", (text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")), pod
        )
        case = case_of(there.scheduler, there.devices, stopped, waits.attempt)
        own = of_attempt(
            diagnosis_of(
                InquiryResult(stopped, inquire.subject_of(stopped, ()), waits.attempt), case
            )
        )
        return diagnose_gang(waits, self.state, case, own.causes, own.headline)

    # -- fixes --

    def _fixes(self, diagnosis: Diagnosis, conclusion: Conclusion) -> Found:
        """Changes after which the subject fits, and its group starts."""
        found, group, case = diagnosis.found, diagnosis.group, diagnosis.case
        unchecked = bool(conclusion.causes) and conclusion.causes[0].code == "node-filter"
        unchecked = unchecked and any(node.verdict == "allocatable" for node in found)
        in_doubt = any(isinstance(cause, NotKnownOfPreview) for cause in conclusion.causes)
        if conclusion.fits or unchecked or in_doubt:
            return Found()
        causes = tuple(
            dict.fromkeys((*conclusion.causes, *(cause for node in found for cause in node.causes)))
        )
        asked = case.question
        if not diagnosis.attempted.compares:
            problem = FixProblem(case, causes, Owners(self.state, asked.key, asked.value))
            return Found(next=corrections(problem) if self.options.fixes else ())
        company = None
        if object_of(asked.value) is not None and asked.kind == "Pod":
            company = Company(self.state, asked, self._starts(asked))
        if group.case is not None and conclusion.causes[0] is group.causes[0]:
            case = group.case
        result = self._search(case, causes, company)
        here, stopped = self.options.node, case.question
        fixes = tuple(f for f in result.fixes if here is None or here in f.nodes)
        if stopped.key != asked.key:
            fixes = tuple(of_other_pod(fix, stopped.key) for fix in fixes)
        return replace(
            result, fixes=tuple(replace(f, rank=rank) for rank, f in enumerate(fixes, 1))
        )

    def _search(
        self, case: Case, causes: tuple[Cause, ...], company: Company | None = None
    ) -> Found:
        if not self.options.fixes:
            return Found()
        problem = FixProblem(
            case, causes, Owners(self.state, case.question.key, case.question.value), company
        )
        return find_fixes(problem, self.options.fixes, self._afterwards)

    def _starts(self, question: Question) -> Callable[[ClusterState, Features], bool]:

        def starts(state: ClusterState, features: Features) -> bool:
            pod = state.get("Pod", question.key)
            if pod is None:
                return True
            member = _named(pod, question.key)
            return waiting(state, member, podgroup(state, member), features, recreated=True) is None

        return starts

    def _afterwards(self, state: ClusterState, question: Question, fixes: int) -> Explanation:
        """The answer to a question about the cluster after a correction, with so many fixes."""
        corrected = self.options.corrected + 1
        most = fixes if corrected < _CORRECTIONS else 0
        return Explainer(state, self.features, Options(fixes=most, corrected=corrected)).explain(
            question
        )


def _named(pod: Raw, key: Key) -> Raw:
    """A pod with its namespace, which a manifest may leave out."""
    return {**pod, "metadata": {**pod["metadata"], "namespace": key[0]}}
