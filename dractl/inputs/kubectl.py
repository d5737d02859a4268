"""kubectl as a subprocess: dractl can read whatever kubectl can log in to.

It only gets and shows objects, and never changes one. The Python client is not used, since it takes
200 ms to import, and since kubectl handles login plug-ins.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct

from dractl.errors import InputError
from dractl.model.go import unquote
from dractl.program import program_name
from dractl.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

_TIMEOUT_SECONDS = 50
"""The time limit of each kubectl, which normally gives up earlier because of --request-timeout."""
_MAX_PROCESSES = 6
_PROGRESS_SECONDS = 3
"""The time after which progress shows the last message of a kubectl that is still running."""
_MAX_ERROR_BYTES = 1 << 16
_MAX_MESSAGE_CHARS = 240
"""The length up to which an error is shown in full."""
WRAPPER_HINT = "is the kubectl on PATH a wrapper? kubectl itself prints whole lists"
_REACHABILITY_HINT = "is the cluster reachable? try: kubectl get nodes"
# k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage
_FORBIDDEN_LIST = re.compile(
    r'User "(?P<user>(?:[^"\\]|\\.)*)" cannot list resource "(?P<resource>[^"]+)"'
)
_UNKNOWN_TYPE = ("doesn't have a resource type", "the server could not find the requested resource")
_LOG_LINE = re.compile(r"[EWI]\d{4} |Warning: ")
"""The start of klog's lines, and of warnings of the API server."""
_ERROR_CODE = 1
"""k8s.io/kubectl pkg/cmd/util/helpers.go DefaultErrorExitCode. Another code comes from a signal or
from a wrapper around kubectl.
"""
_TIMEOUT_OPTION = "--request-timeout=30s"
_LIMIT_OPTIONS = ("--chunk-size=500", _TIMEOUT_OPTION)
"""--ignore-not-found is not used: with it, kubectl prints nothing in place of an empty list
(k8s.io/kubectl pkg/cmd/get/get.go printGeneric), so a broken kubectl could not be noticed.
"""


class Login(Struct, frozen=True):
    """The cluster to query, and the user for the query; None leaves the choice to kubectl.

    The fields are kubectl's ``--context``, ``--kubeconfig``, ``--as`` and ``--as-group``.
    """

    context: str | None = None
    kubeconfig: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The arguments for kubectl."""
        chosen = [
            ("--context", self.context),
            ("--kubeconfig", self.kubeconfig),
            ("--as", self.user),
        ]
        chosen += [("--as-group", group) for group in self.groups]
        return [word for option, value in chosen if value for word in (option, value)]


class KubectlResult(Struct, frozen=True):
    """Exit code and output of one kubectl."""

    code: int
    output: bytes
    errors: str

    @property
    def is_forbidden(self) -> bool:
        """True if the API server refused to show something."""
        return self.code != 0 and "Forbidden" in self.errors

    @property
    def refused_resources(self) -> frozenset[str]:
        """The resources (plural, without their group) that the API server refused to list.

        It is empty if anything else failed. After refusals alone, kubectl has printed all other
        resources. Lines that are no errors, such as those of a login helper, do not count.
        """
        lines = _lines_without_logs(self.errors)
        matches = [
            _FORBIDDEN_LIST.search(line) for line in lines if line.startswith(_ERROR_PREFIXES)
        ]
        has_crashed = any(line.startswith(_CRASH_PREFIXES) for line in lines)
        if self.code != _ERROR_CODE or has_crashed or not all(matches):
            return frozenset()
        return frozenset(match["resource"] for match in matches if match is not None)

    @property
    def user(self) -> str:
        """The user whom the API server refused."""
        match = _FORBIDDEN_LIST.search(self.errors)
        return "" if match is None else unquote(match["user"])

    @property
    def is_unknown_type(self) -> bool:
        """True if the server does not have the resource.

        Either kubectl or the server reports this: kubectl caches a server's list of resources for
        hours, and asks for a resource that the server has no longer.
        """
        return self.code != 0 and any(words in self.errors for words in _UNKNOWN_TYPE)

    def is_answer(self, resources: Collection[str]) -> bool:
        """Return True if the API server listed or refused each of ``resources`` (plural)."""
        refused = self.refused_resources
        if self.code == 0 or not refused:
            return self.code == 0
        return bool(self.output.strip()) or refused.issuperset(resources)


class _Processes:
    """The kubectl processes that run side by side."""

    def __init__(self, login: Login, timeout_seconds: float) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise InputError(
                "kubectl is not on PATH",
                hint=f"install kubectl, or explain a dump: {program_name()} explain -f dump.yaml",
            )
        self._command = [program, *login.arguments]
        self._timeout_seconds = timeout_seconds
        self._running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        self._is_ended = False
        # Without this lock, Ctrl-C would miss a kubectl that a thread is just starting.
        self._lock = threading.Lock()

    def run(self, command: Sequence[str]) -> KubectlResult:
        """Run one kubectl to its end. Raises InputError if it takes too long."""
        # Files are used instead of pipes, since a login helper that outlives its kubectl would keep
        # a pipe open. A separate session makes helpers end with the kubectl that started them.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = self._start(command, output, errors)
            try:
                process.wait(self._timeout_seconds)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise _timeout_error(_read_errors(errors), self._timeout_seconds) from None
            output.seek(0)
            text = _read_errors(errors)
            # A wrapper may hide the exit code.
            hides_error = process.returncode == 0 and any(
                line.startswith(_SERVER_PREFIX) for line in _message_lines(text)
            )
            code = _ERROR_CODE if hides_error else process.returncode
            return KubectlResult(code, output.read(), text)

    def _start(
        self, command: Sequence[str], output: IO[bytes], errors: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_ended:
                raise InputError("kubectl was not started, since another one failed")
            process = _start([*self._command, *command], output, errors)
            self._running.append((process, errors))
            return process

    def last_message(self) -> str:
        """Return the last message of a kubectl that is still running, "" if there is none."""
        messages = [
            _last_line(_read_errors(errors))
            for process, errors in tuple(self._running)
            if process.returncode is None
        ]
        return max(messages, default="")

    def kill(self) -> None:
        """Kill all processes that are still running, and start no more."""
        with self._lock:
            self._is_ended = True
            for process, _ in self._running:
                _kill(process)


def run(
    login: Login,
    *commands: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
    timeout_seconds: float | None = None,
) -> list[KubectlResult]:
    """Run several kubectl processes in parallel, and return their results in order.

    ``progress`` gets the messages of a kubectl that takes long, such as where to log in. Raises
    InputError if kubectl is not on PATH or does not answer within ``timeout_seconds``.
    """
    processes = _Processes(login, _TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds)
    with _termination_raises(), ThreadPoolExecutor(_MAX_PROCESSES) as pool:
        try:
            calls = [pool.submit(processes.run, command) for command in commands]
            _wait_for(calls, processes, progress)
            return [call.result() for call in calls]
        except BaseException:  # a timeout, Ctrl-C, SIGTERM: the pool must not wait for the others
            pool.shutdown(wait=False, cancel_futures=True)
            processes.kill()
            raise


def _wait_for(
    calls: Collection[Future[KubectlResult]], processes: _Processes, progress: Callable[[str], None]
) -> None:
    """Wait for all calls, and raise the first error among them."""
    started = time.monotonic()
    pending = calls
    while pending:
        done, pending = wait(pending, _PROGRESS_SECONDS, FIRST_EXCEPTION)
        for call in done:
            call.result()
        if pending and not done:
            message = processes.last_message()
            silence = f"waiting for kubectl ({time.monotonic() - started:.0f} s)"
            progress(f"kubectl says: {message}" if message else silence)


def _start(command: Sequence[str], output: IO[bytes], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
    except OSError as error:  # another machine's format, no interpreter, no memory
        raise InputError(
            f"{command[0]} cannot be started: {error.strerror}",
            hint="is it the kubectl for this machine? try: kubectl version --client",
        ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a kubectl and the programs that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _termination_raises() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that no kubectl is left running."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    ):
        yield
        return

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _read_errors(errors: IO[bytes]) -> str:
    """Return the text that a kubectl has written to standard error so far.

    The position of the file is shared with the program, so it is not moved.
    """
    try:
        return os.pread(errors.fileno(), _MAX_ERROR_BYTES, 0).decode(errors="replace")
    except ValueError:  # the file has been closed meanwhile
        return ""


def _message_lines(errors: str) -> list[str]:
    """Return the lines that are not log lines, without secrets."""
    return _lines_without_logs(redact(errors))


def _lines_without_logs(errors: str) -> list[str]:
    lines = errors.splitlines()
    return [line.strip() for line in lines if line.strip() and not _LOG_LINE.match(line)]


def _last_line(errors: str) -> str:
    return (_message_lines(errors) or [""])[-1]


def _timeout_error(errors: str, limit: float) -> InputError:
    message = _last_line(errors)
    return InputError(
        f"kubectl did not answer within {limit:g} seconds"
        + (f"; it says: {message}" if message else ""),
        hint="log in first, for example with kubectl get nodes" if message else _REACHABILITY_HINT,
    )


def build_get(resources: str, scope: str | None = None, *options: str) -> list[str]:
    """Build a ``get`` of one or several resources (``nodes,pods``).

    It reads the namespace ``scope``, or all namespaces if there is none.
    """
    scope_options = ["-n", scope] if scope else ["--all-namespaces"]
    return ["get", resources, *scope_options, "-o", "json", *_LIMIT_OPTIONS, *options]


def parse_list(
    resources: str, result: KubectlResult, kinds: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Parse the objects that a ``get`` printed.

    Raises InputError if the output is not a whole list, or if ``kinds`` is given and an object is
    of another kind.
    """
    if not result.output.strip():
        if result.refused_resources:
            return []
        raise InputError(
            f"kubectl get {resources} printed nothing, not even an empty list", hint=WRAPPER_HINT
        )
    try:
        value = json.loads(result.output)
    except (ValueError, RecursionError) as error:
        raise InputError(f"kubectl get {resources} did not print JSON: {error}") from error
    kind = value.get("kind") if isinstance(value, dict) else None
    objects = value.get("items") if isinstance(value, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(objects, list)):
        description = f"kind {kind}" if isinstance(kind, str) else "something else"
        raise InputError(
            f"kubectl get {resources} did not print a list of objects, but"
            f" {description[:_MAX_MESSAGE_CHARS]}"
            + ("" if isinstance(objects, list) else ", without a list of items"),
            hint=WRAPPER_HINT,
        )
    if not all(map(_is_object, objects)):
        raise InputError(
            f"kubectl get {resources} printed a list with items that are no objects",
            hint=WRAPPER_HINT,
        )
    printed_kinds = [item["kind"] for item in objects]
    printed_kinds += filter(None, [kind.removesuffix("List")])
    foreign_kind = next((name for name in printed_kinds if kinds and name not in kinds), None)
    if foreign_kind is not None:
        raise InputError(
            f"kubectl get {resources} printed a list of kind {foreign_kind[:_MAX_MESSAGE_CHARS]}",
            hint=WRAPPER_HINT,
        )
    if not is_whole_list(value):
        raise InputError(
            f"kubectl get {resources} printed only a part of the list (metadata.continue)",
            hint=WRAPPER_HINT,
        )
    return objects


def _is_object(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return (
        isinstance(metadata, dict)
        and isinstance(metadata.get("name"), str)
        and isinstance(item.get("kind"), str)
    )


def is_whole_list(value: dict[str, Any]) -> bool:
    """Return False for a page of a list, which has ListMeta.continue (k8s.io/apimachinery
    meta/v1).
    """
    metadata = value.get("metadata")
    return not (isinstance(metadata, dict) and metadata.get("continue"))


def list_objects(resource: str, login: Login | None = None) -> list[dict[str, Any]]:
    """Read all objects of a resource in the whole cluster. Raises InputError if that fails."""
    (result,) = run(login or Login(), build_get(resource))
    if result.code != 0:
        raise command_error(f"read {resource.partition('.')[0]}", result)
    return parse_list(resource, result)


def list_served_resources(group: str, version: str) -> frozenset[str]:
    """Return the resources that the API server serves in a version of a group, or none."""
    (result,) = run(Login(), ["get", "--raw", f"/apis/{group}/{version}", _TIMEOUT_OPTION])
    if result.code != 0:
        if "NotFound" in result.errors or "could not find the requested resource" in result.errors:
            return frozenset()
        raise command_error(f"read what the API server serves in {group}/{version}", result)
    try:
        value = json.loads(result.output)
    except (ValueError, RecursionError) as error:
        raise InputError(f"kubectl get --raw did not print JSON: {error}") from error
    resources = value.get("resources") if isinstance(value, dict) else None
    if not isinstance(resources, list) or not all(isinstance(item, dict) for item in resources):
        raise InputError(
            f"kubectl get --raw did not print what is served in {group}/{version}",
            hint=WRAPPER_HINT,
        )
    return frozenset(str(item.get("name")) for item in resources)


def list_served_names(login: Login) -> tuple[str, ...]:
    """Return the names of all listable resources that the API server serves (``jobs.batch``).

    The result is empty if kubectl fails: it prints only a part if an aggregated server is down.
    """
    (result,) = run(login, ["api-resources", "-o", "name", "--verbs=get,list", _TIMEOUT_OPTION])
    return tuple(result.output.decode(errors="replace").split()) if result.code == 0 else ()


_LOGIN_FAILURE = "getting credentials"  # k8s.io/client-go plugin/pkg/client/auth/exec
_CONNECTION_HINTS = (
    (
        "proxyconnect",
        "the proxy cannot be reached: are HTTPS_PROXY and proxy-url of the kubeconfig right?",
    ),
    (
        "localhost:8080",
        (
            "no kubeconfig was found: set KUBECONFIG or --kubeconfig, or name a file in place of"
            " the cluster"
        ),
    ),
    ("connection refused", "is the cluster running, and is the address in the kubeconfig right?"),
    ("was refused", "is the cluster running, and is the address in the kubeconfig right?"),
    ("no such host", "the server name in the kubeconfig cannot be resolved"),
    ("i/o timeout", "the server does not answer: is the VPN up?"),
    ("Client.Timeout", "the server does not answer in time: is the VPN up?"),
    ("TLS handshake timeout", "the server does not answer in time"),
    (
        "must be logged in",
        "the login has expired or is missing: log in again, then try kubectl get nodes",
    ),
    (
        "Unauthorized",
        "the login has expired or is missing: log in again, then try kubectl get nodes",
    ),
    ("certificate has expired", "the certificate in the kubeconfig has expired: get a new one"),
    ("x509", "the kubeconfig does not trust the server's certificate"),
    (_LOGIN_FAILURE, "log in first, for example with kubectl get nodes"),
    (
        "no configuration has been provided",
        "set KUBECONFIG or --kubeconfig, or name a file in place of the cluster",
    ),
    ("error loading config file", "kubectl config view shows what it reads"),
    ("does not exist", "kubectl config get-contexts lists the contexts"),
    ("no such file or directory", "is the path in KUBECONFIG or --kubeconfig right?"),
)


def is_unreachable(errors: str) -> bool:
    """Return True if kubectl could not reach the cluster, or could not log in."""
    return any(mark in errors for mark, _ in _CONNECTION_HINTS)


def command_error(task: str, result: KubectlResult) -> InputError:
    """Make one clear error of kubectl's standard error, including the message of a login
    program.
    """
    if result.code < 0:
        return InputError(
            f"kubectl cannot {task}: it was ended by signal {-result.code}"
            f" ({_signal_name(-result.code)})"
        )
    errors = result.errors
    lines = _message_lines(errors) or [line.strip() for line in errors.splitlines() if line.strip()]
    if not lines:
        return InputError(
            f"kubectl cannot {task}: it ended with code {result.code}, without a message"
        )
    reason = _failure_reason(lines)
    words = next(
        (line for line in reversed(lines[:-1]) if _LOGIN_FAILURE in reason and line != lines[-1]),
        "",
    )
    hint = next((hint for mark, hint in _CONNECTION_HINTS if mark in errors), None)
    message = f"{reason}. It says: {words}" if words else reason
    message = (
        message
        if len(message) <= 2 * _MAX_MESSAGE_CHARS
        else f"{message[: 2 * _MAX_MESSAGE_CHARS]} ..."
    )
    return InputError(f"kubectl cannot {task}: {message}", hint=hint)


def _failure_reason(lines: Sequence[str]) -> str:
    """Return all lines of a short message, or else the line with the reason."""
    page_title = next((match["title"] for line in lines if (match := _TITLE.search(line))), None)
    if page_title is not None or any(
        line.lower().startswith(("<html", "<!doctype")) for line in lines
    ):
        return (
            "a proxy or gateway answered with a page of"
            f" HTML{f' ({page_title.strip()})' if page_title else ''}"
        )
    crash = next((line for line in lines if line.startswith(_CRASH_PREFIXES)), None)
    if crash is not None:
        return crash
    messages = [line for line in lines if not line.startswith(_USAGE_PREFIXES)] or list(lines)
    if _LOGIN_FAILURE in messages[-1]:
        return _strip_prefix(messages[-1])
    errors = [line for line in messages if line.startswith(_ERROR_PREFIXES)]
    if len(errors) == 1 and len(messages) > 1 and sum(map(len, messages)) > _MAX_MESSAGE_CHARS:
        return _strip_prefix(errors[0])
    return (
        " ".join(map(_strip_prefix, dict.fromkeys(messages)))
        if sum(map(len, messages)) <= _MAX_MESSAGE_CHARS
        else _strip_prefix((errors or messages)[-1])
    )


def _strip_prefix(line: str) -> str:
    return line.removeprefix("error: ").removeprefix("Error from server ").removeprefix("Error: ")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


_TITLE = re.compile(r"<title>(?P<title>[^<]{1,120})", re.IGNORECASE)
_CRASH_PREFIXES = ("panic:", "fatal error:", "runtime:", "Segmentation fault")
"""Lines of the Go runtime that precede its stacks."""
_SERVER_PREFIX = "Error from server"
_ERROR_PREFIXES = ("error: ", _SERVER_PREFIX, "Error: ", "Unable to connect")
"""k8s.io/kubectl pkg/cmd/util/helpers.go."""
_USAGE_PREFIXES = ("See 'kubectl", "Usage:", "Examples:", "Options:")
