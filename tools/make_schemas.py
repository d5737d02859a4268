"""Makes ``schemas/<release>/`` from the JSON Schemas of the PyPI package kubernetes-validate.

    .venv/bin/python tools/make_schemas.py           writes them
    .venv/bin/python tools/make_schemas.py --check   lists files that would change; fails if any

A release that is not out yet has only the files that differ from those of the release before it
(``PLANNED``).

A file holds the definitions of one group and version, each on a line of its own (small, and a diff
shows what changed). A definition of another group is referred to by its file, so a claim needs two
small files and never the Pod's. Descriptions are left out: those of the newest release are in
``schemas/descriptions.json``, which only editors read. So are ``required`` and string formats,
which the API server's decoder ignores. The remainder has the fields of each type and the Go type of
each field; ``null`` is always allowed, because Go's decoder treats it as "not set". ``CORRECTIONS``
lists the differences between the published schema and the decoder, with the reasons.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import files
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37")

PLANNED: dict[str, dict[str, dict[str, Any]]] = {
    "1.38": {
        # KEP-6406, README.md, "API"
        "DeviceClassSpec": {
            "extendedResourceCapacityRequests": {"$ref": "#/$defs/CapacityRequirements"}
        },
        # KEP-5941, README.md, "API additions": Counter is split
        "SharedCounter": {
            "requestPolicy": {"$ref": "#/$defs/CapacityRequestPolicy"},
            "value": {"$ref": "meta-v1.json#/$defs/Quantity"},
        },
        "CounterSet": {"counters": {"map": "#/$defs/SharedCounter"}},
        "CounterValueFrom": {"capacityName": {"type": ["string", "null"]}},
        "ConsumeCounter": {
            "value": {"$ref": "meta-v1.json#/$defs/Quantity"},
            "valueFrom": {"$ref": "#/$defs/CounterValueFrom"},
        },
        "DeviceCounterConsumption": {"counters": {"map": "#/$defs/ConsumeCounter"}},
        "CounterSetConsumption": {
            "counterSet": {"type": ["string", "null"]},
            "counters": {"map": "meta-v1.json#/$defs/Quantity"},
        },
        "DeviceRequestAllocationResult": {
            "consumedCounters": {
                "type": ["array", "null"],
                "items": {"$ref": "#/$defs/CounterSetConsumption"},
            }
        },
    }
}
"""For each release that is not out: the fields that its KEPs add to types of resource.k8s.io, in
all versions that the release serves. Everything else is as in the last of ``RELEASES``. ``map``
stands for a map of a type.
"""
PLANNED_FILES = ("resource.k8s.io-v1", "resource.k8s.io-v1beta2")

DESCRIBED: dict[str, frozenset[str]] = {
    "core": frozenset({"PodResourceClaim", "ResourceClaim", "ResourceRequirements"}),
    "resource.k8s.io": frozenset(),
    "scheduling.k8s.io": frozenset(),
}
"""For each API group, the types whose fields are described; all of them if the set is empty."""

KINDS = {
    "": {"Namespace", "Node", "Pod"},
    "apps": {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
    "batch": {"CronJob", "Job"},
    "scheduling.k8s.io": {"PodGroup", "Workload"},
    "resource.k8s.io": {
        "DeviceClass",
        "DeviceTaintRule",
        "PodSchedulingContext",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourcePoolStatusRequest",
        "ResourceSlice",
    },
}
"""For each API group, the kinds whose schemas ship."""

INTEGERS: dict[str, dict[str, Any]] = {
    "int32": {"type": ["integer", "null"], "minimum": -(2**31), "maximum": 2**31 - 1},
    "int64": {"type": ["integer", "null"], "minimum": -(2**63), "maximum": 2**63 - 1},
}
QUANTITY = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)? *$"
TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?"
    r"(Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60))$"
)

CORRECTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": (
        {"type": ["string", "number", "null"], "pattern": QUANTITY, "x-go-decoder": "quantity"},
        "has UnmarshalJSON: apimachinery/pkg/api/resource/quantity.go",
    ),
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": (
        {"type": ["string", "null"], "pattern": TIME, "x-go-decoder": "time"},
        "has UnmarshalJSON, which takes RFC 3339: apimachinery/pkg/apis/meta/v1/time.go",
    ),
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": (
        {"type": ["string", "null"], "pattern": TIME, "x-go-decoder": "micro-time"},
        "has UnmarshalJSON, which takes RFC 3339: apimachinery/pkg/apis/meta/v1/micro_time.go",
    ),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (
        {
            "type": ["string", "integer", "null"],
            "minimum": -(2**31),
            "maximum": 2**31 - 1,
            "x-go-decoder": "int-or-string",
        },
        (
            "has UnmarshalJSON, which takes an int32 or a string: "
            "apimachinery/pkg/util/intstr/intstr.go"
        ),
    ),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": (
        {},
        (
            "keeps any JSON value; that it is an object is validated, not decoded: "
            "apimachinery/pkg/runtime/extension.go"
        ),
    ),
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": (
        {},
        "keeps any JSON value: apimachinery/pkg/apis/meta/v1/fields_proto.go",
    ),
}
"""For each definition: the schema of the values that the decoder accepts, and the reason why it
differs from the published schema."""

GO_TYPES: dict[str, Any] = json.loads((ROOT / "tools" / "go_types.json").read_text())
"""Names that the decoder uses in its errors and OpenAPI lacks, from types.go of k8s.io/api and
k8s.io/apimachinery.

``named`` has, by group and ``Type.field``, the Go name of the field's type: for a list, of its
items; for a map, of its keys. The name begins with the package if the type is from another one.
``embedded`` has, by group and type, the struct that the type embeds, and its other fields in
``beside``.
"""
EMBEDDED_SHOWN_SINCE = "1.35"
"""Built with a Go whose encoding/json names embedded structs in the path."""


def short(name: str) -> tuple[str, str]:
    """Return a definition's file and name.

    ``io.k8s.api.resource.v1.Device`` is ``Device`` in ``resource.k8s.io-v1``.
    """
    package, _, kind = name.rpartition(".")
    if not package.startswith("io.k8s.api."):
        return "meta-v1", kind  # apimachinery: the types that every group shares
    group, _, version = package.removeprefix("io.k8s.api.").rpartition(".")
    return f"{GROUPS.get(group, group)}-{version}", kind


GROUPS = {
    "core": "core",
    "apps": "apps",
    "batch": "batch",
    "resource": "resource.k8s.io",
    "scheduling": "scheduling.k8s.io",
}


class Definitions:
    """The definitions of one release, and the files that they are turned into."""

    def __init__(self, release: str) -> None:
        self.release = release
        path = f"v{release}.0-local/_definitions.json"
        source = next(f for f in files("kubernetes-validate") or () if str(f).endswith(path))
        self.published: dict[str, Any] = json.loads(Path(source.locate()).read_text())["$defs"]
        self.files: dict[str, dict[str, Any]] = {}
        self.kinds: dict[str, list[str]] = {}

    def add(self, name: str) -> None:
        """Add a definition to the files, with all definitions that it refers to."""
        file, kind = short(name)
        into = self.files.setdefault(file, {})
        if kind in into:
            return
        into[kind] = {}  # a definition may refer to itself
        if name in CORRECTIONS:
            into[kind] = CORRECTIONS[name][0]
        else:
            into[kind] = self.convert(self.published[name], file, kind)

    def convert(self, schema: dict[str, Any], file: str, name: str = "") -> dict[str, Any]:
        """Convert a published schema, of the type ``name`` or of a field, for the decoder."""
        if "$ref" in schema:
            return {"$ref": self.reference(schema["$ref"].rpartition("/")[2], file)}
        (kind,) = {*([schema["type"]] if isinstance(schema["type"], str) else schema["type"])} - {
            "null"
        }
        nullable = [kind, "null"]
        if kind == "array":
            return {"type": nullable, "items": self.convert(schema["items"], file)}
        if kind == "integer":
            return {"$ref": self.basic(schema.get("format", "int64"), file)}
        if kind != "object":
            return {"type": nullable}
        if "additionalProperties" in schema:
            return {
                "type": nullable,
                "additionalProperties": self.convert(schema["additionalProperties"], file),
            }
        fields = {}
        for field, value in sorted(schema.get("properties", {}).items()):
            fields[field] = self.convert(value, file) | self.mark_embedding(file, name, field)
            self.name(fields[field], file, f"{name}.{field}")
        for this in schema.get("x-kubernetes-group-version-kind", ()):
            group_version = (
                f"{this['group']}/{this['version']}" if this["group"] else this["version"]
            )
            fields["apiVersion"], fields["kind"] = {"const": group_version}, {"const": this["kind"]}
            break
        return {"type": nullable, "properties": fields, "additionalProperties": False}

    def name(self, field: dict[str, Any], file: str, path: str) -> None:
        """Note the name of a field's Go type, if its JSON type does not imply it."""
        group, _, version = file.rpartition("-")
        name = GO_TYPES["named"].get(group, {}).get(path)
        if name is None:
            return
        field = field.get("items", field)
        if name.startswith("map["):
            field["x-go-key"] = qualify(name[4:-1], version)
        elif "$ref" not in field:
            field["x-go-type"] = qualify(name, version)

    def mark_embedding(self, file: str, name: str, field: str) -> dict[str, Any]:
        """Return a note that a field belongs to an embedded struct, if the decoder reports it."""
        embedding = GO_TYPES["embedded"].get(file.rpartition("-")[0], {}).get(name)
        if (
            embedding is None
            or field in embedding["beside"]
            or RELEASES.index(self.release) < RELEASES.index(EMBEDDED_SHOWN_SINCE)
        ):
            return {}
        return {"x-go-embedded": embedding["struct"]}

    def reference(self, name: str, file: str) -> str:
        self.add(name)
        target, kind = short(name)
        return f"#/$defs/{kind}" if target == file else f"{target}.json#/$defs/{kind}"

    def basic(self, name: str, file: str) -> str:
        self.files.setdefault("meta-v1", {})[name] = INTEGERS[name]
        return f"#/$defs/{name}" if file == "meta-v1" else f"meta-v1.json#/$defs/{name}"


def qualify(name: str, version: str) -> str:
    return name if "." in name else f"{version}.{name}"


def make(release: str) -> dict[str, str]:
    """Return the texts of one release by file name."""
    definitions = Definitions(release)
    for name, schema in definitions.published.items():
        for this in schema.get("x-kubernetes-group-version-kind", ()):
            if this["kind"] in KINDS.get(this["group"], ()) and name.endswith(f".{this['kind']}"):
                definitions.add(name)
                definitions.kinds.setdefault(short(name)[0], []).append(this["kind"])
    return {
        f"{file}.json": render(sorted(definitions.kinds.get(file, ())), types)
        for file, types in sorted(definitions.files.items())
    }


def plan(release: str) -> dict[str, str]:
    """Return the files of a planned release that differ from those of the last one, by name."""
    made = {}
    for file in PLANNED_FILES:
        schema = json.loads(make(RELEASES[-1])[f"{file}.json"])
        types, kinds = (
            schema["$defs"],
            [kind["$ref"].rpartition("/")[2] for kind in schema["oneOf"]],
        )
        for name, fields in PLANNED[release].items():
            empty = {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
            written = types.setdefault(name, empty)
            added = {field: expand(fragment) for field, fragment in fields.items()}
            written["properties"] = dict(sorted({**written["properties"], **added}.items()))
        text = json.dumps(types)
        in_use = {name for name in types if name in kinds or f'"#/$defs/{name}"' in text}
        made[f"{file}.json"] = render(kinds, {name: types[name] for name in in_use})
    return made


def expand(fragment: dict[str, Any]) -> dict[str, Any]:
    """Return a field of :data:`PLANNED` as a file has it."""
    if "map" not in fragment:
        return fragment
    return {"type": ["object", "null"], "additionalProperties": {"$ref": fragment["map"]}}


def render(kinds: list[str], types: dict[str, Any]) -> str:
    """Render a file, with a line for each definition.

    The top level is a choice between its kinds, so that it checks a whole document.
    """
    lines = [
        f"{json.dumps(name)}: {json.dumps(types[name], separators=(',', ':'))}"
        for name in sorted(types)
    ]
    head = '"$schema": "https://json-schema.org/draft/2020-12/schema",\n'
    if kinds:
        head += f'"oneOf": {json.dumps([{"$ref": f"#/$defs/{kind}"} for kind in kinds])},\n'
    return "{\n" + head + '"$defs": {\n' + ",\n".join(lines) + "\n}\n}\n"


def describe(release: str) -> str:
    """Return the API's descriptions of fields, by group and ``Type.field``, as text of a file.

    If several versions of a group have the field, the most mature one describes it.
    """
    descriptions: dict[str, dict[str, str]] = {group: {} for group in DESCRIBED}
    published = Definitions(release).published
    for name in sorted(published, key=lambda name: maturity(short(name)[0])):
        group, type_name = short(name)[0].rpartition("-")[0], short(name)[1]
        if group not in DESCRIBED or (DESCRIBED[group] and type_name not in DESCRIBED[group]):
            continue
        descriptions[group] |= {
            f"{type_name}.{field}": schema["description"]
            for field, schema in published[name].get("properties", {}).items()
            if "description" in schema
        }
    return json.dumps(descriptions, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def maturity(file: str) -> tuple[bool, bool, str]:
    """Return a key that sorts the files of a group: alpha versions, beta versions, others."""
    version = file.rpartition("-")[2]
    return "alpha" not in version, "beta" not in version, version


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if a file is not as it would be made",
    )
    check = parser.parse_args().check
    stale = 0
    texts = {ROOT / "schemas" / "descriptions.json": describe(RELEASES[-1])}
    for release in (*RELEASES, *PLANNED):
        folder = ROOT / "schemas" / release
        made = plan(release) if release in PLANNED else make(release)
        texts |= {folder / name: text for name, text in made.items()}
    folders = {path.parent for path in texts if path.parent.name != "schemas"}
    for path in sorted({*texts, *(path for folder in folders for path in folder.glob("*.json"))}):
        text = texts.get(path)
        if path.exists() and text == path.read_text(encoding="utf-8"):
            continue
        stale += 1
        print(path.relative_to(ROOT))
        if check:
            continue
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
