"""``dractl lint``: what is wrong in these manifests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dractl.cli import common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dractl.lint.config import Config
    from dractl.lint.finding import Report
    from dractl.lint.inventory import Inventory
    from dractl.lint.selection import Selection
    from dractl.manifests import Skipped
    from dractl.model import Target

FORMATS = ("full", "concise", "json", "sarif", "junit", "github", "gitlab")
MAX_FIXES = 10  # what one fix uncovers, the next one mends
SEVERITIES = ("error", "warning", "info")

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...", help="Files, folders, archives; - for standard input. Default: .", show_default=False
    ),
]
Files = Annotated[list[str] | None, typer.Option("--filename", "-f", metavar="PATH", help="The same as PATH.")]
StdinName = Annotated[str, typer.Option("--stdin-filename", metavar="NAME", help="What to call standard input.")]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Pass over, as in .gitignore; repeatable.")
]
ChangedFiles = Annotated[
    bool,
    typer.Option(
        "--changed-files",
        help="PATHs are files that changed, as a hook passes them: skip what is excluded or not a Kubernetes object.",
    ),
]
ShowFiles = Annotated[bool, typer.Option("--show-files", help="List the files that would be linted, and stop.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="CODES", help="Only these rules: codes, names or prefixes (DRA7), with commas."),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="CODES", help="Not these rules.")]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", metavar="SEVERITY", help="Exit with 1 from this on: error (default), warning, info."),
]
Baseline = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="FILE", help="Say nothing of what an earlier report (-o json) holds already."),
]
Statistics = Annotated[bool, typer.Option("--statistics", help="Count the findings of each rule.")]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--devices",
        metavar="FILE|DIR|SNAPSHOT|local|cluster",
        help="Try selectors, constraints and capacities on these devices; repeatable.",
    ),
]
FixFiles = Annotated[bool, typer.Option("--fix", help="Write the safe fixes to the files; what remains is reported.")]
Diff = Annotated[bool, typer.Option("--diff", help="Show what --fix would change, and change nothing.")]
Watch = Annotated[bool, typer.Option("--watch", help="Lint again whenever a file changes, until interrupted.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 even if there are findings.")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FORMAT", help=", ".join(FORMATS) + ".")]


def command(
    paths: Paths = None,
    filename: Files = None,
    stdin_filename: StdinName = "<stdin>",
    exclude: Exclude = None,
    changed_files: ChangedFiles = False,
    show_files: ShowFiles = False,
    devices: Devices = None,
    select: Select = None,
    ignore: Ignore = None,
    fail_on: FailOn = None,
    baseline: Baseline = None,
    fix: FixFiles = False,
    diff: Diff = False,
    statistics: Statistics = False,
    watch: Watch = False,
    exit_zero: ExitZero = False,
    kubernetes_version: common.KubernetesVersion = None,
    feature_gates: common.FeatureGates = None,
    config: common.Config = None,
    isolated: common.Isolated = False,
    output: Output = None,
    output_file: common.OutputFile = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,  # noqa: ARG001 - every subcommand takes it
    color: common.Color = "auto",
) -> None:
    """Say what an API server would reject in manifests, and what it accepts although it can never work.

    Looks at ResourceClaims, their templates, DeviceClasses, ResourceSlices, DeviceTaintRules, and pods that use claims.

    Examples: `dractl lint manifests/`, `helm template chart | dractl lint -`, `dractl lint -o sarif . > dractl.sarif`
    """
    from dractl.cli.terminal import notice
    from dractl.errors import UsageError

    common.settle(color, quiet)
    settings, environment = common.configuration(config, isolated), common.environment(isolated)
    output = common.choose_output(output or environment.get("OUTPUT") or "full", FORMATS)
    threshold = fail_on or environment.get("FAIL_ON") or settings.fail_on or "error"
    common.choose("--fail-on", threshold, SEVERITIES)
    wanted = [*(paths or []), *(filename or [])] or ["."]
    excluded = (*settings.exclude, *_split(exclude))
    from dractl.manifests import load_readable

    if show_files:
        inputs = load_readable(wanted, stdin=_stdin(wanted), exclude=excluded, changed_files=changed_files)
        names = {document.file for document in inputs.documents} | {broken.file for broken in inputs.broken}
        common.write_report("\n".join(sorted(names)), output_file)
        _end(inputs.skipped)

    from dractl.lint import lint

    if fix and diff:
        raise UsageError("--fix and --diff exclude each other", hint="--diff shows what --fix would do")
    if watch and (fix or diff or output_file or "-" in wanted):
        raise UsageError("--watch goes with neither --fix, --diff and --output-file nor standard input")
    selection = _selection(settings, environment, select, ignore, baseline)
    target = common.target(*common.asked(kubernetes_version, feature_gates, settings, environment))
    inventory = _inventory(devices or list(settings.devices), target)
    stdin = _stdin(wanted)

    def linted() -> Report:
        inputs = load_readable(
            wanted, stdin=stdin, stdin_name=stdin_filename, exclude=excluded, changed_files=changed_files
        )
        for skipped in inputs.skipped:
            if not skipped.unread:
                notice(f"{skipped.file}: skipped, {skipped.why}" + (f"; {skipped.hint}" if skipped.hint else ""))
        if inventory and not inventory.classes and not any(d.kind == "DeviceClass" for d in inputs.documents):
            known = (
                f"{', '.join(inventory.assumed)} are taken as their drivers install them; " if inventory.assumed else ""
            )
            notice(
                f"--devices: there are slices, but no DeviceClasses: {known}for other classes only what is so for all "
                "devices of a driver is said"
            )
        report = lint(inputs, target, config=selection, devices=inventory)
        if not report.documents and not inputs.unread:
            notice("nothing here concerns DRA: no claim, class, slice or taint rule, and no pod that uses one")
        return report

    if watch:
        _watch(wanted, linted, lambda report: _render(report, output, statistics, quiet, to_file=False))
    report = linted()
    if diff:
        changes = _diff(report, output_file)
        _end(report.skipped, failed=changes and not exit_zero)
    for _ in range(MAX_FIXES if fix else 0):
        if not _fixed(report):
            break
        report = linted()
    if report.files or not any(item.unread for item in report.skipped):  # of nothing there is nothing to report
        common.write_report(_render(report, output, statistics, quiet, to_file=output_file is not None), output_file)
    _end(report.skipped, failed=report.reaches(threshold) and not exit_zero)  # type: ignore[arg-type]


def _watch(paths: list[str], linted: Callable[[], Report], shown: Callable[[Report], str]) -> NoReturn:
    """Reports again whenever a file has changed, until it is interrupted."""
    import sys

    from dractl.cli import watching

    for _ in watching.changes(paths):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")
        report = linted()
        common.write_report(shown(report), None)
        sys.stdout.flush()
        _complain(report.skipped)  # an editor may be replacing the file just now
    raise AssertionError("changes never end")


def _complain(skipped: Iterable[Skipped]) -> bool:
    """Says what could not be read; whether there is any."""
    from dractl.cli import terminal

    unread = [item for item in skipped if item.unread]
    for item in unread:
        terminal.complain(f"{item.file}: {item.why}", hint=item.hint)
    return bool(unread)


def _end(skipped: Iterable[Skipped], *, failed: bool = False) -> NoReturn:
    """After the report: its exit code, which is another where it is not about all that was asked for."""
    from dractl.errors import InputError

    raise typer.Exit(InputError.exit_code if _complain(skipped) else 1 if failed else 0)


def _inventory(sources: list[str], target: Target) -> Inventory | None:
    """The devices that ``--devices`` names, with the classes that came with them."""
    if not sources:
        return None
    from dractl.cli import published
    from dractl.errors import Unsupported
    from dractl.lint.inventory import Inventory

    if not target.at_least("1.34"):
        raise Unsupported(f"--devices needs Kubernetes 1.34 or later, not {target.release}", hint="leave it out")
    states = [published.read(source, target) for source in sources]
    slices = [value for state in states for value in state.all("ResourceSlice").values()]
    classes = {name: value for state in states for (_, name), value in state.all("DeviceClass").items()}
    return Inventory(slices, classes, assumed={} if classes else published.installed(slices, target))


def _diff(report: Report, output_file: Path | None) -> bool:
    from dractl.cli import fixing, terminal

    terminal.write_utf8()
    shown = "".join(fixing.diff(change) for change in fixing.changes(report))
    common.write_report(shown, output_file)
    return bool(shown)


def _fixed(report: Report) -> bool:
    """Writes the fixes; whether there were any."""
    from dractl.cli import fixing
    from dractl.cli.terminal import notice

    made = list(fixing.changes(report))
    for change in made:
        fixing.write(change)
        notice(f"{change.path}: {change.fixes} fixed")
    return bool(made)


def _split(values: list[str] | None) -> list[str]:
    return [part.strip() for value in values or [] for part in value.split(",") if part.strip()]


def _selection(
    settings: Config,
    environment: Mapping[str, str],
    select: list[str] | None,
    ignore: list[str] | None,
    baseline: Path | None,
) -> Selection:
    from dractl.lint.selection import Selection

    chosen = _split(select) or _split([environment.get("SELECT", "")]) or list(settings.select)
    left_out = [*settings.ignore, *_split([environment.get("IGNORE", "")]), *_split(ignore)]
    path = baseline or environment.get("BASELINE") or settings.baseline
    if not (chosen or left_out or settings.per_file_ignores or path):
        return Selection()
    from dractl.lint import registry
    from dractl.lint.config import baseline as fingerprints

    codes = registry.expand(chosen, "--select") if chosen else frozenset(registry.rules())
    return Selection(
        codes - registry.expand(left_out, "--ignore"),
        tuple((pattern, registry.expand(c, pattern)) for pattern, c in settings.per_file_ignores.items()),
        fingerprints(Path(path)) if path else {},
    )


def _stdin(paths: list[str]) -> bytes | None:
    import sys

    return sys.stdin.buffer.read() if "-" in paths else None


def _render(report: Report, output: str, statistics: bool, quiet: bool, *, to_file: bool) -> str:
    import sys
    from importlib import import_module

    module = import_module(f"dractl.report.lint_{output}")
    if output not in ("full", "concise"):
        return str(module.render(report))
    from dractl.cli import terminal
    from dractl.report import lint_summary
    from dractl.report.canvas import Canvas

    color = terminal.use_color(sys.stdout) and not to_file
    canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), color)
    blocks = [module.render(report, canvas)]
    if statistics:
        blocks.append(lint_summary.statistics(report))
    if output == "full" and not quiet:
        blocks.append(lint_summary.summary(report, canvas))
    return "\n\n".join(block for block in blocks if block)
