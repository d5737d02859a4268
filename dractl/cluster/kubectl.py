"""kubectl as a subprocess: whatever kubectl can log in to, dractl can read. It only gets and shows, never changes.

The Python client is not used: it takes 200 ms to import, and login plug-ins are kubectl's business.
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
from dractl.program import program_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

_TIMEOUT = 50  # seconds for each kubectl; it gives up by itself after --request-timeout
_AT_ONCE = 6
_PATIENCE = 3  # seconds after which it is told what a kubectl says that still runs
_LONGEST = 1 << 16  # bytes of its standard error
_SHORT = 240  # characters of an error that are shown whole
WRAPPED = "is the kubectl on PATH a wrapper? kubectl itself prints whole lists"
_REACHABLE = "is the cluster reachable? try: kubectl get nodes"
# k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage
_REFUSED = re.compile(r'User "(?P<user>[^"]*)" cannot list resource "(?P<resource>[^"]+)"')
_LOG = re.compile(r"[EWI]\d{4} |Warning: ")  # klog's lines, and warnings of the API server
_SECRET = re.compile(r"\b(Bearer +|token=)[^\s\"',;]{8,}")  # what login helpers and -v=8 print
_FAILED = (
    1  # k8s.io/kubectl pkg/cmd/util/helpers.go DefaultErrorExitCode: no signal, no wrapper's code
)
_LIMITS = ("--chunk-size=500", "--request-timeout=30s", "--ignore-not-found")


class Login(Struct, frozen=True):
    """The cluster to ask, and as whom: kubectl's ``--context``, ``--kubeconfig``, ``--as`` and ``--as-group``. None
    leaves the choice to kubectl."""

    context: str | None = None
    kubeconfig: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The options of kubectl."""
        chosen = [
            ("--context", self.context),
            ("--kubeconfig", self.kubeconfig),
            ("--as", self.user),
        ]
        chosen += [("--as-group", group) for group in self.groups]
        return [word for option, value in chosen if value for word in (option, value)]


class Result(Struct, frozen=True):
    """Exit code and output of one kubectl."""

    code: int
    output: bytes
    errors: str

    @property
    def forbidden(self) -> bool:
        """True if the API server refused to show something."""
        return self.code != 0 and "Forbidden" in self.errors

    @property
    def refused(self) -> frozenset[str]:
        """The resources (plural, without their group) that the API server refused to list, if that is all that failed;
        kubectl has printed the others, and a login helper may have said something beside."""
        lines = _lines(self.errors)
        found = [_REFUSED.search(line) for line in lines if line.startswith(_ERRORS)]
        if (
            self.code != _FAILED
            or not all(found)
            or any(line.startswith(_CRASHES) for line in lines)
        ):
            return frozenset()
        return frozenset(match["resource"] for match in found if match is not None)

    @property
    def user(self) -> str:
        """The user whom the API server refused."""
        found = _REFUSED.search(self.errors)
        return "" if found is None else found["user"]

    @property
    def unknown_type(self) -> bool:
        """True if the server does not have the resource."""
        return self.code != 0 and "doesn't have a resource type" in self.errors


def run(
    login: Login,
    *commands: Sequence[str],
    tell: Callable[[str], None] = lambda _: None,
    patience: float | None = None,
) -> list[Result]:
    """Runs several kubectl side by side and returns their results in order. ``tell`` is called with what one says that
    takes long, such as where to log in.

    Raises InputError if kubectl is not on PATH or does not answer within ``patience`` seconds.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise InputError(
            "kubectl is not on PATH",
            hint=f"install kubectl, or explain a dump: {program_name()} explain -f dump.yaml",
        )
    limit = _TIMEOUT if patience is None else patience
    running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
    began = time.monotonic()

    def one(command: Sequence[str]) -> Result:
        # Files, no pipes: a login helper that outlives its kubectl keeps a pipe open. A session of its own: helpers end
        # with the kubectl that started them.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = _started([program, *login.arguments, *command], output, errors)
            running.append((process, errors))
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                _end(process)
                raise _no_answer(_written(errors), limit) from None
            output.seek(0)
            said = _written(errors)
            hidden = process.returncode == 0 and any(
                line.startswith(_SERVER) for line in _lines(said)
            )  # by a wrapper
            return Result(_FAILED if hidden else process.returncode, output.read(), said)

    with _termination_raises(), ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            calls = [pool.submit(one, command) for command in commands]
            left: Collection[Future[Result]] = calls
            while left:
                done, left = wait(left, _PATIENCE, FIRST_EXCEPTION)
                for call in done:
                    call.result()
                words = [
                    _last(_written(errors))
                    for process, errors in tuple(running)
                    if process.returncode is None
                ]
                if left and not done:
                    silent = f"waiting for kubectl ({time.monotonic() - began:.0f} s)"
                    tell(f"kubectl says: {max(words)}" if any(words) else silent)
            return [call.result() for call in calls]
        except BaseException:  # a timeout, Ctrl-C, SIGTERM: the pool must not wait for the others
            pool.shutdown(wait=False, cancel_futures=True)
            for process, _ in running:
                _end(process)
            raise


def _started(
    command: Sequence[str], output: IO[bytes], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
    except OSError as error:  # another machine's format, no interpreter, no memory
        raise InputError(
            f"{command[0]} cannot be started: {error.strerror}",
            hint="is it the kubectl for this machine? try: kubectl version --client",
        ) from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a kubectl and the programs that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _termination_raises() -> Iterator[None]:
    """SIGTERM raises SystemExit, so that no kubectl is left behind."""
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


def _written(errors: IO[bytes]) -> str:
    """The standard error of a kubectl so far. The file's position is the program's own: it is not moved."""
    try:
        return os.pread(errors.fileno(), _LONGEST, 0).decode(errors="replace")
    except ValueError:  # closed meanwhile
        return ""


def _lines(errors: str) -> list[str]:
    """The lines that are no log, without what logs in."""
    lines = _SECRET.sub(r"\1...", errors).splitlines()
    return [line.strip() for line in lines if line.strip() and not _LOG.match(line)]


def _last(errors: str) -> str:
    return (_lines(errors) or [""])[-1]


def _no_answer(errors: str, limit: float) -> InputError:
    said = _last(errors)
    return InputError(
        f"kubectl did not answer within {limit:g} seconds" + (f"; it says: {said}" if said else ""),
        hint="log in first, for example with kubectl get nodes" if said else _REACHABLE,
    )


def get_command(resources: str, scope: str | None = None, *options: str) -> list[str]:
    """``get`` of one or several resources (``nodes,pods``) in namespace ``scope``, or everywhere."""
    where = ["-n", scope] if scope else ["--all-namespaces"]
    return ["get", resources, *where, "-o", "json", *_LIMITS, *options]


def items(resources: str, result: Result, kinds: Collection[str] = ()) -> list[dict[str, Any]]:
    """The objects that a ``get`` printed. Raises InputError if they are not a whole list, or not of ``kinds``, where
    these are known."""
    if not result.output.strip():
        return []  # nothing found
    try:
        found = json.loads(result.output)
    except (ValueError, RecursionError) as error:
        raise InputError(f"kubectl get {resources} did not print JSON: {error}") from error
    kind = found.get("kind") if isinstance(found, dict) else None
    listed = found.get("items") if isinstance(found, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(listed, list)):
        what = f"kind {kind}" if isinstance(kind, str) else "something else"
        raise InputError(
            f"kubectl get {resources} did not print a list of objects, but {what[:_SHORT]}"
            + ("" if isinstance(listed, list) else ", without a list of items"),
            hint=WRAPPED,
        )
    if not all(map(_is_object, listed)):
        raise InputError(
            f"kubectl get {resources} printed a list with items that are no objects", hint=WRAPPED
        )
    printed = [item["kind"] for item in listed] + [of for of in (kind.removesuffix("List"),) if of]
    foreign = next((one for one in printed if kinds and one not in kinds), None)
    if foreign is not None:
        raise InputError(
            f"kubectl get {resources} printed a list of kind {foreign[:_SHORT]}", hint=WRAPPED
        )
    if not whole_list(found):
        raise InputError(
            f"kubectl get {resources} printed only a part of the list (metadata.continue)",
            hint=WRAPPED,
        )
    return listed


def _is_object(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return (
        isinstance(metadata, dict)
        and isinstance(metadata.get("name"), str)
        and isinstance(item.get("kind"), str)
    )


def whole_list(value: dict[str, Any]) -> bool:
    """False for a page of a list: k8s.io/apimachinery meta/v1 ListMeta.continue names what follows."""
    metadata = value.get("metadata")
    return not (isinstance(metadata, dict) and metadata.get("continue"))


def get(resource: str, login: Login | None = None) -> list[dict[str, Any]]:
    """All objects of a resource in the whole cluster. Raises InputError if they cannot be read."""
    (result,) = run(login or Login(), get_command(resource))
    if result.code != 0:
        raise failed(f"read {resource.partition('.')[0]}", result)
    return items(resource, result)


def served(group: str, version: str) -> frozenset[str]:
    """Resources that the API server serves in a version of a group; empty if it does not serve that version."""
    (result,) = run(Login(), ["get", "--raw", f"/apis/{group}/{version}", "--request-timeout=30s"])
    if result.code != 0:
        if "NotFound" in result.errors or "could not find the requested resource" in result.errors:
            return frozenset()
        raise failed(f"read what the API server serves in {group}/{version}", result)
    try:
        found = json.loads(result.output)
    except (ValueError, RecursionError) as error:
        raise InputError(f"kubectl get --raw did not print JSON: {error}") from error
    resources = found.get("resources") if isinstance(found, dict) else None
    if not isinstance(resources, list) or not all(isinstance(item, dict) for item in resources):
        raise InputError(
            f"kubectl get --raw did not print what is served in {group}/{version}", hint=WRAPPED
        )
    return frozenset(str(item.get("name")) for item in resources)


_LOGIN = "getting credentials"  # k8s.io/client-go plugin/pkg/client/auth/exec
_UNREACHABLE = (
    (
        "proxyconnect",
        "the proxy cannot be reached: are HTTPS_PROXY and proxy-url of the kubeconfig right?",
    ),
    (
        "localhost:8080",
        "no kubeconfig was found: set KUBECONFIG or --kubeconfig, or name a file in place of the cluster",
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
    (_LOGIN, "log in first, for example with kubectl get nodes"),
    (
        "no configuration has been provided",
        "set KUBECONFIG or --kubeconfig, or name a file in place of the cluster",
    ),
    ("error loading config file", "kubectl config view shows what it reads"),
    ("does not exist", "kubectl config get-contexts lists the contexts"),
    ("no such file or directory", "is the path in KUBECONFIG or --kubeconfig right?"),
)


def unreachable(errors: str) -> bool:
    """True if kubectl could not reach or log in to the cluster at all."""
    return any(mark in errors for mark, _ in _UNREACHABLE)


def failed(task: str, result: Result) -> InputError:
    """One clear error from what kubectl wrote to standard error; a login program's own words go with it."""
    if result.code < 0:
        return InputError(
            f"kubectl cannot {task}: it was ended by signal {-result.code} ({_signal(-result.code)})"
        )
    errors = result.errors
    lines = _lines(errors) or [line.strip() for line in errors.splitlines() if line.strip()]
    if not lines:
        return InputError(
            f"kubectl cannot {task}: it ended with code {result.code}, without a message"
        )
    reason = _reason(lines)
    words = next(
        (line for line in reversed(lines[:-1]) if _LOGIN in reason and line != lines[-1]), ""
    )
    hint = next((hint for mark, hint in _UNREACHABLE if mark in errors), None)
    said = f"{reason}. It says: {words}" if words else reason
    said = said if len(said) <= 2 * _SHORT else f"{said[: 2 * _SHORT]} ..."
    return InputError(f"kubectl cannot {task}: {said}", hint=hint)


def _reason(lines: Sequence[str]) -> str:
    """What went wrong: all lines of a short message, else the line that has the reason."""
    page = next((found["title"] for line in lines if (found := _TITLE.search(line))), None)
    if page is not None or any(line.lower().startswith(("<html", "<!doctype")) for line in lines):
        return (
            f"a proxy or gateway answered with a page of HTML{f' ({page.strip()})' if page else ''}"
        )
    crash = next((line for line in lines if line.startswith(_CRASHES)), None)
    if crash is not None:
        return crash
    plain = [line for line in lines if not line.startswith(_USAGE)] or list(lines)
    if _LOGIN in plain[-1]:
        return _bare(plain[-1])
    marked = [line for line in plain if line.startswith(_ERRORS)]
    if len(marked) == 1 and len(plain) > 1 and sum(map(len, plain)) > _SHORT:
        return _bare(marked[0])
    return (
        " ".join(map(_bare, dict.fromkeys(plain)))
        if sum(map(len, plain)) <= _SHORT
        else _bare((marked or plain)[-1])
    )


def _bare(line: str) -> str:
    return line.removeprefix("error: ").removeprefix("Error from server ").removeprefix("Error: ")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


_TITLE = re.compile(r"<title>(?P<title>[^<]{1,120})", re.IGNORECASE)
_CRASHES = (
    "panic:",
    "fatal error:",
    "runtime:",
    "Segmentation fault",
)  # the Go runtime; stacks follow
_SERVER = "Error from server"
_ERRORS = (
    "error: ",
    _SERVER,
    "Error: ",
    "Unable to connect",
)  # k8s.io/kubectl pkg/cmd/util/helpers.go
_USAGE = ("See 'kubectl", "Usage:", "Examples:", "Options:")
