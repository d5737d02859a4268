"""Label selectors as kubectl takes them."""

from __future__ import annotations

import pytest

from dractl.cluster.labels import parse_labels
from dractl.errors import UsageError

LABELS = {"app": "web", "example.com/tier": "front", "empty": ""}


@pytest.mark.parametrize(
    "text",
    [
        "app=web",
        "app==web",
        "app != api",
        "app in (web, api)",
        "app notin (api),example.com/tier=front",
        "app",
        "!canary",
        "canary!=yes",
        "canary notin (yes)",
        "empty=",
    ],
)
def test_labels_match_a_query(text: str) -> None:
    assert parse_labels(text).matches(LABELS)


@pytest.mark.parametrize(
    "text", ["app=api", "app!=web", "app in (api)", "!app", "canary", "canary=", "app=web,canary"]
)
def test_labels_do_not_match_a_query(text: str) -> None:
    assert not parse_labels(text).matches(LABELS)


@pytest.mark.parametrize("text", ["", "=web", "app in web", "!app=web", "app=a b", "app=web,,x"])
def test_other_text_is_refused_as_a_selector(text: str) -> None:
    with pytest.raises(UsageError, match="-l cannot read"):
        parse_labels(text)
