"""``dractl version``: the program's version, and with ``-v`` what it knows."""

from dractl.cli import common
from dractl.cli.app import version_text


def command(
    output_file: common.OutputFile = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,
    color: common.Color = "auto",
) -> None:
    """Print the version, like `dractl --version`; with -v the releases and the facts that dractl knows."""
    common.settle(color, quiet)
    common.write_report(version_text(bool(verbose)), output_file)
