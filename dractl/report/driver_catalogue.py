"""What a driver publishes: its attributes, capacities, options and classes, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.drivers import Attribute, Capacity, Profile
    from dractl.report.canvas import Canvas

SCHEMA = "dractl/driver/v1"


def to_json(profile: Profile) -> dict[str, Any]:
    """The catalogue as an object; keys without a value are absent."""
    from dataclasses import asdict

    catalogue = {key: value for key, value in asdict(profile.catalogue).items() if value not in (None, (), "")}
    for kind in ("attributes", "capacities", "settings"):
        rows = catalogue.get(kind, ())
        catalogue[kind] = [{k: v for k, v in row.items() if v not in (None, (), False)} for row in rows]
    return {"schema": SCHEMA, "driver": profile.name, **catalogue}


def to_text(profile: Profile, canvas: Canvas) -> str:
    """A page: how the driver's attributes are written in CEL, which there are, of what type and since when."""
    catalogue = profile.catalogue
    lines = [f"{profile.name}  {catalogue.title}", f"Source: {catalogue.source}"]
    lines.append(f"Versions: {', '.join(catalogue.versions)} (rendered by default: {catalogue.released})")
    lines += ["", "Attributes"]
    names = [_in_cel(row.name, profile.name) for row in catalogue.attributes]
    wide = max(map(len, names), default=0)
    for name, row in zip(names, catalogue.attributes, strict=True):
        lines.append(f"  {name:<{wide}}  {row.type:<7}  {row.about}{_when(row)}")
    if catalogue.capacities:
        lines += ["", "Capacities"]
        wide = max(len(row.name) for row in catalogue.capacities)
        lines += [f"  {row.name:<{wide}}  {row.about}{_when(row)}" for row in catalogue.capacities]
    if catalogue.settings:
        lines += ["", f"Options (dractl render --driver-option {profile.name}:NAME=VALUE)"]
        wide = max(len(row.name) for row in catalogue.settings)
        lines += [f"  {row.name:<{wide}}  {row.values}: {row.about}" for row in catalogue.settings]
    if catalogue.notes:
        lines += ["", "Good to know"]
        lines += [f"  {note}" for note in catalogue.notes]
    return canvas.plain("\n".join(lines))


def _in_cel(name: str, driver: str) -> str:
    """The attribute as an expression selects it; a bare name belongs to the driver's domain."""
    domain, _, identifier = name.rpartition("/")
    return f'device.attributes["{domain or driver}"].{identifier}'


def _when(row: Attribute | Capacity) -> str:
    said = []
    if row.devices:
        said.append(f"of {', '.join(row.devices)}")
    if row.since:
        said.append(f"since {row.since}")
    if getattr(row, "removed", None):
        said.append(f"until {row.removed}")  # type: ignore[union-attr]
    if getattr(row, "optional", False):
        said.append("may be absent")
    return f" ({'; '.join(said)})" if said else ""
