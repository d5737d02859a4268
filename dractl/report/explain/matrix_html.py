"""A matrix of machines and subjects as one page of HTML that needs nothing else.

A cell has a letter instead of a reason's code, so that two hundred columns can be surveyed; the
legend above the table says what the letters mean.
"""

from collections.abc import Iterator, Mapping
from html import escape

from dractl.cluster.origin import Origin
from dractl.explain.fleet.matrix import Cell, Matrix, MatrixRow
from dractl.explain.reasons.registry import REASONS
from dractl.report.explain.html import header_lines
from dractl.report.explain.matrix import STRANDED, UNDECIDED, format_cell, name_unserved, summarize
from dractl.report.page import cell, page, prose, table
from dractl.report.plain import plural

_STYLE = """
.matrix th, .matrix td { padding: 2px 8px; text-align: center; }
.matrix th:first-child, .matrix td:first-child { position: sticky; left: 0; text-align: left;
  background: var(--paper); white-space: nowrap; overflow-wrap: normal; }
.matrix thead th, .matrix tr:first-child th { vertical-align: bottom; font-weight: 400; }
.matrix th span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 16rem;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
h2 + .wide { margin-bottom: 24px; }
.matrix .good { background: var(--box); font-weight: 600; }
header { margin-bottom: 16px; }
"""


def render(matrix: Matrix, release: str, origin: Origin) -> str:
    """Return the page: its origin, the sums, the table, and the reasons."""
    letters = {code: _letter(number) for number, code in enumerate(matrix.codes)}
    subjects, machines = len(matrix.subjects), len(matrix.rows)
    title = f"{plural(subjects, 'subject')} on {plural(machines, 'machine')}"
    return page(title, _parts(matrix, release, origin, title, letters), _STYLE)


def _parts(
    matrix: Matrix, release: str, origin: Origin, title: str, letters: Mapping[str, str]
) -> Iterator[str]:
    yield from header_lines(origin)
    yield f"<h1>{escape(title)}</h1>"
    yield f"<p>{escape(summarize(matrix, release))}</p>"
    if sentence := name_unserved(matrix):
        yield f"<p class=bad>{prose(sentence)}</p>"
    heads = "".join(
        f'<th scope="col"><span title="{escape(subject.title)}">{escape(subject.title)}</span></th>'
        for subject in matrix.subjects
    )
    head = f'<th scope="col">machine</th><th scope="col">serves</th>{heads}'
    rows = [head, *(_row(row, matrix, letters) for row in matrix.rows), _totals_row(matrix)]
    yield from _legend(matrix, letters)
    yield table(rows, kind="matrix")


def _row(row: MatrixRow, matrix: Matrix, letters: Mapping[str, str]) -> str:
    cells = "".join(_cell(each, letters) for each in row.cells)
    return f"{cell(row.machine)}{cell(f'{row.served}/{len(matrix.subjects)}')}{cells}"


def _cell(each: Cell, letters: Mapping[str, str]) -> str:
    if each.serves:
        return cell(format_cell(each), "good")
    code, letter = escape(each.code), letters[each.code]
    return f'<td class="soft" title="{code}">{"? " * each.is_undecided}{letter}</td>'


def _totals_row(matrix: Matrix) -> str:
    """Return the last row: how many machines serve each subject."""
    columns = zip(*(row.cells for row in matrix.rows), strict=True)
    counts = [sum(each.serves for each in column) for column in columns]
    counted = "".join(cell(str(count), "" if count else "bad") for count in counts)
    return f"{cell('machines')}<td></td>{counted}"


def _legend(matrix: Matrix, letters: Mapping[str, str]) -> Iterator[str]:
    """Yield the meaning of the letters of cells, with the titles of the reasons' pages."""
    if matrix.has_conditions:
        yield "<p>✓* only on some nodes, or not all of it was judged</p>"
    if matrix.has_undecided:
        yield f"<p>{prose(UNDECIDED)}</p>"
    if matrix.strands_devices:
        yield f"<p>{prose(STRANDED)}</p>"
    rows = []
    for code, letter in letters.items():
        count = sum(each.code == code for row in matrix.rows for each in row.cells)
        meaning = cell(_meaning(code))
        rows.append(
            f"{cell(letter)}<td class=w><code>{escape(code)}</code></td>{meaning}"
            f"{cell(str(count), 'n')}"
        )
    if rows:
        yield f"<h2>Why not</h2>{table(rows, ('', 'reason', 'meaning', 'cells'))}"


def _meaning(code: str) -> str:
    """Return the title of a reason. For a cell that fits, return the reason why the machine is
    nevertheless not launched.
    """
    if code == "fits":
        return "it fits, and the autoscaler would not launch the machine"
    return REASONS[code].title if code in REASONS else ""


def _letter(number: int) -> str:
    """Return a, b ... z, aa, ab ... ."""
    quotient, remainder = divmod(number, 26)
    return (_letter(quotient - 1) if quotient else "") + chr(ord("a") + remainder)
