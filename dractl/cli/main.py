"""The entry points: parse arguments, run a subcommand, and turn every error into one message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from dractl.errors import DractlError

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
FAILED = 3


def program_name() -> str:
    """How dractl was called: ``dractl``, or ``kubectl dra`` when kubectl runs it as its plug-in."""
    name = os.path.basename(sys.argv[0])
    return "kubectl dra" if name.startswith(("kubectl-dra", "kubectl_complete-dra")) else "dractl"


def application() -> typer.Typer:
    """The whole command line."""
    from dractl.cli.app import app

    return app


def run() -> NoReturn:
    """The scripts ``dractl`` and ``kubectl-dra``."""
    sys.exit(main())


def main(arguments: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code; never raises for anything that a user can cause."""
    import click
    import typer.main

    from dractl.cli import terminal

    terminal.prepare_streams()
    command = typer.main.get_command(application())
    try:
        code = command.main(arguments, prog_name=program_name(), standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        terminal.complain(error.format_message(), hint=terminal.usage_hint(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has seen enough (`dractl lint . | head`). Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except DractlError as error:
        terminal.complain(str(error), hint=error.hint)
        return error.exit_code
    except RecursionError:
        terminal.complain("the input is nested too deeply")
        return FAILED
    except MemoryError:
        terminal.complain("out of memory")
        return FAILED
    except Exception as error:
        if os.environ.get("DRACTL_TRACEBACK"):
            raise
        terminal.complain(
            f"internal error: {type(error).__name__}: {error}",
            hint="this is a bug of dractl; run again with DRACTL_TRACEBACK=1 and report what it prints",
        )
        return FAILED
    return code if isinstance(code, int) else 0


def complete_for_kubectl() -> NoReturn:
    """The script ``kubectl_complete-dra``: kubectl passes the words after ``kubectl dra``; candidates and a directive go to stdout."""
    from dractl.cli.completion import kubectl_completions

    for line in kubectl_completions(sys.argv[1:]):
        print(line)
    print(":4")  # cobra's directive: no file completion
    sys.exit(0)
