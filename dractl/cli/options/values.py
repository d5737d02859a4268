"""The values with which charts are rendered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, ClassVar

from typer import Option

from dractl.cli.headings import INPUT, OptionGroup
from dractl.errors import InputError, UsageError
from dractl.manifests.naming import name_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.inputs.charts import ValueChoice
    from dractl.lint.config import ChartSettings

Values = Annotated[
    list[str] | None,
    Option(
        "--values",
        metavar="FILE",
        help="Values for the chart, in place of those in its ci/ folder; repeatable.",
    ),
]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Set a value of the chart; repeatable."),
]


class ValuesOptions(OptionGroup, frozen=True):
    """The values of a chart."""

    heading: ClassVar[str] = INPUT

    values: Values = None
    set_: Set = None

    def refuse_values(self) -> None:
        """Raise UsageError if there are values, for a run that renders no charts."""
        if self.values or self.set_:
            raise UsageError("--values and --set cannot be combined with --no-render")

    def choose_values(self, configured: Mapping[str, ChartSettings]) -> ValueChoice | None:
        """Return the values of the command line and of the configuration, by chart; None if there
        are none.

        Raises InputError for a file that does not exist.
        """
        files = tuple(name_paths(self.values or ()))
        if not (files or self.set_ or configured):
            return None
        from dractl.inputs.charts import ChartValues, ValueChoice

        for file in files:
            if not os.path.isfile(file):
                raise InputError("no such file", place=file, hint="--values names a local file")
        return ValueChoice(
            ChartValues(files, tuple(self.set_ or ())),
            {
                chart: ChartValues(tuple(name_paths(item.values)), item.settings)
                for chart, item in configured.items()
            },
        )
