"""The answer to a question: find, attempt, causes, rank, checks outside DRA, fixes, and then the explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.devices import Devices
from dractl.cluster.podgroups import object_of
from dractl.cluster.pods import ended, is_pending, reserved_for
from dractl.cluster.state import at, maps_at, text_at
from dractl.errors import InputError
from dractl.explain import inventory, placed
from dractl.explain.answer import Explanation, NodeAnswer, Subject
from dractl.explain.ask import Question, claim_question, pods_using
from dractl.explain.build import NO_PARTS, Parts, build, granting, subject_of
from dractl.explain.case import case_of
from dractl.explain.conclude import (
    Conclusion,
    about_claim,
    of_attempt,
    of_message,
    of_pod_alone,
    of_unused_claim,
    with_pod,
    with_underlying,
    with_unread,
)
from dractl.explain.diagnose import pods
from dractl.explain.diagnose.between import spanning
from dractl.explain.diagnose.gangs import NO_GROUP, Group, group_of
from dractl.explain.diagnose.nodes import allocation_of, findings, over_nodes
from dractl.explain.fixes import Found, Problem, find_fixes
from dractl.explain.fixes.candidates import Company
from dractl.explain.fixes.gangs import of_other_pod
from dractl.explain.fixes.owners import Owners
from dractl.explain.next_steps import of_group, of_idle, of_leaving
from dractl.explain.rank import rank
from dractl.explain.refused import refused
from dractl.explain.unread import blind_to, both, compares_devices, founded, sentences
from dractl.reasons.claims import ClaimDeleting
from dractl.reasons.phrases import Names
from dractl.reasons.registry import of_stop
from dractl.reasons.scheduling import NotPrepared, PlacedByHand
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.binding import failure, without_allocation
from dractl.scheduler.extended import granted, wanted
from dractl.scheduler.preenqueue import enter
from dractl.scheduler.verdict import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.allocation import Features
    from dractl.cluster.state import ClusterState, Key
    from dractl.explain.case import Case
    from dractl.explain.diagnose.nodes import NodeFindings
    from dractl.explain.unread import Blind
    from dractl.reasons.base import Cause
    from dractl.scheduler.claims import PodClaim

    Raw = Mapping[str, Any]

_CORRECTIONS = 4  # that one fix may consist of
_CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")


class Options(Struct, frozen=True):
    """How to answer. ``node`` narrows the answer to one node; ``fixes`` is how many are looked for. ``corrected``: so
    many corrections have been made already, each not enough by itself."""

    release_assumed: bool = False
    node: str | None = None
    fixes: int = 8
    corrected: int = 0


class Explainer:
    """Answers questions about one cluster."""

    def __init__(self, state: ClusterState, features: Features, options: Options | None = None) -> None:
        self.state = state
        self.features = features
        self.options = options or Options()
        self.scheduler = Scheduler(state, features)
        self.devices = Devices(state, self.scheduler.slices)
        self.groups: dict[tuple[str, Key], Group] = {}

    def explain(self, question: Question, attempt: Attempt | None = None) -> Explanation:
        """The answer to one question: a pod, a claim, a template, or a node. ``attempt`` is the scheduler's attempt to
        place the pod, where it has been made already."""
        if question.kind == "Node":
            return self._node(question)
        if question.kind in _CLAIMS:
            return self._claim(question)
        return self._pod(question, attempt=attempt)

    # -- pods --

    def _pod(
        self,
        question: Question,
        about: Subject | None = None,
        notes: Sequence[str] = (),
        *,
        attempt: Attempt | None = None,
    ) -> Explanation:
        """The answer about a pod; ``about`` is the claim that was asked about, where the pod uses it."""
        if not is_pending(question.value):
            return self._placed(question)
        if self._blind_for(question):
            return self._unseen(question, about, notes)
        attempt = attempt or self.scheduler.pod(question.value)
        released = attempt.given_back(text_at(question.value, "metadata", "uid"))
        if released is not None:
            return self._after_release(question, released, about, notes)
        case = case_of(self.scheduler, self.devices, question, self._on_node(attempt))
        found = findings(case)
        ranked = self._ranked(case, found)
        behind = spanning(case, found, ranked)
        conclusion = of_attempt(case, found, ranked, one_node=self.options.node is not None, behind=behind)
        group = self.group(question)
        if not (group.causes and conclusion.fits):
            conclusion = with_underlying(case, conclusion, behind)
        conclusion = with_pod(case, found, conclusion, group)
        if about is not None:
            conclusion = about_claim(case, conclusion, "/".join((about.namespace, about.name)))
        blind = self._blind(question, attempt)
        conclusion = with_unread(case, found, conclusion, blind)
        fixes = self._fixes(case, found, conclusion, group)
        return self._answer(
            question,
            subject_of(question, case.attempt.claims) if about is None else about,
            conclusion,
            Parts(
                case=case,
                found=found,
                fixes=fixes.fixes,
                then=fixes.next,
                steps=of_idle(self.state, question) or of_group(question, group, conclusion.causes, fixes.fixes),
                notes=(*notes, *conclusion.notes, *fixes.notes),
                blind=blind,
            ),
        )

    def _blind_for(self, question: Question) -> bool:
        """True if devices cannot be compared for a pod, or what seems not to exist may not be read."""
        rights = self.state.rights
        if not rights.unread:
            return False
        entry = enter(self.state, question.value)
        seen = founded(entry.stops, rights)
        if compares_devices(rights) and not rights.hidden("Node"):
            return len(seen) < len(entry.stops)
        return len(seen) < len(entry.stops) or not compares_devices(rights) or not self.scheduler.nodes

    def _blind(self, question: Question, attempt: Attempt) -> tuple[Blind, ...]:
        """Objects that the answer about a subject lacks."""
        allocates = bool(attempt.stopped) or not all(claim.allocated for claim in attempt.claims)
        return blind_to(self.state, question, allocates=allocates)

    def _unseen(self, question: Question, about: Subject | None, notes: Sequence[str]) -> Explanation:
        """The answer about a pod whose devices cannot be compared: its claims, gates and volumes, the node filters if
        nodes may be read, and what the scheduler says."""
        pod = question.value
        entry = enter(self.state, pod)
        stops = founded(entry.stops, self.state.rights)
        mapped = self.state.rights.hidden("DeviceClass") and wanted(pod)
        if stops or mapped:  # a class that may not be read may provide the extended resource
            attempt = Attempt(entry.claims, stops, message=entry.condition)
        else:
            attempt = self.scheduler.beside_claims(pod, entry.claims)
        blind = blind_to(
            self.state,
            question,
            allocates=bool(entry.stops or mapped) or not all(claim.allocated for claim in entry.claims),
        )
        case = case_of(self.scheduler, self.devices, question, self._on_node(attempt))
        found = findings(case)
        if attempt.stopped or (attempt.nodes and not attempt.fits):
            ranked = self._ranked(case, found)
            behind = spanning(case, found, ranked)
            conclusion = of_attempt(case, found, ranked, one_node=self.options.node is not None, behind=behind)
            conclusion = with_unread(case, found, with_underlying(case, conclusion, behind), blind)
        else:
            conclusion = of_message(case, blind)
        conclusion = of_pod_alone(case, conclusion)
        return self._answer(
            question,
            subject_of(question, entry.claims) if about is None else about,
            conclusion,
            Parts(case=case, found=found, notes=(*notes, *conclusion.notes), blind=blind),
        )

    def _after_release(
        self, question: Question, claim: PodClaim, about: Subject | None, notes: Sequence[str]
    ) -> Explanation:
        """The answer once the scheduler has taken back an allocation that only stands in the pod's way."""
        assert claim.value is not None
        state = self.state.replace("ResourceClaim", claim.key, without_allocation(claim.value))
        where = ", ".join(dict.fromkeys(a.pool for a in allocation_of(claim.value, claim.full_name)))
        failed = failure(claim) if self.features.binding_conditions else None
        why = f"; {pods.failure_text(failed)}" if failed is not None else ", where the pod cannot run"
        note = (
            f"claim {claim.full_name} is allocated on {where}{why}, and no other pod uses it. It will be released and "
            "allocated again"
        )
        return Explainer(state, self.features, self.options)._pod(question, about, (*notes, note))

    def _placed(self, question: Question) -> Explanation:
        """A pod that is on its node, or has ended."""
        pod = question.value
        claims = enter(self.state, pod).claims
        node = text_at(pod, "spec", "nodeName")
        made = granted(self.state, pod)
        every = claims if made is None else (*claims, made)
        allocated = tuple(a for c in every for a in allocation_of(c.value, c.full_name))
        waiting = [c for c in claims if not c.allocated]
        notes = (*placed.evicted(every, self.scheduler.slices), *placed.unused(pod, claims))
        notes = () if ended(pod) else notes
        fixes = Found()
        unprepared = placed.unprepared(self.state, pod, claims, allocated)
        if waiting and not ended(pod):
            exists = not self.state.has("Node") or self.state.get("Node", ("", node)) is not None
            first = waiting[0]
            cause = PlacedByHand(pod_claim=first.name, claim=first.full_name, nodes=(node,), exists=exists)
            conclusion = Conclusion("blocked", cause.said(Names()), (cause,))
            fixes = self._let_start(question, cause)
        elif unprepared is not None:
            conclusion = Conclusion("blocked", unprepared.said(Names()), (unprepared,))
            fixes = self._let_start(question, unprepared) if unprepared.faults else fixes
        else:
            conclusion = Conclusion("allocated", placed.headline(pod))
        leaving = node and not ended(pod) and text_at(pod, "metadata", "deletionTimestamp")
        steps = of_leaving(pod) if leaving else ()
        nodes = (NodeAnswer(node, "allocated", allocation=allocated),) if node else ()
        return self._answer(
            question,
            subject_of(question, claims),
            conclusion,
            Parts(nodes=nodes, fixes=fixes.fixes, steps=steps, notes=(*notes, *fixes.notes)),
        )

    def _let_start(self, question: Question, cause: PlacedByHand | NotPrepared) -> Found:
        """Changes after which a pod on its node can start: the scheduler places it, or the driver takes its claims."""
        case = case_of(self.scheduler, self.devices, question, self.scheduler.pod(question.value))
        problem = Problem(case, (cause,), Owners(self.state, question.key, question.value))
        return find_fixes(problem, self.options.fixes, self._afterwards) if self.options.fixes else Found()

    # -- nodes --

    def _node(self, question: Question) -> Explanation:
        """A node's devices. Raises InputError if they may not be read."""
        rights = self.state.rights
        hidden = rights.hidden("ResourceSlice", "ResourceClaim")
        if hidden:
            names = both([one.resource.partition(".")[0] for one in hidden])
            raise InputError(
                f"the devices of node {question.key[1]} cannot be listed: {names} may not be read",
                hint=f"an administrator can allow it: {rights.grant}",
            )
        found = inventory.node(self.scheduler, self.devices, question, assumed=self.options.release_assumed)
        blind = blind_to(self.state, question, allocates=True)
        if not blind:
            return found
        return replace(
            found,
            verdict="undecided" if found.verdict == "allocatable" else found.verdict,
            headline=f"based on what may be read: {found.headline}",
            notes=(*found.notes, *sentences(blind)),
            drivers=tuple(replace(driver, restartable=False) for driver in found.drivers),
            unread=blind,
            next=granting(blind, self.state.rights),
        )

    # -- claims and templates --

    def _claim(self, question: Question) -> Explanation:
        claim = claim_question(self.state, question)
        subject = Subject(question.kind, *question.key)
        if claim.allocated:
            return self._allocated_claim(question, subject, claim)
        users = [q for q in pods_using(self.state, question.key) if is_pending(q.value)]
        if users and question.kind == "ResourceClaim":
            return self._pod(users[0], subject, (f"seen from pod {'/'.join(users[0].key)}, which uses it",))
        if text_at(question.value, "metadata", "deletionTimestamp"):
            cause = ClaimDeleting(claim=claim.full_name, asked=True)
            conclusion = Conclusion("blocked", cause.said(Names()), (cause,))
            return self._answer(question, subject, conclusion)
        blind = blind_to(self.state, question, allocates=True)
        seen = compares_devices(self.state.rights) and bool(
            self.scheduler.nodes or not self.state.rights.hidden("Node")
        )
        attempt = self.scheduler.claim(claim) if seen else Attempt((claim,))
        case = case_of(self.scheduler, self.devices, question, self._on_node(attempt))
        found = findings(case)
        if not seen:
            conclusion = of_message(case, blind)
            return self._answer(
                question, subject, conclusion, Parts(case=case, found=found, notes=conclusion.notes, blind=blind)
            )
        conclusion = of_attempt(case, found, self._ranked(case, found), one_node=self.options.node is not None)
        conclusion = of_unused_claim(question, claim, replace(conclusion, scheduler_message=None))
        conclusion = with_unread(case, found, conclusion, blind)
        fixes = self._fixes(case, found, conclusion)
        notes = (*conclusion.notes, *fixes.notes)
        return self._answer(
            question,
            subject,
            conclusion,
            Parts(case=case, found=found, fixes=fixes.fixes, then=fixes.next, notes=notes, blind=blind),
        )

    def _allocated_claim(self, question: Question, subject: Subject, claim: PodClaim) -> Explanation:
        selector = at(claim.value, "status", "allocation", "nodeSelector")
        names = [
            str(value)
            for term in maps_at(selector, "nodeSelectorTerms")
            for e in maps_at(term, "matchFields")
            for value in e.get("values") or ()
        ]
        where = names[0] if names else "any node"
        nodes = (NodeAnswer(where, "allocated", allocation=allocation_of(claim.value, claim.full_name)),)
        users = reserved_for(claim.value)
        used = f"used by {users}" if users else "used by no pod"
        conclusion = Conclusion("allocated", f"allocated on {where}, {used}")
        return self._answer(question, subject, conclusion, Parts(nodes=nodes))

    # -- steps --

    def _on_node(self, attempt: Attempt) -> Attempt:
        """The verdict on the one node that is asked about."""
        if self.options.node is None:
            return attempt
        return replace(attempt, nodes=tuple(n for n in attempt.nodes if n.name == self.options.node))

    def _ranked(self, case: Case, found: Sequence[NodeFindings]) -> tuple[Cause, ...]:
        """The causes of the subject, what matters most first."""
        attempt = case.attempt
        if attempt.stopped:
            return tuple(of_stop(stop, self.scheduler) for stop in attempt.stopped)
        if attempt.late is not None:
            return (of_stop(attempt.late, self.scheduler),)
        if attempt.fits:
            return ()
        ranked = tuple(over_nodes(case, cause, found) for cause in rank(case, found))
        if attempt.fatal is None:
            return ranked
        named = next((n for n in found if n.name == attempt.fatal.name), None)
        first = named.causes[:1] if named else ()
        return (*first, *(c for c in ranked if c.code != first[0].code)) if first else ranked

    # -- groups --

    def group(self, question: Question) -> Group:
        """The group that kube-scheduler places a pod with; looked at once for all its pods."""
        pod = self.state.get("Pod", question.key)
        named = None if pod is None else object_of(_named(pod, question.key))
        if pod is None or named is None:
            return NO_GROUP
        if named not in self.groups:
            self.groups[named] = self._looked_at(_named(pod, question.key))
        return self.groups[named]

    def _looked_at(self, member: Raw) -> Group:
        from dractl.capacity.gangs import Undecided, unchecked, waiting  # placing pods: few runs get here

        waits = waiting(self.state, member, self.features)
        if waits is None:
            return Group(notes=tuple(unchecked(self.state, member)))
        if isinstance(waits, Undecided):
            name = waits.group.replace("/", " ", 1)
            started = f"{waits.fits} of the {waits.minimum} pods with which {name} starts fit"
            return Group(notes=(f"{started}; whether all do was not decided, as placing them took too long",))
        pod, attempt = getattr(waits, "pod", None), getattr(waits, "attempt", None)
        if pod is not None and attempt is not None:
            there = Explainer(getattr(waits, "state", self.state), self.features)
            stopped = Question("Pod", (text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")), pod)
            case = case_of(there.scheduler, there.devices, stopped, attempt)
            found = findings(case)
            conclusion = of_attempt(case, found, there._ranked(case, found), one_node=False)
            return group_of(waits, self.state, case, conclusion.causes, conclusion.headline)
        return group_of(waits, self.state)

    def _starts(self, question: Question) -> Callable[[ClusterState, Features], bool]:
        from dractl.capacity.gangs import waiting

        def starts(state: ClusterState, features: Features) -> bool:
            pod = state.get("Pod", question.key)
            return pod is None or waiting(state, _named(pod, question.key), features, recreated=True) is None

        return starts

    def _fixes(
        self, case: Case, found: Sequence[NodeFindings], conclusion: Conclusion, group: Group = NO_GROUP
    ) -> Found:
        """Changes after which the subject fits, and its group starts."""
        unchecked = bool(conclusion.causes) and conclusion.causes[0].code == "node-filter"
        unchecked = unchecked and any(node.verdict == "allocatable" for node in found)
        if conclusion.fits or not self.options.fixes or unchecked:
            return Found()
        causes = tuple(dict.fromkeys((*conclusion.causes, *(cause for node in found for cause in node.causes))))
        asked = case.question
        company = None
        if object_of(asked.value) is not None and asked.kind == "Pod":
            company = Company(self.state, asked, self._starts(asked))
        if group.case is not None and conclusion.causes[0] is group.causes[0]:
            case = group.case
        stopped = case.question
        problem = Problem(case, causes, Owners(self.state, stopped.key, stopped.value), company)
        result = find_fixes(problem, self.options.fixes, self._afterwards)
        here = self.options.node
        fixes = tuple(f for f in result.fixes if here is None or here in f.nodes)
        if stopped.key != asked.key:
            fixes = tuple(of_other_pod(fix, stopped.key) for fix in fixes)
        return replace(result, fixes=tuple(replace(f, rank=rank) for rank, f in enumerate(fixes, 1)))

    def _afterwards(self, state: ClusterState, question: Question, fixes: int) -> Explanation:
        """The answer to a question about the cluster after a correction, with so many fixes."""
        corrected = self.options.corrected + 1
        most = fixes if corrected < _CORRECTIONS else 0
        return Explainer(state, self.features, Options(fixes=most, corrected=corrected)).explain(question)

    def _answer(
        self, question: Question, subject: Subject, conclusion: Conclusion, parts: Parts = NO_PARTS
    ) -> Explanation:
        """The answer, with what the API server would say to manifests that it has not seen."""
        notes = (*refused(self.state, self.features, question), *parts.notes)
        every = replace(parts, notes=notes)
        return build(
            self.scheduler, self.devices, question, subject, conclusion, every, assumed=self.options.release_assumed
        )


def _named(pod: Raw, key: Key) -> Raw:
    """A pod with its namespace, which a manifest may leave out."""
    return {**pod, "metadata": {**pod["metadata"], "namespace": key[0]}}
