"""``dractl cel`` as text: the verdict, then one block for each kind of device."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dractl.cel.trials import ReleaseVerdict, Trial, TriedDevice
from dractl.cel.values import COST_LIMIT, MAX_LENGTH
from dractl.report.canvas import Canvas
from dractl.report.plain import add_remark, plural, printable

_MAX_LISTED = 4  # number of pools and deciding parts that are listed without --verbose
_STYLES = {True: "1;32", False: "33", None: "1;31"}
_WORDS = {True: "true", False: "false", None: "error"}


def render(answer: ReleaseVerdict, canvas: Canvas, release: str, *, verbose: bool = False) -> str:
    """Return the text. ``release`` has the origin of the release; ``verbose`` lists every group and
    every device.
    """
    lines = [*_verdict(answer, canvas, release), *_results(answer, canvas, verbose)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _verdict(answer: ReleaseVerdict, canvas: Canvas, release: str) -> Iterator[str]:
    program = answer.program
    match answer.admission:
        case "ok":
            mark = canvas.paint(canvas.glyph("✓", "ok"), "1;32")
        case "undecided":
            mark = canvas.paint("?", "33")
        case _:
            mark = canvas.paint(canvas.glyph("✗", "x"), "1;31")
    cost = (
        f"cost at most {program.max_cost:,} of {COST_LIMIT:,}"
        if program.max_cost is not None
        else ""
    )
    match answer.admission:
        case "ok":
            verdict = f"compiles to {program.output_type}, {cost}"
        case "tooComplex":
            verdict = f"too complex: {cost}"
        case "tooLong":
            size = len(program.text.encode("utf-8", "replace"))
            verdict = f"too long: {size:,} bytes of at most {MAX_LENGTH:,}"
        case "undecided":
            verdict = "not known whether it compiles"
        case _:
            verdict = "does not compile"
    yield add_remark(f"{mark} {verdict}", f"Kubernetes {release}", canvas.width)
    for issue in program.issues:
        yield ""
        if issue.line is None or issue.column is None:
            yield f"  {printable(issue.message)}"
            continue
        yield (
            f"  {issue.line}:{issue.column} "
            f" {printable(issue.message.partition(' expecting {')[0])}"
        )
        yield from _excerpt(program.text.split("\n")[issue.line - 1], issue.column, canvas)
    if answer.help:
        yield ""
        yield f"  help: {canvas.plain(answer.help)}"
    for code, message, help_ in answer.remarks:
        yield ""
        yield f"  {canvas.paint(f'warning[{code}]', '33')} {canvas.plain(message)}"
        if help_:
            yield f"  help: {canvas.plain(help_)}"
    if not program.ok and answer.stored.ok:
        yield ""
        yield "  kube-scheduler evaluates it where it is already stored"


def _excerpt(line: str, column: int, canvas: Canvas) -> tuple[str, str]:
    """Return the line with a caret below the column (1-based); for a long line, the
    part around it.
    """
    room = max(canvas.width - 4, 20)
    first = max(0, min(column - 1 - room // 2, len(line) - room))
    part = printable(line.replace("\t", " "))[first : first + room]
    return f"    {canvas.plain(part)}", "    " + " " * (column - 1 - first) + canvas.paint(
        "^", "1;31"
    )


def _results(answer: ReleaseVerdict, canvas: Canvas, verbose: bool) -> Iterator[str]:
    if not answer.stored.ok:
        return
    if not answer.asked and answer.program.ok and answer.program.admission == "ok":
        yield "not tried on devices: --hardware dgx-h100, or --devices FILE, has some"
    if not answer.asked:
        return
    yield ""
    total = sum(len(trial.devices) for trial in answer.trials)
    if not total:
        yield "no devices to try it on"
    else:
        counted = f"true on {answer.count(True)} of {plural(total, 'device')}"
        yield counted + (f", fails on {answer.count(None)}" if answer.count(None) else "")
    for trial in answer.trials if verbose else _first_of_each_result(answer.trials):
        yield ""
        yield from _trial(trial, canvas, verbose)
    left = len(answer.trials) - (
        len(answer.trials) if verbose else len(_first_of_each_result(answer.trials))
    )
    if left:
        yield ""
        yield f"  and {left} more groups; -v lists all"
    if answer.untried:
        yield ""
        yield f"  not tried on devices of {', '.join(answer.untried)}; --driver all includes them"


def _first_of_each_result(trials: Sequence[Trial]) -> list[Trial]:
    """Return the first few groups of each result."""
    kept: Counter[bool | None] = Counter()
    first_trials = []
    for trial in trials:
        kept[trial.result] += 1
        if kept[trial.result] <= _MAX_LISTED:
            first_trials.append(trial)
    return first_trials


def _trial(trial: Trial, canvas: Canvas, verbose: bool) -> Iterator[str]:
    word = canvas.paint(f"{_WORDS[trial.result]:<5}", _STYLES[trial.result])
    yield f"  {word}  {_devices(trial.devices, canvas)}"
    if trial.result is not True:
        yield f"         {canvas.plain(printable(' '.join(trial.decision.text.split())))}"
    if trial.error is not None:
        yield f"         {printable(trial.error)}"
    for seen in trial.decision.seen:
        value = "not published" if seen.value is None else printable(seen.value)
        yield f"         {printable(seen.name)}: {canvas.plain(value)}"
    if verbose:
        yield from (f"           {printable(str(device))}" for device in trial.devices)


def _devices(devices: Sequence[TriedDevice], canvas: Canvas) -> str:
    """Return ``8 devices of gpu.nvidia.com: dgx-h100 ×8``."""
    drivers = Counter(device.driver for device in devices)
    pools = Counter(device.pool for device in devices)
    times = canvas.glyph("×", "x")
    listed = [f"{printable(pool)} {times}{count}" for pool, count in pools.most_common(_MAX_LISTED)]
    more = f" and {len(pools) - _MAX_LISTED} more pools" if len(pools) > _MAX_LISTED else ""
    return (
        f"{plural(len(devices), 'device')} of {', '.join(map(printable, drivers))}:"
        f" {', '.join(listed)}{more}"
    )
