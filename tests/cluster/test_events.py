"""Events about pods."""

from dractl.cluster.events import newest_event
from dractl.views import Event

EVENTS = [Event({"reason": reason}) for reason in ("Killing", "Evicted", "Killing", "Pulled")]
"""In the order of their time."""


def test_the_newest_event_with_one_of_the_reasons_counts() -> None:
    assert newest_event(EVENTS, ("Killing", "Evicted")) is EVENTS[2]
    assert newest_event(EVENTS, ("Evicted",)) is EVENTS[1]
    assert newest_event(EVENTS, ("Failed",)) is None
