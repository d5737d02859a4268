"""Options for the subject that needs room, and for the objects that are read."""

from typing import Annotated, ClassVar

from typer import Argument

from dractl.cli import completing
from dractl.cli.headings import INPUT
from dractl.cli.options import cluster_input
from dractl.cli.options.values import ValuesOptions

Name = Annotated[
    str | None, Argument(metavar="SUBJECT", show_default=False, autocompletion=completing.subjects)
]
More = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...", help="Files to read objects from, short for -f.", show_default=False
    ),
]


class SubjectOptions(ValuesOptions, frozen=True):
    """Options for the subject to place, for the objects to read, and for the values of charts.

    The field ``name`` of a command describes its subject.
    """

    heading: ClassVar[str] = INPUT

    name: Name = None
    more: More = None
    files: cluster_input.Files = None
    namespace: cluster_input.Namespace = None

    @property
    def namespace_name(self) -> str | None:
        """Return the namespace without the equals sign of ``-n=ml``."""
        return self.namespace and self.namespace.removeprefix("=")

    @property
    def all_files(self) -> list[str]:
        """Return the files of ``-f``, and the files among the arguments."""
        return [*(self.files or []), *(self.more or [])]
