"""kube-scheduler's newest message about a pod that waits; the message accompanies the answer."""

from msgspec.structs import replace

from dractl.explain.conclude import Conclusion, conclude_from_cause
from dractl.explain.context import Case
from dractl.explain.diagnosis import pods, schedulers
from dractl.explain.reasons.scheduling import SchedulerDiffers, WouldFitNow
from dractl.scheduler.words import SchedulerWords, compare_words, find_scheduler_words


def read_scheduler_words(case: Case, *, is_modelled: bool) -> SchedulerWords | None:
    """Return kube-scheduler's newest message about the subject, compared with the attempt.

    Return None if there is none, or if another scheduler places the pod. ``is_modelled`` is True if
    the attempt models the cluster's own release. The schedulers of two releases may word a refusal
    differently, but no wording explains that one refuses what the other places.
    """
    if case.question.kind != "Pod" or not case.pod.uid:
        return None
    scheduler = schedulers.find_scheduler(case)
    if scheduler is not None and not scheduler.is_kube_scheduler:
        return None
    words = find_scheduler_words(case.state, case.pod)
    if words is None:
        return None
    is_complete = (
        (is_modelled or case.attempt.fits)
        and case.state.lists_all_nodes
        and not case.state.rights.unread
        and not pods.find_missing_input(case, words.message)
    )
    agrees = compare_words(case.scheduler, case.pod, words, case.attempt, complete=is_complete)
    return replace(words, agrees=agrees)


def apply_scheduler_words(
    case: Case, conclusion: Conclusion, words: SchedulerWords | None, *, is_modelled: bool
) -> Conclusion:
    """Return a conclusion that does not contradict a newer message of kube-scheduler.

    If the pod would fit, the message becomes the headline, since the advice to wait would not
    resolve the contradiction. Otherwise a note quotes the message.
    """
    if words is None or words.agrees is True:
        return conclusion
    is_waiting = bool(conclusion.causes) and isinstance(conclusion.causes[0], WouldFitNow)
    repeats_failure = words.is_failure and words.count > 1
    if (conclusion.fits or is_waiting) and (words.agrees is False or repeats_failure):
        cause = SchedulerDiffers(
            words=words,
            nodes=tuple(node.name for node in case.attempt.nodes if node.fits),
            release=case.scheduler.features.release if is_modelled else "",
        )
        return conclude_from_cause(
            "error" if words.is_failure else "blocked", cause, words.message, conclusion.notes
        )
    if words.agrees is None:
        return conclusion
    times = f" ({words.times})" if words.times else ""
    note = (
        f"kube-scheduler says otherwise{times}: {words.message.rstrip('.')}; a feature gate that"
        " differs (--feature-gates), a newer failure or a bug of kube-scheduler could explain it"
    )
    return replace(conclusion, notes=(*conclusion.notes, note))
