"""Options that every subcommand has, and their effect."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from typer import Option

from dractl import atomic
from dractl.cli import completing, terminal
from dractl.cli.headings import AGAINST, OUTPUT, TOOLS
from dractl.errors import InputError, UsageError
from dractl.lint import config as configurations
from dractl.lint.config import Config as Configuration
from dractl.model import Target
from dractl.model.nearest import nearest
from dractl.model.releases import (
    NEWEST,
    RELEASES,
    caveat,
    gate_remarks,
    is_newer,
    parse_gates,
    release_of,
)
from dractl.report.plain import harmless

Quiet = Annotated[
    bool,
    Option(
        "--quiet",
        "-q",
        help="Print no notices and no progress on standard error.",
        rich_help_panel=OUTPUT,
    ),
]
Verbose = Annotated[
    int,
    Option("--verbose", "-v", count=True, help="Show more; repeatable.", rich_help_panel=OUTPUT),
]
COLORS = ("auto", "always", "never")
Color = Annotated[
    str,
    Option(
        "--color",
        metavar="WHEN",
        help="auto, always or never. NO_COLOR and FORCE_COLOR are honoured.",
        autocompletion=completing.one_of(*COLORS),
        rich_help_panel=OUTPUT,
    ),
]
OutputFile = Annotated[
    Path | None,
    Option(
        "--output-file",
        metavar="FILE",
        help="Write the report to FILE instead of standard output.",
        rich_help_panel=OUTPUT,
    ),
]
Config = Annotated[
    Path | None,
    Option(
        "--config", metavar="FILE", help="Use only this configuration file.", rich_help_panel=TOOLS
    ),
]
Isolated = Annotated[
    bool,
    Option(
        "--isolated",
        help="Ignore configuration files and DRACTL_* variables.",
        rich_help_panel=TOOLS,
    ),
]
KubernetesVersion = Annotated[
    str | None,
    Option(
        "--kubernetes-version",
        metavar="1.NN",
        help="Kubernetes release whose behavior applies.",
        autocompletion=completing.comma_list(completing.releases),
        rich_help_panel=AGAINST,
    ),
]
FeatureGates = Annotated[
    str | None,
    Option(
        "--feature-gates",
        metavar="NAME=BOOL,...",
        help="Feature gates that differ from the release's defaults.",
        autocompletion=completing.comma_list(completing.gates),
        rich_help_panel=AGAINST,
    ),
]


class Printing(Struct, frozen=True):
    """The options that say where and how a subcommand prints; each takes all, even if it has no more to show."""

    output_file: OutputFile = None
    quiet: Quiet = False
    verbose: Verbose = 0
    color: Color = "auto"

    @property
    def to_file(self) -> bool:
        """True if the report goes to a file."""
        return self.output_file is not None

    def settle(self) -> None:
        """Applies ``--color`` and ``--quiet`` to this run."""
        if self.color not in COLORS:
            raise UsageError(f"--color must be auto, always or never, not {self.color!r}")
        terminal.choose_color(self.color)  # type: ignore[arg-type]
        terminal.be_quiet(self.quiet)


def output_option(formats: tuple[str, ...]) -> Any:
    """``--output`` of a subcommand that prints one of ``formats``."""
    offer = completing.one_of(*formats)
    return Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help=f"{', '.join(formats)}.",
        autocompletion=offer,
        rich_help_panel=OUTPUT,
    )


def number(option: str, least: int = 1, most: int | None = None) -> Callable[[str | int], int]:
    """Return the parser of an ``option`` whose value is a number from ``least`` to ``most``.

    typer's own (``min``, ``max``) has other words in each of its releases.
    """
    allowed = f"from {least} to {most:,}" if most is not None else f"of {least} or more"

    def parse(value: str | int) -> int:
        if isinstance(value, int):  # the default
            return value
        figure = int(value) if value.isascii() and value.isdigit() else -1
        if figure < least or (most is not None and figure > most):
            raise UsageError(f"{option} takes a number {allowed}, not {value}")
        return figure

    return parse


class _Choices:
    newest = False


def assume_newest(value: bool) -> None:
    """``--assume-newest``, for this run."""
    _Choices.newest = value


def choose(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """``value`` if ``option`` allows it; a usage error with the nearest name otherwise."""
    if value in allowed:
        return value

    near = nearest(value, allowed)
    raise UsageError(
        f"{option}: unknown value {value!r}" + (f"; did you mean {near}?" if near else ""),
        hint=f"{option} accepts {', '.join(allowed)}",
    )


# Formats that people read, in the characters that their terminal shows. All others are for programs.
_FOR_PEOPLE = frozenset({"full", "concise", "text", "tree", "matrix", "table"})


def choose_output(value: str, allowed: tuple[str, ...]) -> str:
    """``--output`` if it is allowed; from then on the report is written in the encoding that the format requires."""
    if choose("--output", value, allowed) not in _FOR_PEOPLE:
        terminal.write_utf8()
    return value


def kind_of(output: str) -> str:
    """The format in which a report is made: JSON also for YAML, which has the same content."""
    return "json" if output == "yaml" else output


def write_answer(text: str, output: str, output_file: Path | None) -> None:
    """Writes a report that was made in :func:`kind_of` a format."""
    write_report(encoded(text, output), output_file)


def encoded(text: str, output: str) -> str:
    """A report that was made in :func:`kind_of` a format, in the format."""
    if output != "yaml":
        return text
    from dractl.manifests.dumping import dump

    return dump(json.loads(text))


def write_report(text: str, output_file: Path | None) -> None:
    """Writes the report to standard output or to ``--output-file``."""
    text = harmless(text)
    if text and not text.endswith("\n"):
        text += "\n"
    if output_file is None:
        sys.stdout.write(text)
        return
    try:
        atomic.replace(output_file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(
            f"cannot write the report: {error.strerror}", place=str(output_file)
        ) from error


def configuration(path: Path | None, isolated: bool) -> Configuration:
    """The configuration file: ``--config``, else the nearest one; empty with ``--isolated``."""
    if path is not None:
        return configurations.read(path)
    found = None if isolated else configurations.find(Path.cwd())
    return configurations.read(found) if found else Configuration()


def settings_of(path: Path | None, isolated: bool) -> str:
    """The settings of a run that no option names, a line each, with the variable or the file that they come from."""
    settings = configuration(path, isolated)
    lines = [f"DRACTL_{name}={value}" for name, value in sorted(environment(isolated).items())]
    for name in settings.__struct_fields__[1:]:
        value = getattr(settings, name)
        if value:
            shown = (
                dict(value)
                if hasattr(value, "keys")
                else list(value)
                if isinstance(value, tuple)
                else value
            )
            lines.append(f"{settings.file}: {name.replace('_', '-')} = {json.dumps(shown)}")
    return "\n".join(lines) or "no setting: no DRACTL_ variable and no configuration file with one"


def environment(isolated: bool) -> dict[str, str]:
    """The ``DRACTL_*`` variables without their prefix; none with ``--isolated``."""
    if isolated:
        return {}
    return {
        name[7:]: value
        for name, value in os.environ.items()
        if name.startswith("DRACTL_") and value
    }


def origin(
    option: str,
    given: object,
    variables: Mapping[str, str],
    settings: Configuration,
    table: str = "",
) -> str:
    """Where a setting comes from: the option if it was ``given``, else the variable, else file and key."""
    name = option.removeprefix("--")
    variable = name.replace("-", "_").upper()
    if given or not (variables.get(variable) or settings.file):
        return option
    return f"DRACTL_{variable}" if variables.get(variable) else f"{settings.file}: {table}{name}"


@contextmanager
def blaming(source: str) -> Iterator[None]:
    """Errors of usage within name ``source``, where it is not the option that they speak of."""
    try:
        yield
    except UsageError as error:
        if error.place is not None or source.startswith("-"):
            raise
        raise UsageError(error.message, place=source, hint=error.hint) from None


class Against(Struct, frozen=True):
    """The options that say which release and gates apply, and which settings complete them."""

    kubernetes_version: KubernetesVersion = None
    feature_gates: FeatureGates = None
    config: Config = None
    isolated: Isolated = False

    def settings(self) -> tuple[Configuration, dict[str, str]]:
        """The configuration file, and the ``DRACTL_*`` variables without their prefix."""
        return configuration(self.config, self.isolated), environment(self.isolated)

    def asked(
        self, settings: Configuration, variables: Mapping[str, str]
    ) -> tuple[str | None, dict[str, bool]]:
        """Release (None: not named) and gates that differ from its defaults: options before environment before file."""
        release = (
            self.kubernetes_version
            or variables.get("KUBERNETES_VERSION")
            or settings.kubernetes_version
        )
        if release and not self.kubernetes_version:
            with blaming(origin("--kubernetes-version", None, variables, settings)):
                release_of(release)
        with blaming(origin("--feature-gates", self.feature_gates, variables, settings)):
            switched = parse_gates(self.feature_gates or variables.get("FEATURE_GATES", ""))
        return release, {**settings.feature_gates, **switched}

    def release_from(self, settings: Configuration, variables: Mapping[str, str]) -> str:
        """Who named the release: nothing to say of the option, the variable, the file, or ``default``."""
        if self.kubernetes_version:
            return ""
        if variables.get("KUBERNETES_VERSION"):
            return "DRACTL_KUBERNETES_VERSION"
        return settings.file.name if settings.kubernetes_version and settings.file else "default"


def target(release: str | None, gates: dict[str, bool]) -> Target:
    """The target of ``--kubernetes-version`` and ``--feature-gates``. Raises UsageError for a release newer than dractl
    knows, unless ``--assume-newest`` is given."""
    refuse_newer(release)
    tell_if_newer(release)
    chosen = Target.of(release or NEWEST, gates)
    warn_of_gates(chosen.release, gates)
    return chosen


def warn_of_gates(release: str, gates: Mapping[str, bool]) -> None:
    """Warn of gates that are not known of a preview, or that it does not have yet."""
    for remark in gate_remarks(release, gates):
        terminal.warn(remark)


def refuse_newer(release: str | None) -> None:
    """Raises UsageError for a requested release that is newer than dractl knows, unless with ``--assume-newest``."""
    if release and is_newer(release) and not _Choices.newest:
        raise UsageError(
            f"Kubernetes {release} is newer than dractl knows",
            hint=f"newest known release: {RELEASES[-1]}; --assume-newest applies its rules",
        )


def tell_if_newer(release: str | None) -> None:
    """A notice if the rules of another release than the requested one are used."""
    if said := caveat(release):
        terminal.notice(said)
