"""``dractl impact``: the pods and claims that a change affects, before it is made."""

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Struct
from typer import Argument, Exit, Option

from dractl.cli import common, completing, terminal
from dractl.cli.headings import ACTIONS, INPUT, OptionGroup
from dractl.cli.options import cluster_input
from dractl.cli.options.access import Access
from dractl.cli.options.cluster_input import Cluster, ClusterInput
from dractl.cli.options.printing import ExitZero, Printing, output_option
from dractl.cli.options.release import ReleaseOptions
from dractl.cli.options.values import ValuesOptions
from dractl.cluster.sources import Sources, classify_arguments
from dractl.errors import UsageError
from dractl.impact import (
    Impact,
    find_cordon_impact,
    find_drain_impact,
    find_driver,
    find_driver_impact,
    find_node,
    find_reboot_impact,
    find_taint_impact,
    select_taint_objects,
)
from dractl.model.nearest import nearest
from dractl.program import program_name

FORMATS = ("text", "json", "yaml", "html")
_NODE_WORDS = ("node", "no", "nodes")
_DRIVER_WORDS = ("driver", "drivers")

Subjects = Annotated[
    list[str] | None,
    Argument(
        metavar="FILE... | node/NAME | driver/NAME",
        help=(
            "Manifests of DeviceTaintRules or ResourceSlices with taints, which are created or take"
            " the place of stored ones; or a node, or a driver."
        ),
        show_default=False,
        autocompletion=completing.impact_subjects,
    ),
]
Cordon = Annotated[bool, Option("--cordon", help="The node takes no further pods.")]
Drain = Annotated[bool, Option("--drain", help="The node is drained; the default for a node.")]
Reboot = Annotated[bool, Option("--reboot", help="The node is rebooted without a drain.")]
Restart = Annotated[
    bool, Option("--restart", help="The driver comes back at once; without it, it stays away.")
]
Node = Annotated[
    str | None,
    Option(
        "--node",
        metavar="NAME",
        help="Only the driver's plug-in on this node.",
        autocompletion=completing.nodes,
    ),
]
Output = Annotated[str, output_option(FORMATS)]


class InputOptions(ValuesOptions, frozen=True):
    """Options that name the changes and the objects to read."""

    heading: ClassVar[str] = INPUT

    subjects: Subjects = None
    files: cluster_input.Files = None
    namespace: cluster_input.Namespace = None


class ChangeOptions(OptionGroup, frozen=True):
    """Options for actions on a node or a driver."""

    heading: ClassVar[str] = ACTIONS

    cordon: Cordon = False
    drain: Drain = False
    reboot: Reboot = False
    restart: Restart = False
    node: Node = None
    exit_zero: ExitZero = False

    @property
    def action(self) -> str:
        """Return the option that acts on the node. Raises UsageError for two options."""
        named = [name for name in ("cordon", "drain", "reboot") if getattr(self, name)]
        if len(named) > 1:
            raise UsageError(f"--{named[0]} and --{named[1]} exclude each other")
        return named[0] if named else ""


class _Subject(Struct, frozen=True):
    """The subject of the question: files of a change, or a node or a driver by name."""

    kind: str
    """``files``, ``node`` or ``driver``."""
    name: str = ""
    files: tuple[str, ...] = ()


def command(
    inputs: InputOptions = InputOptions(),
    changes: ChangeOptions = ChangeOptions(),
    access: Access = Access(),
    against: ReleaseOptions = ReleaseOptions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Show which pods a change affects: which pods end, when and why, which of them run again
    elsewhere, and which never end.

    Files are DeviceTaintRules (with effect None: a rehearsal) or ResourceSlices with taints; a node
    is cordoned, drained or rebooted; a driver stops or restarts. Nothing is changed. The exit code
    is 1 if a pod that runs is ended, or is to end and cannot.

    Examples: `dractl impact taint-rule.yaml`, `dractl impact node/gpu-7 --drain -f dump.yaml`,
    `dractl impact driver/gpu.nvidia.com --node gpu-7 --restart`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    subject = _parse_subject(inputs.subjects or ())
    _check_options(subject, changes)
    request = ClusterInput(
        (),
        inputs.files,
        None,
        inputs.namespace,
        everywhere=True,
        values=inputs.choose_values(against.settings()[0].charts),
    )
    cluster = cluster_input.load_cluster(request, access, against)
    for caveat in cluster.scheduler_caveats:
        terminal.notice(caveat)
    impact = _find_impact(cluster, subject, changes)
    report = _render(impact, cluster, common.base_format(output), printing)
    common.write_output(report, output, printing.output_file)
    if impact.hits and not changes.exit_zero:
        raise Exit(1)


def _parse_subject(words: Sequence[str]) -> _Subject:
    """Return the subject of the change. Raises UsageError unless it is files, one node or one
    driver.
    """
    sources = classify_arguments(words, (), ())
    names = [word for word in words if word not in sources.files]
    if names and sources.files:
        raise UsageError(
            f"{names[0]} is given together with the file {sources.files[0]}",
            hint="ask about one change at a time; -f names the files of the cluster",
        )
    if sources.files:
        return _Subject("files", files=sources.files)
    if len(names) != 1:
        problem = "one change at a time" if names else "name what changes"
        raise UsageError(problem, hint=f"{program_name()} impact FILE, node/NAME or driver/NAME")
    return _parse_name(names[0])


def _parse_name(word: str) -> _Subject:
    kind, slash, name = word.partition("/")
    if slash and name:
        if kind.lower() in _NODE_WORDS:
            return _Subject("node", name)
        if kind.lower() in _DRIVER_WORDS:
            return _Subject("driver", name)
        near = nearest(kind.lower(), (*_NODE_WORDS, *_DRIVER_WORDS))
        raise UsageError(
            f"{word}: impact knows nodes and drivers" + (f"; did you mean {near}?" if near else ""),
            hint="node/NAME, driver/NAME, or a file that exists",
        )
    raise UsageError(
        f"{word}: no such file", hint=f"a node is node/{word}, a driver is driver/{word}"
    )


def _check_options(subject: _Subject, changes: ChangeOptions) -> None:
    """Raise UsageError for an option that does not go with the subject."""
    if changes.action and subject.kind != "node":
        raise UsageError(f"--{changes.action} goes with node/NAME")
    if changes.restart and subject.kind != "driver":
        raise UsageError("--restart goes with driver/NAME")
    if changes.node and subject.kind != "driver":
        raise UsageError("--node goes with driver/NAME")


def _find_impact(cluster: Cluster, subject: _Subject, changes: ChangeOptions) -> Impact:
    state, features = cluster.state, cluster.features
    with terminal.progress() as progress:
        progress("following what the change does")
        if subject.kind == "files":
            change_state = cluster_input.load_files(Sources((), subject.files), None)
            objects = select_taint_objects(change_state, ", ".join(subject.files))
            return find_taint_impact(state, objects, features)
        if subject.kind == "driver":
            driver = find_driver(
                state, features, subject.name, changes.node, restarts=changes.restart
            )
            return find_driver_impact(driver)
        node = find_node(state, features, subject.name)
        if changes.action == "cordon":
            return find_cordon_impact(node)
        if changes.action == "reboot":
            return find_reboot_impact(node)
        return find_drain_impact(node)


def _render(impact: Impact, cluster: Cluster, output: str, printing: Printing) -> str:
    if output == "json":
        from dractl.report.impact import json as impact_json

        report = impact_json.value(impact, cluster.release_name)
        if origin := cluster.origin.to_json():
            report["input"] = origin
        if cluster.live_release_assumed:
            report["kubernetesVersionAssumed"] = True
        if unread := cluster.state.list_unread():
            report["unread"] = [row.as_json() for row in unread]
        return json.dumps(report, indent=1, ensure_ascii=False)
    if output == "html":
        from dractl.report.impact import html as impact_html

        return impact_html.render(impact, cluster.release)
    from dractl.report.impact import text as impact_text

    canvas = terminal.canvas(to_file=printing.to_file)
    every = printing.verbose > 0
    return impact_text.render(impact, canvas, cluster.release, every=every)
