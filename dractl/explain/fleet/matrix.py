"""A matrix of subjects and machines: which machine serves which subject, and why not.

A cell has only the verdict and the first reason. Equal subjects have the same cells, which are
computed once.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.cluster import ClusterState
from dractl.explain.answer import Subject
from dractl.explain.ask import Question
from dractl.explain.explain import Explainer
from dractl.explain.fleet.equality import SelectorResults, equality_key
from dractl.explain.fleet.machines import AutoscalerQuestion, MachineCluster


class Cell(Struct, frozen=True):
    """The answer for one subject on one machine."""

    code: str
    """``fits``, or the code of the first reason."""
    serves: bool
    """True if the subject fits, and no autoscaler that was asked refuses the machine."""
    is_conditional: bool = False
    """True if the answer holds only on some nodes, or if a part of it was not judged."""
    is_undecided: bool = False
    """True if it is unknown whether the subject fits."""
    stranded: int | None = None
    """The free devices that make no further copy once all copies that fit run; None if not counted.
    """


class MatrixRow(Struct, frozen=True):
    """The answers for one machine, in the order of the subjects."""

    machine: str
    cells: tuple[Cell, ...]

    @property
    def served(self) -> int:
        """The number of subjects that the machine serves."""
        return sum(cell.serves for cell in self.cells)


class Matrix(Struct, frozen=True):
    """The verdicts for subjects on machines; the machine that serves the most subjects comes
    first.
    """

    subjects: tuple[Subject, ...]
    rows: tuple[MatrixRow, ...]

    @property
    def fits(self) -> bool:
        """True if each subject has a machine that serves it."""
        return not self.unserved

    @property
    def unserved(self) -> tuple[Subject, ...]:
        """The subjects that no machine is known to serve."""
        return tuple(subject for subject, cells in self._columns if not _serves(cells))

    @property
    def undecided(self) -> tuple[Subject, ...]:
        """The subjects of :attr:`unserved` that some machine may serve."""
        return tuple(
            subject
            for subject, cells in self._columns
            if not _serves(cells) and any(cell.is_undecided for cell in cells)
        )

    @property
    def _columns(self) -> Iterator[tuple[Subject, tuple[Cell, ...]]]:
        """The cells of each subject."""
        columns = zip(*(row.cells for row in self.rows), strict=True)
        return zip(self.subjects, columns, strict=True)

    @property
    def universal(self) -> int:
        """The number of machines that serve every subject."""
        return sum(row.served == len(self.subjects) for row in self.rows)

    @property
    def has_conditions(self) -> bool:
        """True if a machine serves a subject only under conditions."""
        return any(cell.serves and cell.is_conditional for row in self.rows for cell in row.cells)

    @property
    def has_undecided(self) -> bool:
        """True if it is unknown whether a machine serves a subject."""
        return any(cell.is_undecided for row in self.rows for cell in row.cells)

    @property
    def counts_stranded(self) -> bool:
        """True if stranded devices were counted."""
        return any(cell.stranded is not None for row in self.rows for cell in row.cells)

    @property
    def strands_devices(self) -> bool:
        """True if a machine is known to strand devices."""
        return any(cell.stranded for row in self.rows for cell in row.cells)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the reasons in cells, the most frequent first."""
        codes = [cell.code for row in self.rows for cell in row.cells if not cell.serves]
        return tuple(sorted(dict.fromkeys(codes), key=lambda code: (-codes.count(code), code)))


def _serves(cells: Iterable[Cell]) -> bool:
    return any(cell.serves for cell in cells)


def make_matrix(
    clusters: Iterable[MachineCluster],
    questions: Callable[[ClusterState], Sequence[Question]],
    autoscaler: AutoscalerQuestion | None = None,
    *,
    fills: bool = False,
) -> Matrix:
    """Return the machines that serve each subject; ``autoscaler`` judges each machine, too.

    With ``fills`` each machine is filled with copies, to count the devices that are stranded: that
    takes ten times as long as the answer.
    """
    rows: list[MatrixRow] = []
    asked: Sequence[Question] = ()
    for cluster in clusters:
        asked = questions(cluster.state)  # the subjects are the same in each cluster
        rows.append(MatrixRow(cluster.name, tuple(_cells(cluster, asked, autoscaler, fills=fills))))
    subjects = tuple(Subject(question.kind, *question.key) for question in asked)
    return Matrix(subjects, tuple(sorted(rows, key=lambda row: -row.served)))


def _cells(
    cluster: MachineCluster,
    questions: Sequence[Question],
    autoscaler: AutoscalerQuestion | None,
    *,
    fills: bool,
) -> Iterator[Cell]:
    """Yield the cell of each question; equal questions are answered once.

    An autoscaler, and the count of stranded devices, may read the text of every selector.
    """
    reads_all = fills or autoscaler is not None
    results = None if reads_all else SelectorResults(cluster.state, cluster.features)
    cells: dict[Hashable, Cell] = {}
    for question in questions:
        key = equality_key(cluster.state, question, results)
        if key not in cells:
            cells[key] = _cell(cluster, question, autoscaler, fills=fills)
        yield cells[key]


def _cell(
    cluster: MachineCluster,
    question: Question,
    autoscaler: AutoscalerQuestion | None,
    *,
    fills: bool,
) -> Cell:
    verdict, conditions = cluster.answer(question, Explainer.judge)
    is_refused = (
        autoscaler is not None and cluster.ask_autoscaler(question, autoscaler).verdict == "never"
    )
    filling = cluster.fill(question, conditions.needs) if fills and verdict.fits else None
    return Cell(
        "fits" if verdict.fits else verdict.code,
        verdict.fits and not is_refused,
        conditions.exist,
        verdict.verdict == "undecided",
        None if filling is None else sum(len(row.devices) for row in filling.stranded),
    )
