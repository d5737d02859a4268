"""The entry point of ``dractl`` and ``kubectl-dra``. Handles Ctrl-C before anything else is imported."""

from dractl.interrupts import leave_on_interrupt


def run() -> None:
    """Runs the command line of the process, and does not return."""
    leave_on_interrupt()
    from dractl.cli import main

    main.run()


if __name__ == "__main__":
    run()
