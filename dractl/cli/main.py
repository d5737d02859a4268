"""The entry points: parse arguments, run a subcommand, and turn every error into one message and an
exit code.
"""

import errno
import os
import shlex
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import NoReturn

import typer

from dractl import facts
from dractl.cli import terminal
from dractl.cli.app import command_line
from dractl.errors import DractlError
from dractl.facts.words import pack_option
from dractl.interrupts import INTERRUPTED, leave_on_interrupt
from dractl.program import DRACTL, KUBECTL_DRA, call_program, program_name

FAILED = 3
_COMPLETION_VARIABLE = "_DRACTL_COMPLETE"
"""The variable in which the scripts of completions/ name their request."""
_UNWRITABLE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)


def _program_as_called() -> str:
    """Return the command as typed: ``dractl``, or ``kubectl dra`` if kubectl runs it as a
    plug-in.
    """
    script = os.path.basename(sys.argv[0])
    return KUBECTL_DRA if script.startswith(("kubectl-dra", "kubectl_complete-dra")) else DRACTL


def run() -> NoReturn:
    """Run the scripts ``dractl`` and ``kubectl-dra``.

    At the end objects are left to the kernel, as mypy leaves its own (mypy/util.py hard_exit),
    instead of being freed one by one.
    """
    leave_on_interrupt()
    code = main()
    leave_on_interrupt()
    with suppress(OSError):  # nobody reads standard error
        sys.stderr.flush()
    os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; never raise for anything that a user can
    cause.

    ``DRACTL_TRACEBACK=1`` lets an internal error end in its traceback, for a bug report.
    """
    words = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    try:
        code = _run_command(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has closed it (`dractl lint . | head`).
        _discard_output()
        return 0
    except OSError as error:
        if not _is_output_error(error):
            raise
        _discard_output()
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        terminal.print_error(f"cannot write to standard output: {why}")
        return FAILED
    return code


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed (`>&-`), which are None in Python.

    Reading from such a stream finds nothing, and writing to it fails with EBADF: it is /dev/null,
    opened for reading.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _is_output_error(error: Exception) -> bool:
    """Return True if standard output cannot be written.

    Errors of files have the file's name and are reported where they occur.
    """
    return (
        isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE_ERRORS
    )


def _discard_output() -> None:
    """Discard pending output: Python would try to write it once more at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(words: list[str]) -> int:
    """Run one command line. Raises OSError if standard output cannot be written."""
    call_program(_program_as_called(), words)
    terminal.prepare_streams()
    terminal.forget_asides()
    terminal.renew_patience()
    try:
        for remark in facts.use(pack_option(words, os.environ)):
            terminal.notice(remark)
        code = _invoke(words)
        terminal.print_asides()
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        terminal.print_error(
            error.format_message(), hint=f"see `{context.command_path} --help`" if context else None
        )
        return error.exit_code
    except KeyboardInterrupt:
        terminal.print_error("interrupted")
        return INTERRUPTED
    except DractlError as error:
        terminal.print_error(str(error), hint=error.hint)
        return error.exit_code
    except RecursionError:
        terminal.print_error("the input is nested too deeply")
        return FAILED
    except MemoryError:
        terminal.print_error("the input does not fit into memory")
        return FAILED
    except BrokenPipeError:  # the reader is gone
        raise
    except Exception as error:
        if os.environ.get("DRACTL_TRACEBACK") or _is_output_error(error):
            raise
        # Only os.getcwd raises this error without a file name but with a number.
        if (
            isinstance(error, FileNotFoundError)
            and error.filename is None
            and error.errno == errno.ENOENT
        ):
            terminal.print_error("the working directory is gone", hint="cd to a folder that exists")
            return FAILED
        if isinstance(error, ImportError) and not (error.name or "").startswith("dractl"):
            terminal.print_error(
                f"a package cannot be loaded: {error}",
                hint=f"install dractl again, for this Python: {sys.executable}",
            )
            return FAILED
        terminal.print_error(
            f"internal error: {type(error).__name__}: {error}",
            hint="this is a bug in dractl; please report it with the output of DRACTL_TRACEBACK=1",
        )
        return FAILED
    return code if isinstance(code, int) else 0


def _invoke(words: list[str]) -> object:
    """Run the subcommand, and return its exit code if that is a number."""
    group = command_line()
    if _COMPLETION_VARIABLE in os.environ:
        os.environ["COLUMNS"] = (
            # Typer would wrap a description, and the shell would offer its second line as a value
            "1000"
        )
        group.main(words, prog_name="dractl", complete_var=_COMPLETION_VARIABLE)
    # group.main is not used, since it handles interrupts and closed pipes in its own way
    try:
        with group.make_context(program_name(), list(words)) as context:
            return group.invoke(context)
    except typer.Exit as done:
        return done.exit_code


def complete_for_kubectl() -> NoReturn:
    """Run the script ``kubectl_complete-dra``.

    kubectl passes the words that follow ``kubectl dra`` and reads candidates, one per line, and a
    last line with cobra's directive (4: no file names; 0: the shell may offer them).
    """
    words = sys.argv[1:] or [""]
    line = {
        "COMP_WORDS": shlex.join(["dractl", *words]),
        "COMP_CWORD": str(len(words)),
        _COMPLETION_VARIABLE: "complete_bash",
    }
    os.environ.update(line)
    with redirect_stdout(StringIO()) as output, suppress(SystemExit):
        _invoke(words)
    candidates = output.getvalue().split()
    print("\n".join([*candidates, ":4" if candidates else ":0"]))
    sys.exit(0)
