"""``dractl facts`` as text."""

from collections.abc import Mapping

from dractl.facts.check import MAX_AGE_DAYS
from dractl.facts.seen import UnknownDriver
from dractl.facts.summary import DriverLine, Summary
from dractl.model.releases import PREVIEWS, RELEASES
from dractl.program import program_name
from dractl.report.canvas import Canvas
from dractl.report.plain import plural, wrap


def render(summary: Summary, canvas: Canvas, *, every: bool) -> str:
    """Return the pack, a line for each driver, and the number of old parts; with ``every``, each
    old part. Unknown drivers and the drivers of the input come first.
    """
    wide = max(len(line.name) for line in summary.drivers)
    lines = [summary.title]
    forbidden = [row for row in summary.unread if row["why"] == "forbidden"]
    if forbidden:
        names = ", ".join(map(_unread, forbidden))
        lines += [f"not compared, as you are not allowed to read them: {names}"]
    lines += [
        f"not compared: {row['resource']}: {row['effect']}"
        for row in summary.unread
        if row["why"] == "not-rendered"
    ]
    lines += [""]
    lines += [_describe_unknown(unknown_driver) for unknown_driver in summary.unknown]
    drivers = sorted(summary.drivers, key=lambda line: not (line.running or line.publishes))
    lines += [f"{line.name:<{wide}}  {_describe_driver(line)}" for line in drivers]
    alpha = "".join(
        f", the last up to {PREVIEWS[name].tag} (due {PREVIEWS[name].due})"
        for name in RELEASES[-1:]
        if name in PREVIEWS
    )
    lines += ["", f"Kubernetes: rules of {RELEASES[0]} to {RELEASES[-1]}{alpha}"]
    lines += (
        [f"  {summary.cluster} runs here" + (f": {summary.caveat}" if summary.caveat else "")]
        if summary.cluster
        else []
    )
    lines += [f"  {row.release}: {row.what}" for row in summary.coming]
    lines += ["", *summary.seen] if summary.seen else []
    lines += [
        "",
        (
            f"{summary.products} products, {summary.machines} machines: "
            f"`{program_name()} render --list-hardware`"
        ),
    ]
    if summary.old:
        lines += [
            "",
            f"Older than {MAX_AGE_DAYS} days: {len(summary.old)}"
            + ("" if every else "; -v lists them"),
        ]
        lines += [f"  {part.part}: {part.days} days" for part in summary.old] if every else []
    wrapped = (part for line in lines for part in wrap(line, canvas.width, "    "))
    return canvas.plain("\n".join(wrapped))


def _unread(one: Mapping[str, str]) -> str:
    return one["resource"] + (
        f" outside of namespace {one['namespace']}" if "namespace" in one else ""
    )


def _describe_unknown(driver: UnknownDriver) -> str:
    counts = f"{plural(driver.devices, 'device')}, {plural(driver.attributes, 'attribute')}"
    return f"{driver.name}: unknown to dractl; {counts}; `--facts FILE` describes it"


def _describe_driver(line: DriverLine) -> str:
    text = f"known to {line.known}, read on {line.read}"
    if line.seen:
        text += f" (also {line.seen})"
    if line.newer:
        return f"{text}; {line.running} runs here and is NEWER: absences are reported as notes"
    if line.running:
        return f"{text}; {line.running} runs here"
    return f"{text}; publishes slices here, no image shows its version" if line.publishes else text
