"""A finding about a driver, before it is placed in a file."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dractl.lint.model import Advice


class Remark(Struct, frozen=True):
    """An advice with the code of the rule to which it belongs."""

    code: str
    """The code of a page in ``dractl/lint/rules``."""
    advice: Advice
    """The message and its place."""


Remarks = Iterator[Remark]


def remark(code: str, *arguments: Any, **options: Any) -> Remark:
    """Return a remark whose advice is made from ``arguments`` and ``options``."""
    return Remark(code, Advice(*arguments, **options))
