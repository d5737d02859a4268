"""Issues of an expression, as values."""

import re

from msgspec import Struct

_OPERANDS = re.compile(
    r"found no matching overload for '_(==|!=|<|<=|>|>=)_' applied to '\(([^()]+(?:\([^()]*\))?), (.+?)\)'"
)
_UNDECLARED = re.compile(r"undeclared reference to '(\w+)'")
_UNDEFINED = re.compile(r"undefined field '(\w+)'")
_OUTPUT = re.compile(r"must evaluate to .+, not (.+)")


class Operands(Struct, frozen=True):
    """The types that an operator cannot compare, as cel-go prints them."""

    operator: str
    left: str
    right: str


class Issue(Struct, frozen=True):
    """One error in an expression. ``message`` is upstream's.

    ``offset`` counts code points into the expression, ``line`` and ``column`` are 1-based as upstream prints them; all
    three are None for an issue without a place (the output type, a constant that fails).
    """

    message: str
    offset: int | None = None
    line: int | None = None
    column: int | None = None

    @property
    def operands(self) -> Operands | None:
        """The operand types of a comparison without an overload for them."""
        found = _OPERANDS.search(self.message)
        return Operands(found[1], found[2], found[3]) if found else None

    @property
    def undeclared(self) -> str | None:
        """The name of a variable or function that does not exist."""
        found = _UNDECLARED.search(self.message)
        return found[1] if found else None

    @property
    def undefined(self) -> str | None:
        """The name of a field that ``device`` does not have."""
        found = _UNDEFINED.search(self.message)
        return found[1] if found else None

    @property
    def output(self) -> str | None:
        """The type of an expression that must have another type."""
        found = _OUTPUT.search(self.message)
        return found[1] if found else None

    @property
    def is_assignment(self) -> bool:
        """True if ``=`` is written in place of ``==``."""
        return "token recognition error at: '= '" in self.message
