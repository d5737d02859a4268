"""DRA716 attribute-may-be-absent."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting

NET = 'device.attributes["dra.net"]'


def test_a_card_without_an_interface() -> None:
    (finding,) = found(selecting(f'{NET}.ifName == "eth1"', "dranet"), "DRA716")
    assert (finding.severity, finding.confidence, marked(finding)) == (
        "warning",
        "likely",
        "ifName",
    )
    assert "may lack dra.net/ifName (published only where it has an interface)" in finding.message
    assert finding.help == 'write "ifName" in device.attributes["dra.net"] && ... before it'


def test_other_conditions_first_make_it_doubtful() -> None:
    text = selecting(f'{NET}.rdma == true && {NET}.ifName == "eth1"', "dranet")
    assert [(finding.severity, finding.confidence) for finding in found(text, "DRA716")] == [
        ("info", "possible")
    ]


@pytest.mark.parametrize(
    "expression",
    [
        f'"ifName" in {NET} && {NET}.ifName == "eth1"',
        f'has({NET}.ifName) && {NET}.ifName == "eth1"',
        f'{NET}.?ifName.orValue("") == "eth1"',
        f'{NET}.rdma == true && {NET}.rdmaDevice == "mlx5_0"',
        f"{NET}.rdma == true",  # all have it
    ],
)
def test_guarded_and_universal_attributes_are_fine(expression: str) -> None:
    assert found(selecting(expression, "dranet"), "DRA716") == []
