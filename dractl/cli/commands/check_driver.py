"""``dractl check-driver``: what is wrong with a DRA driver, before its release."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cli import common, completing, terminal
from dractl.cli.commands import lint as lint_command
from dractl.cli.headings import ACTIONS, INPUT, OUTPUT, TOOLS, OptionGroup
from dractl.cli.options.access import Access
from dractl.cli.options.printing import Printing
from dractl.cli.options.release import (
    ReleaseOptions,
    SeenRelease,
    choose_target,
    find_known_release,
)
from dractl.driver_checks.judgement import Subject, report_on_driver
from dractl.driver_checks.snapshots import Publication, read_publication
from dractl.errors import UsageError
from dractl.garbage import pause_collection
from dractl.inputs.omissions import omissions
from dractl.inputs.reading import list_unrendered, read_files
from dractl.lint.findings import Terms
from dractl.manifests import Document, Inputs, read_text
from dractl.report.canvas import Canvas
from dractl.report.lint import summary as lint_summary
from dractl.report.plain import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.inputs.kubectl import Login
    from dractl.lint.finding import Report, Severity
    from dractl.lint.inventory import TriedDevices
    from dractl.model import Target

CLUSTER_NAME = "cluster"
"""The name of a live cluster in findings."""
_RESOURCES = (
    "resourceslices.resource.k8s.io,resourceclaims.resource.k8s.io,deviceclasses.resource.k8s.io",
    "nodes,pods,daemonsets.apps,deployments.apps,events",
    "clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io",
)
"""Resources to read from a cluster, in parallel calls."""
_OWN_FORMATS = ("full", "concise", "markdown")

Slices = Annotated[
    list[str] | None,
    Argument(
        metavar="[SLICES]...",
        help=(
            "Snapshots of what one driver published, in the order of time: files or folders;"
            " - for standard input."
        ),
        show_default=False,
    ),
]
Classes = Annotated[
    list[str] | None,
    Option("--classes", metavar="FILE", help="DeviceClasses of the driver; repeatable."),
]
Chart = Annotated[
    str | None,
    Option("--chart", metavar="DIR", help="Helm chart or manifests that install the driver."),
]
FromCluster = Annotated[
    bool, Option("--cluster", help="Check the driver at work in the cluster of the kubeconfig.")
]
Dump = Annotated[
    list[str] | None,
    Option("--filename", "-f", metavar="FILE|DIR", help="With --cluster: a dump of the cluster."),
]
Driver = Annotated[
    str | None,
    Option(
        "--driver",
        metavar="NAME",
        help="The driver to check, if there are several.",
        autocompletion=completing.drivers,
    ),
]


class InputOptions(OptionGroup, frozen=True):
    """The snapshots, classes, charts and cluster that show the driver."""

    heading: ClassVar[str] = INPUT

    slices: Slices = None
    classes: Classes = None
    chart: Chart = None
    cluster: FromCluster = False
    filename: Dump = None
    driver: Driver = None

    def check(self) -> None:
        """Raise UsageError for options that cannot be combined, and if no option is given."""
        if self.cluster and self.slices:
            raise UsageError(
                "--cluster and SLICES cannot be combined",
                hint="a cluster has its own slices; name a dump of it with -f",
            )
        if self.filename and not self.cluster:
            raise UsageError("-f needs --cluster", hint="name snapshots as arguments, without -f")
        if not (self.slices or self.chart or self.cluster):
            raise UsageError(
                "nothing to check", hint="name snapshots of the driver's slices, or --cluster"
            )
        if self.slices and self.slices.count("-") > 1:
            raise UsageError("standard input is named twice")


class RuleOptions(OptionGroup, frozen=True):
    """The choice of the rules that apply."""

    heading: ClassVar[str] = ACTIONS

    select: lint_command.Select = None
    ignore: lint_command.Ignore = None
    baseline: lint_command.Baseline = None


class RunOptions(OptionGroup, frozen=True):
    """The severity that sets the exit code."""

    heading: ClassVar[str] = TOOLS

    fail_on: lint_command.FailOn = None
    exit_zero: lint_command.ExitZero = False


class ReportOptions(OptionGroup, frozen=True):
    """The format and the content of the report."""

    heading: ClassVar[str] = OUTPUT

    statistics: lint_command.Statistics = False
    output: Annotated[
        str,
        Option(
            "--output",
            "-o",
            metavar="FORMAT",
            help=f"{', '.join(lint_command.FORMATS)}.",
            autocompletion=completing.offer_words(*lint_command.FORMATS),
        ),
    ] = "full"


def command(
    inputs: InputOptions = InputOptions(),
    rules: RuleOptions = RuleOptions(),
    run: RunOptions = RunOptions(),
    access: Access = Access(),
    against: ReleaseOptions = ReleaseOptions(),
    reports: ReportOptions = ReportOptions(),
    printing: Printing = Printing(),
) -> None:
    """Check a DRA driver before its release: what it publishes, how that changes, how it is
    installed, and what it does in a cluster.

    For people who write drivers. Each path is a snapshot of one driver's ResourceSlices; several
    are compared, such as those before and after a restart, a reboot, a repair or an update.

    Examples: `dractl check-driver before.yaml after.yaml`, `dractl check-driver slices.yaml
    --classes classes.yaml --chart deployments/helm`, `dractl check-driver --cluster --driver
    gpu.example.com -o markdown`
    """
    printing.apply()
    inputs.check()
    common.choose_output(reports.output, lint_command.FORMATS)
    settings, environment = against.settings()
    severity = run.fail_on or environment.get("FAIL_ON") or settings.fail_on or "error"
    option = common.origin("--fail-on", run.fail_on, environment, settings, "lint.")
    threshold = cast("Severity", common.choose(option, severity, lint_command.SEVERITIES))
    release, gates = against.release_and_gates(settings, environment)
    selection = lint_command.select_rules(
        settings, environment, rules.select, rules.ignore, rules.baseline
    )
    with pause_collection():
        subject = _load(inputs, access.login)
        cluster = subject.cluster
        kubelets = cluster.state.release if cluster is not None else None
        others = [SeenRelease(kubelets)] if kubelets else []
        seen = None if release else find_known_release(inputs.slices or (), others)
        target = choose_target(seen.name if seen else release, gates)
        inventory = _make_inventory(subject, target)
        terms = Terms(target, selection, inventory, assumed=release is None)
        report = report_on_driver(subject, terms)
    origin = seen.origin if seen else against.release_from(settings, environment)
    report = replace(report, release_from=origin)
    for omission in omissions(report.skipped):
        terminal.notice(f"{omission.place}: {omission.why}")
    output = _Output(reports, printing)
    common.write_output(output.render(report, subject), reports.output, printing.output_file)
    raise Exit(int(report.reaches(threshold) and not run.exit_zero))


class _Output(Struct, frozen=True):
    """The form of the report."""

    options: ReportOptions
    printing: Printing

    def render(self, report: Report, subject: Subject) -> str:
        """Return the report as text."""
        form = self.options.output
        if form == "markdown":
            from dractl.report.lint import driver_summary

            return driver_summary.render(report, subject)
        module = import_module(f"dractl.report.lint.{common.base_format(form)}")
        if form not in _OWN_FORMATS:
            return str(module.render(report))
        color = terminal.use_color(sys.stdout) and not self.printing.to_file
        canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout), color)
        blocks = [module.render(report, canvas)]
        if self.options.statistics:
            blocks.append(lint_summary.statistics(report))
        if form == "full" and not self.printing.quiet:
            blocks.append("\n".join(wrap(module.explain_hint(report), canvas.width, "  ")))
        if not self.printing.quiet:
            blocks.append(lint_summary.summary(report, canvas))
        return "\n\n".join(block for block in blocks if block)


def _sort_by_name(documents: Sequence[Document]) -> list[Document]:
    """Return documents in the order in which a server lists objects, whatever their files are."""
    return sorted(documents, key=lambda one: (one.kind or "", one.namespace or "", one.name or ""))


def _load(inputs: InputOptions, login: Login) -> Subject:
    """Load the inputs about the driver. Raises DractlError."""
    from dractl.driver_checks.installation import Objects

    chart = [_read(inputs.chart)] if inputs.chart else []
    installation = [one for read in chart for one in read.documents]
    class_files = [_read(path) for path in inputs.classes or []]
    classes = [one for read in class_files for one in read.documents if one.kind]
    dump = [read_files(inputs.filename)] if inputs.cluster and inputs.filename else []
    snapshots = {} if inputs.cluster else {path: _read(path) for path in inputs.slices or []}
    documents: Sequence[Document] = ()
    sources = [(path, read.documents) for path, read in snapshots.items()]
    if inputs.cluster:
        documents = _sort_by_name(dump[0].documents) if dump else _load_cluster(login)
        sources = [(CLUSTER_NAME, tuple(documents))]
    publication = (
        read_publication(sources, inputs.driver)
        if sources
        else Publication(inputs.driver or _find_driver(installation), ())
    )
    named = (inputs.slices or [], inputs.classes or [], inputs.filename or [])
    return Subject(
        publication,
        (*classes, *(one for one in (*installation, *documents) if one.kind == "DeviceClass")),
        Objects.from_documents(installation) if installation else None,
        Objects.from_documents(documents, None if inputs.filename else time.time())
        if documents
        else None,
        files=sum(map(len, named)) + bool(inputs.chart),
        skipped=tuple(
            item
            for read in (*chart, *class_files, *dump, *snapshots.values())
            for item in list_unrendered(read)
        ),
    )


def _read(path: str) -> Inputs:
    """Read a file, a folder or standard input. Raises InputError."""
    return read_files([path], stdin=sys.stdin.buffer.read() if path == "-" else None)


def _load_cluster(login: Login) -> Sequence[Document]:
    """Load the objects of the cluster that kubectl reaches. Raises InputError."""
    from dractl.inputs import kubectl

    with terminal.progress() as progress:
        results = kubectl.run(login, *map(kubectl.build_get, _RESOURCES), progress=progress)
    documents: list[Document] = []
    for resources, result in zip(_RESOURCES, results, strict=True):
        plurals = [name.partition(".")[0] for name in resources.split(",")]
        if not result.is_answer(plurals):
            raise kubectl.command_error(f"read {', '.join(plurals)}", result)
        kubectl.parse_list(plurals[0], result)  # raises an error if the list is incomplete
        if result.refused_resources:
            names = ", ".join(sorted(result.refused_resources))
            terminal.notice(f"not allowed to read {names}: checks that need them are skipped")
        text = result.output.decode(errors="replace")
        items = read_text(CLUSTER_NAME, text) if text.strip() else []
        documents += [item for item in items if isinstance(item, Document)]
    return documents


def _find_driver(documents: Sequence[Document]) -> str:
    """Return the driver that the DeviceClasses of a chart without slices name; "" if they name
    none.
    """
    from dractl.lint.model import Run, manifest
    from dractl.model import Target

    subjects = [manifest(one) for one in documents if one.kind == "DeviceClass"]
    run = Run(subjects, Target.of())
    drivers = sorted(filter(None, {run.driver_of(one.selectors) for one in subjects}))
    return drivers[0] if len(drivers) == 1 else ""


def _make_inventory(subject: Subject, target: Target) -> TriedDevices | None:
    """Return the newest devices of the driver, on which selectors of its classes are tried.

    Return None without classes, or if the API server would not decode the slices; another finding
    reports that.
    """
    if not subject.beside or not subject.publication.snapshots:
        return None
    from dractl.lint.inventory import TriedDevices
    from dractl.model import DecodeError, ResourceSlice, decode

    if not target.has("served-by-default"):
        return None
    try:
        decoded = [decode(one.value) for one in subject.publication.snapshots[-1].slices]
        classes = {one.name: one.value for one in subject.beside if one.name}
        slices = [item for item in decoded if isinstance(item, ResourceSlice)]
        return TriedDevices(slices, classes)
    except DecodeError:
        return None
