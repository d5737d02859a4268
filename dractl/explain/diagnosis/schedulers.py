"""The scheduler that a pod names, if it is not the default: its cause, notes about it, and its part
of the answer.
"""

from collections.abc import Iterator

from dractl.cluster.schedulers import PodScheduler, group_name, queue_name, scheduler_of
from dractl.explain.answer import SchedulerAnswer
from dractl.explain.context import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.schedulers import RunningScheduler, UnseenScheduler
from dractl.facts.schedulers import Limit, SchedulerFacts

_UNCHECKED = (
    "dractl's verdict is that of the default profile; what its profile changes was not checked"
)


def find_scheduler(case: Case) -> PodScheduler | None:
    """Return the scheduler of a pod; None for the default one, and for claims."""
    if case.question.kind in ("ResourceClaim", "ResourceClaimTemplate", "Node"):
        return None
    scheduler = scheduler_of(case.state, case.question.value, case.question.key)
    return None if scheduler.is_default else scheduler


def cause_of(case: Case, scheduler: PodScheduler) -> Cause:
    """Return the cause for a pod whose scheduler is not kube-scheduler, or does not run."""
    facts = scheduler.facts
    if scheduler.runs is not True:
        labels = facts.labels.items() if facts is not None else ()
        return UnseenScheduler(
            plugin=scheduler.name,
            schedulers=(scheduler.name,),
            title=facts.title if facts is not None else "",
            selector=",".join(f"{key}={value}" for key, value in labels),
            takes_claims=scheduler.allocates is not False,
            absent=scheduler.absent,
            nearest=scheduler.nearest or None,
            nearest_runs=scheduler.nearest_runs,
        )
    group = group_name(case.pod, facts)
    resource = facts.group.resource if facts is not None and facts.group is not None else ""
    return RunningScheduler(
        plugin=scheduler.name,
        title=scheduler.title,
        running=_targets(scheduler),
        words=next((_line(word.message) for word in scheduler.words if word.is_own), ""),
        refusal=_refusal(case, scheduler),
        instead=(facts.claims.instead or "") if facts is not None else "",
        group=f"{resource} {group}" if group else "",
    )


def refuses_claims(case: Case, scheduler: PodScheduler) -> bool:
    """Return True if the pod has claims, and its scheduler is known not to allocate them."""
    return bool(_refusal(case, scheduler))


def _refusal(case: Case, scheduler: PodScheduler) -> str:
    facts = scheduler.facts
    if scheduler.allocates is not False or not case.pod.claim_references:
        return ""
    if scheduler.profile is not None and not scheduler.profile.allocates:
        return f"its profile in {scheduler.profile.config_map} disables plugin DynamicResources"
    if facts is not None and not facts.claims.takes_claims:
        return facts.claims.text
    since = facts.claims.since if facts is not None else ""
    return f"allocates claims only from {since} on"


def _targets(scheduler: PodScheduler) -> tuple[str, ...]:
    """Return the workloads that run a scheduler, or its pods if the input lacks the workloads."""
    targets = dict.fromkeys(workload.target for workload in scheduler.workloads)
    workloads = tuple(target for target in targets if not target.startswith("Pod/"))
    return workloads or tuple(targets)


def _line(text: str) -> str:
    """Return a message on one line, since some schedulers write several."""
    return " ".join(text.split())


# -- notes --


def notes_of(case: Case, scheduler: PodScheduler) -> Iterator[str]:
    """Yield the facts about a pod's scheduler, and its own words."""
    if scheduler.is_kube_scheduler:
        yield from _profile_notes(scheduler)
        return
    for workload in scheduler.workloads:
        if workload.target in _targets(scheduler) and not workload.ready:
            yield f"{workload.target} runs {scheduler.title}, and none of its replicas is available"
    facts = scheduler.facts
    if facts is None:
        if scheduler.runs:
            yield (
                f"dractl knows nothing of scheduler {scheduler.name}, such as whether it allocates"
                " claims"
            )
    else:
        yield _claims_note(facts)
        for limit in facts.limits if case.pod.claim_references else ():
            if limit.concerns(scheduler.version) and _is_met(case, limit):
                yield _limit_note(facts, limit)
        yield from _group_notes(case, facts)
    for word in scheduler.words:
        yield f"{scheduler.title} says {_line(word.text)}"


def _claims_note(facts: SchedulerFacts) -> str:
    since = f" from {facts.claims.since} on" if facts.claims.since else ""
    detail = f"; {facts.claims.detail}" if facts.claims.detail else ""
    return f"{facts.title} {facts.claims.text}{since}{detail} (read on {facts.read})"


def _limit_note(facts: SchedulerFacts, limit: Limit) -> str:
    since = f" from {limit.since} on" if limit.since else ""
    until = f" before {limit.until}" if limit.until else ""
    return f"{facts.title}{since}{until}: {limit.text}"


def _is_met(case: Case, limit: Limit) -> bool:
    """Return True if a limit applies to the pod's claims."""
    claims = [claim.claim for claim in case.claims.values() if claim.claim is not None]
    requests = [request for claim in claims for request in claim.spec.devices.requests]
    match limit.when:
        case "alternatives":
            return any(request.first_available for request in requests)
        case "admin-access":
            exact = (request.exactly for request in requests)
            return any(one is not None and one.admin_access for one in exact)
        case "named-claim":
            return any(reference.claim_name for reference in case.pod.claim_references)
        case "claims":
            return True


def _group_notes(case: Case, facts: SchedulerFacts) -> Iterator[str]:
    """Yield the group and the queue that a pod names, and how the scheduler treats them."""
    group, queue = (name(case.pod, facts) for name in (group_name, queue_name))
    if group:
        yield f"the pod is in group {group}: {facts.title} {facts.gangs}"
    if queue:
        yield f"the pod is in queue {queue}: {facts.title} {facts.quota}"


def _profile_notes(scheduler: PodScheduler) -> Iterator[str]:
    """Yield a note with the name of the second kube-scheduler, and with the settings that the
    verdict ignores.
    """
    profile, targets = scheduler.profile, _targets(scheduler)
    of = f", a profile of {profile.config_map}," if profile is not None else ","
    by = f" ({targets[0]})" if targets else ""
    yield f"kube-scheduler {scheduler.name}{of} schedules the pod{by}: {_UNCHECKED}"
    if profile is not None and (profile.enabled or profile.disabled):
        changes = (
            f"enables {', '.join(profile.enabled)}" if profile.enabled else "",
            f"disables {', '.join(profile.disabled)}" if profile.disabled else "",
        )
        yield f"profile {profile.name} {' and '.join(filter(None, changes))}"
    if not targets:
        seen = (
            "no pod of it runs" if scheduler.absent else "the input does not show whether it runs"
        )
        yield f"of kube-scheduler {scheduler.name} {seen}"


# -- the part of the answer --


def answer_of(case: Case) -> SchedulerAnswer | None:
    """Return the part of an answer about the pod's scheduler; None for the default one."""
    scheduler = find_scheduler(case)
    if scheduler is None:
        return None
    facts = scheduler.facts
    return SchedulerAnswer(
        scheduler.name,
        scheduler.title,
        scheduler.is_kube_scheduler,
        scheduler.runs,
        _targets(scheduler),
        scheduler.version,
        scheduler.profile.config_map if scheduler.profile is not None else "",
        scheduler.allocates,
        facts.claims.text if facts is not None else "",
        (facts.gangs or "") if facts is not None else "",
        (facts.quota or "") if facts is not None else "",
        group_name(case.pod, facts),
        queue_name(case.pod, facts),
        scheduler.words,
        facts.source if facts is not None else "",
        facts.read if facts is not None else "",
    )
