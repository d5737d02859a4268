"""Compares the refusals of the pack with the source code of a driver.

tools/refusals.py list DRIVER CHECKOUT [FOLDER]       the format strings of the newest commit that
                                                      can reach a pod's event, as JSON: path and
                                                      line, format, and the entry that explains it
                                                      (null: it is quoted)
tools/refusals.py missing DRIVER CHECKOUT [FOLDER]    those without an entry, one a line; exit code
                                                      1 if there is any

FOLDER is the folder of the driver's main program, if the repository has several, such as
cmd/gpu-kubelet-plugin. A format string can reach an event if it becomes an error in a function that
the entry points of the driver call, directly or not. Calls are matched by the names of functions
alone, so the list may be too long, but not too short.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dractl.facts.refusals import match_words, refusals  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENTRANCES = frozenset(
    {
        # k8s.io/dynamic-resource-allocation kubeletplugin DRAPlugin, and the gRPC method that it
        # replaces
        "PrepareResourceClaims",
        "NodePrepareResources",
        # github.com/containerd/nri pkg/stub: an error of these ends the start of a sandbox or
        # container
        "RunPodSandbox",
        "CreateContainer",
        "StartContainer",
    }
)
"""Functions by which the kubelet and the container runtime enter a driver."""

_OTHER = re.compile(
    r"(^|/)(vendor|third_party|tests?|testutils|e2e|mock\w*|fake\w*|hack|examples?)/"
)
_FUNCTION = re.compile(
    r"^func (?:\(\s*(?:\w+\s+)?\*?(?P<receiver>\w+)(?:\[[^\]]*\])?\s*\) )?(?P<name>\w+)",
    re.MULTILINE,
)
_IMPORT = re.compile(r'^\s*(?:import )?(?:(?P<alias>[\w.]+) )?"(?P<path>[^"\s]+)"$', re.MULTILINE)
_NAME = re.compile(r"(?:(?P<of>\w*)\.\s*)?\b(?P<name>[A-Za-z_]\w*)")
_ERROR = re.compile(
    r"(?:fmt\.Errorf|(?:\w*errors?|status|grpcstatus)\.(?:New|Errorf|Wrap|Wrapf|Error)|\bErrorf)\("
)
_TEXT = re.compile(r'"(?P<quoted>(?:[^"\\\n]|\\.)*)"|`(?P<raw>[^`]*)`')
_VARIABLE = re.compile(
    r"^(?:var )?\s*(?P<name>[Ee]rr\w+)\s*(?:error\s*)?=\s*(?P<value>.*)$", re.MULTILINE
)


class Function(Struct, frozen=True):
    """A function of a driver."""

    path: str
    line: int
    """The line of the file on which ``body`` begins."""
    name: str
    is_method: bool
    body: str

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


class ErrorFormat(Struct, frozen=True, order=True):
    """A format string of an error, with its place."""

    path: str
    line: int
    format: str


def list_formats(checkout: str, folder: str = "") -> list[ErrorFormat]:
    """Return the error formats that can reach a pod's event from the entrances in a folder."""
    code = dict(read_code(checkout))
    functions = [
        function for path, text in code.items() for function in parse_functions(path, text)
    ]
    formats = {
        error
        for function in find_reachable(functions, code, folder)
        for error in parse_formats(function.path, function.line, function.body)
    }
    return sorted(formats)


def read_code(checkout: str) -> Iterator[tuple[str, str]]:
    """Yield the Go files of a driver, without tests and libraries, with their text."""
    for path in _git(checkout, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if path.endswith(".go") and not path.endswith("_test.go") and not _OTHER.search(path):
            yield path, _git(checkout, "show", f"HEAD:{path}")


def parse_functions(path: str, text: str) -> Iterator[Function]:
    """Yield the functions of a file that gofmt has formatted, and its errors that are variables."""
    for match in _FUNCTION.finditer(text):
        newline = text.find("\n", match.start())
        end = newline if text[:newline].endswith("}") else text.find("\n}", match.start())
        line = text.count("\n", 0, match.start()) + 1
        body = text[match.start() : end if end > 0 else len(text)]
        yield Function(path, line, match["name"], match["receiver"] is not None, body)
    for match in _VARIABLE.finditer(text):
        line = text.count("\n", 0, match.start("value")) + 1
        yield Function(path, line, match["name"], False, match["value"])


def find_reachable(functions: list[Function], code: dict[str, str], folder: str) -> list[Function]:
    """Return the functions that the entrances call, directly or through others."""
    named: dict[str, list[Function]] = defaultdict(list)
    for function in functions:
        named[function.name].append(function)
    folders = {function.folder for function in functions}
    imports = {path: _folders_by_import(text, folders) for path, text in code.items()}
    near: dict[str, set[str]] = defaultdict(set)
    for path, imported in imports.items():
        near[path.rpartition("/")[0]] |= {path.rpartition("/")[0], *imported.values()}
    waiting = [
        function
        for name in ENTRANCES
        for function in named[name]
        if function.path.startswith(folder)
    ]
    reached: dict[Function, None] = {}
    while waiting:
        function = waiting.pop()
        if function in reached:
            continue
        reached[function] = None
        packages = imports[function.path]
        for match in _NAME.finditer(function.body, len(function.name)):
            for other in named.get(match["name"], ()):
                if match["of"] is None:
                    is_called = not other.is_method and other.folder == function.folder
                elif match["of"] in packages:
                    is_called = not other.is_method and other.folder == packages[match["of"]]
                else:
                    is_called = other.is_method and other.folder in near[function.folder]
                if is_called:
                    waiting.append(other)
    return list(reached)


def _folders_by_import(text: str, folders: set[str]) -> dict[str, str]:
    """Return the folders of the checkout that a file imports, by the name that it uses."""
    imported = {}
    for match in _IMPORT.finditer(text):
        folder = next(
            (name for name in folders if name and match["path"].endswith(f"/{name}")), None
        )
        if folder is not None:
            imported[match["alias"] or folder.rpartition("/")[2]] = folder
    return imported


def parse_formats(path: str, line: int, body: str) -> Iterator[ErrorFormat]:
    """Yield the error formats of a function: the first text among the arguments of an error."""
    for match in _ERROR.finditer(body):
        arguments = body[match.end() : _end_of_call(body, match.end())]
        text = _TEXT.search(arguments)
        if text is not None and not arguments[: text.start()].rstrip().endswith(("(", "[")):
            parts = [text, *_texts_after(arguments, text.end())]
            yield ErrorFormat(
                path, line + body.count("\n", 0, match.start()), "".join(map(_unquote, parts))
            )


def _texts_after(arguments: str, at: int) -> Iterator[re.Match[str]]:
    """Yield the texts that are added to one."""
    while (plus := re.compile(r"\s*\+\s*").match(arguments, at)) is not None:
        text = _TEXT.match(arguments, plus.end())
        if text is None:
            return
        yield text
        at = text.end()


def _end_of_call(body: str, at: int) -> int:
    """Return the offset after the parenthesis that closes a call. Parentheses inside strings do not
    count.
    """
    depth = 1
    while at < len(body) and depth:
        text = _TEXT.match(body, at)
        if text is not None:
            at = text.end()
            continue
        depth += {"(": 1, ")": -1}.get(body[at], 0)
        at += 1
    return at


def _unquote(text: re.Match[str]) -> str:
    if text["raw"] is not None:
        return text["raw"]
    return str(json.loads(f'"{text["quoted"]}"')) if "\\x" not in text["quoted"] else text["quoted"]


def fill_format(text: str) -> str:
    """Return a format string of Go with neutral values for its verbs, without wrapped errors."""
    values = {"d": "7", "q": '"0a1b"', "w": "", "t": "true", "c": "c"}
    return re.sub(
        r"%[-+#0 ]*[\d.*]*(?:\[\d+\])?([a-zA-Z%])",
        lambda verb: "%" if verb[1] == "%" else values.get(verb[1], "0a1b"),
        text,
    )


def explain_format(driver: str, text: str) -> str | None:
    """Return the id of the entry that explains a driver's format string; None if quoted."""
    refusal = match_words(fill_format(text), refusals(driver))
    return refusal.fact.id if refusal is not None else None


def _git(checkout: str, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", checkout, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def _rows(driver: str, formats: Iterable[ErrorFormat]) -> Iterator[tuple[str, str, str | None]]:
    for error in formats:
        yield f"{error.path}:{error.line}", error.format, explain_format(driver, error.format)


def main(arguments: list[str]) -> int:
    match arguments:
        case ["list", driver, checkout, *folder]:
            lines = (json.dumps(row) for row in _rows(driver, list_formats(checkout, *folder)))
            print("[\n " + ",\n ".join(lines) + "\n]")
        case ["missing", driver, checkout, *folder]:
            rows = [row for row in _rows(driver, list_formats(checkout, *folder)) if row[2] is None]
            sys.stdout.writelines(f"{place}: {text!r}\n" for place, text, _ in rows)
            return int(bool(rows))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def run() -> int:
    """Run the command line; a reader that closes the pipe early (``| head``) ends it quietly."""
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more at exit, which would raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == "__main__":
    sys.exit(run())
