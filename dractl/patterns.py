"""Regular expressions that are compiled when they are used first.

``re.compile`` takes 0.1 to 1 ms, more than most modules take to import, and a short run uses few of the patterns of the
modules that it imports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def pattern(text: str, flags: int = 0) -> re.Pattern[str]: ...

else:

    class pattern:  # noqa: N801 - called like a function
        """``re.compile(text, flags)``, put off until one of its methods is asked for."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._source = text, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # asked by copy and pickle
                raise AttributeError(name)
            value = getattr(re.compile(*self._source), name)
            setattr(self, name, value)  # from now on found without asking
            return value
