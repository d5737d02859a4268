"""Runs a program on files from strangers: with a clean environment, without a network, and within
limits.

The files that the program renders may come from a pull request. On every platform, the program has
an empty home, a search path without other programs, proxies that lead nowhere, limits of time and
output, and none of the user's variables. On Linux it also has a limit of memory and, if the kernel
lets users make namespaces, a network of its own that has no devices.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from threading import Event, Thread, Timer
from typing import IO

from msgspec import Struct

from dractl.model.go import unquote
from dractl.redaction import redact

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_MIB = 2**20
_UNREACHABLE_PROXY = "http://127.0.0.1:9"
_MAX_ERROR_BYTES = _MIB
_MAX_ERROR_CHARACTERS = 300
_LOGGED_ERROR = re.compile(r'(?m)^E\d{4} [^\n]*\] "command failed" err="((?:[^"\\\n]|\\.)*)"$')
_MAX_FIRST_LINE = 256
_SCRIPT = re.compile(rb"#!\s*/usr/bin/env\s+([\w.-]+)\s*$", re.MULTILINE)
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory")
"""Messages of a Go program that has reached its limit of memory (runtime/malloc.go,
runtime/mem_linux.go).
"""


class Limits(Struct, frozen=True):
    """The most that a program may use."""

    seconds: float = 30
    """Wall-clock time."""
    memory: int = 1024 * _MIB
    """Bytes of memory."""
    output: int = 64 * _MIB
    """Bytes of standard output."""


LIMITS = Limits()


class Completion(Struct, frozen=True):
    """The result of a program that has ended."""

    output: bytes | None
    """Standard output, or None if the program failed."""
    problem: str | None = None
    """The reason for a failure."""
    is_timeout: bool = False
    """The program was killed because it took too long."""


def identify(program: str) -> bytes:
    """Return a value that changes when a program is replaced by another version."""
    try:
        status = os.stat(program)
    except OSError:
        return os.fsencode(program)
    return os.fsencode(f"{program} {status.st_size} {status.st_mtime_ns}")


def run(command: Sequence[str], home: str, limits: Limits) -> Completion:
    """Run a program that may read and write in ``home``, its folder of temporary files."""
    name = " ".join([os.path.basename(command[0]), command[1]])
    bin_folder = os.path.join(home, "bin")
    os.makedirs(bin_folder, exist_ok=True)
    _link_interpreter(command[0], bin_folder)
    try:
        process = subprocess.Popen(
            [*_network_isolation(), *command],
            env=_environment(home, bin_folder),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return Completion(None, f"{name} cannot be run: {error.strerror}")
    _restrict(process.pid, limits)
    return _await(process, name, limits)


def _link_interpreter(program: str, bin_folder: str) -> None:
    """Link the interpreter of a script that begins with ``#!/usr/bin/env NAME``, such as the
    wrapper of a version manager. The search path of the script has no other program.
    """
    try:
        with open(program, "rb") as file:
            match = _SCRIPT.match(file.read(_MAX_FIRST_LINE))
    except OSError:
        return
    name = os.fsdecode(match[1]) if match else ""
    interpreter = shutil.which(name) if name else None
    if interpreter is not None:
        with suppress(OSError):
            os.symlink(interpreter, os.path.join(bin_folder, name))


def _environment(home: str, bin_folder: str) -> dict[str, str]:
    """Return the complete environment of a program, which inherits no variable of the user."""
    return {
        "HOME": home,
        "TMPDIR": home,
        "PATH": bin_folder,  # the folder has at most the interpreter of a script
        "LANG": "C.UTF-8",
        "HELM_NO_PLUGINS": "1",
        "KUBECONFIG": os.devnull,  # some versions of kubectl first ask the cluster for its version
        "GIT_ALLOW_PROTOCOL": "none",
        **dict.fromkeys(
            ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _UNREACHABLE_PROXY
        ),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
    }


@cache
def _network_isolation() -> tuple[str, ...]:
    """Return the command that runs another command in a network without devices; empty if that is
    not possible.

    The command is util-linux's unshare(1). Many containers forbid user namespaces.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    command = (unshare, "--map-root-user", "--net", "--")
    try:
        trial = subprocess.run(
            [*command, unshare, "--version"], capture_output=True, check=False, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return command if trial.returncode == 0 else ()


def _restrict(pid: int, limits: Limits) -> None:
    """Limit the resources of a process that has just started, if the platform supports it
    (Linux).
    """
    if resource is None or not hasattr(resource, "prlimit"):
        return
    # Processor time of all its threads: this ends an endless loop even if dractl itself is killed
    # before.
    seconds = int(limits.seconds * 4) + 1
    bounds = {
        # Go reserves far more addresses than it uses, so RLIMIT_AS would be no useful limit.
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: limits.output,
        resource.RLIMIT_CORE: 0,
    }
    for kind, bound in bounds.items():
        try:
            resource.prlimit(pid, kind, (bound, bound))
        except (OSError, ValueError):
            continue  # the process has ended already, or has a lower limit


def _await(process: subprocess.Popen[bytes], name: str, limits: Limits) -> Completion:
    """Wait for a program, and kill it when it reaches a limit."""
    expiry = Event()

    def expire() -> None:
        expiry.set()
        process.kill()

    streams: dict[str, bytes] = {}
    timer = Timer(limits.seconds, expire)
    reader = Thread(target=_drain, args=(process, "stderr", _MAX_ERROR_BYTES, streams))
    timer.start()
    reader.start()
    try:
        _drain(process, "stdout", limits.output, streams)
        reader.join()
        process.wait()
    finally:
        process.kill()
        timer.cancel()
        timer.join()
    if expiry.is_set():
        problem = f"{name} took longer than {limits.seconds:g} seconds"
        return Completion(None, problem, is_timeout=True)
    if len(streams["stdout"]) > limits.output:
        return Completion(None, f"{name} printed more than {limits.output // _MIB} MiB")
    if process.returncode == 0:
        return Completion(streams["stdout"])
    text = streams["stderr"].decode("utf-8", "replace")
    if any(words in text for words in _OUT_OF_MEMORY):
        return Completion(None, f"{name} needs more than {limits.memory // _MIB} MiB of memory")
    reason = _error_line(text) or f"exit code {process.returncode}"
    return Completion(None, f"{name} failed: {redact(reason)}")


def _drain(
    process: subprocess.Popen[bytes], name: str, limit: int, streams: dict[str, bytes]
) -> None:
    """Read a stream to its end; if it reaches the limit, kill the program."""
    stream: IO[bytes] = getattr(process, name)
    with stream:
        streams[name] = stream.read(limit + 1)
    if len(streams[name]) > limit:
        process.kill()


def _error_line(text: str) -> str:
    """Return a program's error message in one line, from its first ``Error:`` on, without warnings
    and advice. A long message keeps its beginning and its end, since a wrapped error in Go ends
    with its cause. Log lines of kubectl lose their time and number, which differ in each run
    (k8s.io/klog).
    """
    logged = _LOGGED_ERROR.search(text)
    if logged is not None:
        text = unquote(logged[1])
    start = max(text.lower().find("error:"), 0)
    lines = [
        line.strip()
        for line in text[start:].splitlines()
        if not line.startswith(("Use --debug", "# Warning"))
    ]
    joined = " ".join(line for line in lines if line)
    if len(joined) <= _MAX_ERROR_CHARACTERS:
        return joined
    half = _MAX_ERROR_CHARACTERS // 2
    return f"{joined[:half]} ... {joined[-half:]}"
