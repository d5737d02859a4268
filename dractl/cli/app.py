"""The command line: a group of subcommands, of which only the one that is called is imported."""

import shutil
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # re-exported
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from dractl import __version__, facts
from dractl.cli import subcommands
from dractl.cli.headings import AGAINST, HEADINGS, OUTPUT, TOOLS
from dractl.errors import UsageError
from dractl.interrupts import raise_on_interrupt
from dractl.program import program_name

_MAX_HELP_COLUMNS = 120  # columns of a help page
MAX_REPETITIONS = (
    # Limit on the values of a repeated option, since each one costs time before the work begins
    1_000
)


_EXIT_CODES = (
    "Exit codes: 0 all is well, 1 something was found or does not fit, 2 wrong usage or"
    " configuration, 3 the job could not be done, 130 interrupted."
)
_START_COMMANDS = {
    "lint manifests/": "what is wrong with these manifests",
    "explain -n NAMESPACE": "why pods and claims are pending",
    "discover": "what is in this node, and how it is wired",
    "render --hardware dgx-h100": "the slices that drivers would publish for a machine",
    "fit gpu=2,nic=1": "how many more of these fit",
}


def _help_epilog() -> str:
    """Return the end of the first help page: commands to begin with."""
    width = max(map(len, _START_COMMANDS))
    lines = [
        f"  {program_name()} {words:<{width}}  {about}" for words, about in _START_COMMANDS.items()
    ]
    ending = f"`{program_name()} help COMMAND` shows the options of one."
    return "\n".join(["Start here:", "", "\b", *lines, "", ending, "", ""])


def command_line() -> TyperGroup:
    """Return the whole command line."""
    # The scripts of completions/ ask for candidates through environment variables. Without
    # completion_init, typer does not know their shells.
    completion_init()
    app = _app()
    root = subcommands.add_options(_root, [_FACTS])
    app.callback(invoke_without_command=True, cls=_Group, epilog=_help_epilog() + _EXIT_CODES)(root)
    group: Any = get_command(app)
    for name, line in subcommands.SUBCOMMANDS.items():
        group.add_command(_Subcommand(name, short_help=line))
    return group  # type: ignore[no-any-return]


def subcommand(name: str) -> TyperCommand:
    """Return a subcommand, with its options."""
    app = _app()
    command = subcommands.function(name)
    text = subcommands.spell_program(cleandoc(command.__doc__ or ""))
    options = [_FACTS]
    parameters = signature(command).parameters
    if "isolated" in parameters:
        options.append(_SHOW_SETTINGS)
    if "kubernetes_version" in parameters:
        options.append(_ASSUME_NEWEST)
    extended = subcommands.add_options(command, options)
    app.command(name, cls=_GroupedHelpCommand, help=text, epilog=_EXIT_CODES)(extended)
    typer_command: Any = get_command(app)
    for parameter in typer_command.params:
        parameter.help = subcommands.spell_program(parameter.help or "") or None
    return typer_command  # type: ignore[no-any-return]


def _assume_newest(value: bool) -> None:
    from dractl.cli.options.release import assume_newest  # imported only when a subcommand runs

    assume_newest(value)


def _global_option(name: str, annotation: Any, default: object, **settings: Any) -> Parameter:
    """Return an option that many subcommands accept, although none of their functions receives
    it.
    """
    flag = f"--{name.replace('_', '-')}"
    option = typer.Option(flag, expose_value=False, **settings)
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
    )


# The option is read before any subcommand is imported (dractl/facts/words.py).
_FACTS = _global_option(
    "facts",
    str | None,
    None,
    metavar="DIR|FILE",
    rich_help_panel=AGAINST,
    help=(
        "Take the facts about drivers and hardware from this folder, wheel of dractl-facts, "
        "or file of one driver."
    ),
)
_SHOW_SETTINGS = _global_option(
    "show_settings", bool, False, rich_help_panel=TOOLS, help="Print the settings of this run."
)
_ASSUME_NEWEST = _global_option(
    "assume_newest",
    bool,
    False,
    callback=_assume_newest,
    rich_help_panel=AGAINST,
    help="For a release newer than dractl knows: take the newest rules instead of an error.",
)


class _Subcommand(TyperCommand):
    """A subcommand that has only its name and line of help until it is called."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        command = subcommand(self.name or "")
        raise_on_interrupt()
        return command.make_context(info_name, args, parent, **extra)


class _Group(TyperGroup):
    """The group of subcommands. Its error for an option before the subcommand says where the option
    belongs.
    """

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        return _describe_candidates(super().shell_complete(ctx, incomplete))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            option = getattr(error, "option_name", None)  # the name of an unknown option
            subcommand_name = next((word for word in args if word in self.commands), None)
            if option is None or subcommand_name is None:
                raise
            raise UsageError(
                f"{option} stands before the subcommand",
                hint=f"put it after: {ctx.info_name} {subcommand_name} {option} ...",
            ) from None


class _GroupedHelpCommand(TyperCommand):
    """A subcommand whose help shows its options in groups."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        return _describe_candidates(super().shell_complete(ctx, incomplete))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        show_settings = "--show-settings" in args
        ctx.resilient_parsing = ctx.resilient_parsing or show_settings
        remaining = super().parse_args(ctx, _number_patch_option(args))
        for option in self.params:
            values = (
                (ctx.params.get(option.name) or ()) if getattr(option, "multiple", False) else ()
            )
            if len(values) > MAX_REPETITIONS:
                raise UsageError(
                    f"{option.opts[0]} is given {len(values):,} times, and at most"
                    f" {MAX_REPETITIONS:,} are taken"
                )
        if show_settings:
            from dractl.cli.common import describe_settings  # imported only when a subcommand runs

            typer.echo(
                describe_settings(ctx.params.get("config"), bool(ctx.params.get("isolated")))
            )
            ctx.exit()
        return remaining

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, which typer's releases write differently."""
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *map(_usage, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, rows in self.sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Return arguments and options with their help and defaults, by the titles of their
        groups.
        """
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *HEADINGS)}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None:
                if parameter.param_type_name == "argument":
                    rows["Arguments"].append((parameter.metavar or row[0], row[1]))
                else:
                    rows[getattr(parameter, "rich_help_panel", None) or TOOLS].append(row)
        return {title: records for title, records in rows.items() if records}


def _usage(argument: Any) -> str:
    """Return an argument as a usage line has it: in brackets if it may be left out."""
    name = str(argument.metavar)
    bracketed = name.startswith("[") and name.removesuffix("...").endswith("]")
    if argument.required or bracketed:
        return name
    return f"[{name}]" + ("..." if argument.nargs == -1 else "")


def _describe_candidates(candidates: list[Any]) -> list[Any]:
    """Return a shell's candidates with descriptions that reach it unchanged."""
    from dractl.cli.completing import escape_description  # imported with the subcommand anyway

    for candidate in candidates:
        candidate.help = candidate.help and escape_description(candidate.help)
    return candidates


def _number_patch_option(args: list[str]) -> list[str]:
    """Write a bare ``--patch`` as ``--patch=1``, since the word that follows it may name a pod."""
    if "--patch" not in args:
        return args
    onward = [*args[1:], ""]
    end = args.index("--") if "--" in args else len(args)
    alone = (
        a == "--patch" and not after.isdigit() and i < end
        for i, (a, after) in enumerate(zip(args, onward, strict=True))
    )
    return [f"{a}=1" if bare else a for a, bare in zip(args, alone, strict=True)]


def _app() -> typer.Typer:
    width = min(shutil.get_terminal_size().columns, _MAX_HELP_COLUMNS)
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": width}
    return typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=settings)


def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version; with -v the releases known.",
            rich_help_panel=TOOLS,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="With --version: list the releases known.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """DRA on Kubernetes: what hardware is here, which ResourceSlices it becomes, what is wrong with
    these manifests, why this pod is pending, and how many more fit.
    """
    if version:
        typer.echo(version_text(verbose))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def version_text(verbose: bool) -> str:
    """Return the name and version; with ``verbose`` also the releases, each with whether it was
    compared with a server, and the pack of facts.
    """
    if not verbose:
        return f"dractl {__version__}"
    from dractl.model.releases import COMPARED, PREVIEWS, RELEASES

    first, last = RELEASES.index(COMPARED[0]), RELEASES.index(COMPARED[-1])
    lines = [
        f"Kubernetes {COMPARED[0]} to {COMPARED[-1]}: compared with real API servers and schedulers"
    ]
    for release in RELEASES[last + 1 :]:
        preview = PREVIEWS.get(release)
        extent = f"due {preview.due}, known up to {preview.tag}, " if preview else ""
        lines.append(f"Kubernetes {release}: {extent}not compared with a server yet")
    lines.append(
        f"Kubernetes {RELEASES[0]} to {RELEASES[first - 1]}: lint only, not compared with a server"
    )
    lines.append(facts.current().title)
    return "\n".join([f"dractl {__version__}", *lines])
