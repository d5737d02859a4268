"""``dractl upgrade``: what breaks or changes, at which step, with another release or driver
version.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cel import require
from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, AGAINST, OUTPUT
from dractl.cli.options import cluster_input, driver_options
from dractl.cli.options.printing import Printing
from dractl.cli.options.release import (
    Config,
    FeatureGates,
    Isolated,
    ReleaseOptions,
    warn_about_gates,
)
from dractl.cluster import ClusterState, sources
from dractl.cluster.state import text_at
from dractl.errors import InputError, UsageError
from dractl.garbage import without_collecting
from dractl.lint.finding import Report
from dractl.manifests import Document, load, load_readable
from dractl.model import Target
from dractl.model.releases import NEWEST
from dractl.program import program_name
from dractl.upgrade import (
    Compared,
    DescribedNode,
    Finding,
    GateSetting,
    Input,
    Plan,
    concerned,
    gates_of,
    path_of,
    plan,
    refuse_unknown_gates,
    settings_of_documents,
    settings_of_objects,
)

FORMATS = ("text", "json", "yaml", "name", "html", "markdown")

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
        rich_help_panel=AGAINST,
    ),
]
From = Annotated[
    str | None,
    Option(
        "--from",
        metavar="1.NN",
        help="Present release. Default: the cluster's.",
        rich_help_panel=AGAINST,
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC[*N],...",
        help="Machines of nodes, such as dgx-h100, or their snapshots; repeatable.",
        autocompletion=completing.offer_comma_list(completing.machines),
        rich_help_panel=AGAINST,
    ),
]
DriverVersion = Annotated[
    list[str] | None,
    Option(
        "--driver-version",
        metavar="DRIVER=VERSION",
        help="Upgrade this driver, too; DRIVER=PRESENT..VERSION.",
        rich_help_panel=AGAINST,
    ),
]
SafeFixes = Annotated[
    bool,
    Option(
        "--fix",
        help="Write lint's safe fixes of what breaks to the manifests; report the rest.",
        rich_help_panel=ACTIONS,
    ),
]
UnsafeFixes = Annotated[
    bool,
    Option(
        "--unsafe-fixes",
        help="With --fix: also apply fixes that may change the meaning.",
        rich_help_panel=ACTIONS,
    ),
]
Output = Annotated[
    str,
    Option(
        "--output", "-o", metavar="FORMAT", help=", ".join(FORMATS) + ".", rich_help_panel=OUTPUT
    ),
]


def command(
    paths: Paths = None,
    files: cluster_input.Files = None,
    to: To = NEWEST,
    start: From = None,
    driver_version: DriverVersion = None,
    hardware: Hardware = None,
    fix: SafeFixes = False,
    unsafe_fixes: UnsafeFixes = False,
    namespace: cluster_input.Namespace = None,
    access: cluster_input.Access = cluster_input.Access(),
    feature_gates: FeatureGates = None,
    config: Config = None,
    isolated: Isolated = False,
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Tell what an upgrade breaks or changes, release by release, for the objects of a cluster and
    for manifests.

    What `-f` or the cluster has is stored; manifests are created anew in each release. The cluster
    is not asked with `-f`, nor for manifests with `--from`. The exit code is 1 if something breaks.
    `-o name` prints what breaks or changes.

    Examples: `dractl upgrade --to 1.37`, `dractl upgrade manifests/ --from 1.34 --to 1.37`,
    `dractl upgrade -f dump.yaml -o json`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    require("this command")
    path_of(start or to, to)
    _check_fix(paths or [], fix=fix, unsafe=unsafe_fixes)
    against = ReleaseOptions(None, feature_gates, config, isolated)
    _, gates = against.release_and_gates(*against.settings())
    driver_versions = driver_options.parse_versions(driver_version or ())
    stdin = sys.stdin.buffer.read() if "-" in (*(paths or ()), *(files or ())) else None
    manifests = _read_manifests(paths or [], stdin)
    settings = _read_gate_settings(paths or [], stdin)
    errors: list[InputError] = []
    with without_collecting():
        if files:
            documents = _read_documents(files, stdin)
            state = ClusterState.from_documents(documents, namespace=namespace)
            settings += tuple(settings_of_documents(documents))
        elif hardware or ((manifests or settings) and start):
            state = ClusterState({})
        else:
            state = _read_cluster(access)
            settings += tuple(settings_of_objects(state.objects("Pod").values()))
    first = start or state.release
    if first is None:
        raise UsageError(
            "the input does not tell the present release",
            hint="--from names it, such as --from 1.34",
        )
    last = path_of(first, to)[-1]
    refuse_unknown_gates(last, gates)
    warn_about_gates(last, gates)
    if fix:
        errors = _fix_manifests(
            paths or [],
            [Target.of(release, gates_of(release, gates)) for release in path_of(first, to)],
            unsafe_fixes,
        )
        manifests = _read_manifests(paths or [], stdin)
    state, machines = _add_machines(
        state, hardware or [], Target.of(path_of(first, to)[0]), driver_versions
    )
    upgrade_plan = plan(
        Compared(manifests, state, gates, driver_versions, machines, settings), first, to
    )
    upgrade_plan = _add_fixes(upgrade_plan, paths or [], gates)
    report = _render(
        upgrade_plan, common.base_format(output), printing.verbose > 0, to_file=printing.to_file
    )
    common.write_output(report, output, printing.output_file)
    if errors:
        raise Exit(InputError.exit_code)
    if upgrade_plan.count("breaks"):
        raise Exit(1)


def _check_fix(paths: list[str], *, fix: bool, unsafe: bool) -> None:
    """Raise UsageError for fixes without a file to write."""
    if unsafe and not fix:
        raise UsageError("--unsafe-fixes needs --fix")
    if fix and (not paths or "-" in paths):
        raise UsageError(
            "--fix changes files",
            hint=f"name the manifests: {program_name()} upgrade --fix PATH...",
        )


def _fix_manifests(paths: list[str], targets: list[Target], unsafe: bool) -> list[InputError]:
    """Fix what a later release refuses and the present one does not.

    Returns the errors of files that stay as they are.
    """
    from dractl.cli import fixing
    from dractl.lint import lint
    from dractl.lint.releases import combined
    from dractl.lint.repository import Repositories

    repositories = Repositories()

    def lint_later(overlay: Mapping[str, bytes]) -> Report:
        inputs = load_readable(paths, overlay=overlay)
        reports = [lint(inputs, target, repositories=repositories) for target in targets]
        later_findings = [
            finding for finding in combined(reports).findings if finding.api and finding.releases
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


def _read_gate_settings(paths: list[str], stdin: bytes | None) -> tuple[GateSetting, ...]:
    """Read the gates that components set in manifests, also in files without an object of DRA."""
    inputs = load_readable(paths, stdin=stdin, relevant_only=False) if paths else None
    return tuple(settings_of_documents(inputs.documents)) if inputs is not None else ()


def _read_manifests(paths: list[str], stdin: bytes | None) -> tuple[Input, ...]:
    """Read the objects of the manifests. Raises InputError for a document that cannot be read."""
    inputs = load(paths, stdin=stdin) if paths else None
    if inputs is None:
        return ()
    for item in inputs.broken:
        place = f"{item.position.file}:{item.position.line}:{item.position.column}"
        raise InputError(item.message, place=place, hint=item.hint)
    for skipped in inputs.skipped:
        terminal.notice(f"{skipped.file}: not compared, {skipped.why}")
    return tuple(
        Input(document.value, tuple(document.faults))
        for document in inputs.documents
        if isinstance(document.value, dict)
    )


def _add_machines(
    state: ClusterState, specs: list[str], target: Target, driver_versions: Mapping[str, str]
) -> tuple[ClusterState, tuple[DescribedNode, ...]]:
    """Add the nodes of described machines; nodes that the cluster has keep their slices."""
    from dractl.cli import virtual_nodes

    present = {
        name: text.rpartition("..")[0] for name, text in driver_versions.items() if ".." in text
    }
    nodes = []
    for spec, described in virtual_nodes.parse_nodes(specs):
        nodes.append(described)
        if described.node not in {
            text_at(value, "spec", "nodeName") for value in state.objects("ResourceSlice").values()
        }:
            state = virtual_nodes.render_node(described, spec, target, present).merge(state)
    return state, tuple(nodes)


def _add_fixes(upgrade_plan: Plan, paths: list[str], gates: Mapping[str, bool]) -> Plan:
    """Add lint's fixes to the findings that break manifests."""
    if not upgrade_plan.count("breaks") or not [path for path in paths if path != "-"]:
        return upgrade_plan
    from dractl.lint.run import lint

    inputs = load([path for path in paths if path != "-"])
    steps = []
    for step in upgrade_plan.steps:
        release = step.step.partition(" ")[2]
        fixes: dict[str, dict[str, None]] = {}
        if step.step.startswith("Kubernetes ") and any(
            one.level == "breaks" for one in step.findings
        ):
            for finding in lint(inputs, Target.of(release, gates_of(release, gates))).findings:
                if finding.fix is not None and finding.api is not None:
                    ref = finding.object
                    name = "/".join(filter(None, (ref.kind, ref.namespace, ref.name)))
                    safe = (
                        f"{program_name()} lint --fix"
                        if finding.fix.safe
                        else f"{program_name()} lint --fix --unsafe-fixes"
                    )
                    text = (
                        f"{finding.fix.title} ({safe} --kubernetes-version {release}"
                        f" {finding.position.file})"
                    )
                    fixes.setdefault(name, {})[text] = None
        steps.append(replace(step, findings=tuple(_add_fix(one, fixes) for one in step.findings)))
    return replace(upgrade_plan, steps=tuple(steps))


def _add_fix(finding: Finding, fixes: Mapping[str, Mapping[str, None]]) -> Finding:
    titles = list(dict.fromkeys(text for name in finding.objects for text in fixes.get(name, ())))
    fits = finding.level == "breaks" and finding.fix is None and titles
    return replace(finding, fix="; ".join(titles)) if fits else finding


def _read_documents(files: list[str], stdin: bytes | None) -> Sequence[Document]:
    with terminal.progress() as progress:
        progress(f"reading {', '.join(files)}")
        return sources.read_files(files, stdin=stdin).documents


def _read_cluster(access: cluster_input.Access) -> ClusterState:
    from dractl.cluster import live

    with terminal.progress() as progress:
        cluster = live.read(access.login, everywhere=True, progress=progress)
    for note in cluster.notes:
        terminal.notice(note)
    return cluster.state


def _render(upgrade_plan: Plan, output: str, every: bool, *, to_file: bool) -> str:
    if output == "json":
        from dractl.report.upgrade import json as upgrade_json

        return json.dumps(upgrade_json.value(upgrade_plan), indent=1, ensure_ascii=False)
    if output == "name":
        return "\n".join(concerned(upgrade_plan))
    if output == "html":
        from dractl.report.upgrade import html as upgrade_html

        return upgrade_html.render(upgrade_plan)
    if output == "markdown":
        from dractl.report.upgrade import markdown as upgrade_markdown

        return upgrade_markdown.render(upgrade_plan)
    from dractl.report.upgrade import text as upgrade_text

    return upgrade_text.render(upgrade_plan, terminal.canvas(to_file=to_file), every=every)
