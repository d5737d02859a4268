"""The headings under which a help page lists its options.

Each option names its own (``rich_help_panel``), so that none ends up under the wrong one.
"""

from typing import Final

INPUT: Final = "Input"
AGAINST: Final = "Against"
ACTIONS: Final = "What to do"
OUTPUT: Final = "Output"
TOOLS: Final = "For tools"
HEADINGS: Final = (INPUT, AGAINST, ACTIONS, OUTPUT, TOOLS)
