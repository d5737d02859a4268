"""Issues of an expression, as values."""

import re

from msgspec import Struct

# Compiled by re where they are used: most expressions have no issue
_OPERANDS = (
    r"found no matching overload for '_(==|!=|<|<=|>|>=)_' applied to '\(([^()]+(?:\([^()]*\))?),"
    r" (.+?)\)'"
)
_UNDECLARED = r"undeclared reference to '(\w+)'"
_UNDEFINED = r"undefined field '(\w+)'"
_OUTPUT = r"must evaluate to .+, not (.+)"


class Operands(Struct, frozen=True):
    """The types that an operator cannot compare, as cel-go prints them."""

    operator: str
    left: str
    right: str


class Issue(Struct, frozen=True):
    """One error in an expression. Offset, line and column are None for an issue without a place
    (the output type, a constant that fails).
    """

    message: str
    """Upstream's message."""
    offset: int | None = None
    """Code points into the expression."""
    line: int | None = None
    """The line, 1-based as upstream prints it."""
    column: int | None = None
    """The column, 1-based as upstream prints it."""

    @property
    def operands(self) -> Operands | None:
        """The types in a comparison without an overload for them; None for any other issue."""
        match = re.search(_OPERANDS, self.message)
        return Operands(match[1], match[2], match[3]) if match else None

    @property
    def undeclared(self) -> str | None:
        """The name of a variable or function that does not exist; None for any other issue."""
        match = re.search(_UNDECLARED, self.message)
        return match[1] if match else None

    @property
    def undefined(self) -> str | None:
        """The name of a field that ``device`` does not have; None for any other issue."""
        match = re.search(_UNDEFINED, self.message)
        return match[1] if match else None

    @property
    def output(self) -> str | None:
        """The type of an expression that must have another type; None for any other issue."""
        match = re.search(_OUTPUT, self.message)
        return match[1] if match else None

    @property
    def is_assignment(self) -> bool:
        """True if ``=`` is written in place of ``==``."""
        return "token recognition error at: '= '" in self.message
