"""Phrases about devices read as people write them."""

from __future__ import annotations

import pytest

from dractl.model.device_phrases import count_devices


@pytest.mark.parametrize(
    ("number", "request_name", "adjective", "phrase"),
    [
        (2, "gpu", "free", "2 free GPUs"),
        (1, "nics", "free", "a free NIC"),
        (1, "hca", "", "an HCA"),
        (1, "hca", "free", "a free HCA"),
        (2, "trainer", "", "2 devices of request trainer"),
        (1, "gpu/large", "free", "a free device of request gpu/large"),
    ],
)
def test_requests_are_counted_in_words(
    number: int, request_name: str, adjective: str, phrase: str
) -> None:
    assert count_devices(number, request_name, adjective) == phrase
