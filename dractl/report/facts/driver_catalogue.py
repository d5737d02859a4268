"""A driver's attributes, capacities, taints, options and refusals, as text and JSON."""

from collections.abc import Sequence
from itertools import groupby
from string import digits
from typing import Any

from msgspec import to_builtins

from dractl.drivers import Known
from dractl.facts import Attribute, Capacity, Taint
from dractl.facts.refusals import RefusalFact, refusal_file
from dractl.program import program_name
from dractl.report.canvas import Canvas

SCHEMA = "dractl/driver/v1"


def to_json(profile: Known) -> dict[str, Any]:
    """Return the catalogue as an object; keys without a value are absent."""
    facts = profile.catalogue
    catalogue = {
        "title": facts.title,
        "source": facts.source,
        "read": facts.read,
        "versions": facts.versions,
        "released": facts.released,
        "complete": facts.complete,
        "notes": facts.notes,
        "extension": facts.extension,
        "chart": facts.chart,
        "tags": facts.tags,
        "aliases": {alias: release.name for release in facts.releases for alias in release.aliases},
    }
    catalogue = {key: value for key, value in catalogue.items() if value not in (None, (), "", {})}
    for kind in ("attributes", "capacities", "taints", "settings"):
        rows_of_kind = (
            {k: getattr(row, k) for k in row.__struct_fields__} for row in getattr(facts, kind)
        )
        rows = [{k: v for k, v in row.items() if v not in (None, (), "")} for row in rows_of_kind]
        if rows or kind != "taints":
            catalogue[kind] = [
                {**row, "optional": True} if "when" in row and kind != "taints" else row
                for row in rows
            ]
    if refusals := _refusals(profile.name):
        entries = map(to_builtins, refusals)
        catalogue["refusals"] = [
            {k: v for k, v in entry.items() if v not in (None, (), "", False)} for entry in entries
        ]
    return {"schema": SCHEMA, "driver": profile.name, **catalogue}


def to_text(profile: Known, canvas: Canvas) -> str:
    """Return a page: attributes as CEL selects them, with type, meaning, values, and when a device
    has them.
    """
    catalogue = profile.catalogue
    lines = [
        f"{profile.name}  {catalogue.title}",
        f"Source: {catalogue.source}, read on {catalogue.read}",
    ]
    versions = ", ".join(map(catalogue.with_tags, catalogue.versions))
    lines.append(f"Versions: {versions}; rendered by default: {catalogue.released}")
    lines += ["", "Attributes"]
    names = [_in_cel(row.name, profile.name) for row in catalogue.attributes]
    wide = max(map(len, names), default=0)
    for name, row in zip(names, catalogue.attributes, strict=True):
        lines.append(f"  {name:<{wide}}  {row.type:<7}  {row.about}{_describe_condition(row)}")
    if catalogue.capacities:
        lines += ["", "Capacities"]
        numbered = groupby(
            catalogue.capacities,
            lambda row: (row.name.rstrip(digits), row.about, _describe_condition(row)),
        )
        capacities = [
            (_number_range([row.name for row in rows]), about + when)
            for (_, about, when), rows in numbered
        ]
        wide = max(len(name) for name, _ in capacities)
        lines += [f"  {name:<{wide}}  {about}" for name, about in capacities]
    if catalogue.taints:
        lines += ["", "Taints"]
        wide = max(len(_taint(row)) for row in catalogue.taints)
        lines += [
            f"  {_taint(row):<{wide}}  {row.about}{_describe_condition(row)}"
            for row in catalogue.taints
        ]
    if catalogue.settings:
        lines += [
            "",
            f"Options ({program_name()} render --driver-option {profile.name}:NAME=VALUE)",
        ]
        wide = max(len(row.name) for row in catalogue.settings)
        lines += [f"  {row.name:<{wide}}  {row.values}: {row.about}" for row in catalogue.settings]
    if refusals := _refusals(profile.name):
        lines += ["", "Refusals of the driver, in explain's words"]
        wide = max(len(row.id) for row in refusals)
        lines += [f"  {row.id:<{wide}}  {_meaning(row, profile.name)}" for row in refusals]
    if catalogue.notes:
        lines += ["", "Good to know"]
        lines += [f"  {note}" for note in catalogue.notes]
    return canvas.plain("\n".join(lines))


def _refusals(driver: str) -> Sequence[RefusalFact]:
    """Return the facts about a driver's refusals."""
    file = refusal_file(driver)
    return file.refusals if file is not None else ()


class _Blanks(dict[str, str]):
    """Values for the names in braces of a text; a name without a value is an ellipsis."""

    def __missing__(self, _: str) -> str:
        return "…"


def _meaning(row: RefusalFact, driver: str) -> str:
    """Return the first clause of an entry's meaning, with an ellipsis for values that only a pod
    has.
    """
    return row.meaning[0].format_map(_Blanks(driver=driver, node="the node"))


def _in_cel(name: str, driver: str) -> str:
    """Return the attribute as an expression selects it; a bare name belongs to the
    driver's domain.
    """
    domain, _, identifier = name.rpartition("/")
    return f'device.attributes["{domain or driver}"].{identifier}'


def _number_range(names: Sequence[str]) -> str:
    """Return the names of capacities that differ only in a number as a range, such as memorySlice0
    to 7.
    """
    return (
        names[0]
        if len(names) == 1
        else f"{names[0]} to {names[-1][len(names[-1].rstrip(digits)) :]}"
    )


def _taint(row: Taint) -> str:
    return f"{row.key}{'=' + row.value if row.value else ''}:{'|'.join(row.effects)}"


def _describe_condition(row: Attribute | Capacity | Taint) -> str:
    conditions = []
    if isinstance(row, Attribute) and row.values:
        conditions.append(
            "one of"
            f" {', '.join(str(v).lower() if isinstance(v, bool) else str(v) for v in row.values)}"
        )
    if not isinstance(row, Taint) and row.devices:
        conditions.append(f"of {', '.join(row.devices)}")
    if row.since:
        conditions.append(f"since {row.since}")
    if not isinstance(row, Taint) and row.removed:
        conditions.append(f"removed in {row.removed}")
    if isinstance(row, Attribute) and row.list_with:
        conditions.append(f"a list with {row.list_with}")
    if row.when:
        presence = "present " if row.when.startswith("unless") else "may be absent: only "
        conditions.append(row.when if isinstance(row, Taint) else f"{presence}{row.when}")
    return f" ({'; '.join(conditions)})" if conditions else ""
