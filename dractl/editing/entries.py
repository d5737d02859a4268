"""The words of a YAML text, each with the path of the value to which it belongs."""

from msgspec import Struct

Path = tuple["str | int", ...]


class TextEntry(Struct, frozen=True):
    """One key, list item or line of a scalar."""

    line: int
    """The line of the text."""
    path: Path
    """The path of the value."""
    start: int
    """The first column of the key."""
    end: int
    """The column after the key; equal to ``start`` if there is no key."""
    value: int
    """The column in which the value begins."""
    text: str
    """The part of the value on this line, as written."""
    scalar: bool = False
    """True if the line continues the scalar of ``path``."""

    @property
    def stop(self) -> int:
        """The column after the value, or after its part on this line."""
        return self.value + len(self.text)
