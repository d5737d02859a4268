"""``devices`` and ``fit`` as text: a line per node, or per device; if there are many, equal nodes
share a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.capacity import (
    DeviceRow,
    Fit,
    Inventory,
    MaxCopies,
    PluginRow,
    PoolRow,
    Problem,
    StrandedDevices,
    list_remaining_resources,
)
from dractl.capacity.owners import namespace_of, workload_of
from dractl.capacity.placing import AlignedCopies, NodeFit
from dractl.capacity.what_if import list_unjudged_resources
from dractl.model.order import natural
from dractl.model.shapes import Constraint
from dractl.program import program_name
from dractl.report.alignment.text import percent
from dractl.report.canvas import Canvas
from dractl.report.plain import plural, printable, wrap
from dractl.report.table import table
from dractl.views import age

if TYPE_CHECKING:
    from dractl.alignment import Use
    from dractl.capacity.aligned_counts import AlignedCounts
    from dractl.explain.answer import Reason
    from dractl.report.capacity.fit_report import FitReport

Cells = tuple[str, ...]

_OUT = ("tainted", "incomplete", "stale", "gone")
_MAX_SEPARATE_ROWS = 40  # with more rows than this, equal rows are merged
_MAX_LISTED = 12
_MODEL = 12  # minimum number of columns for a model's name
_HOLDERS = 20  # columns that are reserved for holders before models get any


def devices(
    stock: Inventory,
    plugins: Sequence[PluginRow],
    problems: Sequence[Problem],
    canvas: Canvas,
    hidden: str = "",
    *,
    by: str = "node",
    release: str = "",
    owners: Mapping[str, str] | None = None,
) -> str:
    """Return a line for each node and driver on it, the totals with the ``release``, then the
    problems to clean up. ``by`` groups the lines by driver, class, model, root, namespace, workload
    or owner instead; ``owners`` has the owner of each workload. If ``hidden``, not every claim may
    be read, and a column counts devices with unknown holders.
    """
    lines = _inventory_lines(stock, plugins if by == "node" else (), by, owners or {})
    if not lines:
        return "no device is published, and no node offers any through a device plugin\n"
    totals = _totals(lines, release) if by == "node" and len(lines) > 1 and canvas.headers else ""
    head, lines = _drop_empty_columns(lines, by, canvas.sort_by)
    fitted = _fit_width(head, _merge_alike(lines, len(head)), canvas)
    left_out = [name for name in head if name not in fitted.head]
    if left_out:
        them = "it" if len(left_out) == 1 else "them"
        note = f"hidden: {', '.join(left_out)}; -o wide shows {them}"
        hidden = "\n".join(filter(None, (note, hidden)))
    numbers = [i for i, name in enumerate(fitted.head) if name in _NUMBERS]
    text = table(fitted.head, fitted.lines, canvas, numbers=numbers, limits=fitted.limits)
    return text + _note(totals, canvas) + _note(hidden, canvas) + _problems(problems, canvas)


def _inventory_lines(
    stock: Inventory, plugins: Iterable[PluginRow], by: str, owners: Mapping[str, str]
) -> list[Cells]:
    """Return the lines of devices by name, then the lines of device plugins."""
    groups: dict[tuple[str, ...], list[DeviceRow]] = {}
    for row in stock.devices:
        for key in _keys(row, by, owners):
            groups.setdefault(key, []).append(row)
    partitioned = {
        (pool.node or "(any node)", pool.driver): pool
        for pool in stock.pools
        if by == "node" and pool.counters
    }
    lines = [
        _line(key, rows, partitioned.get((key[0], key[-1])))
        for key, rows in sorted(groups.items(), key=_by_name)
    ]
    for p in plugins:
        counts = (p.allocatable, max(0, p.allocatable - p.requested), p.requested, 0)
        lines.append(
            (p.node, f"{p.resource} (device plugin)", "-", *(str(n) for n in counts), "0", "")
        )
    return lines


def _drop_empty_columns(
    lines: list[Cells], by: str, sort_by: str | None
) -> tuple[Cells, list[Cells]]:
    """Return the head and the lines without columns of zeros, and without the column for drivers or
    models if ``by`` already groups the lines by it.
    """
    head: Cells = (
        *(by.upper(), "DRIVER", "MODEL", "DEVICES", "FREE", "HELD"),
        *(_OUT_OF_SERVICE, _UNKNOWN, "HELD BY"),
    )
    if all(line[head.index(_UNKNOWN)] == "0" for line in lines):
        head, lines = _drop_column(head, lines, head.index(_UNKNOWN))
    if sort_by != _OUT_OF_SERVICE.lower().replace(" ", "-"):
        column = head.index(_OUT_OF_SERVICE)
        if all(line[column] == "0" for line in lines):
            head, lines = _drop_column(head, lines, column)
    repeated = {"driver": "DRIVER", "model": "MODEL"}.get(by)
    if repeated is not None:
        head, lines = _drop_column(head, lines, head.index(repeated, 1))
    return head, lines


def _totals(lines: Sequence[Cells], release: str) -> str:
    nodes = len({line[0] for line in lines})
    count, *parts = (sum(int(line[column]) for line in lines) for column in range(3, 8))
    states = zip(parts, ("free", "held", _OUT_OF_SERVICE.lower(), _UNKNOWN.lower()), strict=True)
    counted = ", ".join(
        f"{number} {state}" for number, state in states if number or state in ("free", "held")
    )
    devices_on_nodes = f"{plural(count, 'device')} on {plural(nodes, 'node')}: {counted}"
    return f"{devices_on_nodes}{'':4}Kubernetes {release}" if release else devices_on_nodes


class FittedTable(Struct, frozen=True):
    """A table in the width of a terminal."""

    head: Cells
    lines: list[Cells]
    limits: Mapping[int, int]
    """The columns whose cells are wrapped, with their width."""


def _fit_width(head: Cells, lines: list[Cells], canvas: Canvas) -> FittedTable:
    """Return the table in the width of a terminal: models are wrapped, then left out, so that
    numbers and holders stay visible. Then the number of named holders is reduced to the space.
    """
    limits: dict[int, int] = {}
    widths = [max(len(row[i]) for row in (head, *lines)) for i in range(len(head))]
    over = sum(widths[:-1]) + 2 * len(widths[:-1]) + min(widths[-1], _HOLDERS) - canvas.width
    if over > 0 and "MODEL" in head[1:]:
        column = head.index("MODEL", 1)
        room = widths[column] - over
        if room < _MODEL and canvas.sort_by != "model":
            head, lines = _drop_column(head, lines, column)
            del widths[column]
        else:
            limits[column] = widths[column] = max(room, _MODEL)
    room = canvas.width - sum(widths[:-1]) - 2 * len(widths[:-1])
    if room >= widths[-1]:
        return FittedTable(head, lines, limits)
    if room < _MODEL and canvas.sort_by != "held-by":
        return FittedTable(*_drop_column(head, lines, len(head) - 1), limits)
    lines = [(*line[:-1], _name_fewer(line[-1], room)) for line in lines]
    return FittedTable(head, lines, {**limits, len(head) - 1: room})


def _name_fewer(holders: str, room: int) -> str:
    """Shorten the list of names in ``a, b +3; remark`` to the space, keeping at least one, and
    count the others.
    """
    names, semicolon, aside = holders.partition("; ")
    names, plus, number = names.partition(" +")
    if plus and not number.isdigit():
        return holders
    shown, more, end = names.split(", "), int(number or 0), semicolon + aside
    while len(shown) > 1 and len(_with_more(shown, more) + end) > room:
        shown.pop()
        more += 1
    return _with_more(shown, more) + end


def _with_more(names: Sequence[str], more: int) -> str:
    return ", ".join(names) + (f" +{more}" if more else "")


def _drop_column(head: Cells, lines: list[Cells], column: int) -> tuple[Cells, list[Cells]]:
    """Return the table without one column."""
    return (*head[:column], *head[column + 1 :]), [
        (*line[:column], *line[column + 1 :]) for line in lines
    ]


def _note(hidden: str, canvas: Canvas) -> str:
    return canvas.plain("\n" + "\n".join(_wrap(hidden, canvas.width)) + "\n") if hidden else ""


_UNKNOWN = "UNKNOWN"
_OUT_OF_SERVICE = "OUT OF SERVICE"
_NUMBERS = ("DEVICES", "FREE", "HELD", _OUT_OF_SERVICE, _UNKNOWN)


def _keys(row: DeviceRow, by: str, owners: Mapping[str, str]) -> Iterable[tuple[str, ...]]:
    node = row.node or "(any node)"
    if by in ("namespace", "workload", "owner"):
        return [(name, row.id.driver) for name in _name_holders(row, by, owners)]
    if by == "class":
        return [(name, row.id.driver) for name in row.classes or ("(no class)",)]
    first = {
        "node": node,
        "driver": row.id.driver,
        "model": row.model or "(unknown)",
        "root": f"{node} {row.pcie_root or '(no PCIe root)'}",
    }[by]
    return [(first, row.id.driver)]


def _name_holders(row: DeviceRow, by: str, owners: Mapping[str, str]) -> Iterable[str]:
    """Return the namespaces, workloads or owners that hold a device, each once."""
    if not row.holders:
        return ["(unknown)" if row.state == "unknown" else "(no holder)"]
    if by == "namespace":
        return dict.fromkeys(map(namespace_of, row.holders))
    workloads = dict.fromkeys(map(workload_of, row.holders))
    if by == "workload":
        return workloads
    return dict.fromkeys(owners.get(workload, workload) for workload in workloads)


def _line(
    key: tuple[str, ...], rows: Sequence[DeviceRow], parted: PoolRow | None
) -> tuple[str, ...]:
    models = dict.fromkeys(row.model for row in rows if row.model)
    pods = dict.fromkeys(
        holder.pod or f"claim {holder.claim}" for row in rows for holder in row.holders
    )
    count = len(rows)
    free = sum(row.state == "free" for row in rows)
    used = sum(row.state in ("held", "shared") for row in rows)
    others = (sum(row.state in _OUT for row in rows), sum(row.state == "unknown" for row in rows))
    blocked = sum(row.state == "blocked" for row in rows)
    aside = f"{blocked} blocked by shared counters" if blocked else ""
    if parted is not None and count == parted.total:
        # Partitions overlap, and all of them are listed as free until one is taken, so only whole
        # devices are counted.
        aside = f"{free} of {plural(count, 'partition')} possible"
        count = len(parted.counters)
        free = sum(
            all(amount.consumed == "0" for amount in amounts) for _, amounts in parted.counters
        )
        used = count - free
    held = "; ".join(filter(None, (_list_some(list(pods), 3), aside)))
    numbers = (str(n) for n in (count, free, used, *others))
    return (*key, _list_some([name for name in models if name], 2) or "-", *numbers, held)


def _by_name(item: tuple[tuple[str, ...], object]) -> list[object]:
    return [natural(part) for part in item[0]]


def _list_some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" +{len(names) - most}" if len(names) > most else "")


def _merge_alike(lines: list[Cells], width: int) -> list[Cells]:
    """Merge lines that are equal except for their first column and the holders, if
    there are many.
    """
    if len(lines) <= _MAX_SEPARATE_ROWS:
        return lines
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for line in lines:
        groups.setdefault(line[1 : width - 1], []).append(line)
    merged = []
    for key, members in groups.items():
        name = members[0][0] + (f" +{len(members) - 1}" if len(members) > 1 else "")
        holders = [holder for line in members for holder in line[-1].split(", ") if holder]
        merged.append((name, *key, _list_some(list(dict.fromkeys(holders)), 2)))
    return merged


def _problems(problems: Sequence[Problem], canvas: Canvas) -> str:
    if not problems:
        return ""
    lines = ["", canvas.paint("To clean up", "1")]
    for problem in problems[:_MAX_LISTED]:
        first, *others = _wrap(f"  {problem.code}  {printable(problem.message)}", canvas.width)
        lines += [first.replace(problem.code, canvas.paint(problem.code, "33"), 1), *others]
        for step in problem.next:
            lines += _wrap(
                f"    {canvas.glyph('→', '->')} {printable(step.command or step.text)}",
                canvas.width,
            )
    if len(problems) > _MAX_LISTED:
        lines.append(f"  and {len(problems) - _MAX_LISTED} more: -o json lists them all")
    return canvas.plain("\n".join(lines) + "\n")


def wide(
    stock: Inventory,
    problems: Sequence[Problem],
    canvas: Canvas,
    hidden: str = "",
    uses: Sequence[Use] = (),
    now: float | None = None,
) -> str:
    """Return a line for each device; ``hidden`` has the meaning of :func:`devices`. ``uses`` gives
    each claim's share of the best alignment, and ``now`` (seconds since 1970) is used for ages.
    """
    head = (
        "NODE",
        "DEVICE",
        "ROOT",
        "NUMA",
        "MODEL",
        "STATE",
        "LEFT",
        "CLAIM",
        "PODS",
        "AGE",
        "ALIGNED",
    )
    aligned = {claim: percent(use.share) for use in reversed(uses) for claim in use.claims}
    lines = []
    for row in stock.devices:
        left = ", ".join(
            f"{a.name} {a.remaining} of {a.total}" for a in row.capacity if a.consumed != "0"
        )
        state = row.state + (f" ({', '.join(row.taints)})" if row.taints else "")
        lines.append(
            (
                row.node or "-",
                str(row.id),
                row.pcie_root or "-",
                "-" if row.numa_node is None else str(row.numa_node),
                row.model or "-",
                state,
                left or "-",
                _list_some(list(dict.fromkeys(holder.claim for holder in row.holders)), 2) or "-",
                _list_some([holder.pod for holder in row.holders if holder.pod], 2) or "-",
                next((age(holder.since, now) for holder in row.holders if holder.since), "") or "-",
                next(
                    (aligned[holder.claim] for holder in row.holders if holder.claim in aligned),
                    "-",
                ),
            )
        )
    if not lines:
        return "no device is published\n"
    return (
        table(head, lines, replace(canvas, width=10_000))
        + _note(hidden, canvas)
        + _problems(problems, canvas)
    )


def fit(report: FitReport, canvas: Canvas, release: str, *, every: bool = False) -> str:
    """Return how many copies fit and where, the obstacles of the next copy, and the unused devices.
    With ``every``, no list is shortened.
    """
    copies = report.fit
    fits_enough = report.count >= (report.replicas or 1)
    mark = canvas.glyph("✓", "ok:") if fits_enough else canvas.glyph("✗", "x")
    mark = "?" if report.is_unknown and not fits_enough else mark
    lines = [
        f"{describe_demand(copies)}{'':4}Kubernetes {release}",
        canvas.paint(f"{mark} {_count_in_words(report)}", "1"),
    ]
    if copies.scheduler_fit is not None:
        lines += [f"  {allocation}" for allocation in copies.plugin_allocations[:_MAX_LISTED]]
        lines.append(
            f"  kube-scheduler does not see it, and places {copies.scheduler_fit.fits}"
            " (--trust-slices)"
        )
    if report.aligned is not None:
        lines += describe_aligned_counts(report.aligned)
    if report.maximum is not None:
        lines.append(_describe_most(copies, report.maximum))
    lines += ["", *nodes] if (nodes := _nodes(copies, every=every)) else []
    lines += _describe_next_copy(report, every=every)
    if report.stranded:
        lines += [
            "",
            "Free, but unusable for this shape:",
            *map(printable, _describe_stranded(report.stranded)),
        ]
    return (
        canvas.plain("\n".join(wrapped for line in lines for wrapped in _wrap(line, canvas.width)))
        + "\n"
    )


def count_copies(found: Fit) -> str:
    """Return ``4 more copies fit``, or ``4 copies fit`` if nothing runs yet."""
    more = "" if found.subject.is_cluster_idle else "more "
    return f"{found.fits or 'no'} {more}{'copy fits' if found.fits == 1 else 'copies fit'}"


def _count_in_words(report: FitReport) -> str:
    """Return the headline: how many copies fit, and the limits of this statement."""
    fits, copies = report.fit.fits, report.fit
    number = more = count_copies(copies)
    if report.replicas is not None:
        number = f"{min(fits, report.replicas)} of {report.replicas} fit"
    if report.is_unknown:
        number = f"at least {number}; " if fits else ""
        number += f"whether {'more' if fits else 'any more'} copies fit is unknown"
    elif copies.undecided:
        number = f"at least {number}: the search ended undecided"
    if report.aligned is not None:
        number += f", {_count_aligned(fits, report.aligned.first)}"
    if copies.scheduler_fit is not None and report.replicas is None:
        number = f"at most {more}" if fits else more
    if unjudged := list_unjudged_resources(copies.subject.state, copies.subject.pod):
        number += f", by devices: {', '.join(unjudged)} not judged"
    return number


def _describe_next_copy(report: FitReport, *, every: bool) -> list[str]:
    """Return why the next copy stays pending, or which pods it preempts; empty if unknown."""
    copies, stops = report.fit, report.stops
    if stops:
        reasons = describe_stops(stops)[: None if every else 4]
        head = "The next copy" if report.is_unknown else "The next copy stays pending"
        lines = [line for reason in reasons for line in _lines_of_reason(reason)]
        if report.is_unknown:
            record = f"`{program_name()} discover --save FILE` on such a node"
            lines.append(f"  name what {record} records with --devices FILE")
        return ["", f"{head}:", *lines]
    if copies.preempts:
        node, pods = copies.preempts[0]
        count = len(copies.preempts) - 1
        others = f", or pods on {count} other nodes" if count else ""
        return [
            "",
            (
                "For the next copy kube-scheduler ends pods of lower priority:"
                f" {_list_some(pods, 4)} on {node}{others}"
            ),
        ]
    message = copies.next_attempt.message
    return ["", f"The next copy stays pending: {printable(message)}"] if message else []


def _lines_of_reason(reason: str) -> list[str]:
    """Return a reason on one line, and the compiler's lines below it, so that its caret stays below
    the place of the error.
    """
    sentence, *quoted = reason.split("\n")
    return [f"  {printable(sentence)}", *(f"    {printable(line.lstrip())}" for line in quoted)]


def describe_stops(stops: Sequence[Reason]) -> list[str]:
    """Return why the next copy stays pending; if several reasons apply, each comes with its
    nodes.
    """
    several = len(stops) > 1
    prefixes = (
        f"{_list_some(reason.nodes, 3)}: " if several and reason.nodes else "" for reason in stops
    )
    return [f"{on}{reason.brief}" for on, reason in zip(prefixes, stops, strict=True)]


def _wrap(line: str, width: int) -> list[str]:
    return wrap(line, width, " " * (len(line) - len(line.lstrip()) + 2))


def _describe_most(answer: Fit, most: MaxCopies) -> str:
    answer = answer.scheduler_fit or answer
    if most.fits > answer.fits:
        proof = "no order reaches more" if most.proven else _open(most, "others may reach more")
        return (
            f"  {most.fits} in the best order of placing ({proof}): fragmentation costs"
            f" {most.fits - answer.fits}"
        )
    if most.proven:
        return "  no other order of placing reaches more"
    return f"  no order of placing is known that reaches more ({_open(most, 'not proven')})"


def _open(most: MaxCopies, unbounded: str) -> str:
    """Return a clause with the proven upper bound; ``unbounded`` if no bound is proven."""
    return unbounded if most.bound is None else f"none reaches more than {most.bound}"


def describe_aligned_counts(aligned: AlignedCounts) -> Iterator[str]:
    """Yield lines on copies with unknown alignment, on a choice of devices that aligns more copies
    than kube-scheduler's, and on a constraint that aligns all copies.
    """
    if aligned.unknown:
        yield (
            f"  the alignment of {aligned.unknown} is unknown: their slices name neither a PCIe"
            " root nor a NUMA node"
        )
    if aligned.possible is not None and aligned.is_choice_missed:
        yield (
            f"  at least {aligned.possible} could have it: kube-scheduler takes the first devices"
            " that fit, in the order of the slices"
        )
    if aligned.constraint is not None:
        yield (
            f"  with {aligned.constraint.text}: {aligned.fits_with_constraint} fit, all of them"
            " aligned"
        )


def describe_demand(found: Fit) -> str:
    """Describe the demand: the name of an object, or a shape with the alignment that it gets."""
    shape = found.subject.shape
    if shape is None or (shape.devices == 1 and shape.constraint is None):
        return found.subject.name
    return f"{shape.text}, {_DEMANDS[shape.constraint]}"


_DEMANDS: Mapping[Constraint | None, str] = {
    None: "as close to each other as each node allows",
    "pcieRoot": "each copy on one PCIe root",
    "numaNode": "each copy on one NUMA node",
    "none": "without constraint or preference",
}


class _NodeLine(Struct, frozen=True):
    """A line of the table that equal nodes share."""

    fits: int
    room: str
    alignments: tuple[AlignedCopies, ...]


def _nodes(found: Fit, *, every: bool) -> list[str]:
    """Return the nodes by their number of copies, with the alignment of the copies and the
    remaining room.

    Nodes without a copy are left out, unless no node has one, or with ``every``.
    """
    amounts = list_remaining_resources(found)
    alike: dict[_NodeLine, list[str]] = {}
    for node in found.nodes:
        if every or node.fits or not found.fits:
            room = " and ".join(
                f"{amount} {resource}" for resource, amount in amounts.get(node.name, {}).items()
            )
            line = _NodeLine(
                node.fits, f"    {room} left" if room else "", _list_alignments_to_show(found, node)
            )
            alike.setdefault(line, []).append(node.name)
    width = max((len(str(line.fits)) for line in alike), default=1)
    lines: list[str] = []
    for line, names in sorted(alike.items(), key=lambda group: -group[0].fits):
        several = "each of " if len(names) > 1 else ""
        listed = _list_some(names, len(names) if every else 6)
        lines.append(f"  {line.fits:>{width}} on {several}{listed}{line.room}")
        mixed = len(line.alignments) > 1
        lines += [
            f"      {f'{group.copies}: ' if mixed else ''}{group.alignment}"
            for group in line.alignments
        ]
    return lines


def _list_alignments_to_show(found: Fit, node: NodeFit) -> tuple[AlignedCopies, ...]:
    """Return the alignments that the headline does not already name."""
    shape = found.subject.shape
    chosen = shape is not None and shape.constraint is None and shape.devices > 1
    return node.alignments if chosen else ()


def _describe_stranded(rows: Sequence[StrandedDevices]) -> list[str]:
    """Return the stranded devices by reason; the reason with the most devices comes first."""
    groups: dict[tuple[str, str], list[StrandedDevices]] = {}
    for row in rows:
        why = (
            row.why.replace(f"with {row.pcie_root}", "with its root") if row.pcie_root else row.why
        )
        groups.setdefault((row.driver, why), []).append(row)
    ordered = sorted(
        groups.items(), key=lambda item: -_count(item[1], lambda row: len(row.devices))
    )
    lines = []
    for (driver, why), members in ordered[:_MAX_LISTED]:
        total = _count(members, lambda row: len(row.devices))
        places = _list_some(
            list(dict.fromkeys(f"{row.node} {row.pcie_root or ''}".strip() for row in members)), 3
        )
        lines += [f"  {total} of {driver}: {why}", f"      {places}"]
    return lines


def _count(rows: Sequence[StrandedDevices], number: Callable[[StrandedDevices], int]) -> int:
    return sum(number(row) for row in rows)


def shapes(
    fits: Sequence[Fit],
    canvas: Canvas,
    aligned: Sequence[AlignedCounts | None],
    stops: Sequence[Sequence[Reason]],
) -> str:
    """Return a table of several shapes by node, in which equal nodes share a line.

    Below the table, each shape has its demand, its alignments, and the reason that stops another
    copy.
    """
    names = list(dict.fromkeys(node.name for fit in fits for node in fit.nodes))
    by_node = [{node.name: node.fits for node in fit.nodes} for fit in fits]
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(nodes.get(name, 0) for nodes in by_node), []).append(name)
    head = ("NODE", *(_column(fit) for fit in fits))
    lines = [
        (_list_some(members, 3), *(str(n) for n in key))
        for key, members in sorted(groups.items(), reverse=True)
    ]
    lines.append(("all", *(str(fit.fits) for fit in fits)))
    notes = [
        line
        for fit, near, reasons in zip(fits, aligned, stops, strict=True)
        for line in _notes_on_shape(fit, near, reasons)
    ]
    below = "".join(f"{wrapped}\n" for line in notes for wrapped in _wrap(line, canvas.width))
    return table(head, lines, canvas, numbers=range(1, len(head))) + canvas.plain(below)


def _count_aligned(copies: int, aligned: int) -> str:
    """Return the end of a sentence: how many of the copies have the best alignment."""
    if aligned < copies or copies == 0:
        return f"{aligned} of them with the best alignment"
    return "with the best alignment" if copies == 1 else "all with the best alignment"


def _notes_on_shape(
    found: Fit, aligned: AlignedCounts | None, stops: Sequence[Reason]
) -> list[str]:
    """Return the notes on one shape that the table of shapes lacks, after an empty line."""
    lines = [f"  {line}" for line in alignments(found)]
    if aligned is not None:
        lines.append(f"  {aligned.first} of {found.fits} with the best alignment")
        lines += describe_aligned_counts(aligned)
    lines += [f"  no further copy: {printable(line)}" for line in describe_stops(stops)[:4]]
    head = describe_demand(found)
    return ["", head, *lines] if lines or head != found.subject.name else []


def alignments(found: Fit) -> list[str]:
    """Return the alignments of the copies, each with the nodes that have it."""
    nodes: dict[str, list[str]] = {}
    copies: Counter[str] = Counter()
    for node in found.nodes:
        for group in _list_alignments_to_show(found, node):
            nodes.setdefault(group.alignment, []).append(node.name)
            copies[group.alignment] += group.copies
    return [
        f"{alignment}: {copies[alignment]} on {_list_some(names, 3)}"
        for alignment, names in nodes.items()
    ]


def short_name(found: Fit) -> str:
    """Return the name of the object, or the shape as the user wrote it."""
    return found.subject.name.rpartition("/")[2]


def _column(found: Fit) -> str:
    """Return the header of the column. A shape stays in its own case, so that it can be pasted
    again.
    """
    name = short_name(found)
    return name if found.subject.shape is not None else name.upper()
