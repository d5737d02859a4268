"""DRA709 config-for-another-driver."""

from __future__ import annotations

import pytest

from tests.lint.written import GPU, NICS, claim, documents, found


def make_config(driver: str, requests: str = "") -> str:
    names = f"requests: [{requests}], " if requests else ""
    return f"config: [{{{names}opaque: {{driver: {driver}, parameters: {{a: b}}}}}}]"


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        (make_config("gpu.example.com"), False),  # of one of the two requests
        (make_config("other.example.com"), True),
        (make_config("gpu.example.com", "gpu"), False),
        (make_config("gpu.example.com", "nic"), True),
    ],
)
def test_configuration_is_compared_with_the_driver_of_its_requests(
    config: str, wrong: bool
) -> None:
    text = claim("gpu gpu.example.com\nnic nic.example.com", config)
    assert bool(found(documents(GPU, NICS, text), "DRA709")) == wrong


def test_unseen_class_may_be_of_any_driver() -> None:
    assert (
        found(
            documents(GPU, claim("gpu another-class", make_config("other.example.com"))), "DRA709"
        )
        == []
    )
