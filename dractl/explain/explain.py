"""The whole answer about a subject: verdict, reasons in order, nodes, conflict, fixes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import Exhausted, Features
from dractl.cluster.devices import Devices
from dractl.cluster.pods import ended, is_pending
from dractl.cluster.state import at, list_at, maps_at, text_at
from dractl.explain import inventory
from dractl.explain.about import About
from dractl.explain.answer import SEVERITY, Explanation, NodeAnswer, Reason, Subject
from dractl.explain.fixes import Case, find_fixes
from dractl.explain.funnel import funnel, having, whole
from dractl.explain.node_answers import Study, allocation_of, bundle, bundles, over_nodes, summed
from dractl.explain.ranking import rank
from dractl.explain.reasons import REASONS, STOPPED
from dractl.explain.stopped import bug_reason, failure_text, late_reason, reason_of, waiting_reason
from dractl.explain.subjects import Question, claim_question, pods_using
from dractl.explain.together import conflict_on
from dractl.scheduler import placed
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.binding import failure, pending, without_allocation
from dractl.scheduler.extended import as_written, granted
from dractl.scheduler.known_bugs import decisive_bug
from dractl.scheduler.node_filters import declared_features
from dractl.scheduler.preenqueue import enter
from dractl.scheduler.wording import of_nodes, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.cluster.state import ClusterState, Key
    from dractl.explain.answer import Conflict, Verdict
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.verdict import Attempt, NodeVerdict

    Raw = Mapping[str, Any]

_CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Options:
    """How to answer. ``node`` narrows the answer to one node; ``fixes`` is how many are looked for."""

    release_assumed: bool = False
    node: str | None = None
    fixes: int = 8


class Explainer:
    """Answers questions about one cluster."""

    def __init__(self, state: ClusterState, features: Features, options: Options | None = None) -> None:
        self.state = state
        self.features = features
        self.options = options or Options()
        self.judge = Scheduler(state, features)
        self.devices = Devices(state, self.judge.slices)

    def explain(self, question: Question) -> Explanation:
        """The answer to one question: a pod, a claim, a template, or a node."""
        if question.kind == "Node":
            return inventory.node(self.judge, self.devices, question, assumed=self.options.release_assumed)
        answer = self._claim(question) if question.kind in _CLAIMS else self._pod(question)
        refused = self._refused(question)
        return replace(answer, notes=(*refused, *answer.notes)) if refused else answer

    def _refused(self, question: Question) -> tuple[str, ...]:
        """What the API server would say to manifests that it has not seen: claims and templates."""
        from dractl.model import Target
        from dractl.validation import validate

        written: list[tuple[str, Key]] = [(question.kind, question.key)] if question.kind in _CLAIMS else []
        for reference in maps_at(question.value, "spec", "resourceClaims"):
            for kind, field_name in (
                ("ResourceClaim", "resourceClaimName"),
                ("ResourceClaimTemplate", "resourceClaimTemplateName"),
            ):
                if text_at(reference, field_name):
                    written.append((kind, (question.key[0], text_at(reference, field_name))))
        target = Target(self.features.release, self.features.on)
        notes = []
        for kind, key in dict.fromkeys(written):
            value = self.state.get(kind, key)
            if value is None or text_at(value, "metadata", "uid"):
                continue
            said = next((v for v in validate(value, target) if v.type is not None), None)
            if said is not None:
                where = f"{said.field}: " if said.field else ""
                notes.append(
                    f"the API server would refuse {kind} {key[1]}: {where}{said.message} (dractl lint says where)"
                )
        return tuple(notes)

    # -- pods --

    def _pod(self, question: Question) -> Explanation:
        pod = question.value
        entry = enter(self.state, pod)
        subject = Subject(
            question.kind,
            *question.key,
            {text_at(r, "name"): None for r in maps_at(pod, "spec", "resourceClaims")}
            | {c.name: c.key[1] for c in entry.claims if c.name},
            {
                text_at(r, "name"): text_at(r, "resourceClaimTemplateName")
                for r in maps_at(pod, "spec", "resourceClaims")
                if text_at(r, "resourceClaimTemplateName")
            },
            extended=as_written(pod),
        )
        if not is_pending(pod):
            return self._placed(question, subject, entry.claims)
        judgement = self.judge.pod(pod)
        released = judgement.given_back(text_at(pod, "metadata", "uid"))
        if released is not None:
            return self._after_release(question, released)
        study = self._study(question, self._on_node(judgement))
        answer = self._answer(study, subject)
        if not study.judgement.fits:
            decisive = decisive_bug(self.judge, study.judgement, entry.claims, lambda judge: judge.pod(pod))
            first = entry.claims[0] if entry.claims else None
            about = (first.name or None, first.full_name) if first is not None else (None, None)
            bug = None if decisive is None else bug_reason(decisive, *about)
            answer = answer if bug is None else replace(answer, reasons=(bug, *answer.reasons), headline=bug.message)
        undeclared = self._undeclared(pod)
        notes = (*answer.notes, *([undeclared] if undeclared is not None else []), *placed.unused(pod, entry.claims))
        answer = replace(answer, notes=notes)
        return self._with_fixes(study, self._around(pod, answer))

    def _undeclared(self, pod: Raw) -> str | None:
        """What NodeDeclaredFeatures, which the scheduler asks after DRA, may have against nodes."""
        needed = declared_features(pod) if self.features.at_least("1.36") else []
        if not needed:
            return None
        lacking = [
            text_at(node, "metadata", "name")
            for node in self.judge.nodes
            if not set(needed) <= set(list_at(node, "status", "declaredFeatures"))
        ]
        if not lacking:
            return None
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        return (
            f"node features are not checked here: the pod needs {', '.join(needed)}, and status.declaredFeatures of "
            f"{', '.join(lacking[:3])}{more} lacks it"
        )

    def _after_release(self, question: Question, claim: PodClaim) -> Explanation:
        """The answer once the scheduler has taken back an allocation that only stands in the pod's way."""
        assert claim.value is not None
        state = self.state.replace("ResourceClaim", claim.key, without_allocation(claim.value))
        answer = Explainer(state, self.features, self.options)._pod(question)
        where = ", ".join(dict.fromkeys(a.pool for a in allocation_of(claim.value, claim.full_name)))
        failed = failure(claim) if self.features.binding_conditions else None
        why = f"; {failure_text(failed)}" if failed is not None else ", where the pod cannot run"
        said = f"claim {claim.full_name} is allocated on {where}{why}, and no other pod uses it"
        return replace(answer, notes=(f"{said}. It will be released and allocated anew", *answer.notes))

    def _placed(self, question: Question, subject: Subject, claims: tuple[PodClaim, ...]) -> Explanation:
        """A pod that is on its node, or has ended."""
        pod = question.value
        node = text_at(pod, "spec", "nodeName")
        made = granted(self.state, pod)
        every = claims if made is None else (*claims, made)
        allocated = tuple(a for c in every for a in allocation_of(c.value, c.full_name))
        nodes = (NodeAnswer(node, "allocated", allocation=allocated),) if node else ()
        reasons: tuple[Reason, ...] = ()
        waiting = [c for c in claims if not c.allocated]
        if waiting and not ended(pod):
            why = (
                f"the pod was put on node {node} without the scheduler having allocated claim {waiting[0].full_name}: "
                "spec.nodeName was set by somebody else"
            )
            reasons = (
                Reason("scheduler-bypass", why, pod_claim=waiting[0].name, claim=waiting[0].full_name, nodes=(node,)),
            )
        verdict: Verdict = "blocked" if reasons else "allocated"
        headline = reasons[0].message if reasons else placed.headline(self.state, pod)
        notes = () if ended(pod) else tuple(placed.unused(pod, claims))
        return self._explanation(
            question, subject, verdict, headline=headline, reasons=reasons, nodes=nodes, notes=notes
        )

    def _around(self, pod: Raw, answer: Explanation) -> Explanation:
        """What the pod itself says: another scheduler, and a condition that no longer holds."""
        scheduler = text_at(pod, "spec", "schedulerName") or DEFAULT_SCHEDULER
        if scheduler != DEFAULT_SCHEDULER:
            why = (
                f"spec.schedulerName is {scheduler}: kube-scheduler leaves the pod alone, and nothing here shows "
                f"whether {scheduler} runs or knows DRA; the rest is what kube-scheduler would say"
            )
            reason = Reason("scheduler-bypass", why, plugin=scheduler, found=(scheduler,))
            return replace(
                answer,
                verdict="blocked",
                headline=f"kube-scheduler does not schedule this pod ({scheduler} is to)",
                reasons=(reason, *answer.reasons),
                scheduler_message=enter(self.state, pod).condition,
            )
        waiting = pending(enter(self.state, pod).claims) if answer.fits and self.features.binding_conditions else None
        if waiting is not None:
            reason = waiting_reason(waiting)
            return replace(answer, verdict="blocked", headline=reason.message, reasons=(reason,))
        condition = next((c for c in maps_at(pod, "status", "conditions") if c.get("type") == "PodScheduled"), None)
        failed = text_at(condition, "status") == "False"
        said = text_at(condition, "message") if failed else ""
        answer = replace(answer, notes=(*answer.notes, *_volumes(pod)))
        foreign = unchecked(said)
        if any(count is None for count, _ in foreign):
            answer = replace(answer, scheduler_message=said)  # the scheduler never came to what is said here
        if answer.fits and said:
            other = self._refusing_release(pod, said)
            if other is not None:
                why = f"the pod's condition was written by Kubernetes {other} or near it, which does not place this pod"
                return replace(answer, notes=(*answer.notes, why))
            held_back = self._held_back(answer, foreign)
            if held_back is not None:
                return replace(held_back, scheduler_message=said)
        told = [f"the pod's condition says, of what is not checked here: {of_nodes(*part)}" for part in foreign]
        answer = replace(answer, notes=(*answer.notes, *told))
        fits_now = answer.fits and failed and any(n.verdict == "allocatable" for n in answer.nodes)
        return self._not_tried_again(answer, condition or {}) if fits_now else answer

    def _held_back(self, answer: Explanation, foreign: Sequence[tuple[int | None, str]]) -> Explanation | None:
        """The answer where a pod fits as far as can be seen, and plugins that are not checked here may object to every
        node that it fits on."""
        fitting = [n for n in answer.nodes if n.verdict == "allocatable"]
        total = sum(1 + len(n.like) for n in fitting)
        if not foreign or not fitting or sum(total if count is None else count for count, _ in foreign) < total:
            return None
        told = "; ".join(of_nodes(*part) for part in foreign)
        where = fitting[0].name + (f" and {total - 1} more" if total > 1 else "")
        plugin = "VolumeBinding" if "volume" in told.lower() else None
        why = f"the scheduler says: {told}; that is not checked here, and all that is would fit on {where}"
        return replace(
            answer,
            verdict="blocked",
            headline=f"would fit on {where}, but for something that is not checked here: {told}",
            reasons=(Reason("node-filter", why, plugin=plugin, nodes=tuple(n.name for n in fitting)),),
        )

    def _not_tried_again(self, answer: Explanation, condition: Raw) -> Explanation:
        """The answer where the pod fits and its condition still says that it does not."""
        node = next(n.name for n in answer.nodes if n.verdict == "allocatable")
        since = text_at(condition, "lastTransitionTime")
        why = (
            f"it fits now (on {node}), but the scheduler's last attempt{' at ' + since if since else ''} failed "
            "and it has not tried again; it does so at an event that concerns the pod, or after five minutes"
        )
        devices = tuple(f"{a.driver}/{a.pool}/{a.device}" for n in answer.nodes if n.name == node for a in n.allocation)
        reason = Reason(
            "would-fit-now",
            why,
            nodes=(node,),
            devices=devices,
            pod_claim=next(iter(answer.subject.pod_claims), None),
        )
        return replace(
            answer,
            verdict="blocked",
            headline=f"would fit now on {node}; the scheduler has not tried again",
            reasons=(reason,),
            scheduler_message=text_at(condition, "message") or None,
        )

    def _refusing_release(self, pod: Raw, condition: str) -> str | None:
        """The release that wrote a condition, if it is another one and refuses the pod as it is now."""
        older = "still not schedulable, preemption" in condition or "no new claims to deallocate" in condition
        writer = "1.36" if older else "1.37" if "preemption:" in condition else None
        if writer is None or (self.features.at_least("1.37") == (writer == "1.37")):
            return None
        return None if Scheduler(self.state, Features.for_release(writer)).pod(pod).fits else writer

    # -- claims --

    def _claim(self, question: Question) -> Explanation:
        claim = claim_question(self.state, question)
        subject = Subject(question.kind, *question.key)
        if claim.allocated:
            return self._allocated_claim(question, subject, claim)
        users = [q for q in pods_using(self.state, question.key) if is_pending(q.value)]
        if users and question.kind == "ResourceClaim":
            answer = self._pod(users[0])
            seen = f"seen from pod {'/'.join(users[0].key)}, which uses it"
            return replace(_about_claim(answer, claim.full_name), subject=subject, notes=(seen, *answer.notes))
        if text_at(question.value, "metadata", "deletionTimestamp"):
            reason = Reason("claim-deleting", f"claim {claim.full_name} is being deleted", claim=claim.full_name)
            return self._explanation(question, subject, "blocked", headline=reason.message, reasons=(reason,))
        study = self._study(question, self._on_node(self.judge.claim(claim)))
        answer = replace(self._answer(study, subject), scheduler_message=None)
        if question.kind == "ResourceClaim" and text_at(question.value, "metadata", "uid"):
            why = (
                f"no pod uses claim {claim.full_name}: a claim is allocated when a pod that uses it is scheduled, "
                "until then pending is its normal state"
            )
            reason = Reason("no-consumer", why, claim=claim.full_name)
            after = "; it would fit" if answer.fits else ", and it would not fit"
            answer = replace(
                answer, verdict="blocked", headline=f"no pod uses it{after}", reasons=(reason, *answer.reasons)
            )
        return self._with_fixes(study, answer)

    def _allocated_claim(self, question: Question, subject: Subject, claim: PodClaim) -> Explanation:
        allocated = allocation_of(claim.value, claim.full_name)
        selector = at(claim.value, "status", "allocation", "nodeSelector")
        names = [
            str(value)
            for term in maps_at(selector, "nodeSelectorTerms")
            for e in maps_at(term, "matchFields")
            for value in e.get("values") or ()
        ]
        nodes = (NodeAnswer(names[0] if names else "any node", "allocated", allocation=allocated),)
        users = [text_at(c, "name") for c in maps_at(claim.value, "status", "reservedFor")]
        used = f"used by pod {', '.join(users[:3])}" if users else "used by no pod"
        return self._explanation(
            question, subject, "allocated", headline=f"allocated on {nodes[0].name}, {used}", nodes=nodes
        )

    # -- the answer --

    def _explanation(self, question: Question, subject: Subject, verdict: Verdict, **parts: Any) -> Explanation:
        return Explanation(
            subject,
            verdict,
            self.features.release,
            self.options.release_assumed,
            age=text_at(question.value, "metadata", "creationTimestamp") or None,
            phase=text_at(question.value, "status", "phase") or None,
            **parts,
        )

    def _on_node(self, judgement: Attempt) -> Attempt:
        """What the judgement says of the one node that is asked about."""
        if self.options.node is None:
            return judgement
        return replace(judgement, nodes=tuple(n for n in judgement.nodes if n.name == self.options.node))

    def _study(self, question: Question, judgement: Attempt) -> Study:
        special = (c for n in judgement.nodes[:1] for c in n.claims)
        return Study(question, judgement, About(self.judge, self.devices, (*judgement.claims, *special)))

    def _with_fixes(self, study: Study, answer: Explanation) -> Explanation:
        if answer.fits or not self.options.fixes or answer.unchecked:
            return answer
        claims = tuple(study.about.claims.values())
        reasons = tuple(dict.fromkeys((*answer.reasons, *(r for n in answer.nodes for r in n.reasons))))
        case = Case(
            study.question, self.judge, study.judgement, self.devices, study.about, reasons, study.surveys, claims
        )
        found = find_fixes(case, self.options.fixes)
        subject = replace(answer.subject, controller=found.controller)
        here = self.options.node
        fixes = tuple(f for f in found.fixes if here is None or here in f.nodes)
        fixes = tuple(replace(f, rank=rank) for rank, f in enumerate(fixes, 1))
        return replace(answer, subject=subject, fixes=fixes, notes=(*answer.notes, *found.notes))

    def _answer(self, study: Study, subject: Subject) -> Explanation:
        question, judgement = study.question, study.judgement
        if judgement.stopped:
            stopped = tuple(reason_of(stop, self.state) for stop in judgement.stopped)
            headline = stopped[0].message
            return self._explanation(
                question,
                subject,
                "blocked",
                headline=headline,
                reasons=stopped,
                scheduler_message=judgement.message,
            )
        nodes = [bundle(study, alike) for alike in bundles(judgement.nodes)]
        reasons = tuple(over_nodes(study, reason, nodes) for reason in rank(nodes, judgement.nodes))
        verdict = self._verdict(judgement)
        if judgement.late is not None:
            reasons = (late_reason(judgement.late),)
        elif judgement.fatal is not None:
            named = next((n for n in nodes if n.name == judgement.fatal.name), None)
            first = named.reasons[:1] if named else ()
            reasons = (*first, *(r for r in reasons if r.code != first[0].code)) if first else reasons
        elif judgement.fits:
            reasons = ()
        surveys = {**study.fitting, **study.surveys}
        surveyed = [(surveys[n.name], 1 + len(n.like)) for n in nodes if n.name in surveys]
        conflict = None
        if not judgement.fits:
            conflict = self._conflict(study, judgement.nodes)
        nearest = conflict.node if conflict else next((n for r in reasons for n in r.nodes if n in study.surveys), None)
        devices = inventory.of_node(self.judge, self.devices, nearest, study.surveys[nearest]) if nearest else ()
        return self._explanation(
            question,
            subject,
            verdict,
            headline=self._headline(judgement, reasons, nodes),
            devices=devices,
            scheduler_message=judgement.message,
            reasons=reasons,
            nodes=tuple(nodes),
            funnel=funnel(self.devices, whole(surveyed), study.heading, having(surveyed)),
            conflict=conflict,
            notes=self._notes(judgement),
        )

    def _verdict(self, judgement: Attempt) -> Verdict:
        if judgement.fits:
            return "allocatable"
        if judgement.fatal is not None or judgement.late is not None:
            return "error"
        if any(isinstance(n.outcome, Exhausted) for n in judgement.nodes if n.asked):
            return "undecided"
        if all(n.rejection is not None for n in judgement.nodes):
            return "blocked"
        return "unallocatable"

    def _headline(self, judgement: Attempt, reasons: Sequence[Reason], nodes: Sequence[NodeAnswer]) -> str:
        total = len(judgement.nodes)
        if judgement.fits:
            fitting = [n.name for n in judgement.nodes if n.fits]
            return f"fits on {', '.join(fitting[:3])}" + (f" and {len(fitting) - 3} more" if len(fitting) > 3 else "")
        why = reasons[0].short + _besides(reasons[0], nodes) if reasons else ""
        if judgement.fatal is not None:
            return f"the scheduler's attempt ends in an error: {why}"
        if judgement.late is not None:
            return f"a node fits, and then the scheduler fails: {why}"
        if total == 1:
            where = "the only node" if self.options.node is None else judgement.nodes[0].name
            return f"does not fit on {where}: {why}"
        if reasons and _of_one_node(reasons[0], nodes, total):
            why = f"nearest is {reasons[0].nodes[0]}: {why}"
        return f"fits on none of {total} nodes: {why}"

    def _conflict(self, study: Study, verdicts: Iterable[NodeVerdict]) -> Conflict | None:
        """The conflict on the node whose best place holds the most free devices."""
        found = [
            conflict
            for v in verdicts
            if v.name in study.surveys and (conflict := conflict_on(study.about, v, study.surveys[v.name])) is not None
        ]
        return max(found, key=lambda c: max((p.score for p in c.places), default=(0, 0)), default=None)

    def _notes(self, judgement: Attempt) -> tuple[str, ...]:
        notes = [
            f"on {n.name} the scheduler ends pods of lower priority first: {', '.join(n.victims[:3])}"
            for n in judgement.nodes
            if n.victims
        ]
        if not self.state.has("Node"):
            notes.append("the source has no nodes: those that the slices name were taken, no node filter was checked")
        outcomes = [n.outcome for n in judgement.nodes if n.outcome is not None]
        if any(o.nears_timeout for o in outcomes):
            notes.append("this search takes the scheduler about as long as its time limit of 10 seconds a node allows")
        if any(o.unordered for o in outcomes):
            notes.append(f"Kubernetes {self.features.release} searches pools in random order: others may be chosen")
        return tuple(notes)


def _of_one_node(reason: Reason, nodes: Sequence[NodeAnswer], total: int) -> bool:
    """Whether a reason is that of some nodes, or is told with the numbers of one: it is told with the node then."""
    if not reason.nodes or REASONS[reason.code].reach >= STOPPED or summed(reason):
        return False
    if reason.code in ("mixed", "pinned-node"):
        return False
    if reason.code == "node-filter":
        return len(reason.nodes) < total
    return any(reason.short not in (r.short for r in node.reasons) for node in nodes)


def _about_claim(answer: Explanation, claim: str) -> Explanation:
    """The answer about a pod as one about a claim that it uses: what is said of that claim comes first."""
    own = [r for r in answer.reasons if r.claim == claim]
    others = [r for r in answer.reasons if r.claim not in (None, claim)]
    if answer.fits or not others or answer.reasons[0].claim in (None, claim):
        return answer
    if own:
        rest = [r for r in answer.reasons if r.claim != claim]
        headline = f"the pod {answer.headline}; of this claim: {own[0].short}"
        return replace(answer, reasons=(*own, *rest), headline=headline)
    return replace(answer, headline=f"the pod waits for its other claim {others[0].claim}, and {answer.headline}")


def _besides(reason: Reason, nodes: Sequence[NodeAnswer]) -> str:
    """What another request lacks on the node that a reason is told of: the one alone would not be enough."""
    if reason.request is None or not reason.nodes or REASONS[reason.code].reach >= STOPPED:
        return ""
    own = {name.partition("/")[0] for name in reason.request.split(", ")}
    node = next((n for n in nodes if n.name == reason.nodes[0]), None)
    for other in node.reasons if node is not None else ():
        if other.request is None or ", " in other.request or REASONS[other.code].reach >= STOPPED:
            continue
        if other.claim != reason.claim or other.request.partition("/")[0] not in own:
            return f"; and {other.short}"
    return ""


def _volumes(pod: Raw) -> tuple[str, ...]:
    """That volumes are not looked at, where a pod has any that the scheduler looks at."""
    kinds = ("persistentVolumeClaim", "ephemeral")
    if not any(kind in volume for kind in kinds for volume in maps_at(pod, "spec", "volumes")):
        return ()
    return ("volumes are not checked here; kubectl describe pod shows what the scheduler makes of them",)


def worst_first(explanations: Iterable[Explanation]) -> list[Explanation]:
    """Answers in the order of their severity; within one, in the order of the source."""
    return sorted(explanations, key=lambda e: SEVERITY.index(e.verdict))
