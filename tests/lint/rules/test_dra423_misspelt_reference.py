"""DRA423 misspelt-reference."""

from __future__ import annotations

import pytest

from tests.lint.written import ONE, documents, found, pod, template


@pytest.mark.parametrize("made", [ONE, template(ONE)])
def test_a_claim_is_no_template(made: str) -> None:
    right, wrong = ("a=gpu", "a:gpu") if made is ONE else ("a:gpu", "a=gpu")
    assert not found(documents(made, pod(right)), "DRA423")
    text = documents(made, pod(wrong))
    (advice,) = found(text, "DRA423")
    field = "resourceClaimName" if made is ONE else "resourceClaimTemplateName"
    assert advice.help == f"write {field}: gpu"
    assert advice.fix is not None
    (edit,) = advice.fix.edits
    line = text.splitlines()[edit.position.line - 1]
    mended = line[: edit.position.column - 1] + edit.text + line[edit.position.end_column - 1 :]
    assert mended.strip() == f"- {{name: a, {field}: gpu}}"
