"""Settings of a run, and the report that it writes."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dractl.cli import terminal
from dractl.errors import InputError, UsageError
from dractl.lint import config as configurations
from dractl.lint.config import Config as Configuration
from dractl.model.nearest import nearest
from dractl.report.plain import harmless


def number_parser(
    option: str, least: int = 1, most: int | None = None
) -> Callable[[str | int], int]:
    """Return the parser of an ``option`` whose value is a number from ``least`` to ``most``.

    typer's own bounds (``min``, ``max``) are worded differently in each of its releases.
    """
    allowed = f"from {least} to {most:,}" if most is not None else f"of {least} or more"

    def parse(value: str | int) -> int:
        if isinstance(value, int):  # typer passes the default as a number
            return value
        figure = int(value) if value.isascii() and value.isdigit() else -1
        if figure < least or (most is not None and figure > most):
            raise UsageError(f"{option} takes a number {allowed}, not {value}")
        return figure

    return parse


def choose(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if ``option`` allows it. Raises UsageError with the nearest name
    otherwise.
    """
    if value in allowed:
        return value

    near = nearest(value, allowed)
    raise UsageError(
        f"{option}: unknown value {value!r}" + (f"; did you mean {near}?" if near else ""),
        hint=f"{option} accepts {', '.join(allowed)}",
    )


# Formats that people read, in the characters that their terminal shows. All others are for
# programs.
_FOR_PEOPLE = frozenset({"full", "concise", "text", "tree", "matrix", "table"})


def choose_output(value: str, allowed: tuple[str, ...]) -> str:
    """Check the value of ``--output``, and set the encoding of the report that the format
    requires.
    """
    if choose("--output", value, allowed) not in _FOR_PEOPLE:
        terminal.write_utf8()
    return value


def base_format(output: str) -> str:
    """Return the format in which a report is made: JSON also for YAML, which has the same
    content.
    """
    return "json" if output == "yaml" else output


def write_output(text: str, output: str, output_file: Path | None) -> None:
    """Write a report that was made in the format of :func:`base_format`."""
    write_report(encode(text, output), output_file)


def encode(text: str, output: str) -> str:
    """Convert a report from the format of :func:`base_format` to the format that the user asked
    for.
    """
    if output != "yaml":
        return text
    from dractl.manifests.dumping import dump

    return dump(json.loads(text))


def write_report(text: str, output_file: Path | None) -> None:
    """Write the report to standard output or to ``--output-file``."""
    text = harmless(text)
    if text and not text.endswith("\n"):
        text += "\n"
    if output_file is None:
        sys.stdout.write(text)
        return
    from dractl import atomic

    try:
        atomic.replace(output_file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(
            f"cannot write the report: {error.strerror}", place=str(output_file)
        ) from error


def load_configuration(path: Path | None, isolated: bool) -> Configuration:
    """Load the configuration file of ``--config``, else the nearest one; with ``--isolated`` it is
    empty.
    """
    if path is not None:
        return configurations.read(path)
    nearest_file = None if isolated else configurations.find(Path.cwd())
    return configurations.read(nearest_file) if nearest_file else Configuration()


def describe_settings(path: Path | None, isolated: bool) -> str:
    """List the settings of a run that no option names, each with the variable or file that it comes
    from.
    """
    settings = load_configuration(path, isolated)
    lines = [f"DRACTL_{name}={value}" for name, value in sorted(environment(isolated).items())]
    for name in settings.__struct_fields__[1:]:
        value = getattr(settings, name)
        if value:
            if isinstance(value, Mapping):
                value = dict(value)
            lines.append(f"{settings.file}: {name.replace('_', '-')} = {json.dumps(value)}")
    return "\n".join(lines) or "no setting: no DRACTL_ variable and no configuration file with one"


def environment(isolated: bool) -> dict[str, str]:
    """Return the ``DRACTL_*`` variables without their prefix; with ``--isolated`` there are
    none.
    """
    if isolated:
        return {}
    return {
        name[7:]: value
        for name, value in os.environ.items()
        if name.startswith("DRACTL_") and value
    }


def origin(
    option: str,
    option_value: object,
    variables: Mapping[str, str],
    settings: Configuration,
    table: str = "",
) -> str:
    """Name the origin of a setting: its option if ``option_value`` is set, else its variable, else
    file and key.
    """
    name = option.removeprefix("--")
    variable = name.replace("-", "_").upper()
    if option_value or not (variables.get(variable) or settings.file):
        return option
    return f"DRACTL_{variable}" if variables.get(variable) else f"{settings.file}: {table}{name}"


@contextmanager
def error_origin(source: str) -> Iterator[None]:
    """Add ``source`` to the usage errors of the block, unless an error has a place already or
    ``source`` is an option.
    """
    try:
        yield
    except UsageError as error:
        if error.place is not None or source.startswith("-"):
            raise
        raise UsageError(error.message, place=source, hint=error.hint) from None
