"""Options that choose where and how a subcommand prints."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

from typer import Option

from dractl.cli import completing, terminal
from dractl.cli.headings import OUTPUT, TOOLS, OptionGroup
from dractl.errors import UsageError

Quiet = Annotated[
    bool, Option("--quiet", "-q", help="Print no notices and no progress on standard error.")
]
Verbose = Annotated[int, Option("--verbose", "-v", count=True, help="Show more; repeatable.")]
ExitZero = Annotated[
    bool, Option("--exit-zero", help="Exit with 0 whatever the answer.", rich_help_panel=TOOLS)
]
COLORS = ("auto", "always", "never")
Color = Annotated[
    str,
    Option(
        "--color",
        metavar="WHEN",
        help="auto, always or never. NO_COLOR and FORCE_COLOR are honoured.",
        autocompletion=completing.offer_words(*COLORS),
    ),
]
OutputFile = Annotated[
    Path | None,
    Option(
        "--output-file", metavar="FILE", help="Write the report to FILE instead of standard output."
    ),
]


class Printing(OptionGroup, frozen=True):
    """The place and the form of a subcommand's output. Each subcommand takes all these options,
    even if ``-v`` shows no more than without it.
    """

    heading: ClassVar[str] = OUTPUT

    output_file: OutputFile = None
    quiet: Quiet = False
    verbose: Verbose = 0
    color: Color = "auto"

    @property
    def to_file(self) -> bool:
        """Return True if the report goes to a file."""
        return self.output_file is not None

    def apply(self) -> None:
        """Apply ``--color`` and ``--quiet`` to this run."""
        if self.color not in COLORS:
            raise UsageError(f"--color must be auto, always or never, not {self.color!r}")
        terminal.choose_color(self.color)  # type: ignore[arg-type]
        terminal.be_quiet(self.quiet)


def output_option(formats: tuple[str, ...]) -> Any:
    """Make the option ``--output`` of a subcommand that prints one of ``formats``."""
    offer = completing.offer_words(*formats)
    return Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help=f"{', '.join(formats)}.",
        autocompletion=offer,
        rich_help_panel=OUTPUT,
    )
