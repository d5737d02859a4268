"""Where the scripts ``dractl`` and ``kubectl-dra`` start: nothing is imported before Ctrl-C is seen to."""

from dractl.interrupts import leave_on_interrupt


def run() -> None:
    """Runs the command line of the process, and does not return."""
    leave_on_interrupt()
    from dractl.cli import main

    main.run()


if __name__ == "__main__":
    run()
