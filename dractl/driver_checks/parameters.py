"""Parameters for a driver in the objects beside it, and the schema that its chart has for them.

The API server accepts any parameters in claims and classes. But a chart can contain their schema,
in a CustomResourceDefinition of their kind, which authors generate from the types that the driver
decodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from msgspec import Struct

from dractl.driver_checks.installation import Objects
from dractl.driver_checks.remark import Remarks, remark
from dractl.drivers.opaque import find_faults
from dractl.lint.configs import Configuration, configurations_of
from dractl.lint.model import Manifest
from dractl.model.nearest import nearest
from dractl.model.paths import map_at, maps_at, text_at
from dractl.objects import mapping

_CODE = "DRA390"
_KEPT = ("enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "required")
"""Keywords that OpenAPI v3 and JSON Schema have in common. Patterns are left out: the regular
expressions of Go and Python differ.
"""
_META_FIELDS: Mapping[str, Any] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
_CONFIGURED_KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


class _Definition(Struct, frozen=True):
    """A CustomResourceDefinition."""

    subject: Manifest
    schemas: Mapping[str, Mapping[str, Any]]
    """The OpenAPI schema of each version."""


def check_parameters(objects: Objects, others: Iterable[Manifest], driver: str) -> Remarks:
    """Yield parameters in a chart, and in classes read with it, that the chart's own schema does
    not allow.
    """
    definitions = {_kind_of(one): one for one in _list_definitions(objects)}
    broken: set[tuple[str, str]] = set()
    for subject in (*objects.list_kind(*_CONFIGURED_KINDS), *others):
        for configuration in configurations_of(subject):
            group, _, version = text_at(configuration.parameters, "apiVersion").rpartition("/")
            kind = (group, text_at(configuration.parameters, "kind"))
            definition = definitions.get(kind)
            if definition is None or configuration.driver != driver or kind in broken:
                continue
            try:
                yield from _check(configuration, definition, version)
            except SchemaError as error:
                broken.add(kind)
                yield remark(
                    _CODE,
                    definition.subject,
                    ("spec", "versions"),
                    f"the schema of {definition.subject.name} is not valid: {error.message}",
                    help="generate it from the types that the driver decodes",
                )


def _list_definitions(objects: Objects) -> Iterator[_Definition]:
    # Lint knows no kinds of other groups.
    for subject in objects.manifests:
        if subject.document.kind == "CustomResourceDefinition":
            versions = maps_at(subject.spec, "versions")
            yield _Definition(
                subject,
                {
                    text_at(one, "name"): map_at(one, "schema", "openAPIV3Schema")
                    for one in versions
                },
            )


def _kind_of(definition: _Definition) -> tuple[str, str]:
    spec = definition.subject.spec
    return text_at(spec, "group"), text_at(spec, "names", "kind")


def _check(configuration: Configuration, definition: _Definition, version: str) -> Remarks:
    """Yield the faults of parameters. Raises SchemaError."""
    path = (*configuration.path, "parameters")
    schema = definition.schemas.get(version)
    name = definition.subject.name
    if schema is None:
        near = nearest(version, definition.schemas)
        yield remark(
            _CODE,
            configuration.subject,
            (*path, "apiVersion"),
            f"CustomResourceDefinition {name} has no version {version}:"
            f" it has {', '.join(definition.schemas) or 'none'}",
            help=f"did you mean {near}?" if near else "add the version, or write one that it has",
        )
        return
    converted = _convert({**schema, "x-kubernetes-embedded-resource": True})
    Draft202012Validator.check_schema(converted)
    for fault in find_faults(Draft202012Validator(converted), configuration.parameters):
        yield remark(
            _CODE,
            configuration.subject,
            (*path, *fault.path),
            f"CustomResourceDefinition {name} does not allow this: {fault.message}",
            help=f"did you mean {fault.nearest}?"
            if fault.nearest
            else "change the parameters, or the types from which the schema is generated",
            key=fault.key,
        )


def _convert(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a structural schema as a JSON Schema in which unknown fields are faults
    (k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning prunes them).
    """
    converted = {name: schema[name] for name in _KEPT if name in schema}
    if schema.get("x-kubernetes-int-or-string") is True:
        converted["type"] = ["integer", "string"]
    elif "type" in schema:
        converted["type"] = (
            [schema["type"], "null"] if schema.get("nullable") is True else schema["type"]
        )
    if "items" in schema:
        converted["items"] = _convert(mapping(schema["items"]))
    if schema.get("type") == "object":
        converted |= _convert_fields(schema)
    return converted


def _convert_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        name: _convert(mapping(field)) for name, field in map_at(schema, "properties").items()
    }
    if schema.get("x-kubernetes-embedded-resource") is True:
        fields = {**_META_FIELDS, **fields}
    further = schema.get("additionalProperties")
    if isinstance(further, dict):
        return {"properties": fields, "additionalProperties": _convert(further)}
    is_open = further is True or schema.get("x-kubernetes-preserve-unknown-fields") is True
    return {"properties": fields, "additionalProperties": is_open}
