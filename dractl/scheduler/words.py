"""kube-scheduler's newest message about a pod, compared with the message that it would write
now.
"""

import re

from msgspec import Struct

from dractl.cluster.clock import newest_change, read_time
from dractl.cluster.events import TIMESTAMP_SECONDS, events_about
from dractl.cluster.state import ClusterState
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.condition import find_unchecked_parts
from dractl.scheduler.verdict import Attempt
from dractl.views import Pod, parse_timestamp

MAX_EVENT_BYTES = 1024
"""The length to which the API server cuts the message of an event
(kubernetes pkg/apis/core/validation/events.go NoteLengthLimit).
"""
RETRY_SECONDS = 300
"""The time after which kube-scheduler retries any pod (kubernetes
pkg/scheduler/backend/queue/scheduling_queue.go DefaultPodMaxInUnschedulablePodsDuration).
"""
FAILURE = "SchedulerError"
"""The reason of a condition for an attempt that ended in an error instead of a refusal."""
_PREEMPTION = re.compile(r" (?:still not schedulable, |no new claims to deallocate, )?preemption: ")
_GROUP_WORDS = "pod group is unschedulable"
"""The beginning of the message about a pod whose group cannot be placed (kubernetes
pkg/scheduler/schedule_one_podgroup.go).
"""
_DEVICE = re.compile(r"\bon device \S+:")


class SchedulerWords(Struct, frozen=True):
    """kube-scheduler's newest message about a pod that it has not placed."""

    message: str
    reason: str
    """``Unschedulable``, ``SchedulerError`` and so on; "" if only an event has the message."""
    at: str
    """The time at which the message was last written (RFC 3339); "" if unknown."""
    since: str = ""
    """The time at which the message was first written."""
    count: int = 1
    """The number of times that an event repeats the message."""
    agrees: bool | None = None
    """True if kube-scheduler would write the same message now, judging by the objects of the input.
    None if the objects are newer than the message, or do not include everything that kube-scheduler
    reads.
    """

    @property
    def is_failure(self) -> bool:
        """True if the attempt ended in an error."""
        return self.reason == FAILURE

    @property
    def times(self) -> str:
        """``12 times since 09:42, last at 10:00``, with the times as they are written."""
        last = f"at {self.at}" if self.at else ""
        if self.count < 2:
            return last
        since = f" since {self.since}" if self.since else ""
        return f"{self.count} times{since}" + (f", last {last}" if last else "")


def find_scheduler_words(state: ClusterState, pod: Pod) -> SchedulerWords | None:
    """Return the newest message about a pod, from its condition or an event; None if there is
    none.
    """
    condition = pod.condition("PodScheduled")
    refusal = condition.message if condition.status == "False" else ""
    failures = [
        event
        for event in events_about(state, pod)
        if event.reason == "FailedScheduling" and pod.scheduler_name in event.reporters
    ]
    newest = failures[-1] if failures else None
    if newest is None or not newest.message:
        if not refusal:
            return None
        return SchedulerWords(refusal, condition.reason, condition.last_transition)
    is_same = _is_same(newest.message, refusal)
    changed = condition.last_transition[:TIMESTAMP_SECONDS]
    if refusal and not is_same and changed > newest.last_seen[:TIMESTAMP_SECONDS]:
        return SchedulerWords(refusal, condition.reason, condition.last_transition)
    return SchedulerWords(
        refusal if is_same else newest.message,
        condition.reason if refusal else "",
        newest.last_seen,
        newest.first_seen,
        newest.count,
    )


def compare_words(
    scheduler: Scheduler, pod: Pod, words: SchedulerWords, attempt: Attempt, *, complete: bool
) -> bool | None:
    """Return True if kube-scheduler's message equals the message of the attempt, False if they
    differ. Return None if the comparison proves nothing: the objects are newer than the message,
    another plugin has refused the pod, the pod waits for its group or for pods that it preempts, or
    the input is not ``complete``.
    """
    state, volumes = scheduler.state, scheduler.volumes_of(pod).are_known
    if attempt.message is not None and _is_same(words.message, attempt.message):
        return True
    is_of_others = words.message.startswith(_GROUP_WORDS) or pod.nominated_node_name
    if not complete or is_of_others or find_unchecked_parts(words.message, volumes=volumes):
        return None
    written = words.at[:TIMESTAMP_SECONDS]
    if not written or newest_change(state)[:TIMESTAMP_SECONDS] >= written:
        return None
    if attempt.fits and not words.is_failure and not _has_lasted(state, words):
        return None  # a deletion, whose time is unknown, may have made room since
    return False


def _has_lasted(state: ClusterState, words: SchedulerWords) -> bool:
    """Return True if kube-scheduler has repeated the message for longer than its retry time, until
    now.
    """
    first, last, now = parse_timestamp(words.since), parse_timestamp(words.at), read_time(state)
    if words.count < 2 or first is None or last is None or now is None:
        return False
    return last - first > RETRY_SECONDS and now - last < RETRY_SECONDS


def _is_same(message: str, other: str) -> bool:
    """Return True if two messages mean the same for the pod and its nodes.

    Three parts may differ: the sentence on preemption at the end, the device at which an error ends
    the attempt (it depends on the node that is tried first), and the end of an event's message,
    which is cut off.
    """
    first, second = _normalize(message), _normalize(other)
    if len(message.encode()) >= MAX_EVENT_BYTES - len("..."):
        return bool(first) and second.startswith(first.removesuffix("...")[: MAX_EVENT_BYTES - 8])
    return first == second


def _normalize(message: str) -> str:
    return _DEVICE.sub("on device:", _PREEMPTION.split(message)[0]).rstrip(". ")
