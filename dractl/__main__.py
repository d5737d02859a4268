"""The entry point of ``dractl`` and ``kubectl-dra``. Handles Ctrl-C and garbage, and chooses the
pack of facts, before anything else is imported.
"""

import os
import sys
from contextlib import suppress

from dractl.garbage import collect_rarely
from dractl.interrupts import leave_on_interrupt


def run() -> None:
    """Run the command line of the process, and end the process."""
    leave_on_interrupt()
    collect_rarely()
    from dractl import facts
    from dractl.errors import UsageError
    from dractl.facts.words import pack_option

    with suppress(UsageError):  # the command line chooses the pack again, and reports the error
        facts.use(pack_option(sys.argv[1:], os.environ))
    from dractl.cli import main

    main.run()


if __name__ == "__main__":
    run()
