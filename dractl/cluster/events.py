"""Events about the objects of a cluster."""

from collections.abc import Iterable

from dractl.cluster.state import ClusterState, Key
from dractl.views import Event, View

TIMESTAMP_SECONDS = 19
"""The length of a timestamp up to its seconds, since only some events have fractions of a
second.
"""
END_REASONS = ("Evicted", "TaintManagerEviction", "DeviceTaintManagerEviction", "Preempted")
"""Reasons of events that report why a pod was ended from outside."""


def events_about(state: ClusterState, subject: View) -> tuple[Event, ...]:
    """Return the events about an object, oldest first, without events about an earlier object of
    the same name.
    """
    created = subject.creation_timestamp[:TIMESTAMP_SECONDS]

    def is_about_subject(event: Event) -> bool:
        if event.regarding.uid:
            return event.regarding.uid == subject.uid
        # Both times are written by the API server's clock; the kubelet's may differ.
        event_created = event.creation_timestamp[:TIMESTAMP_SECONDS]
        return not event_created or event_created >= created

    events = state.events_of((subject.namespace, subject.name))
    return tuple(
        sorted(
            filter(is_about_subject, events), key=lambda event: event.last_seen[:TIMESTAMP_SECONDS]
        )
    )


def last_event_of_pod(state: ClusterState, pod: Key) -> Event | None:
    """Return the event that best explains why a pod is gone: an event about its end from outside,
    or else the newest.

    Return None if no event is about such a pod.
    """
    events = [event for event in state.events_of(pod) if event.regarding.kind == "Pod"]
    return max(
        events,
        key=lambda event: (event.reason in END_REASONS, event.last_seen[:TIMESTAMP_SECONDS]),
        default=None,
    )


def newest_event(events: Iterable[Event], reasons: Iterable[str]) -> Event | None:
    """Return the newest event with one of the ``reasons``; None if there is none. ``events`` are
    sorted.
    """
    accepted = frozenset(reasons)
    return next((event for event in reversed(tuple(events)) if event.reason in accepted), None)


def newest_message(state: ClusterState, subject: View, reason: str, mention: str = "") -> str:
    """Return the newest message with ``reason`` about an object, if it mentions a text; "" if there
    is none.

    The object may be of a manifest that leaves out its namespace.
    """
    messages = [
        (event.last_seen, event.message)
        for event in state.events.values()
        if event.reason == reason
        and event.regarding.name == subject.name
        and event.regarding.uid in ("", subject.uid)
        and mention in event.message
    ]
    return max(messages, default=("", ""))[1]
