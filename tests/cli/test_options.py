"""Plain command lines are read without typer, and exactly as typer reads them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache, wraps
from inspect import signature
from typing import Any

import pytest
import typer
from hypothesis import given, settings, strategies as st

from dractl.cli.app import command_line
from dractl.cli.options import Argument, Option, parameters, read
from dractl.cli.subcommands import SUBCOMMANDS, function

WORDS = (
    "a",
    "b.yaml",
    "-",
    "--",
    "",
    "json",
    "1.36",
    "x=y",
    "--unknown",
    "-x",
    "--help",
    "2",
    "0",
    "007",
    "10001",
    "-1",
    "-qv",
    "-fx",
    "a b",
    "é",
)


@cache
def with_typer(name: str) -> tuple[Any, list[dict[str, Any]]]:
    """The subcommand as typer has it, and the list to which it adds what it is called with."""
    calls: list[dict[str, Any]] = []
    command = function(name)

    @wraps(command)
    def record(**values: Any) -> None:
        calls.append(values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dractl.cli.app.function", lambda _: record)
        return command_line(name), calls


def as_typer_reads(name: str, words: list[str]) -> dict[str, Any] | None:
    """What typer calls the subcommand with; None if it does not call it."""
    line, calls = with_typer(name)
    calls.clear()
    try:
        line.main([name, *words], standalone_mode=False)
    except typer.TyperException:
        return None
    return calls[0] if calls else None


def lines(name: str) -> st.SearchStrategy[list[str]]:
    """Command lines of names that the subcommand declares, and of other words."""
    declared = [parameter.declared for parameter in parameters(function(name))]
    names = [part for option in declared if isinstance(option, Option) for n in option.names for part in n.split("/")]
    given_with_equals = st.builds("{}={}".format, st.sampled_from(names or ["--x"]), st.sampled_from(WORDS))
    word = st.one_of(st.sampled_from(names or WORDS), st.sampled_from(WORDS), given_with_equals)
    return st.lists(word, max_size=6)


@pytest.mark.parametrize("name", SUBCOMMANDS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_read_without_typer_is_what_typer_reads(name: str, data: st.DataObject) -> None:
    words = data.draw(lines(name))
    values = read(function(name), words)
    if values is not None:
        defaults = {key: p.default for key, p in signature(function(name)).parameters.items()}
        assert {**defaults, **values} == as_typer_reads(name, words)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("lint", "--isolated one.yaml"),
        ("lint", "-o json -q --select DRA1,DRA2 - --no-render"),
        ("lint", "--output=sarif=x.sarif --config c.toml -f a -f b -- -c"),
        ("explain", "-f dump.yaml pod/train-0 -v -v --namespace ml"),
        ("explain", ""),
        ("discover", ""),
        ("rule", "DRA101"),
        ("cel", "true"),
    ],
)
def test_usual_command_lines_need_no_typer(name: str, line: str) -> None:
    assert read(function(name), line.split()) is not None


@pytest.mark.parametrize(
    ("name", "line"),
    [("lint", "--help"), ("lint", "--quite"), ("lint", "-o"), ("lint", "--quiet=yes"), ("cel", ""), ("cel", "a b")],
)
def test_help_and_mistakes_are_left_to_typer(name: str, line: str) -> None:
    assert read(function(name), line.split()) is None


def test_a_file_that_cannot_be_read_is_left_to_typer(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "c.toml").touch()
    monkeypatch.setattr("os.access", lambda *_: False)
    assert read(function("lint"), ["--config", str(tmp_path / "c.toml")]) is None


def test_every_parameter_is_declared() -> None:
    for name in SUBCOMMANDS:
        for parameter in parameters(function(name)):
            assert isinstance(parameter.declared, (Option, Argument)), f"{name}: {parameter.name}"


def test_usual_command_lines_do_not_import_typer() -> None:
    program = (
        "import sys; from dractl.cli.main import main; code = main(['rule', 'DRA101', '-q']); "
        "sys.exit(code or int('typer' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
