"""``dractl explain --hardware`` and ``--network-devices``: devices that no cluster has
virtual_nodes.
"""

import sys
from collections.abc import Sequence

from msgspec.structs import replace

from dractl.cli import terminal, virtual_nodes
from dractl.cli.options.cluster_input import Cluster
from dractl.cli.options.driver_options import DriverChoice
from dractl.cluster import ClusterState
from dractl.errors import InputError, UsageError
from dractl.explain import Options, Question, find_all_waiting, find_subjects
from dractl.explain.fleet.machines import ByMachine, DescribedMachine, compare as ask
from dractl.model import Target
from dractl.report.explain import machines as explain_machines, text as explain_text


def refuse_combinations(output: str, *, patch: bool, node: bool, devices: bool) -> None:
    """Raise UsageError for options that cannot be combined with several machines."""
    if output in ("html", "name"):
        raise UsageError(f"--hardware compares machines as text, json or yaml, not {output}")
    for option, is_given in (("--patch", patch), ("--node", node), ("--devices", devices)):
        if is_given:
            raise UsageError(
                f"--hardware cannot be combined with {option}: each machine is considered alone"
            )


def add_network_devices(cluster: Cluster, files: Sequence[str], target: Target) -> Cluster:
    """Add the devices of ``--network-devices`` to the cluster."""
    return (
        replace(
            cluster, state=virtual_nodes.load_network_devices(files, target).merge(cluster.state)
        )
        if files
        else cluster
    )


def compare(
    cluster: Cluster,
    hardware: Sequence[str],
    driver_choice: DriverChoice,
    target: Target,
    output: str,
    verbose: int,
    *,
    to_file: bool,
) -> tuple[str, bool]:
    """Report which machines serve each subject; also return True if each subject has one."""
    specs = virtual_nodes.parse_machines(hardware)
    classes = virtual_nodes.list_known_classes(target)
    machines = {spec: _describe_machine(spec, classes, target, driver_choice) for spec in specs}

    def questions(state: ClusterState) -> list[Question]:
        return _find_questions(cluster, state)

    comparisons = ask(
        cluster.state, machines, questions, cluster.features, Options(cluster.release_assumed)
    )
    text = (
        explain_machines.to_json(comparisons, cluster.origin)
        if output == "json"
        else _render_text(comparisons, cluster.release, verbose, to_file=to_file)
    )
    return text, all(comparison.fits for comparison in comparisons)


def _describe_machine(
    spec: str, classes: ClusterState, target: Target, driver_choice: DriverChoice
) -> DescribedMachine:
    from dractl.machines import labels_of, room_of, setter

    labels = labels_of(spec)
    setters = {key: name for key in labels if (name := setter(key)) is not None}
    state = virtual_nodes.render_machine(spec, target, driver_choice=driver_choice)
    return DescribedMachine(classes.merge(state), labels, room_of(spec), setters)


def _find_questions(cluster: Cluster, state: ClusterState) -> list[Question]:
    """Find the named subjects, else the pending ones, else the templates: a file of claims often
    has nothing else.
    """
    names, namespace = cluster.sources.names, cluster.namespace
    questions = [
        q for name in names for q in find_subjects(state, name, namespace, cluster.kinds)
    ] or find_all_waiting(state, namespace)
    if not questions:
        templates = [
            key for key in state.objects("ResourceClaimTemplate") if namespace in (None, key[0])
        ]
        questions = [
            q for space, name in templates for q in find_subjects(state, f"template/{name}", space)
        ]
    if not questions:
        raise InputError(
            "no claim, template or pending pod in the input",
            hint="KIND/NAME asks about one of the cluster; FILE or -f FILE about those of a file",
        )
    return questions


def _render_text(
    comparisons: Sequence[ByMachine], release: str, verbose: int, *, to_file: bool
) -> str:
    """Render the tables; with -v, also the explanation for each machine that does not serve."""
    out = sys.stdout
    canvas = terminal.canvas(to_file=to_file, most=120)
    text = explain_machines.to_text(comparisons, canvas, release, cut=out.isatty() and not to_file)
    if not verbose:
        if any(
            not answer.explanation.fits
            for comparison in comparisons
            for answer in comparison.answers
        ):
            terminal.notice(
                "-v explains the machines that do not serve, and what would make it fit"
            )
        return text
    for comparison in comparisons:
        for answer in comparison.answers:
            if not answer.explanation.fits:
                shown = explain_text.render([answer.explanation], canvas, every=verbose > 1)
                text += f"\n# {answer.machine}\n{shown}"
    return text
