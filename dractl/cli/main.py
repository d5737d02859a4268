"""The entry points: parse arguments, run a subcommand, and turn every error into one message and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from dractl.errors import DractlError

FAILED = 3
INTERRUPTED = 130
_NEW_OBJECTS = 100_000  # how many more there are before garbage is looked for; lint of one file makes 41,000


def program_name() -> str:
    """How dractl was called: ``dractl``, or ``kubectl dra`` when kubectl runs it as its plug-in."""
    name = os.path.basename(sys.argv[0])
    return "kubectl dra" if name.startswith(("kubectl-dra", "kubectl_complete-dra")) else "dractl"


def run() -> NoReturn:
    """The scripts ``dractl`` and ``kubectl-dra``.

    What a short run makes (modules, classes, patterns, schemas) lives until its end, so looking for garbage among it is
    in vain, but would take a sixth of the time of ``dractl lint one.yaml``: Python looks every 700 new objects, and
    through all of them at exit. It still looks while a long run makes many.
    """
    gc.set_threshold(_NEW_OBJECTS)
    code = main()
    gc.freeze()
    sys.exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code; never raises for anything that a user can cause.

    ``DRACTL_TRACEBACK=1`` lets an internal error end in its traceback, for a bug report.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        from dractl import __version__

        print(f"dractl {__version__}")  # asked by scripts at every run: not worth the import of the whole command line
        return 0

    import typer

    from dractl.cli import terminal
    from dractl.cli.app import command_line

    terminal.prepare_streams()
    try:
        code = command_line(words[0] if words else None).main(words, prog_name=program_name(), standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        terminal.complain(error.format_message(), hint=f"see `{context.command_path} --help`" if context else None)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        terminal.complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the pipe has seen enough (`dractl lint . | head`); Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except DractlError as error:
        terminal.complain(str(error), hint=error.hint)
        return error.exit_code
    except RecursionError:
        terminal.complain("the input is nested too deeply")
        return FAILED
    except MemoryError:
        terminal.complain("the input does not fit into memory")
        return FAILED
    except Exception as error:
        if os.environ.get("DRACTL_TRACEBACK"):
            raise
        terminal.complain(
            f"internal error: {type(error).__name__}: {error}",
            hint="this is a bug of dractl; please report what it prints with DRACTL_TRACEBACK=1",
        )
        return FAILED
    return code if isinstance(code, int) else 0


def complete_for_kubectl() -> NoReturn:
    """The script ``kubectl_complete-dra``: kubectl passes the words that follow ``kubectl dra`` and reads candidates,
    one a line, and a last line with cobra's directive (4: no file names; 0: the shell may offer them)."""
    from dractl.cli.completion import candidates

    words = sys.argv[1:]
    found = candidates(words[:-1], words[-1] if words else "")
    print("\n".join([*found, ":4" if found else ":0"]))
    sys.exit(0)
