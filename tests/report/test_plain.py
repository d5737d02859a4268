"""Lines of texts in the width of a terminal."""

from __future__ import annotations

import pytest

from dractl.report.plain import wrap

COMMAND = "`kubectl get validatingwebhookconfigurations,pods -o yaml`"


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_a_command_between_backquotes_stays_on_one_line(width: int) -> None:
    """A line break in a command would be copied along with it."""
    text = f"not in the input, so nothing is known about it; add {COMMAND} to the input"
    lines = wrap(text, width, "  ")
    assert any(COMMAND in line for line in lines)
    assert " ".join(line.strip() for line in lines) == text
    assert all(len(line) <= width for line in lines if COMMAND not in line)


def test_other_text_between_backquotes_is_wrapped() -> None:
    assert wrap("`a request` is `one of two`", 12) == ["`a request`", "is `one of", "two`"]
