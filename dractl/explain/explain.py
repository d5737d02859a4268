"""Answers a question: makes an attempt, diagnoses it, concludes, searches for fixes, and builds the
explanation.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity.device_plugins import device_plugin_allocations
from dractl.capacity.gangs import (
    GangUndecided,
    MemberBlocked,
    TooFewFit,
    find_gang_wait,
    gang_remarks,
)
from dractl.cluster.devices import Devices
from dractl.cluster.gates import GateEvidence
from dractl.cluster.podgroups import GangGroup, find_pod_group, group_object
from dractl.cluster.snapshot_gaps import has_unknown_values
from dractl.cluster.state import ClusterState, Key
from dractl.explain import inquire, not_pending
from dractl.explain.answer import (
    FITS,
    ExpectedNode,
    Explanation,
    FixResult,
    SubjectVerdict,
    When,
    list_pools,
)
from dractl.explain.ask import CLAIMS, Question
from dractl.explain.build import Parts, build, gang_next_steps, idle_workload_steps
from dractl.explain.conclude import NEVER, Conclusion, conclude, conclude_attempt, put_lasting_first
from dractl.explain.context import Case, case_of
from dractl.explain.diagnosis.feature_gates import note_gates
from dractl.explain.diagnosis.gangs import NO_GANG, GangDiagnosis, diagnose_gang
from dractl.explain.diagnosis.nodes import NodeFindings
from dractl.explain.diagnosis.pods import steps_for_orphaned_slices
from dractl.explain.expected_nodes import find_expected_nodes
from dractl.explain.fleet import node_report, stuck_pods
from dractl.explain.inquire import Inquiry, InquiryResult
from dractl.explain.obstacles import Obstacles, Oracle, Trial, find_obstacles, recreate_subject
from dractl.explain.obstacles.description import Description, describe_obstacles, list_idle_trials
from dractl.explain.rank import Diagnosis, diagnose, diagnosis_of
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.holding import HOLDER_CODES
from dractl.explain.reasons.machines import NotKnownOfMachine
from dractl.explain.reasons.previews import NotKnownOfPreview
from dractl.explain.reasons.running import NotPrepared
from dractl.explain.reasons.scheduling import PlacedByHand
from dractl.explain.scheduler_words import apply_scheduler_words, read_scheduler_words
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt
from dractl.scheduler.words import SchedulerWords
from dractl.views import Pod

if TYPE_CHECKING:
    from dractl.alignment import Aligner
    from dractl.explain.fixes.problem import GangContext
    from dractl.explain.unknown_values import Bounds

MAX_DEVICE_PLUGIN_NOTES = 4
NO_OBSTACLES = Obstacles()


class Options(Struct, frozen=True):
    """The settings of an answer."""

    release_assumed: bool = False
    """True if neither the user nor the input names the release."""
    node: str | None = None
    """The only node that the answer is about; None for all nodes."""
    fixes: int = 8
    """The number of fixes to look for."""
    brief: bool = False
    """True for a part of another answer, which needs no obstacles, no words of the scheduler and no
    nodes to come.
    """
    notes: tuple[str, ...] = ()
    """Notes that every answer has."""
    attempt_notes: tuple[str, ...] = ()
    """Notes for answers that depend on the scheduler."""
    gate_evidence: tuple[GateEvidence, ...] = ()
    """Objects that prove that gates are on although they are off by default."""
    settled: bool = False
    """True if no unknown value can change the answer in this cluster."""


class Explainer:
    """Answer questions about one cluster."""

    def __init__(
        self, state: ClusterState, features: Features, options: Options | None = None
    ) -> None:
        self.state = state
        self.features = features
        self.options = options or Options()
        self.scheduler = Scheduler(state, features)
        self.devices = Devices(state, self.scheduler.slices)

    @cached_property
    def aligner(self) -> "Aligner":
        """The judge of how well allocations of this cluster are aligned."""
        from dractl.alignment import Aligner  # pending subjects have no devices to align

        return Aligner(self.scheduler)

    @cached_property
    def _bounds(self) -> "Bounds":
        """The judge of answers that depend on values which no source shows."""
        from dractl.explain.unknown_values import Bounds  # only described machines lack values

        return Bounds(self.state, self.features)

    def explain(self, question: Question, attempt: Attempt | None = None) -> Explanation:
        """Answer a question about a pod, a claim, a template, or a node.

        ``attempt`` is the scheduler's attempt to place the pod, if there is one already.
        """
        if question.kind == "Node":
            return self._node(question)
        return self._explain_inquiry(inquire.make_inquiry(self.state, question, attempt))

    def judge(self, question: Question) -> SubjectVerdict:
        """Return only the verdict and the first reason that :meth:`explain` would find."""
        inquiry = None if question.kind == "Node" else inquire.make_inquiry(self.state, question)
        if inquiry is None or not inquiry.waits:
            return self.explain(question).summary
        return self._judge_waiting(inquiry)

    def _judge_waiting(self, inquiry: Inquiry) -> SubjectVerdict:
        result = inquire.run_attempt(self.scheduler, inquiry)
        if inquire.release_stale_allocation(self.scheduler, inquiry, result) is not None:
            return self._explain_inquiry(inquiry).summary
        result, other = self._settle(inquiry, result)
        if other is not None:
            return other.judge()
        diagnosis = self._diagnose(result)
        conclusion = conclude(diagnosis)
        # An obstacle can become the first cause only if devices are in use.
        described = (
            self._find_obstacles(diagnosis, conclusion)[1]
            if conclusion.blames_holders
            else Description()
        )
        conclusion, _ = self._finish_conclusion(diagnosis, conclusion, described)
        return SubjectVerdict(
            inquiry.subject,
            conclusion.verdict,
            conclusion.causes[0].code if conclusion.causes else conclusion.verdict,
            list_pools(device for node in diagnosis.found[:1] for device in node.allocation),
        )

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

    def _explain_inquiry(self, inquiry: Inquiry) -> Explanation:
        if inquiry.waits:
            result = inquire.run_attempt(self.scheduler, inquiry)
            release = inquire.release_stale_allocation(self.scheduler, inquiry, result)
            if release is not None:
                state, retry = release
                return Explainer(state, self.features, self.options)._explain_inquiry(retry)
            result, other = self._settle(inquiry, result)
            answer = other.explain() if other is not None else None
            if answer is not None and answer.fits:
                return answer
            conclusion, parts = self._conclude_waiting(result)
            if answer is not None:
                return replace(answer, fixes=parts.fixes)
        elif inquiry.claim is not None:
            conclusion, parts = not_pending.conclude_claim(inquiry.claim)
            value = inquiry.claim.value if inquiry.claim.allocated else None
            parts = replace(parts, alignment=self.aligner.align_claims([value] if value else []))
        else:
            conclusion, parts = self._conclude_placed(inquiry)
        parts = replace(
            parts, notes=(*self.options.notes, *self._device_plugin_notes(parts.case), *parts.notes)
        )
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

    def _device_plugin_notes(self, case: Case | None) -> list[str]:
        """Return notes on devices of the fitting nodes that device plugins have handed out.
        kube-scheduler does not see that they are in use.
        """
        fitting = (
            {node.name for node in case.attempt.nodes if node.fits} if case is not None else set()
        )
        if not fitting or self.options.brief:
            return []
        notes = [
            f"{allocation}, which kube-scheduler does not see"
            for allocation in device_plugin_allocations(self.state)
            if allocation.node in fitting
        ]
        return notes[:MAX_DEVICE_PLUGIN_NOTES]

    def _conclude_placed(self, inquiry: Inquiry) -> tuple[Conclusion, Parts]:
        """Return the conclusion about a pod that is on its node or has ended, with fixes after
        which it can start.
        """
        question, claims = (
            inquiry.question,
            inquiry.entry.claims if inquiry.entry is not None else (),
        )
        conclusion, parts = not_pending.conclude_placed_pod(self.scheduler, question, claims)
        if not question.pod.has_ended:
            node = question.pod.node_name
            values = [claim.value for claim in claims if claim.allocated and claim.value]
            parts = replace(parts, alignment=self.aligner.align_claims(values, node))
        cause = conclusion.causes[0] if conclusion.causes else None
        if isinstance(cause, PlacedByHand) or (isinstance(cause, NotPrepared) and cause.faults):
            case = case_of(
                self.scheduler, self.devices, question, self.scheduler.attempt_pod(question.value)
            )
            fixes = self._search(case, (cause,))
            parts = replace(parts, fixes=fixes.fixes, notes=(*parts.notes, *fixes.notes))
        return conclusion, parts

    def _settle(
        self, inquiry: Inquiry, result: InquiryResult
    ) -> tuple[InquiryResult, "_OtherInquiry | None"]:
        """Return the result, with the unknown values as its doubt if they decide it.

        If a cluster with rewritten selectors gives the answer for all values, also return the
        inquiry in that cluster; otherwise None.
        """
        if self.options.settled or not has_unknown_values(self.state):
            return result, None
        settlement = self._bounds.settle(inquiry, result)
        if settlement.cluster is None:
            return replace(result, doubt=settlement.doubt), None
        options = replace(self.options, fixes=0, settled=True)
        explainer = Explainer(settlement.cluster.scheduler.state, self.features, options)
        return result, _OtherInquiry(explainer, settlement.cluster.ask(inquiry))

    def _conclude_waiting(self, result: InquiryResult) -> tuple[Conclusion, Parts]:
        diagnosis = self._diagnose(result)
        conclusion = conclude(diagnosis)
        obstacles, described = self._find_obstacles(diagnosis, conclusion)
        conclusion, words = self._finish_conclusion(diagnosis, conclusion, described)
        fixes = self._find_fixes(diagnosis, conclusion, obstacles, described.when)
        steps = idle_workload_steps(self.state, result.question) if result.compares else ()
        steps = steps or gang_next_steps(
            result.question, diagnosis.group, conclusion.causes, fixes.fixes
        )
        case, findings = _mark_doubted(diagnosis)
        return conclusion, Parts(
            case=case,
            found=findings,
            fixes=fixes.fixes,
            then=(*fixes.next, *steps_for_orphaned_slices(diagnosis.case, conclusion.causes)),
            steps=steps,
            notes=(
                *self.options.attempt_notes,
                *note_gates(diagnosis.case, self.options.gate_evidence),
                *result.notes,
                *conclusion.notes,
                *described.notes,
                *fixes.notes,
            ),
            blind=result.blind,
            expected_nodes=self._find_expected_nodes(result, conclusion),
            described=described,
            words=words,
        )

    def _find_obstacles(
        self, diagnosis: Diagnosis, conclusion: Conclusion
    ) -> tuple[Obstacles, Description]:
        """Find the obstacles of a subject that does not fit, and describe them."""
        result = diagnosis.attempted
        is_known = result.compares and result.doubt is None
        if not is_known or conclusion.fits or self.options.brief:
            return NO_OBSTACLES, Description()
        case = diagnosis.case
        oracle = Oracle(case.scheduler)
        obstacles = find_obstacles(oracle, recreate_subject(case.state, case.state, case.question))
        return obstacles, describe_obstacles(oracle, case, obstacles, conclusion.causes)

    def _finish_conclusion(
        self, diagnosis: Diagnosis, conclusion: Conclusion, described: Description
    ) -> tuple[Conclusion, SchedulerWords | None]:
        """Return the conclusion with the lasting cause first, and the scheduler's own message."""
        if self.options.brief:
            return conclusion, None
        conclusion = put_lasting_first(conclusion, described.lasting)
        is_modelled = not self.options.attempt_notes
        words = read_scheduler_words(diagnosis.case, is_modelled=is_modelled)
        return apply_scheduler_words(
            diagnosis.case, conclusion, words, is_modelled=is_modelled
        ), words

    def _find_expected_nodes(
        self, result: InquiryResult, conclusion: Conclusion
    ) -> tuple[ExpectedNode, ...]:
        """Return the nodes that an autoscaler would launch for a pod that stays pending."""
        if self.options.brief or conclusion.verdict in FITS or result.question.kind != "Pod":
            return ()
        claims = [claim.claim for claim in result.attempt.claims if claim.claim is not None]
        return find_expected_nodes(self.state, Pod(result.question.value), claims)

    def _diagnose(self, result: InquiryResult) -> Diagnosis:
        """Diagnose an attempt; if the question names a node, diagnose it on that node only."""
        only_node = self.options.node
        question, attempt = result.question, result.attempt
        group = self.group(question) if result.compares and question.kind not in CLAIMS else NO_GANG
        if only_node is not None:
            attempt = replace(attempt, nodes=tuple(n for n in attempt.nodes if n.name == only_node))
        case = case_of(self.scheduler, self.devices, question, attempt)
        return diagnose(
            replace(result, attempt=attempt), case, group, one_node=only_node is not None
        )

    # -- groups --

    def group(self, question: Question) -> GangDiagnosis:
        """Diagnose the pod's group as kube-scheduler places it, once for all pods of the group."""
        pod = self.state.get("Pod", question.key)
        member = None if pod is None else _add_namespace(pod, question.key)
        group = None if member is None else find_pod_group(self.state, Pod(member))
        if member is None or group is None:
            return NO_GANG
        return self.state.cache.from_sources(
            ("gang", self.features, group.name),
            (self.state,),
            lambda _: self._diagnose_gang(member, group),
        )

    def _diagnose_gang(self, member: Raw, group: GangGroup) -> GangDiagnosis:
        wait = find_gang_wait(self.state, member, group, self.features)
        if wait is None:
            return GangDiagnosis(notes=tuple(gang_remarks(group)))
        if isinstance(wait, GangUndecided):
            name = wait.group.replace("/", " ", 1)
            started = f"{wait.fits} of the {wait.minimum} pods with which {name} starts fit"
            return GangDiagnosis(
                notes=(f"{started}; whether all do was not decided, as placing them took too long",)
            )
        if not isinstance(wait, MemberBlocked | TooFewFit):
            return diagnose_gang(wait, self.state)
        pod = wait.pod
        explainer = Explainer(
            wait.state if isinstance(wait, TooFewFit) else self.state, self.features
        )
        stopped = Question("Pod", Pod(pod).key, pod)
        case = case_of(explainer.scheduler, explainer.devices, stopped, wait.attempt)
        conclusion = conclude_attempt(
            diagnosis_of(
                InquiryResult(stopped, inquire.subject_of(stopped, ()), wait.attempt), case
            )
        )
        return diagnose_gang(wait, self.state, case, conclusion.causes, conclusion.headline)

    # -- fixes --

    def _find_fixes(
        self, diagnosis: Diagnosis, conclusion: Conclusion, obstacles: Obstacles, when: When | None
    ) -> FixResult:
        """Find changes after which the subject fits and its group starts."""
        findings, group, case = diagnosis.found, diagnosis.group, diagnosis.case
        unchecked = bool(conclusion.causes) and conclusion.causes[0].code == "node-filter"
        unchecked = unchecked and any(node.verdict == "allocatable" for node in findings)
        in_doubt = any(
            isinstance(cause, NotKnownOfPreview | NotKnownOfMachine) for cause in conclusion.causes
        )
        if conclusion.fits or unchecked or in_doubt or not self.options.fixes:
            return FixResult()
        from dractl.explain.fixes import FixProblem, corrections
        from dractl.explain.fixes.gangs import name_changed_pod
        from dractl.explain.fixes.owners import Owners
        from dractl.explain.fixes.problem import GangContext

        causes = tuple(
            dict.fromkeys(
                (*conclusion.causes, *(cause for node in findings for cause in node.causes))
            )
        )
        question = case.question
        if not diagnosis.attempted.compares:
            problem = FixProblem(case, causes, Owners(self.state, question.key, question.value))
            return FixResult(next=corrections(problem))
        gang = None
        if group_object(Pod(question.value)) is not None and question.kind == "Pod":
            gang, when = GangContext(self.state, question, self._starts(question)), None
        if group.case is not None and conclusion.causes[0] is group.causes[0]:
            case = group.case
        result = self._search(case, causes, gang, obstacles, when)
        only_node, stopped = self.options.node, case.question
        fixes = tuple(f for f in result.fixes if only_node is None or only_node in f.nodes)
        if stopped.key != question.key:
            fixes = tuple(name_changed_pod(fix, stopped.key) for fix in fixes)
        return replace(
            result, fixes=tuple(replace(f, rank=rank) for rank, f in enumerate(fixes, 1))
        )

    def _search(
        self,
        case: Case,
        causes: tuple[Cause, ...],
        gang: "GangContext | None" = None,
        obstacles: Obstacles = NO_OBSTACLES,
        when: When | None = None,
    ) -> FixResult:
        if not self.options.fixes:
            return FixResult()
        from dractl.explain.fixes import FixProblem, find_fixes
        from dractl.explain.fixes.owners import Owners

        owners = Owners(self.state, case.question.key, case.question.value)
        problem = FixProblem(case, causes, owners, gang, obstacles=obstacles, when=when)
        return find_fixes(problem, self.options.fixes, self._explain_after_change)

    def _starts(self, question: Question) -> Callable[[ClusterState, Features], bool]:

        def starts(state: ClusterState, features: Features) -> bool:
            pod = state.get("Pod", question.key)
            if pod is None:
                return True
            member = _add_namespace(pod, question.key)
            return (
                find_gang_wait(
                    state, member, find_pod_group(state, Pod(member)), features, recreated=True
                )
                is None
            )

        return starts

    def _explain_after_change(self, state: ClusterState, question: Question) -> Explanation:
        """Explain the subject in the cluster after a correction, with the lasting cause first."""
        explainer = Explainer(state, self.features, Options(fixes=0, brief=True))
        answer = explainer.explain(question)
        if not any(reason.code in HOLDER_CODES for reason in answer.reasons[:1]):
            return answer
        idle, oracle = list_idle_trials(Trial(state, question)), Oracle(explainer.scheduler)
        if any(map(oracle.fits, idle)):
            return answer
        lasting = Explainer(idle[-1].state, self.features, explainer.options).explain(question)
        if lasting.fits or not lasting.reasons:
            return answer
        return replace(lasting, headline=f"{NEVER}: {lasting.reasons[0].brief}")


class _OtherInquiry(Struct, frozen=True):
    """An inquiry in a cluster with rewritten selectors, with the explainer of that cluster."""

    explainer: Explainer
    inquiry: Inquiry

    def explain(self) -> Explanation:
        return self.explainer._explain_inquiry(self.inquiry)

    def judge(self) -> SubjectVerdict:
        return self.explainer._judge_waiting(self.inquiry)


def _mark_doubted(diagnosis: Diagnosis) -> tuple[Case, tuple[NodeFindings, ...]]:
    """Return the case without the surveys of undecided nodes, and the findings with these nodes
    marked as undecided.
    """
    case, findings, doubt = diagnosis.case, diagnosis.found, diagnosis.attempted.doubt
    if doubt is None:
        return case, findings
    surveys = {name: survey for name, survey in case.surveys.items() if name not in doubt.nodes}
    return replace(case, surveys=surveys), tuple(
        replace(node, verdict="undecided", causes=(doubt,)) if node.name in doubt.nodes else node
        for node in findings
    )


def _add_namespace(pod: Raw, key: Key) -> Raw:
    """Return a pod with its namespace, which a manifest may leave out."""
    return {**pod, "metadata": {**pod["metadata"], "namespace": key[0]}}
