"""``dractl upgrade``: what breaks or changes, at which step, with another release or driver
version.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cel import require
from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, INPUT, OptionGroup
from dractl.cli.options import cluster_input, driver_options
from dractl.cli.options.access import Access
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import GateOptions, warn_about_gates
from dractl.cli.options.values import ValuesOptions
from dractl.cluster import ClusterState, sources
from dractl.errors import InputError, UsageError
from dractl.garbage import pause_collection
from dractl.inputs.reading import load_manifests, read_files, select_relevant
from dractl.lint.finding import Report
from dractl.manifests import Inputs, load, load_readable
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.model.releases import NEWEST
from dractl.objects import Raw, mapping, slice_of, text
from dractl.program import program_name
from dractl.upgrade import (
    GateSetting,
    Input,
    Outcome,
    Plan,
    PlatformObjects,
    RuntimeConfig,
    UpgradeInput,
    gates_of,
    list_affected,
    path_of,
    plan,
    refuse_unknown_gates,
    runtime_config_of_documents,
    runtime_config_of_objects,
    settings_of_documents,
    settings_of_objects,
)

if TYPE_CHECKING:
    from dractl.cluster.described_nodes import DescribedNode

FORMATS = ("text", "json", "yaml", "name", "html", "markdown")
_NO_INPUTS = Inputs((), (), (), 0)

Paths = Annotated[
    list[str] | None,
    Argument(
        metavar="[PATH]...",
        help="Manifests, which are created anew in each release; - for standard input.",
    ),
]
To = Annotated[
    str,
    Option(
        "--to",
        metavar="1.NN",
        help="Release to upgrade to. Default: the newest known.",
        autocompletion=completing.offer_lazily(completing.releases),
    ),
]
From = Annotated[
    str | None,
    Option(
        "--from",
        metavar="1.NN",
        help="Present release. Default: the cluster's.",
        autocompletion=completing.offer_lazily(completing.releases),
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC[*N],...",
        help="Machines of nodes, such as dgx-h100, or their snapshots; repeatable.",
        autocompletion=completing.offer_comma_list(completing.machines),
    ),
]
DriverVersion = Annotated[
    list[str] | None,
    Option(
        "--driver-version",
        metavar="DRIVER=VERSION",
        help="Upgrade this driver, too; DRIVER=PRESENT..VERSION.",
        autocompletion=completing.offer_comma_list(completing.driver_equals),
    ),
]
SafeFixes = Annotated[
    bool,
    Option(
        "--fix", help="Write lint's safe fixes of what breaks to the manifests; report the rest."
    ),
]
UnsafeFixes = Annotated[
    bool, Option("--unsafe-fixes", help="With --fix: also apply fixes that may change the meaning.")
]
Output = Annotated[str, output_option(FORMATS)]


class InputOptions(ValuesOptions, frozen=True):
    """The manifests, the values for charts, and the stored objects."""

    heading: ClassVar[str] = INPUT

    paths: Paths = None
    files: cluster_input.Files = None
    namespace: cluster_input.Namespace = None

    def read_stdin(self) -> bytes | None:
        """Read standard input if an argument or ``-f`` names it."""
        names = (*(self.paths or ()), *(self.files or ()))
        return sys.stdin.buffer.read() if "-" in names else None

    def read_all(self, stdin: bytes | None) -> Inputs:
        """Read the manifests with all documents: components set gates in files without an object of
        DRA, too.
        """
        if not self.paths:
            return _NO_INPUTS
        return load_manifests(self.paths, stdin=stdin, values=self.choose_values({}))


class VersionOptions(OptionGroup, frozen=True):
    """The releases, the versions of drivers, and the machines on which the drivers run."""

    heading: ClassVar[str] = AGAINST

    to: To = NEWEST
    start: From = None
    driver_version: DriverVersion = None
    hardware: Hardware = None


class EditOptions(OptionGroup, frozen=True):
    """Options to change the manifests."""

    heading: ClassVar[str] = ACTIONS

    fix: SafeFixes = False
    unsafe_fixes: UnsafeFixes = False

    def check(self, paths: Sequence[str]) -> None:
        """Raise UsageError for fixes without a file to write."""
        if self.unsafe_fixes and not self.fix:
            raise UsageError("--unsafe-fixes needs --fix")
        if self.fix and (not paths or "-" in paths):
            raise UsageError(
                "--fix changes files",
                hint=f"name the manifests: {program_name()} upgrade --fix PATH...",
            )


class _Loaded(Struct, frozen=True):
    """The objects that are compared."""

    manifests: Inputs
    """The manifests that may concern DRA."""
    state: ClusterState
    """Objects that are stored."""
    settings: tuple[GateSetting, ...]
    """Gates that components set."""
    runtime_config: RuntimeConfig
    """Versions of the API that kube-apiserver is told to serve."""
    others: tuple[Raw, ...]
    """Objects other than those of DRA."""
    live: PlatformObjects
    """The roles, webhooks and admission policies of a live cluster."""

    def compare(
        self,
        state: ClusterState,
        gates: Mapping[str, bool],
        versions: Mapping[str, str],
        machines: tuple[DescribedNode, ...],
    ) -> UpgradeInput:
        """Return what is compared; ``state`` has the nodes of described machines, too."""
        manifests = tuple(
            Input(document.value, tuple(document.faults))
            for document in self.manifests.documents
            if isinstance(document.value, dict)
        )
        return UpgradeInput(
            manifests,
            state,
            gates,
            versions,
            machines,
            self.settings,
            self.runtime_config,
            self.others,
            self.live,
        )


def command(
    inputs: InputOptions = InputOptions(),
    versions: VersionOptions = VersionOptions(),
    edits: EditOptions = EditOptions(),
    access: Access = Access(),
    against: GateOptions = GateOptions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Show what an upgrade breaks or changes, release by release, in a cluster's objects and in
    manifests.

    What `-f` or the cluster has is stored; manifests are created anew in each release. The cluster
    is not asked with `-f`, nor for manifests with `--from`. The exit code is 1 if something breaks.
    `-o name` prints what breaks or changes.

    Examples: `dractl upgrade --to 1.37`, `dractl upgrade manifests/ --from 1.34 --to 1.37`,
    `dractl upgrade -f dump.yaml -o json`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    require("this command")
    path_of(versions.start or versions.to, versions.to)
    paths = inputs.paths or []
    edits.check(paths)
    gates = against.parse_gates()
    driver_versions = driver_options.parse_versions(versions.driver_version or ())
    stdin = inputs.read_stdin()
    loaded = _load(inputs, versions, access, stdin)
    first = versions.start or loaded.state.release
    if first is None:
        raise UsageError(
            "the input does not show the present release",
            hint="--from names it, such as --from 1.34",
        )
    releases = path_of(first, versions.to)
    refuse_unknown_gates(releases[-1], gates)
    warn_about_gates(releases[-1], gates)
    errors: list[InputError] = []
    if edits.fix:
        targets = [Target.of(release, gates_of(release, gates)) for release in releases]
        errors = _fix_manifests(paths, targets, edits.unsafe_fixes)
        loaded = replace(loaded, manifests=_choose_manifests(inputs.read_all(stdin), paths))
    state, machines = _add_machines(
        loaded.state, versions.hardware or [], Target.of(releases[0]), driver_versions
    )
    compared = loaded.compare(state, gates, driver_versions, machines)
    upgrade_plan = _add_fixes(
        plan(compared, first, versions.to, _explain), loaded.manifests, paths, gates
    )
    report = _render(
        upgrade_plan, common.base_format(output), printing.verbose > 0, to_file=printing.to_file
    )
    common.write_output(report, output, printing.output_file)
    if errors:
        raise Exit(InputError.exit_code)
    if upgrade_plan.count("breaks"):
        raise Exit(1)


def _explain(outcome: Outcome) -> str:
    """Return explain's headline about a subject.

    The subject counts as just created, since the scheduler's earlier messages are about the cluster
    before the upgrade.
    """
    from dractl.explain import Explainer, Options, Question

    subject, state = outcome.subject, outcome.state
    if subject.pod is None:
        assert subject.claim is not None
        question = Question("ResourceClaim", subject.key, subject.claim.value or {})
    else:
        spec = {name: value for name, value in subject.pod["spec"].items() if name != "nodeName"}
        question = Question("Pod", subject.key, {**subject.pod, "spec": spec, "status": {}})
    explainer = Explainer(state, outcome.scheduler.features, Options(fixes=0, brief=True))
    return explainer.explain(question, outcome.attempt).headline


def _load(
    inputs: InputOptions, versions: VersionOptions, access: Access, stdin: bytes | None
) -> _Loaded:
    """Load the manifests, and the stored objects of files or of the cluster."""
    written = inputs.read_all(stdin)
    manifests = _choose_manifests(written, inputs.paths or [])
    documents = list(written.documents)
    settings = tuple(settings_of_documents(documents))
    platform = PlatformObjects()
    with pause_collection():
        if inputs.files:
            read = _read_stored(inputs.files, stdin)
            state = sources.make_state(read, inputs.namespace)
            settings += tuple(settings_of_documents(read.documents))
            documents += read.documents
        elif versions.hardware or (inputs.paths and versions.start):
            state = ClusterState({})
        else:
            state, platform = _read_cluster(access)
            settings += tuple(settings_of_objects(state.objects("Pod").values()))
    if unread := sources.list_unread_files(written):
        state = state.with_unrendered(unread)
    pods = state.objects("Pod").values() if not inputs.files else ()
    runtime_config = runtime_config_of_documents(documents).merge(runtime_config_of_objects(pods))
    others = tuple(each.value for each in documents if text(mapping(each.value).get("kind")))
    return _Loaded(manifests, state, settings, runtime_config, others, platform)


def _fix_manifests(paths: list[str], targets: list[Target], unsafe: bool) -> list[InputError]:
    """Fix the faults that a later release refuses and the present one does not.

    Returns the errors of files that stay as they are.
    """
    from dractl.cli import fixing
    from dractl.lint import lint
    from dractl.lint.releases import combine
    from dractl.lint.repository import Repositories

    repositories = Repositories()

    def lint_later(overlay: Mapping[str, bytes]) -> Report:
        inputs = load_readable(paths, overlay=overlay)
        reports = [lint(inputs, target, repositories=repositories) for target in targets]
        later_findings = [
            finding for finding in combine(reports).findings if finding.api and finding.releases
        ]
        later_only = tuple(
            finding for finding in later_findings if targets[0].release not in finding.releases
        )
        digests = {name: digest for report in reports for name, digest in report.digests.items()}
        return replace(reports[-1], findings=later_only, digests=digests)

    changed = fixing.apply_fixes(lint_later, None, unsafe=unsafe)
    errors = [
        *changed.errors,
        *fixing.write(changed.changes, None, lambda change: f"{change.made} fixed"),
    ]
    for error in errors:
        terminal.print_error(str(error), hint=error.hint)
    return errors


def _choose_manifests(written: Inputs, paths: list[str]) -> Inputs:
    """Choose the manifests that may concern DRA, and print notices of files that were not rendered.

    Raises InputError for files that cannot be read.
    """
    chosen = select_relevant(written, paths)
    for item in chosen.broken:
        place = f"{item.position.file}:{item.position.line}:{item.position.column}"
        raise InputError(item.message, place=place, hint=item.hint)
    for skipped in chosen.skipped:
        terminal.notice(f"{skipped.file}: not compared, {skipped.why}")
    return chosen


def _add_machines(
    state: ClusterState, specs: list[str], target: Target, driver_versions: Mapping[str, str]
) -> tuple[ClusterState, tuple[DescribedNode, ...]]:
    """Add the nodes of described machines; nodes that the cluster has keep their slices."""
    if not specs:
        return state, ()
    from dractl.cli.options.device_sources import parse_node
    from dractl.cluster.described_nodes import parse_nodes, render_node

    present = {
        name: text.rpartition("..")[0] for name, text in driver_versions.items() if ".." in text
    }
    nodes = []
    for spec, described in parse_nodes(specs, parse_node):
        nodes.append(described)
        if described.node not in {
            slice_of(value).node for value in state.objects("ResourceSlice").values()
        }:
            option, choice = f"--hardware {spec}", DriverChoice(versions=present)
            rendered = render_node(described, option, target, choice, terminal.notice)
            state = rendered.merge(state)
    return state, tuple(nodes)


def _add_fixes(
    upgrade_plan: Plan, manifests: Inputs, paths: list[str], gates: Mapping[str, bool]
) -> Plan:
    """Add lint's fixes to the findings that break manifests.

    Lint fixes files as they are written, so the files are loaded again if their objects were
    rendered from a chart or a kustomization.
    """
    files = [path for path in paths if path != "-"]
    if not upgrade_plan.count("breaks") or not files:
        return upgrade_plan
    from dractl.upgrade.lint_fixes import add_fixes

    is_written = len(files) == len(paths) and not any(
        document.rendered for document in manifests.documents
    )
    return add_fixes(upgrade_plan, manifests if is_written else load(files), gates)


def _read_stored(files: list[str], stdin: bytes | None) -> Inputs:
    with terminal.progress() as progress:
        progress(f"reading {', '.join(files)}")
        return read_files(files, stdin=stdin)


def _read_cluster(access: Access) -> tuple[ClusterState, PlatformObjects]:
    from dractl.cluster import live
    from dractl.cluster.live_platform import read_platform

    with terminal.progress() as progress:
        cluster = live.read(access.login, everywhere=True, progress=progress)
        platform = read_platform(access.login, progress)
    for note in cluster.notes:
        terminal.notice(note)
    return cluster.state, platform


def _render(upgrade_plan: Plan, output: str, every: bool, *, to_file: bool) -> str:
    if output == "json":
        from dractl.report.upgrade import json as upgrade_json

        return json.dumps(upgrade_json.value(upgrade_plan), indent=1, ensure_ascii=False)
    if output == "name":
        return "\n".join(list_affected(upgrade_plan))
    if output == "html":
        from dractl.report.upgrade import html as upgrade_html

        return upgrade_html.render(upgrade_plan)
    if output == "markdown":
        from dractl.report.upgrade import markdown as upgrade_markdown

        return upgrade_markdown.render(upgrade_plan)
    from dractl.report.upgrade import text as upgrade_text

    return upgrade_text.render(upgrade_plan, terminal.canvas(to_file=to_file), every=every)
