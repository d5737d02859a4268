"""The headings under which a help page lists its options, and the groups that carry them.

Each option is in a group, whose heading it gets, or names its own heading (``rich_help_panel``), so
that no option gets a wrong heading.
"""

from typing import ClassVar, Final

from msgspec import Struct

INPUT: Final = "Input"
AGAINST: Final = "Against"
ACTIONS: Final = "What to do"
OUTPUT: Final = "Output"
TOOLS: Final = "For tools"
HEADINGS: Final = (INPUT, AGAINST, ACTIONS, OUTPUT, TOOLS)


class OptionGroup(Struct, frozen=True):
    """Options that a subcommand takes as one value; each field is an option or an argument."""

    heading: ClassVar[str]
    """The heading of the options that do not name their own."""
