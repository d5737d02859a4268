"""Pods of custom resources: the API server accepts the resource, and rejects the pods that its controller creates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from dractl.lint.pod_schemas import NO_SCHEMAS, PodSchemas
from dractl.lint.relevance import group
from dractl.lint.verdict import Flagged, verdict
from dractl.manifests import Document, Position
from dractl.manifests.documents import Path, Provenance, Within
from dractl.model import Target
from dractl.model.nearest import nearest
from dractl.model.pods import main_containers, pod_specs
from dractl.objects import PodSpec, items, mapping, text
from dractl.objects.chart_values import chart_pods
from dractl.validation.schemas import schemas_of
from dractl.validation.shapes import Record
from dractl.validation.violation import Violation, dot_path

_OF_CLAIMS = frozenset(f"PC-{number:02}" for number in range(1, 11))
_DEPTH = 32
_CONTAINERS = ("initContainers", "containers")
_ROOT = ("spec",)
_OF_VALUES = frozenset(
    {"helm.toolkit.fluxcd.io", "argoproj.io", "helm.cattle.io", "kustomize.config.k8s.io"}
)
"""Groups of objects with the values of charts, or with patches: they complete what stands in them."""
_OF_PODS = frozenset(
    {
        "batch.volcano.sh",
        "grove.io",
        "jobset.x-k8s.io",
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "llm-d.ai",
        "nvidia.com",
        "ray.io",
        "serving.knative.dev",
        "serving.kserve.io",
        "trainer.kubeflow.org",
    }
)
"""Groups whose kinds have pod specifications by their schemas."""
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")


def foreign_pods(
    document: Document, target: Target, schemas: PodSchemas = NO_SCHEMAS
) -> Iterator[Flagged]:
    """Errors in the claims of the pods that a custom resource describes; likely ones, unless the schema of its kind says
    where a pod is."""
    sure = group(document.value) in _OF_PODS
    specs = list(pod_specs(document.value))
    for path, spec in specs:
        is_pod = schemas.is_pod(document, tuple(path))
        for flagged in (
            _of_spec(document, path, spec, target, is_pod) if is_pod is not False else ()
        ):
            yield flagged if sure or is_pod else replace(flagged, confidence="likely")
    for flagged in _flagged_beside(document, specs):
        yield flagged if sure else replace(flagged, confidence="likely")


def needs_schema(document: Document) -> bool:
    """Return whether only a schema tells which parts of a custom resource are pods."""
    return group(document.value) not in _OF_PODS | _OF_VALUES


def _flagged_beside(
    document: Document, specs: Sequence[tuple[Path, Mapping[str, Any]]]
) -> Iterator[Flagged]:
    """Yield errors in containers that stand beside pods' lists."""
    yield from _unlisted(document, specs)
    if group(document.value) not in _OF_VALUES:
        for path, name in _single(document.value):
            elsewhere = (spec for at, spec in specs if tuple(at) != tuple(path)[: len(at)])
            listed = {
                _name(claim) for spec in elsewhere for claim in items(spec.get("resourceClaims"))
            }
            if not listed.intersection(_names(document.at((*path, name)))):
                spec = {"containers": [document.at((*path, name))]}
                yield from _without_claims(document, path, spec, {("containers", 0): (*path, name)})


def _single(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Pod specs whose main container stands beside the list: their paths, and its key."""
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        for name in main_containers(value) if "resourceClaims" not in value else ():
            yield path, name
        for name, item in value.items():
            yield from _single(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _single(item, (*path, at))


def _names(container: Any) -> set[str]:
    return {
        _name(claim) for claim in items(mapping(_claims(container).get("resources")).get("claims"))
    }


def _of_spec(
    document: Document, path: Path, spec: Mapping[str, Any], target: Target, is_pod: bool | None
) -> Iterator[Flagged]:
    if "resourceClaims" not in spec and _is_whole(document, spec):
        yield from _without_claims(document, path, spec)
        return
    beside = main_containers(spec)
    if not (is_pod or _is_pod(document, spec, beside)):
        yield from _misspelt_names(path, spec)
        return
    places = {len(items(spec.get("containers"))) + at: name for at, name in enumerate(beside)}
    found = _PodPlaces(document, path, places)
    pod = Document(
        document.file,
        document.index,
        _pod(spec, beside),
        found,
        provenance=Provenance(origin=document.origin),
    )
    listed = isinstance(spec.get("containers"), list) or bool(beside)
    complete = isinstance(spec.get("resourceClaims"), list) and listed
    for remark in verdict(pod, target, {}, matters=_about_claims).remarks:
        violation = remark.violation
        if violation.rule == "PC-09" and not complete:  # existing claims are reported elsewhere
            continue
        yield _said(document, violation, found.of(violation.path))
    for name in spec:
        if name != "resourceClaims" and nearest(str(name), ("resourceClaims",)):
            if name in _fields_of_pods(target):
                continue
            message = f'unknown field "{dot_path((*path, name))}": did you mean resourceClaims?'
            wrong = Violation(
                "unknown-field", None, None, (*_ROOT, name), message, True, nearest="resourceClaims",
                moved_to=(*path, "resourceClaims"),
            )  # fmt: skip
            yield _said(document, wrong, (*path, name))


def _is_pod(document: Document, spec: Mapping[str, Any], beside: Sequence[str]) -> bool:
    """Return whether a mapping is a pod's specification: by the schema of its kind, or by containers with images. The
    settings of a chart or component may mean anything by ``resourceClaims``."""
    containers = [spec[name] for name in beside]
    for field in _CONTAINERS:
        containers += items(spec.get(field))
    return group(document.value) in _OF_PODS or any("image" in mapping(one) for one in containers)


def _misspelt_names(path: Path, spec: Mapping[str, Any]) -> Iterator[Flagged]:
    """Yield keys of settings that are nearly those of a pod's claims: a chart passes them on."""
    for at, entry in enumerate(items(spec.get("resourceClaims"))):
        for key in mapping(entry):
            near = nearest(str(key), _NAMES, 0.9) if key not in _NAMES else None
            if near and _name(entry):
                where = (*path, "resourceClaims", at, str(key))
                message = f'unknown field "{dot_path(where)}": did you mean {near}?'
                wrong = Violation(
                    "unknown-field", None, None, where, message, True, nearest=near,
                    moved_to=(*where[:-1], near),
                )  # fmt: skip
                yield Flagged(wrong, server=False, severity="warning")


def _fields_of_pods(target: Target) -> Collection[str]:
    """Return the fields of a pod's specification in a release."""
    pod = schemas_of(target.release).kind("v1", "Pod")
    spec = pod.field("spec") if pod is not None else None
    return spec.names if isinstance(spec, Record) else ()


def _is_whole(document: Document, spec: Mapping[str, Any]) -> bool:
    """True for the pod of a workload: every container that names claims has its image; no values, which charts
    complete."""
    using = [
        mapping(item) for field in _CONTAINERS for item in items(spec.get(field)) if _claims(item)
    ]
    return (
        bool(using)
        and all("image" in item for item in using)
        and group(document.value) not in _OF_VALUES
    )


def _without_claims(
    document: Document,
    path: Path,
    spec: Mapping[str, Any],
    places: Mapping[tuple[str, int], Path] = MappingProxyType({}),
) -> Iterator[Flagged]:
    """Containers that name claims of a pod that has none; the list may stand at a level above. ``places`` as in
    :class:`PodSpec`."""
    wanted = (*path, "resourceClaims")
    for length in range(len(path) - 1, 0, -1):
        holder = mapping(document.at(path[:length]))
        if items(holder.get("resourceClaims")):
            above = (*path[:length], "resourceClaims")
            message = (
                f"the pods do not get these claims: {dot_path(above)} belongs at {dot_path(wanted)}"
            )
            wrong = Violation("unknown-field", None, None, above, message, True, moved_to=wanted)
            yield Flagged(wrong, server=False, severity="warning")
            return
    for field in _CONTAINERS:
        for at, container in enumerate(items(spec.get(field))):
            claims = items(mapping(_claims(container).get("resources")).get("claims"))
            home = (*places.get((field, at), (*path, field, at)), "resources", "claims")
            uses = (((*home, number), use) for number, use in enumerate(claims))
            yield from _without_claim(uses, frozenset())


def _said(document: Document, violation: Violation, path: Path) -> Flagged:
    message = violation.message.replace(dot_path(violation.path), dot_path(path))
    if violation.field and (violation.type or "").startswith("FieldValue"):
        message = f"{dot_path(path)}: {message}"
    moved = violation.moved_to
    there = replace(
        violation,
        type=None,
        field=None,
        path=path,
        message=f"{message}; the API server accepts the {document.kind}, but rejects its pods",
        detail=None,
        moved_to=(*path[: len(path) - len(violation.path) + 1], *moved[1:])
        if moved and moved[:1] == _ROOT
        else moved,
    )
    return Flagged(there, server=False, severity="warning")


def _about_claims(violation: Violation) -> bool:
    return violation.rule in _OF_CLAIMS or violation.rule in ("unknown-field", "wrong-type")


def _pod(spec: Mapping[str, Any], beside: Sequence[str]) -> dict[str, Any]:
    """A pod with only the claims of ``spec`` and of its containers, which keep their indices; those ``beside`` the list
    follow."""
    made: dict[str, Any] = {"resourceClaims": spec.get("resourceClaims")}
    for field in _CONTAINERS:
        containers = spec.get(field)
        if field == "containers" and beside:
            containers = [*items(containers), *(spec[name] for name in beside)]
        if isinstance(containers, list):
            made[field] = [
                {"name": f"c{at}", "image": "x", **_claims(item)}
                for at, item in enumerate(containers)
            ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": made}


def _claims(container: Any) -> dict[str, Any]:
    resources = container.get("resources") if isinstance(container, dict) else None
    claims = resources.get("claims") if isinstance(resources, dict) else None
    return {"resources": {"claims": claims}} if claims else {}


def _unlisted(
    document: Document, specs: Sequence[tuple[Path, Mapping[str, Any]]]
) -> Iterator[Flagged]:
    """Containers of values (maps by name, such as those of a HelmRelease) that name a claim that no list has."""
    inside = {tuple(path) for path, _ in specs}
    for pod in chart_pods(document, document.value):
        inside.add(pod.path)
        misspelt = None if pod.claims else _find_misspelt_list(pod)
        if misspelt is not None:
            yield misspelt
            continue
        yield from _without_claim(pod.uses, {_name(claim) for _, claim in pod.claims})
    listed = {_name(claim) for _, spec in specs for claim in items(spec.get("resourceClaims"))} - {
        ""
    }
    if listed:
        for path, claims in _lists_of_claims(document.value):
            if not any(path[:length] in inside for length in range(len(path))):
                yield from _without_claim(
                    (((*path, at), claim) for at, claim in enumerate(claims)), listed
                )


def _find_misspelt_list(pod: PodSpec[Document]) -> Flagged | None:
    """Return the error of a key of a chart's pod that is nearly ``resourceClaims``."""
    for name, value in mapping(pod.fields.get("pod")).items():
        if nearest(str(name), ("resourceClaims",)) and items(value):
            where = (*pod.path, "pod", str(name))
            message = f'unknown field "{dot_path(where)}": did you mean resourceClaims?'
            wrong = Violation(
                "unknown-field", None, None, where, message, True, nearest="resourceClaims",
                moved_to=(*where[:-1], "resourceClaims"),
            )  # fmt: skip
            return Flagged(wrong, server=False, severity="warning")
    return None


def _without_claim(uses: Iterable[tuple[Path, Any]], listed: AbstractSet[str]) -> Iterator[Flagged]:
    for path, claim in uses:
        name = _name(claim)
        if name and name not in listed:
            known = tuple(sorted(listed))
            message = f'claim "{name}" is not in resourceClaims' + (
                f": {', '.join(known)}" if known else " of its pod"
            )
            wrong = Violation(
                "PC-09",
                None,
                None,
                (*path, "name"),
                message,
                allowed=known,
                nearest=nearest(name, known),
            )
            yield Flagged(wrong, server=False, severity="warning")


def _name(claim: Any) -> str:
    return text(mapping(claim).get("name"))


def _lists_of_claims(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            claims = item.get("claims") if name == "resources" and isinstance(item, dict) else None
            if isinstance(claims, list):
                yield (*path, name, "claims"), claims
            yield from _lists_of_claims(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _lists_of_claims(item, (*path, at))


class _PodPlaces(Within):
    """Finds the values of a pod that was put together from a part of a document; ``beside``: the keys of containers
    that are not in the list, by index."""

    def __init__(self, document: Document, path: Path, beside: Mapping[int, str]) -> None:
        super().__init__(document)
        self._path = path
        self._beside = beside

    def of(self, path: Path) -> Path:
        """The path in the document of a value of the pod."""
        name = (
            self._beside.get(path[2])
            if path[1:2] == ("containers",) and isinstance(path[2], int)
            else None
        )
        return (*self._path, *path[1:]) if name is None else (*self._path, name, *path[3:])

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        return self._outer.locate(self.of(path), key=key, offset=offset)
