"""``dractl version``: the program's version, and with ``-v`` what it knows."""

from dractl.cli import common
from dractl.cli.app import version_text
from dractl.cli.options.printing import Printing


def command(printing: Printing = Printing()) -> None:
    """Print the version, like `dractl --version`; with -v the releases and the facts that dractl
    knows.
    """
    printing.apply()
    common.write_report(version_text(bool(printing.verbose)), printing.output_file)
