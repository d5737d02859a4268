"""``dractl lint``: errors in manifests."""

from __future__ import annotations

import os
import re
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn, cast

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cel_library import why_not
from dractl.cli import common, completing, fixing, terminal, watching
from dractl.cli.app import MAX_REPETITIONS
from dractl.cli.fixing import EditOutcome
from dractl.cli.headings import ACTIONS, AGAINST, INPUT, OUTPUT, TOOLS, OptionGroup
from dractl.cli.options import driver_options
from dractl.cli.options.printing import Printing
from dractl.cli.options.release import (
    ReleaseOptions,
    choose_target,
    find_known_release,
    list_releases,
)
from dractl.cli.options.values import ValuesOptions
from dractl.cli.rendering import Rendering
from dractl.cli.terminal import notice
from dractl.errors import InputError, Unsupported, UsageError
from dractl.facts.consumers import parse_consumers
from dractl.inputs.omissions import omissions
from dractl.lint import registry
from dractl.lint.alike import merge_alike
from dractl.lint.cache import Cache
from dractl.lint.config import baseline as fingerprints
from dractl.lint.finding import Report
from dractl.lint.findings import Terms
from dractl.lint.registry import CONSUMERS
from dractl.lint.releases import combine
from dractl.lint.repository import Repositories, add_neighbours, is_whole
from dractl.lint.run import report_on
from dractl.lint.selection import Selection
from dractl.lint.size import is_large
from dractl.lint.store import Store
from dractl.manifests import FileFilter, Skipped, load_readable
from dractl.manifests.content import MANIFEST_SUFFIXES
from dractl.manifests.files import Entry, list_files
from dractl.manifests.kustomize import Kustomizations, is_kustomization
from dractl.manifests.markdown import SUFFIXES
from dractl.manifests.naming import name_paths
from dractl.manifests.templates import add_templates, chart_of
from dractl.model.driver_choice import DriverChoice
from dractl.report.canvas import Canvas
from dractl.report.lint import summary as lint_summary
from dractl.report.plain import harmless, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.cli.fixing import FileChange
    from dractl.cluster import ClusterState
    from dractl.lint.config import Config
    from dractl.lint.finding import Report, Severity
    from dractl.lint.inventory import TriedDevices
    from dractl.lint.selection import Selection
    from dractl.manifests import Inputs, Skipped
    from dractl.manifests.files import Entry
    from dractl.manifests.rendered import Renderer
    from dractl.model import Target

FORMATS = ("full", "concise", "json", "yaml", "sarif", "junit", "github", "gitlab", "markdown")
_FOR_PEOPLE = ("full", "github", "markdown")
"""Formats that report a cause in many devices as one finding. Formats for programs report each
place.
"""
SEVERITIES = ("error", "warning", "info")

Paths = Annotated[
    list[str] | None,
    Argument(
        metavar="[PATH]...",
        help="Files, folders, archives; - for standard input. Default: .",
        show_default=False,
    ),
]
Files = Annotated[
    list[str] | None, Option("--filename", "-f", metavar="PATH", help="Same as PATH.")
]
StdinName = Annotated[
    str, Option("--stdin-filename", metavar="NAME", help="Name of standard input in reports.")
]
Exclude = Annotated[
    list[str] | None,
    Option("--exclude", metavar="PATTERN", help="Skip files, as in .gitignore; repeatable."),
]
ChangedFiles = Annotated[
    bool,
    Option(
        "--changed-files",
        help=(
            "PATHs are files that changed, as a hook passes them: skip what is excluded or not a"
            " Kubernetes object."
        ),
    ),
]
Render = Annotated[
    bool,
    Option(
        "--render/--no-render",
        help="Render charts with helm and kustomizations with kustomize or kubectl, if installed.",
    ),
]
Gitignore = Annotated[
    bool,
    Option(
        "--gitignore/--no-gitignore",
        help="Skip what git ignores below folders, node_modules, and Go's vendor.",
    ),
]
FailOnEmpty = Annotated[
    bool, Option("--fail-on-empty", help="Exit with 1 if there are no manifests.")
]
ShowFiles = Annotated[
    bool,
    Option(
        "--show-files",
        help="List the files that would be linted and exit.",
        rich_help_panel=ACTIONS,
    ),
]
Select = Annotated[
    list[str] | None,
    Option(
        "--select",
        metavar="CODES",
        help="Check only these rules: codes, names or prefixes (DRA7), comma-separated.",
        autocompletion=completing.offer_rules,
    ),
]
Ignore = Annotated[
    list[str] | None,
    Option(
        "--ignore",
        metavar="CODES",
        help="Ignore these rules.",
        autocompletion=completing.offer_rules,
    ),
]
FailOn = Annotated[
    str | None,
    Option(
        "--fail-on",
        metavar="SEVERITY",
        help="Lowest severity that sets exit code 1: error (default), warning or info.",
        autocompletion=completing.offer_words(*SEVERITIES),
    ),
]
FailOnSkipped = Annotated[
    bool, Option("--fail-on-skipped", help="Exit with 1 if a file was skipped, such as a template.")
]
Baseline = Annotated[
    Path | None,
    Option(
        "--baseline",
        metavar="FILE",
        help="Hide findings already present in an earlier JSON report.",
    ),
]
MinSeverity = Annotated[
    str | None,
    Option(
        "--min-severity",
        metavar="SEVERITY",
        help="Lowest severity in reports: error, warning or info (default). Only hides findings.",
        autocompletion=completing.offer_words(*SEVERITIES),
    ),
]
Statistics = Annotated[bool, Option("--statistics", help="Count the findings of each rule.")]
Devices = Annotated[
    list[str] | None,
    Option(
        "--devices",
        metavar="FILE|DIR|SNAPSHOT|local|cluster",
        help="Try selectors, constraints and capacities on these devices; repeatable.",
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC,...",
        help=(
            "Try them on the devices of described machines, such as dgx-h100,p5.48xlarge;"
            " repeatable."
        ),
        autocompletion=completing.offer_comma_list(completing.machines),
    ),
]
For = Annotated[
    list[str] | None,
    Option(
        "--for",
        metavar="NAMES",
        help=(
            "Report what these refuse or cannot provision for: karpenter, cluster-autoscaler,"
            " kueue; comma-separated."
        ),
        autocompletion=completing.offer_comma_list(lambda: CONSUMERS),
        rich_help_panel=AGAINST,
    ),
]
FixFiles = Annotated[
    bool, Option("--fix", help="Write the safe fixes to the files; report what remains.")
]
UnsafeFixes = Annotated[
    bool,
    Option(
        "--unsafe-fixes", help="With --fix or --diff: also apply fixes that may change the meaning."
    ),
]
AddIgnore = Annotated[
    bool,
    Option(
        "--add-ignore",
        help="Write a comment `# dractl: ignore[CODE]` for each finding; report what remains.",
    ),
]
Diff = Annotated[
    bool, Option("--diff", help="Show what --fix or --add-ignore would change; change nothing.")
]
Watch = Annotated[
    bool,
    Option(
        "--watch",
        help="Lint again whenever a file changes, until interrupted.",
        rich_help_panel=ACTIONS,
    ),
]
Jobs = Annotated[
    int | None,
    Option(
        "--jobs",
        "-j",
        parser=common.number_parser("--jobs"),
        metavar="N",
        help="Processes for many files; default: one for each CPU.",
    ),
]
NoCache = Annotated[bool, Option("--no-cache", help="Do not read or write cached reports.")]
ExitZero = Annotated[bool, Option("--exit-zero", help="Exit with 0 even if there are findings.")]
Output = Annotated[
    list[str] | None,
    Option(
        "--output",
        "-o",
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(FORMATS)}; repeatable with =FILE.",
        autocompletion=completing.offer_words(*FORMATS),
    ),
]


class InputOptions(ValuesOptions, frozen=True):
    """The files to check, and the values for charts among them."""

    heading: ClassVar[str] = INPUT

    paths: Paths = None
    filename: Files = None
    stdin_filename: StdinName = "<stdin>"
    exclude: Exclude = None
    changed_files: ChangedFiles = False
    gitignore: Gitignore = True
    render: Render = True
    show_files: ShowFiles = False

    @property
    def all_paths(self) -> list[str]:
        """Return the paths of the arguments and of ``-f``, by default the working directory."""
        return [*(self.paths or []), *(self.filename or [])] or ["."]


class DeviceOptions(OptionGroup, frozen=True):
    """The devices on which selectors are tried."""

    heading: ClassVar[str] = AGAINST

    devices: Devices = None
    hardware: Hardware = None
    driver: driver_options.Driver = None
    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None

    def parse_drivers(self) -> DriverChoice:
        """Parse the options of drivers. Raises UsageError."""
        return driver_options.parse(
            self.driver, self.driver_version, self.driver_option, self.hardware, judges=True
        )


class RuleOptions(OptionGroup, frozen=True):
    """The choice of the rules that apply."""

    heading: ClassVar[str] = ACTIONS

    for_: For = None
    select: Select = None
    ignore: Ignore = None
    baseline: Baseline = None


class EditOptions(OptionGroup, frozen=True):
    """Options to change files, or to show the changes."""

    heading: ClassVar[str] = ACTIONS

    fix: FixFiles = False
    unsafe_fixes: UnsafeFixes = False
    add_ignore: AddIgnore = False
    diff: Diff = False

    @property
    def is_requested(self) -> bool:
        return self.fix or self.add_ignore or self.diff

    def check(self) -> None:
        """Raise UsageError for options that cannot be combined."""
        if self.fix and self.diff:
            raise UsageError(
                "--fix and --diff cannot be combined", hint="--diff shows what --fix would do"
            )
        if self.add_ignore and self.fix:
            raise UsageError(
                "--fix and --add-ignore cannot be combined",
                hint="run --fix first, then --add-ignore",
            )
        if self.unsafe_fixes and (self.add_ignore or not (self.fix or self.diff)):
            raise UsageError("--unsafe-fixes needs --fix or --diff")


class RunOptions(OptionGroup, frozen=True):
    """Options for the exit code, for repeated runs, and for speed."""

    heading: ClassVar[str] = TOOLS

    fail_on: FailOn = None
    fail_on_skipped: FailOnSkipped = False
    fail_on_empty: FailOnEmpty = False
    watch: Watch = False
    exit_zero: ExitZero = False
    jobs: Jobs = None
    no_cache: NoCache = False

    def threshold(self, environment: Mapping[str, str], settings: Config) -> Severity:
        """Return the least severity that fails the run. Raises UsageError."""
        severity = self.fail_on or environment.get("FAIL_ON") or settings.fail_on or "error"
        option = common.origin("--fail-on", self.fail_on, environment, settings, "lint.")
        return cast("Severity", common.choose(option, severity, SEVERITIES))

    def fails(self, report: Report, threshold: Severity) -> bool:
        """Return True if the findings fail the run."""
        is_bad = report.reaches(threshold) or (self.fail_on_empty and not report.files)
        return is_bad and not self.exit_zero


class ReportOptions(OptionGroup, frozen=True):
    """The formats and the content of the reports."""

    heading: ClassVar[str] = OUTPUT

    min_severity: MinSeverity = None
    statistics: Statistics = False
    output: Output = None

    def check(self) -> None:
        """Raise UsageError for a severity that does not exist."""
        if self.min_severity is not None:
            common.choose("--min-severity", self.min_severity, SEVERITIES)

    def hide(self, report: Report) -> Report:
        """Return the report without findings below the least severity."""
        return report.from_severity(cast("Severity", self.min_severity or "info"))

    def formats(self, environment: Mapping[str, str]) -> list[str]:
        """Return the formats that the option gives, or else the environment variable; by default
        ``full``.
        """
        return self.output or [environment.get("OUTPUT", "full")]


def command(
    inputs: InputOptions = InputOptions(),
    devices: DeviceOptions = DeviceOptions(),
    rules: RuleOptions = RuleOptions(),
    edits: EditOptions = EditOptions(),
    run: RunOptions = RunOptions(),
    against: ReleaseOptions = ReleaseOptions(),
    reports: ReportOptions = ReportOptions(),
    printing: Printing = Printing(),
) -> None:
    """Report what an API server would reject in manifests, and what it accepts although it can
    never work.

    Looks at ResourceClaims, their templates, DeviceClasses, ResourceSlices, DeviceTaintRules, and
    pods that use claims.

    Examples: `dractl lint manifests/`, `helm template chart | dractl lint -`, `dractl lint . -o
    sarif=dractl.sarif`
    """
    printing.apply()
    settings, environment = against.settings()
    output_origin = common.origin("--output", reports.output, environment, settings)
    outputs = _parse_outputs(output_origin, reports.formats(environment), reports, printing)
    threshold = run.threshold(environment, settings)
    reports.check()
    edits.check()
    if run.watch:
        _refuse_watch(inputs, edits, outputs, printing)
    driver_choice = devices.parse_drivers()
    release, gates = against.release_and_gates(settings, environment)
    published = _load_published(devices.devices or settings.devices)
    seen = None if release else find_known_release(inputs.all_paths, list_releases(published))
    releases = _split_values([release]) if release else [seen.name if seen else None]
    targets = [choose_target(name, gates) for name in releases]
    _refuse_releases(targets, run, edits)
    is_uncached = against.isolated or run.no_cache or environment.get("NO_CACHE")
    job = _make_job(
        inputs,
        rules,
        settings,
        environment,
        target=targets[-1],
        assumed=release is None,
        cache=None if is_uncached else cache_folder(),
        driver_versions=driver_choice.versions,
    )
    job = replace(job, rendering=_make_rendering(inputs, settings, job.cache))
    if inputs.show_files:
        _show_files(job, printing.output_file)
    inventory = _load_inventory(published, devices.hardware or [], driver_choice, job.target)
    job = replace(job, inventory=inventory, jobs=run.jobs or _count_processors())
    if run.watch:
        _watch(job, outputs[0], reports)
    outcome = _lint_or_edit(job, edits, targets)
    _note_rule_hits(inputs.all_paths, devices.devices or (), job.target)
    origin = seen.origin if seen else against.release_from(settings, environment)
    report = replace(outcome.report, release_from=origin)
    fails = run.fails(report, threshold)
    outcome = replace(outcome, report=reports.hide(report))
    _finish(job, outcome, edits, run, outputs, printing.output_file, fails=fails)


def _note_rule_hits(paths: Sequence[str], devices: Sequence[str], target: Target) -> None:
    """Print which claims and pods in a dump of ``--devices`` the DeviceTaintRules of named files
    hit.
    """
    if devices:
        from dractl.cli import rule_hits

        rule_hits.note_rules(paths, devices, target)


def _lint_or_edit(job: Job, edits: EditOptions, targets: Sequence[Target]) -> EditOutcome:
    """Return the report after the requested fixes or comments. ``--diff`` writes no file."""
    if not edits.is_requested:
        return EditOutcome(job.lint_releases(targets), [], [])
    outcome = _apply_edits(job, edits)
    return outcome if edits.diff else _write_outcome(job, edits, outcome)


def _refuse_releases(targets: Sequence[Target], run: RunOptions, edits: EditOptions) -> None:
    """Raise UsageError for options that cannot be combined with several releases."""
    if len(targets) > 1 and (run.watch or edits.is_requested):
        raise UsageError(
            "several releases cannot be combined with --watch or with changes of files"
        )


def _refuse_watch(
    inputs: InputOptions, edits: EditOptions, outputs: Sequence[_Output], printing: Printing
) -> None:
    """Raise UsageError for options that cannot be combined with --watch."""
    conflicts = {
        "--fix": edits.fix,
        "--unsafe-fixes": edits.unsafe_fixes,
        "--add-ignore": edits.add_ignore,
        "--diff": edits.diff,
        "--output-file": printing.to_file,
        "report files": len(outputs) > 1,
        "standard input": "-" in inputs.all_paths,
    }
    names = ", ".join(name for name, is_given in conflicts.items() if is_given)
    if names:
        raise UsageError(f"--watch cannot be combined with {names}")


def _make_rendering(inputs: InputOptions, settings: Config, cache: str | None) -> Rendering | None:
    """Return the renderer of charts and kustomizations; None if there is none. Raises
    UsageError.
    """
    if inputs.render:
        return Rendering(cache, inputs.choose_values(settings.charts))
    inputs.refuse_values()
    return None


def _make_job(
    inputs: InputOptions,
    rules: RuleOptions,
    settings: Config,
    environment: Mapping[str, str],
    *,
    target: Target,
    assumed: bool,
    cache: str | None,
    driver_versions: Mapping[str, str],
) -> Job:
    """Collect the input, the rules and the options for linting it."""
    consumers = parse_consumers(_split_values(rules.for_) or settings.consumers)
    baseline = baseline_path(rules.baseline, environment, settings)
    exclude = (*settings.exclude, *_split_values(inputs.exclude), *_exclude_pattern(baseline))
    paths = name_paths(inputs.all_paths)
    return Job(
        paths=add_templates(paths) if inputs.changed_files else paths,
        stdin=sys.stdin.buffer.read() if "-" in inputs.all_paths else None,
        stdin_name=inputs.stdin_filename,
        exclude=exclude,
        changed_files=inputs.changed_files,
        gitignore=inputs.gitignore,
        suffixes=(*MANIFEST_SUFFIXES, *SUFFIXES) if settings.markdown else MANIFEST_SUFFIXES,
        rendering=None,
        target=target,
        assumed=assumed,
        consumers=frozenset(consumers),
        versions={
            **driver_versions,
            **{name: version for name, version in consumers.items() if version},
        },
        selection=select_rules(settings, environment, rules.select, rules.ignore, rules.baseline),
        inventory=None,
        jobs=1,
        cache=cache,
        repositories=Repositories(
            Store(cache, "index", "1") if cache else None, exclude, gitignore=inputs.gitignore
        ),
    )


def _finish(
    job: Job,
    outcome: EditOutcome,
    edits: EditOptions,
    run: RunOptions,
    outputs: Sequence[_Output],
    output_file: Path | None,
    *,
    fails: bool,
) -> NoReturn:
    """Show or write the changes, write the reports, and end the run."""
    report, errors = outcome.report, outcome.errors
    if edits.diff:
        has_changes = _show_diff(outcome.changes, output_file)
        _exit(
            report,
            failed=has_changes and not run.exit_zero,
            fail_on_skipped=run.fail_on_skipped,
            errors=errors,
        )
    if report.files or not any(item.unread for item in report.skipped):  # nothing to report on
        for output in outputs:
            output.write(report, to_stderr=edits.is_requested and job.stdin is not None)
    _exit(
        report,
        failed=fails,
        fail_on_skipped=run.fail_on_skipped and not run.exit_zero,
        errors=errors,
    )


class Job(Struct, frozen=True):
    """The input, and the rules and options for linting it."""

    paths: list[str]
    """Files and folders; ``-`` is standard input."""
    stdin: bytes | None
    """Content of standard input, or None if it is not read."""
    stdin_name: str
    """Name of standard input in findings."""
    exclude: tuple[str, ...]
    """Patterns, as in .gitignore, of files that are not read."""
    changed_files: bool
    """True if ``exclude`` also applies to files that the user names."""
    gitignore: bool
    """True if files that git ignores are not read."""
    suffixes: tuple[str, ...]
    """Suffixes of the files that are read in folders."""
    rendering: Rendering | None
    """Renders charts and builds kustomizations; None if they stay as they are."""
    target: Target
    """Release and gates whose rules apply."""
    assumed: bool
    """True if neither an option nor a setting names the release."""
    consumers: frozenset[str]
    """Programs besides Kubernetes whose rules apply."""
    versions: Mapping[str, str]
    """Versions of drivers and consumers by name."""
    selection: Selection
    """Rules whose findings are reported."""
    inventory: TriedDevices | None
    """Devices on which selectors are tried, or None."""
    jobs: int
    """The number of processes."""
    cache: str | None
    """Folder of the cache, or None without one."""
    repositories: Repositories
    """Indexes of the repositories that the files are in."""

    def load(self, overlay: Mapping[str, bytes]) -> Inputs:
        """Load the input, with the files of ``overlay`` replaced."""
        inputs = load_readable(
            self.paths,
            stdin=self.stdin,
            stdin_name=self.stdin_name,
            choice=FileFilter(self.exclude, self.changed_files, self.gitignore, self.suffixes),
            overlay=overlay,
            render=self._render_charts(overlay),
        )
        if self.rendering is not None:
            self.rendering.check_values()
        inputs = self._add_repository_context(inputs, overlay)
        return self._add_kustomizations(
            inputs, list_files(self.paths, self.exclude, gitignore=self.gitignore), overlay
        )

    def _render_charts(self, overlay: Mapping[str, bytes]) -> Renderer | None:
        return self.rendering.charts(self.target, overlay=overlay) if self.rendering else None

    def _add_repository_context(self, inputs: Inputs, overlay: Mapping[str, bytes]) -> Inputs:
        """Add the objects on which the verdicts about the input depend."""
        whole = replace(inputs, folders=tuple(filter(os.path.isdir, self.paths)))
        return add_neighbours(whole, self.repositories, self._render_charts(overlay))

    def _add_kustomizations(
        self, inputs: Inputs, entries: Iterable[Entry | Skipped], overlay: Mapping[str, bytes]
    ) -> Inputs:
        """Add the objects of the input's kustomizations."""
        if self.rendering is None:
            return inputs
        files = [item.path for item in entries if not isinstance(item, Skipped)]
        return self.rendering.deliveries(inputs, self.target, files, overlay)

    def lint_releases(self, targets: Sequence[Target]) -> Report:
        """Report on one or several releases. The findings of several are marked with their
        release.
        """
        reports = [replace(self, target=target).lint() for target in targets]
        return reports[0] if len(reports) == 1 else combine(reports)

    def lint(self, overlay: Mapping[str, bytes] | None = None) -> Report:
        """Report on the input, with some files replaced, and print notices about it the first
        time.
        """
        report = None if overlay else self._lint_many()
        if report is None:
            with terminal.progress() as progress:
                progress("linting")
                inputs = self.load(overlay or {})
                if not overlay:
                    self._print_device_assumptions(inputs)
                report = report_on(inputs, self._terms, Kustomizations())
        if not overlay:
            _print_notices(report)
        return report

    @property
    def _terms(self) -> Terms:
        return Terms(
            self.target, self.selection, self.inventory, self.assumed, self.consumers, self.versions
        )

    def _lint_many(self) -> Report | None:
        """Report on many files with several processes or the cache; return None if neither pays
        off.
        """
        if self.stdin is not None or self.inventory is not None:
            return None
        files = list_files(
            self.paths,
            self.exclude,
            force_exclude=self.changed_files,
            gitignore=self.gitignore,
            suffixes=self.suffixes,
        )
        entries = list(files)
        if not is_large(entries) or self._has_charts(entries):
            return None
        from dractl.lint.many import lint_listed  # not imported for few files

        has_kustomization = self.rendering is not None and any(
            isinstance(item, Entry) and is_kustomization(item.path) for item in entries
        )
        # Kustomize builds, and parts of repositories, depend on other files, which belong to no
        # batch and no digest of the cache.
        is_complete = not has_kustomization and is_whole(self.paths)
        is_single = len(self.paths) == 1 and not self.changed_files
        with terminal.progress() as progress:
            return lint_listed(
                entries,
                self._terms,
                named=is_single,
                processes=self.jobs if is_complete else 1,
                cache=Cache(self.cache) if is_complete and self.cache is not None else None,
                complete=lambda inputs: self._add_kustomizations(
                    self._add_repository_context(inputs, {}), entries, {}
                ),
                announce=progress,
            )

    def _has_charts(self, entries: Sequence[Entry | Skipped]) -> bool:
        """Return True if chart templates are among the entries: a chart is rendered as a whole, and
        a batch may have only some of its files.
        """
        if self.rendering is None or not self.rendering.has_helm:
            return False
        return any(
            isinstance(item, Entry) and "templates" in item.path and chart_of(item.path)
            for item in entries
        )

    def _print_device_assumptions(self, inputs: Inputs) -> None:
        """Print a notice of the assumptions about the devices."""
        devices = self.inventory
        if (
            devices
            and not devices.classes
            and not any(d.kind == "DeviceClass" for d in inputs.documents)
        ):
            names = ", ".join(devices.assumed)
            assumption = f"{names} are assumed as their drivers install them; " if names else ""
            notice(
                f"no DeviceClasses came with the devices: {assumption}for other classes, only"
                " findings that hold for all of a driver's devices are reported"
            )


def _print_notices(report: Report) -> None:
    """Print notices about skipped files and about checks that cannot be done here."""
    reason = why_not()
    if reason is not None and report.documents:
        notice(
            "selectors and derived attributes are not compiled, costed or tried on devices:"
            f" {reason}"
        )
    for omission in omissions(report.skipped):
        if not omission.unread:
            hint = f"; {omission.hint}" if omission.hint else ""
            notice(f"{omission.place}: {omission.sentence}{hint}")
    if report.skipped or report.documents or report.findings:
        return
    if not report.files:
        notice("no manifests found: no file whose name ends in .yaml, .yml or .json")
    else:
        notice(
            "no DRA objects found: no claim, class, slice or taint rule, and no pod that uses one"
        )


def cache_folder() -> str | None:
    """Return the folder of this user's caches by the platform's convention, or None if there is no
    home.
    """
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA")
        return os.path.join(parent, "dractl", "Cache") if parent else None
    if sys.platform == "darwin":
        parent = os.path.join(home, "Library", "Caches")
    else:
        folder = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG specification says to ignore relative paths.
        parent = folder if os.path.isabs(folder) else os.path.join(home, ".cache")
    return os.path.join(parent, "dractl") if os.path.isabs(parent) else None


def _count_processors() -> int:
    """Count the CPUs that this process may use, up to the number that the largest repositories keep
    busy.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, 8)


class _Output(Struct, frozen=True):
    """A report in a format, to a file or to standard output."""

    format: str
    """One of ``FORMATS``."""
    file: Path | None
    """File to write, or None for standard output."""
    statistics: bool
    """True if the number of findings of each rule follows."""
    quiet: bool
    """True if the report has no summary."""

    def write(self, report: Report, *, to_stderr: bool = False) -> None:
        """Write the report to its file, or to standard output or error."""
        text = _render(report, self)
        if to_stderr and self.file is None:
            text = harmless(common.encode(text, self.format))
            sys.stderr.write(text if text.endswith("\n") or not text else text + "\n")
        else:
            common.write_output(text, self.format, self.file)


def _parse_outputs(
    origin: str, values: list[str], options: ReportOptions, printing: Printing
) -> list[_Output]:
    """Parse the destinations of reports.

    ``FORMAT`` goes to standard output or ``--output-file``, ``FORMAT=FILE`` to a file.
    """
    outputs: list[_Output] = []
    for text in values:
        name, equals, file = text.partition("=")
        if "," in name and all(format_name in FORMATS for format_name in name.split(",")):
            advice = " ".join(f"-o {format_name}=FILE" for format_name in name.split(","))
            raise UsageError(f"{origin}: {name} names several formats", hint=f"write {advice}")
        common.choose(origin, name, FORMATS)
        if equals and not file:
            raise UsageError(f"--output {text} names no file", hint=f"write {name}=FILE")
        path = Path(file) if file else None
        outputs.append(_Output(name, path, options.statistics, printing.quiet))
    to_stdout = [item for item in outputs if item.file is None]
    if len(to_stdout) > 1:
        raise UsageError(
            "only one --output can go to standard output", hint=f"write {to_stdout[1].format}=FILE"
        )
    if to_stdout:
        common.choose_output(to_stdout[0].format, FORMATS)
    reports = [item for item in outputs if item.file is not None]
    default = _Output(
        to_stdout[0].format if to_stdout else "full",
        printing.output_file,
        options.statistics,
        printing.quiet,
    )
    return [*reports, default]


def _show_files(job: Job, output_file: Path | None) -> NoReturn:
    inputs = job.load({})
    names = {document.file for document in inputs.documents} | {
        broken.file for broken in inputs.broken
    }
    common.write_report("\n".join(sorted(names)), output_file)
    _exit(Report((), job.target.release, skipped=inputs.skipped))


def _watch(job: Job, output: _Output, options: ReportOptions) -> NoReturn:
    """Report again whenever a file has changed, until interrupted."""
    for _ in watching.changes(job.paths):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")
        report = options.hide(job.lint())
        output.write(report)
        if output.format == "concise" and not output.quiet:
            sys.stdout.write(f"-- {time.strftime('%H:%M:%S')}\n")
        sys.stdout.flush()
        _report_unreadable(report.skipped)  # an editor may be replacing the file just now
    raise AssertionError("a watch never ends")


def _apply_edits(job: Job, edits: EditOptions) -> EditOutcome:
    """Apply the fixes or ignore comments in memory."""
    stdin = _stdin_with_name(job)
    if edits.add_ignore:
        return fixing.add_ignore_comments(job.lint, stdin)
    return fixing.apply_fixes(job.lint, stdin, unsafe=edits.unsafe_fixes)


def _show_diff(changes: Iterable[FileChange], output_file: Path | None) -> bool:
    """Print the changes; return True if there are any."""
    terminal.write_utf8()
    shown = "".join(fixing.diff(change) for change in changes)
    common.write_report(shown, output_file)
    return bool(shown)


def _write_outcome(job: Job, edits: EditOptions, outcome: EditOutcome) -> EditOutcome:
    """Write the changes; if some files stay as they are, report on what is written."""
    verb = "suppressed" if edits.add_ignore else "fixed"
    errors = _write_changes(job, outcome.changes, done=verb)
    if not errors:
        return outcome
    unchanged = {error.place for error in errors}
    written = {
        change.name: change.after for change in outcome.changes if change.name not in unchanged
    }
    return EditOutcome(job.lint(written), outcome.changes, [*outcome.errors, *errors])


def _write_changes(job: Job, changes: Iterable[FileChange], *, done: str) -> list[InputError]:
    """Write the changes to the files, and standard input to standard output.

    Returns the errors of files that stay as they are.
    """
    stdin = _stdin_with_name(job)
    errors = fixing.write(changes, stdin, lambda change: f"{change.made} {done}")
    if stdin is not None:
        sys.stdout.buffer.write(
            next((change.after for change in changes if change.name == stdin[0]), stdin[1])
        )
        sys.stdout.flush()
    return errors


def _stdin_with_name(job: Job) -> tuple[str, bytes] | None:
    return None if job.stdin is None else (job.stdin_name, job.stdin)


def _report_unreadable(skipped: Iterable[Skipped]) -> bool:
    """Print an error for each unreadable file; return True if there are any."""
    unread = [item for item in skipped if item.unread]
    terminal.print_unread(unread)
    return bool(unread)


def _exit(
    report: Report,
    *,
    failed: bool = False,
    fail_on_skipped: bool = False,
    errors: Iterable[InputError] = (),
) -> NoReturn:
    """End the run with its exit code after the report.

    A file that could not be read or written has an exit code of its own.
    """
    unread = _report_unreadable(report.skipped)
    for error in errors:
        terminal.print_error(str(error), hint=error.hint)
        unread = True
    failed = failed or (fail_on_skipped and bool(report.skipped))
    raise Exit(InputError.exit_code if unread else int(failed))


def _load_published(sources: Sequence[str]) -> dict[str, ClusterState | None]:
    """Load the objects of ``--devices`` by source; None for a machine."""
    if not sources:
        return {}
    from dractl.cli.options.device_sources import load_published

    return load_published(sources)


def _load_inventory(
    published: Mapping[str, ClusterState | None],
    hardware: list[str],
    driver_choice: DriverChoice,
    target: Target,
) -> TriedDevices | None:
    """Make the inventory of ``--devices``, whose objects are ``published``, and of ``--hardware``,
    with the classes that came with ``--devices``.
    """
    if not published and not hardware:
        return None
    from dractl.allocation import satisfiability
    from dractl.cli.options.device_sources import render_machine, render_snapshot
    from dractl.cluster.described_nodes import list_installed_classes
    from dractl.cluster.snapshot_gaps import unknown_names
    from dractl.cluster.sources import filter_drivers
    from dractl.lint.inventory import TriedDevices
    from dractl.machines.nodes import parse_machines

    if not target.has("served-by-default"):
        option = "--devices" if published else "--hardware"
        raise Unsupported(
            f"{option} needs Kubernetes 1.34 or later, not {target.release}",
            hint="remove it, or name a later release: --kubernetes-version 1.34",
        )
    loaded = [
        filter_drivers(state or render_snapshot(source, target), driver_choice.drivers)
        for source, state in published.items()
    ]
    machines = parse_machines(hardware)
    described_nodes = [render_machine(spec, target, driver_choice) for spec in machines]
    states = (*loaded, *described_nodes)
    slices = [value for state in states for value in state.objects("ResourceSlice").values()]
    decoded = [item for state in states for item in state.slices]
    classes = {
        name: value for state in loaded for (_, name), value in state.objects("DeviceClass").items()
    }
    assumed = {} if classes else list_installed_classes(slices, target)
    refuses = satisfiability.make_check(decoded, classes or assumed, target)
    return TriedDevices(
        decoded, classes, assumed=assumed, refuses=refuses, unknown=unknown_names(slices)
    )


def _split_values(values: list[str] | None) -> list[str]:
    """Split comma-separated values, and return each once. Raises UsageError for an implausible
    number of values.
    """
    parts = list(
        dict.fromkeys(
            part.strip() for value in values or [] for part in value.split(",") if part.strip()
        )
    )
    if len(parts) > MAX_REPETITIONS:
        raise UsageError(
            f"{parts[0]},...: {len(parts):,} values, and at most {MAX_REPETITIONS:,} are taken"
        )
    return parts


def baseline_path(
    option: Path | None, environment: Mapping[str, str], settings: Config
) -> Path | None:
    """Return the path of the report whose findings are hidden, from the option, or else from the
    environment variable, or else from the configuration.
    """
    path = option or environment.get("BASELINE") or settings.baseline
    return Path(path) if path else None


def _exclude_pattern(file: Path | None) -> tuple[str, ...]:
    """Return the pattern that excludes a file below the working directory, since a baseline is no
    manifest.
    """
    if file is None or (file.is_absolute() and not file.is_relative_to(Path.cwd())):
        return ()
    relative = Path(os.path.relpath(file)).as_posix()
    return (
        () if relative.startswith("..") else ("/" + re.sub(r"([\\*?\[\]! ])", r"\\\1", relative),)
    )


def select_rules(
    settings: Config,
    environment: Mapping[str, str],
    select: list[str] | None = None,
    ignore: list[str] | None = None,
    baseline: Path | None = None,
) -> Selection:
    """Select the rules by options, DRACTL_* variables and the configuration, and hide a baseline's
    findings.
    """
    selected = (
        _split_values(select)
        or _split_values([environment.get("SELECT", "")])
        or list(settings.select)
    )
    ignored = [
        *settings.ignore,
        *_split_values([environment.get("IGNORE", "")]),
        *_split_values(ignore),
    ]
    path = baseline_path(baseline, environment, settings)
    if not (selected or ignored or settings.per_file_ignores or settings.severity or path):
        return Selection()

    of_select = common.origin("--select", select, environment, settings, "lint.")
    of_ignore = common.origin("--ignore", ignore, environment, settings, "lint.")
    codes = registry.expand(selected, of_select) if selected else frozenset(registry.rules())
    with common.error_origin(common.origin("--baseline", baseline, environment, settings, "lint.")):
        accepted = fingerprints(path) if path else {}
    return Selection(
        codes - registry.expand(ignored, of_ignore),
        tuple(
            (pattern, registry.expand(c, pattern))
            for pattern, c in settings.per_file_ignores.items()
        ),
        accepted,
        _parse_severities(settings),
    )


def _parse_severities(settings: Config) -> dict[str, Severity]:
    """Parse the severities of the configuration by rule; longer selectors take precedence."""
    ordered = sorted(settings.severity.items(), key=lambda row: len(row[0]))
    return {
        code: severity
        for name, severity in ordered
        for code in registry.expand([name], "lint.severity")
    }


def _render(report: Report, output: _Output) -> str:
    module = import_module(f"dractl.report.lint.{common.base_format(output.format)}")
    if output.format in _FOR_PEOPLE:
        report = merge_alike(report)
    if output.format not in ("full", "concise"):
        return str(module.render(report))

    color = terminal.use_color(sys.stdout) and output.file is None
    canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), color)
    blocks = [module.render(report, canvas)]
    if output.statistics:
        blocks.append(lint_summary.statistics(report))
    if output.format == "full" and not output.quiet:
        blocks.append("\n".join(wrap(module.explain_hint(report), canvas.width, "  ")))
        blocks.append(lint_summary.summary(report, canvas))
    text = "\n\n".join(block for block in blocks if block)
    if output.format == "concise" and not output.quiet:
        return "\n".join(filter(None, (text, lint_summary.summary(report, canvas))))
    return text
