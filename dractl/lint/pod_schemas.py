"""The parts of custom resources that are pod specifications, by the schemas of
CustomResourceDefinitions in the input.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.manifests import Document, Skipped
from dractl.manifests.definitions import DefinitionFile
from dractl.manifests.documents import Path
from dractl.manifests.source import Source
from dractl.manifests.yamltext import read_definitions
from dractl.objects import items, mapping, text

Kind = tuple[str, str]
"""The API group and the kind of custom resources."""

_GROUP = r"""(?m)(?:^|[{,])[ \t]*["']?group["']?[ \t]*:[ \t]*["']?([\w.-]{1,253})"""
_CLAIM_FIELDS = frozenset({"resourceClaimName", "resourceClaimTemplateName", "source"})
"""Fields of an entry of a pod's ``resourceClaims`` besides its name, of all releases."""


class PodSchemas(Struct, frozen=True):
    """The schemas of the kinds of custom resources in an input."""

    schemas: Mapping[tuple[str, str, str], Mapping[str, Any]]
    """The schemas of objects, by group, version and kind."""
    broken: tuple[Skipped, ...] = ()
    """Files with definitions of these kinds that are not YAML."""

    def is_pod(self, document: Document, path: Path) -> bool | None:
        """Return whether a map of a custom resource is a pod's specification; None if no schema
        says so.
        """
        group, _, version = (document.api_version or "").rpartition("/")
        node: Mapping[str, Any] = self.schemas.get((group, version, document.kind or ""), {})
        for step in path:
            node = _descend(node, step)
        fields = mapping(node.get("properties"))
        claims = mapping(fields.get("resourceClaims"))
        if not claims:
            return None
        if text(claims.get("type")) != "array":
            return False
        of_claims = mapping(mapping(claims.get("items")).get("properties"))
        if not of_claims or node.get("x-kubernetes-preserve-unknown-fields") is True:
            return None
        if _CLAIM_FIELDS.isdisjoint(of_claims):
            return False
        return True if "containers" in fields else None


NO_SCHEMAS = PodSchemas({})


def _descend(node: Mapping[str, Any], step: str | int) -> Mapping[str, Any]:
    """Return the schema of a field or an item; empty if there is none."""
    if isinstance(step, int):
        return mapping(node.get("items"))
    fields = mapping(node.get("properties"))
    return mapping(fields[step] if step in fields else node.get("additionalProperties"))


def groups_in(source: Source) -> frozenset[str]:
    """Return the API groups in which a file with CustomResourceDefinitions may define kinds."""
    return frozenset(match[1] for match in re.finditer(_GROUP, source.text))


def find_pod_schemas(definitions: Iterable[DefinitionFile], kinds: Sequence[Kind]) -> PodSchemas:
    """Return the schemas of kinds; definitions of others, which may be large, are not parsed."""
    schemas: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    broken: list[Skipped] = []
    wanted = frozenset(kinds)
    groups = {group for group, _ in wanted}
    for definition in definitions if wanted else ():
        source = definition.read()
        if groups.isdisjoint(groups_in(source)):
            continue
        for document in read_definitions(source, frozenset(kind for _, kind in wanted)):
            if not isinstance(document, Document):
                why = "a CustomResourceDefinition that is not YAML: where its pods are is not known"
                broken.append(Skipped(source.name, why))
            elif isinstance(document.value, dict):
                schemas |= {
                    key: schema
                    for key, schema in _schemas_of(document.value)
                    if (key[0], key[2]) in wanted
                }
    return PodSchemas(schemas, tuple(dict.fromkeys(broken)))


def _schemas_of(
    definition: Mapping[str, Any],
) -> Iterator[tuple[tuple[str, str, str], Mapping[str, Any]]]:
    """Yield the schemas of a definition (k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1
    types.go).
    """
    spec = mapping(definition.get("spec"))
    group, kind = text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))
    for version in map(mapping, items(spec.get("versions"))):
        schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
        yield (group, text(version.get("name")), kind), schema
