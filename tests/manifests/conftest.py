from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.manifests import composing, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dractl.manifests import Document, Inputs

Reader = "Callable[[str | bytes], Inputs]"


@pytest.fixture
def read() -> Callable[[str | bytes], Inputs]:
    """Loads a text as standard input."""

    def from_stdin(text: str | bytes) -> Inputs:
        return load(["-"], stdin=text.encode() if isinstance(text, str) else text)

    return from_stdin


@pytest.fixture
def one(read: Callable[[str | bytes], Inputs]) -> Callable[[str | bytes], Document]:
    def only(text: str | bytes) -> Document:
        inputs = read(text)
        assert inputs.broken == ()
        (document,) = inputs.documents
        return document

    return only


@pytest.fixture(params=["libyaml", "python"])
def composer(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both of PyYAML's parsers: where it was built without libyaml the one in Python answers."""
    if request.param == "python":
        patch = pytest.MonkeyPatch()
        python = composing.python_composer()
        patch.setattr(composing, "composer_class", lambda: python)
        yield request.param
        patch.undo()
    else:
        yield request.param


DATA = Path(__file__).parent / "data"
