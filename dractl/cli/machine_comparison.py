"""``dractl explain --hardware``: the machines that would serve a subject."""

import sys
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from dractl.cli import terminal
from dractl.cli.options.cluster_input import Cluster
from dractl.cli.options.device_sources import assume_site_values, render_machine
from dractl.cli.options.printing import Printing
from dractl.cluster import ClusterState
from dractl.cluster.described_nodes import list_known_classes
from dractl.errors import UsageError
from dractl.explain import Options, Question
from dractl.explain.build import note_invalid_objects
from dractl.explain.fleet.machines import (
    AutoscalerQuestion,
    ByMachine,
    DescribedMachine,
    compare as compare_machines,
    find_questions,
    make_clusters,
)
from dractl.explain.fleet.matrix import Matrix, make_matrix
from dractl.facts.autoscalers import AutoscalerChoice
from dractl.machines import describe
from dractl.machines.names import every
from dractl.machines.nodes import parse_machines
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.report.explain import (
    machines as explain_machines,
    matrix as explain_matrix,
    matrix_html as explain_matrix_html,
    text as explain_text,
)
from dractl.report.plain import plural

MAX_SUBJECTS = 200  # if all machines are compared; fewer machines allow more
MAX_FILLED = 250  # answers of a matrix that counts stranded devices, which takes some seconds
_MAX_ANNOTATED = 8  # machines whose notes are printed
_MAX_INVALID = 3  # objects that an API server would refuse, named one by one
_WIDEST_MATRIX = 100_000  # columns, so that no line of a matrix is cut


def refuse_combinations(output: str, *, patch: bool, node: bool, devices: bool) -> None:
    """Raise UsageError for options that cannot be combined with several machines."""
    if output in ("name", "openmetrics"):
        raise UsageError(
            f"--hardware compares machines as text, json, yaml, csv or html, not {output}"
        )
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
    ask = partial(_find_questions, cluster)
    questions = ask(cluster.state)
    subjects = len(questions)
    _refuse_many(subjects, len(specs))
    _notice_invalid_objects(cluster, questions)
    machines = _describe_machines(specs, target, driver_choice, verbose=bool(printing.verbose))
    slices = [
        value
        for described in machines.values()
        for value in described.published.objects("ResourceSlice").values()
    ]
    state = assume_site_values(cluster.state, slices, target)
    judge = None if autoscaler is None else AutoscalerQuestion(autoscaler, cluster.state)
    options = Options(cluster.release_assumed)
    clusters = make_clusters(state, machines, ask, cluster.features, options)
    is_one_by_one = subjects == 1 or printing.verbose or autoscaler is not None
    if output in ("csv", "html") or (output == "text" and not is_one_by_one):
        fills = subjects * len(specs) <= MAX_FILLED
        matrix = make_matrix(clusters, ask, judge, fills=fills)
        return _render_matrix(matrix, cluster, output, printing), matrix.fits
    comparisons = compare_machines(clusters, ask, judge)
    fits = all(comparison.fits for comparison in comparisons)
    if output == "json":
        unrendered = cluster.state.coverage.unrendered  # the described machines are the only nodes
        return explain_machines.to_json(comparisons, cluster.origin, unrendered), fits
    return _render_text(comparisons, cluster.release, printing), fits


def _find_questions(cluster: Cluster, state: ClusterState) -> list[Question]:
    return find_questions(state, cluster.sources.names, cluster.namespace, cluster.kinds)


def _notice_invalid_objects(cluster: Cluster, questions: Sequence[Question]) -> None:
    """Print which objects of the input an API server would refuse, since no machine helps against
    that.
    """
    notes = dict.fromkeys(
        note
        for question in questions
        for note in note_invalid_objects(cluster.state, cluster.features, question)
    )
    for note in list(notes)[:_MAX_INVALID]:
        terminal.notice(note)
    if len(notes) > _MAX_INVALID:
        terminal.notice(
            f"the API server would refuse {len(notes) - _MAX_INVALID} more objects of the input"
        )


def _refuse_many(subjects: int, machines: int) -> None:
    """Raise UsageError for more answers than are given in a reasonable time."""
    max_answers = MAX_SUBJECTS * len(every())
    if subjects * machines > max_answers:
        raise UsageError(
            f"{subjects:,} subjects on {machines:,} machines are {subjects * machines:,} answers,"
            f" and at most {max_answers:,} are given",
            hint="name the subjects (KIND/NAME, -n NAMESPACE), or fewer machines (a vendor such as"
            " aws, a pattern such as p5*)",
        )


def _describe_machines(
    specs: Sequence[str], target: Target, driver_choice: DriverChoice, *, verbose: bool
) -> dict[str, DescribedMachine]:
    """Describe machines; the notes on many machines are only counted unless ``verbose``."""
    classes = list_known_classes(target)
    classes.decode_all("DeviceClass")  # once for all machines: a merge keeps decoded objects
    if verbose or len(specs) <= _MAX_ANNOTATED:
        return {
            spec: _describe_machine(spec, classes, render_machine(spec, target, driver_choice))
            for spec in specs
        }
    notes: dict[str, None] = {}
    add = notes.setdefault
    machines = {
        spec: _describe_machine(
            spec, classes, render_machine(spec, target, driver_choice, add, add)
        )
        for spec in specs
    }
    if notes:
        terminal.add_aside(f"-v prints {plural(len(notes), 'note')} on values that are assumed")
    return machines


def _describe_machine(spec: str, classes: ClusterState, state: ClusterState) -> DescribedMachine:
    return DescribedMachine(classes.merge(state), describe(spec))


def _render_matrix(matrix: Matrix, cluster: Cluster, output: str, printing: Printing) -> str:
    """Render one table of machines and subjects; as text, only a terminal cuts its lines."""
    if output == "csv":
        return explain_matrix.to_csv(matrix)
    if output == "html":
        return explain_matrix_html.render(matrix, cluster.release, cluster.origin)
    terminal.notice("-v has a table for each subject, with details; -o csv prints this one")
    is_cut = sys.stdout.isatty() and not printing.to_file
    canvas = terminal.canvas(to_file=printing.to_file)
    canvas = canvas if is_cut else replace(canvas, width=_WIDEST_MATRIX)
    return explain_matrix.to_text(matrix, canvas, cluster.release)


def _render_text(comparisons: Sequence[ByMachine], release: str, printing: Printing) -> str:
    """Render the tables; with -v, also the explanation for each machine that does not serve."""
    verbose, to_file = printing.verbose, printing.to_file
    is_wrapped = sys.stdout.isatty() and not to_file
    canvas = terminal.canvas(to_file=to_file, most=120)
    text = explain_machines.to_text(comparisons, canvas, release, wraps=is_wrapped)
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
