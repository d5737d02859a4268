"""``dractl explain --hardware``: the machines that would serve a subject."""

import sys
from collections.abc import Sequence

from dractl.cli import terminal
from dractl.cli.options.cluster_input import Cluster
from dractl.cli.options.device_sources import assume_site_values, render_machine
from dractl.cli.options.printing import Printing
from dractl.cluster import ClusterState
from dractl.cluster.described_nodes import list_known_classes
from dractl.errors import UsageError
from dractl.explain import Options, Question
from dractl.explain.fleet.machines import (
    ByMachine,
    DescribedMachine,
    compare as ask,
    find_questions,
)
from dractl.facts.autoscalers import AutoscalerChoice
from dractl.machines.nodes import parse_machines
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
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


def compare(
    cluster: Cluster,
    hardware: Sequence[str],
    driver_choice: DriverChoice,
    target: Target,
    output: str,
    printing: Printing,
    autoscaler: AutoscalerChoice | None = None,
) -> tuple[str, bool]:
    """Report which machines serve each subject; also return True if each subject has one."""
    specs = parse_machines(hardware)
    classes = list_known_classes(target)
    machines = {spec: _describe_machine(spec, classes, target, driver_choice) for spec in specs}

    def questions(state: ClusterState) -> list[Question]:
        names, namespace = cluster.sources.names, cluster.namespace
        return find_questions(state, names, namespace, cluster.kinds)

    slices = [
        value
        for described in machines.values()
        for value in described.published.objects("ResourceSlice").values()
    ]
    state = assume_site_values(cluster.state, slices, target)
    comparisons = ask(
        state, machines, questions, cluster.features, Options(cluster.release_assumed), autoscaler
    )
    text = (
        explain_machines.to_json(comparisons, cluster.origin)
        if output == "json"
        else _render_text(comparisons, cluster.release, printing)
    )
    return text, all(comparison.fits for comparison in comparisons)


def _describe_machine(
    spec: str, classes: ClusterState, target: Target, driver_choice: DriverChoice
) -> DescribedMachine:
    from dractl.machines import labels_of, room_of, setter

    labels = labels_of(spec)
    setters = {key: name for key in labels if (name := setter(key)) is not None}
    state = render_machine(spec, target, driver_choice)
    return DescribedMachine(classes.merge(state), labels, room_of(spec), setters)


def _render_text(comparisons: Sequence[ByMachine], release: str, printing: Printing) -> str:
    """Render the tables; with -v, also the explanation for each machine that does not serve."""
    verbose, to_file = printing.verbose, printing.to_file
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
