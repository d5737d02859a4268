"""Descriptions for editors of what drivers publish: drivers, domains, attributes and
their values.
"""

from functools import cache

from msgspec import Struct

from dractl.drivers import find, names
from dractl.facts import Attribute, Capacity
from dractl.program import program_name

# This name is common in examples; lint does not know its devices either
_EXAMPLE = "gpu.example.com"


class PublishedName(Struct, frozen=True):
    """An attribute or a capacity of a driver."""

    driver: str
    """The name of the driver."""
    full_name: str
    """The name with its domain."""
    row: Attribute | Capacity
    """The row in the driver's catalogue."""

    @property
    def type(self) -> str:
        return self.row.type if isinstance(self.row, Attribute) else "quantity"

    @property
    def values(self) -> tuple[str | int | bool, ...]:
        """Every possible value; empty if any value is possible."""
        return self.row.values if isinstance(self.row, Attribute) else ()


def drivers() -> tuple[str, ...]:
    """Return every known driver except the driver for examples."""
    return tuple(name for name in names() if name != _EXAMPLE)


@cache
def by_kind(kind: str) -> tuple[PublishedName, ...]:
    """Return all ``attributes`` or all ``capacity`` that known drivers publish."""
    names_of_kind = []
    for driver in drivers():
        catalogue = find(driver).catalogue
        rows: tuple[Attribute | Capacity, ...] = (
            catalogue.attributes if kind == "attributes" else catalogue.capacities
        )
        names_of_kind += [
            PublishedName(driver, row.name if "/" in row.name else f"{driver}/{row.name}", row)
            for row in rows
        ]
    return tuple(names_of_kind)


def rows_of_name(kind: str, full_name: str) -> tuple[PublishedName, ...]:
    """Return the rows for an attribute or a capacity with a full name, one for each driver that
    publishes it.
    """
    return tuple(item for item in by_kind(kind) if item.full_name == full_name)


def domains(kind: str) -> tuple[str, ...]:
    """Return the domains of all attributes or capacities."""
    return tuple(dict.fromkeys(item.full_name.partition("/")[0] for item in by_kind(kind)))


def in_domain(kind: str, domain: str) -> dict[str, tuple[PublishedName, ...]]:
    """Return the attributes or capacities in a domain, by name without the domain."""
    by_name: dict[str, tuple[PublishedName, ...]] = {}
    for item in by_kind(kind):
        owner, _, name = item.full_name.partition("/")
        if owner == domain:
            by_name[name] = (*by_name.get(name, ()), item)
    return by_name


def describe_rows(items: tuple[PublishedName, ...]) -> str:
    """Return an attribute or capacity as Markdown: type, meaning, values, versions and conditions,
    for each driver.
    """
    head = f"**{items[0].full_name}**: {', '.join(dict.fromkeys(item.type for item in items))}"
    return "\n\n".join([head, *(_describe_row(item) for item in items)])


def _describe_row(item: PublishedName) -> str:
    row = item.row
    catalogue = find(item.driver).catalogue
    lines = [f"{item.driver}: {row.about}"]
    if item.values:
        lines.append(f"values: {', '.join(f'`{literal(value)}`' for value in item.values)}")
    if row.devices:
        lines.append(f"on devices of type {', '.join(row.devices)}")
    if row.since or row.removed:
        first = catalogue.with_tags(row.since or catalogue.versions[0])
        since = f"since driver version {first}" if row.since else f"in driver versions from {first}"
        removed = f"removed in {catalogue.with_tags(row.removed)}" if row.removed else ""
        lines.append("; ".join(filter(None, (since, removed))))
    if row.when:
        lines.append(f"may be absent: only {row.when}")
    if isinstance(row, Attribute) and row.list_with:
        lines.append(f"a list with {row.list_with}")
    return "\n- ".join(lines)


def describe_driver(name: str) -> str:
    """Return a driver as Markdown."""
    catalogue = find(name).catalogue
    return (
        f"**{name}**: {catalogue.title}\n\nversions {', '.join(catalogue.versions)}; newest release"
        f" {catalogue.released}\n\n`{program_name()} rule {name}` lists what its devices have"
    )


def literal(value: str | int | bool) -> str:
    """Return a value as CEL writes it."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
