"""Files that were not read or not rendered, grouped as a person would report them."""

import os
from collections.abc import Iterable

from msgspec import Struct

from dractl.manifests import Skipped
from dractl.manifests.templates import chart_of, rendering_hint


class Omission(Struct, frozen=True):
    """Files that were skipped for one reason."""

    files: tuple[Skipped, ...]
    """The files, which have the same reason and are in the same chart folder."""

    @property
    def place(self) -> str:
        """The first file, with the number of other files; for several charts, the folder that
        contains them.
        """
        charts = self._charts()
        if len(charts) > 1:
            folder = os.path.dirname(min(charts)) or "."
            return f"{folder}: {len(self.files)} templates of {len(charts)} charts"
        others = len(self.files) - 1
        return self.files[0].file + (f" and {others} more" if others else "")

    @property
    def why(self) -> str:
        """The reason."""
        return self.files[0].why

    @property
    def sentence(self) -> str:
        """A sentence on what was not done and why; it also states whether the file was linted
        nevertheless.
        """
        return f"linted, but {self.why}" if self.files[0].judged else f"skipped, {self.why}"

    @property
    def hint(self) -> str | None:
        """Advice on how to have the files checked."""
        return rendering_hint("CHART") if len(self._charts()) > 1 else self.files[0].hint

    @property
    def unread(self) -> bool:
        """True if the files could not be read, so that the results for other files are
        incomplete.
        """
        return self.files[0].unread

    def _charts(self) -> set[str]:
        return {chart for item in self.files if (chart := chart_of(item.file)) is not None}


def omissions(skipped: Iterable[Skipped]) -> list[Omission]:
    """Group skipped files by reason; templates also by the folder of their chart."""
    groups: dict[tuple[bool, str, str], list[Skipped]] = {}
    for item in skipped:
        chart = chart_of(item.file)
        folder = "" if chart is None else os.path.dirname(chart)
        alone = item.file if item.unread else folder
        groups.setdefault((item.unread, item.why, alone), []).append(item)
    return [Omission(tuple(items)) for items in groups.values()]
