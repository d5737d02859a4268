"""Device classes in the configuration of Kueue, which it checks when it starts.

kubernetes-sigs/kueue pkg/config/validation.go validateDeviceClassMappings (ff69552e79); the
configuration is in a file, in the ConfigMap that is mounted as that file, or in the chart's
``managerConfig.controllerManagerConfigYaml``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from dractl.objects import Expression, items, mapping, text
from dractl.objects.values import Path
from dractl.validation.formats import (
    MAX_DRIVER,
    MAX_SUBDOMAIN,
    label_errors,
    label_key_errors,
    length,
    subdomain_errors,
)

GROUP: Final = "config.kueue.x-k8s.io"
MAX_MAPPINGS: Final = 16
MAX_CLASSES: Final = 8
CAPACITY_GATE: Final = "KueueDRAIntegrationConsumableCapacity"
_MAPPINGS: Path = ("resources", "deviceClassMappings")


class KueueFault(Struct, frozen=True):
    """An error that keeps Kueue from starting."""

    path: Path
    message: str
    gate: str = ""
    """The feature gate that is off, if the fault exists only without it."""


class _Source(Struct, frozen=True):
    """A source of quota in a mapping."""

    path: Path
    fields: Mapping[str, Any]

    def part(self, kind: str) -> Mapping[str, Any] | None:
        """Return the source of a kind; None if it is not set."""
        value = self.fields.get(kind)
        return value if isinstance(value, dict) else None


def device_class_mappings(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the mappings in a configuration of Kueue, each with its path; none for any other
    document.
    """
    if text(value.get("apiVersion")).startswith(f"{GROUP}/"):
        listed = items(mapping(value.get("resources")).get("deviceClassMappings"))
        for at, entry in enumerate(listed):
            yield (*_MAPPINGS, at), mapping(entry)


def has_mappings(value: Mapping[str, Any]) -> bool:
    """Return whether a document is a configuration of Kueue with mappings."""
    return GROUP in text(value.get("apiVersion")) and any(device_class_mappings(value))


def find_kueue_faults(value: Mapping[str, Any]) -> Iterator[KueueFault]:
    """Yield the faults of the mappings, except expressions that do not compile."""
    listed = list(device_class_mappings(value))
    if len(listed) > MAX_MAPPINGS:
        yield KueueFault(_MAPPINGS, f"{len(listed)} mappings; at most {MAX_MAPPINGS} are allowed")
    names: set[str] = set()
    gates = mapping(value.get("featureGates"))
    for path, entry in listed:
        name = text(entry.get("name"))
        yield from _name((*path, "name"), name)
        if name in names:
            yield KueueFault((*path, "name"), f"duplicate mapping for resource {name}")
        names.add(name)
        yield from _classes(path, entry)
        yield from _sources(path, entry, gates)
    yield from _class_conflicts(listed)


def source_selectors(value: Mapping[str, Any]) -> Iterator[Expression]:
    """Yield the CEL expressions that Kueue compiles when it starts."""
    for path, entry in device_class_mappings(value):
        for source in _source_list(path, entry):
            for kind in ("counter", "capacity"):
                cel = mapping(mapping((source.part(kind) or {}).get("deviceSelector")).get("cel"))
                if expression := text(cel.get("expression")):
                    field_path = (*source.path, kind, "deviceSelector", "cel", "expression")
                    yield Expression(expression, field_path)


def _name(path: Path, name: str) -> Iterator[KueueFault]:
    errors = list(label_key_errors(name))
    if length(name) > MAX_SUBDOMAIN:
        errors.append(f"must not exceed {MAX_SUBDOMAIN} characters")
    if errors:
        yield KueueFault(path, f"'{name}': {'; '.join(errors)}")


def _classes(path: Path, entry: Mapping[str, Any]) -> Iterator[KueueFault]:
    path = (*path, "deviceClassNames")
    classes = items(entry.get("deviceClassNames"))
    if not classes:
        yield KueueFault(path, "the mapping names no class; at least one is required")
    if len(classes) > MAX_CLASSES:
        yield KueueFault(path, f"{len(classes)} classes; at most {MAX_CLASSES} are allowed")
    names: set[str] = set()
    for at, name in enumerate(map(text, classes)):
        yield from _name((*path, at), name)
        if name in names:
            yield KueueFault((*path, at), f"class {name} is listed twice in the mapping")
        names.add(name)


def _counter(path: Path, entry: Mapping[str, Any]) -> str:
    """Return the counter of the first source (counterNameForMapping)."""
    first = next(_source_list(path, entry), None)
    return text((first.part("counter") or {}).get("name")) if first is not None else ""


def _class_conflicts(listed: Sequence[tuple[Path, Mapping[str, Any]]]) -> Iterator[KueueFault]:
    """Yield the classes that are mapped to several resources, unless each mapping has a counter of
    its own.
    """
    resources: dict[str, str] = {}
    counters: dict[str, set[str]] = {}
    for path, entry in listed:
        resource, counter = text(entry.get("name")), _counter(path, entry)
        for at, name in enumerate(map(text, items(entry.get("deviceClassNames")))):
            class_path = (*path, "deviceClassNames", at)
            if name not in resources:
                resources[name] = resource
                counters[name] = {counter} - {""}
            elif resources[name] == resource:
                continue
            elif not counter or not counters[name]:
                yield KueueFault(
                    class_path,
                    f"class {name} is already mapped to resource {resources[name]}: it may stand"
                    f" in several mappings only"
                    " if each counts another counter",
                )
            elif counter in counters[name]:
                yield KueueFault(
                    class_path, f"class {name} already has a source for counter {counter}"
                )
            else:
                counters[name].add(counter)


def _source_list(path: Path, entry: Mapping[str, Any]) -> Iterator[_Source]:
    for at, source in enumerate(items(entry.get("sources"))):
        yield _Source((*path, "sources", at), mapping(source))


def _sources(
    path: Path, entry: Mapping[str, Any], gates: Mapping[str, Any]
) -> Iterator[KueueFault]:
    kinds: set[str] = set()
    for source in _source_list(path, entry):
        written = [kind for kind in ("counter", "capacity") if source.part(kind) is not None]
        if len(written) != 1:
            yield KueueFault(source.path, "set either counter or capacity in each source")
            continue
        (kind,) = written
        kinds.add(kind)
        if kind == "capacity" and gates.get(CAPACITY_GATE) is not True:
            message = (
                f"a source of capacity needs feature gate {CAPACITY_GATE}, which is off by default"
            )
            yield KueueFault((*source.path, kind), message, CAPACITY_GATE)
        yield from _source((*source.path, kind), kind, source.part(kind) or {})
    if len(kinds) > 1:
        message = "a mapping has sources of counters or of capacity, not both"
        yield KueueFault((*path, "sources"), message)


def _source(path: Path, kind: str, fields: Mapping[str, Any]) -> Iterator[KueueFault]:
    """Yield the faults of a source (validateDeviceClassSource)."""
    name, driver = text(fields.get("name")), text(fields.get("driver"))
    cel = mapping(mapping(fields.get("deviceSelector")).get("cel"))
    wanted = {"name": name, "driver": driver, "deviceSelector": text(cel.get("expression"))}
    lacking = [key for key, value in wanted.items() if not value]
    if lacking:
        yield KueueFault(
            path, f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} required"
        )
    if kind == "counter" and name and (errors := label_errors(name)):
        yield KueueFault((*path, "name"), f"'{name}': {'; '.join(errors)}")
    errors = tuple(subdomain_errors(driver)) if driver else ()
    if length(driver) > MAX_DRIVER:
        errors += (f"must not exceed {MAX_DRIVER} characters",)
    if errors:
        yield KueueFault((*path, "driver"), f"'{driver}': {'; '.join(errors)}")
