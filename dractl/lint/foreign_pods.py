"""Pods of custom resources: the API server accepts the resource, and rejects the pods that its
controller creates.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from dractl.lint.pod_schemas import NO_SCHEMAS, PodSchemas
from dractl.lint.relevance import group
from dractl.lint.verdict import Flagged, verdict
from dractl.manifests import Document, Position
from dractl.manifests.documents import Path, Provenance, Within
from dractl.manifests.post_renderers import POST_RENDERERS
from dractl.model import Target
from dractl.model.nearest import nearest
from dractl.model.pods import main_containers, pod_specs
from dractl.objects import PodSpec, items, mapping, text
from dractl.objects.chart_values import chart_pods
from dractl.objects.pods import list_misplaced_claims
from dractl.validation.schemas import schemas_of
from dractl.validation.shapes import Record
from dractl.validation.violation import Violation, dot_path

_CLAIM_RULES = frozenset(f"PC-{number:02}" for number in range(1, 11))
_DEPTH = 32
_CONTAINERS = ("initContainers", "containers")
_ROOT = ("spec",)
_GROUPS_WITH_VALUES = frozenset(
    {"helm.toolkit.fluxcd.io", "argoproj.io", "helm.cattle.io", "kustomize.config.k8s.io"}
)
"""API groups whose objects contain values of charts, or patches. The pods in them are incomplete:
the chart, or the object that is patched, adds the other fields.
"""
_GROUPS_WITH_PODS = frozenset(
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
_REFERENCE_FIELDS = ("resourceClaimName", "resourceClaimTemplateName")


def foreign_pods(
    document: Document, target: Target, schemas: PodSchemas = NO_SCHEMAS
) -> Iterator[Flagged]:
    """Yield the errors in the claims of the pods that a custom resource describes.

    Their confidence is ``likely``, unless the schema of the kind shows where a pod is.
    """
    sure = group(document.value) in _GROUPS_WITH_PODS
    specs = list(pod_specs(document.value))
    # Charts copy the values of controllers into pods unchanged.
    of_charts = chart_pods(document, document.value)
    parts = {tuple(path[:-2]) for pod in of_charts for path, _ in pod.claims}
    for path, spec in specs:
        is_pod = schemas.is_pod(document, tuple(path))
        is_listed = tuple(path) in parts or tuple(path[:2]) == POST_RENDERERS
        for flagged in (
            _flag_spec(document, path, spec, target, is_pod or is_listed)
            if is_pod is not False
            else ()
        ):
            yield flagged if sure or is_pod else replace(flagged, confidence="likely")
    for flagged in _flag_main_containers(document, specs):
        yield flagged if sure else replace(flagged, confidence="likely")


def needs_schema(document: Document) -> bool:
    """Return whether only a schema shows the parts of a custom resource that are pods."""
    return group(document.value) not in _GROUPS_WITH_PODS | _GROUPS_WITH_VALUES


def _flag_main_containers(
    document: Document, specs: Sequence[tuple[Path, Mapping[str, Any]]]
) -> Iterator[Flagged]:
    """Yield the errors in main containers that are written outside the lists of containers."""
    yield from _flag_unlisted(document, specs)
    yield from _flag_misplaced(document)
    if group(document.value) not in _GROUPS_WITH_VALUES:
        for path, name in _main_container_specs(document.value):
            elsewhere = (spec for at, spec in specs if tuple(at) != tuple(path)[: len(at)])
            listed = {
                _name(claim) for spec in elsewhere for claim in items(spec.get("resourceClaims"))
            }
            if not listed.intersection(_names(document.at((*path, name)))):
                spec = {"containers": [document.at((*path, name))]}
                yield from _flag_missing_list(
                    document, path, spec, {("containers", 0): (*path, name)}
                )


def _main_container_specs(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the pod specifications with a main container outside the list and without
    ``resourceClaims``: the path of each, and the key of the container.
    """
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        for name in main_containers(value) if "resourceClaims" not in value else ():
            yield path, name
        for name, item in value.items():
            yield from _main_container_specs(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _main_container_specs(item, (*path, at))


def _names(container: Any) -> set[str]:
    return {
        _name(claim) for claim in items(mapping(_claims(container).get("resources")).get("claims"))
    }


def _flag_spec(
    document: Document, path: Path, spec: Mapping[str, Any], target: Target, is_pod: bool
) -> Iterator[Flagged]:
    if "resourceClaims" not in spec and _is_whole(document, spec):
        yield from _flag_missing_list(document, path, spec)
        return
    beside = main_containers(spec)
    if not (is_pod or _is_pod(document, spec, beside)):
        yield from _misspelt_names(path, spec)
        return
    places = {len(items(spec.get("containers"))) + at: name for at, name in enumerate(beside)}
    places_of_pod = _PodPlaces(document, path, places)
    pod = Document(
        document.file,
        document.index,
        _pod(spec, beside),
        places_of_pod,
        provenance=Provenance(origin=document.origin),
    )
    listed = isinstance(spec.get("containers"), list) or bool(beside)
    complete = isinstance(spec.get("resourceClaims"), list) and listed
    for remark in verdict(pod, target, {}, matters=_concerns_claims).remarks:
        violation = remark.violation
        if violation.rule == "PC-09" and not complete:  # the list of claims may be elsewhere
            continue
        yield _report_in_pod(document, violation, places_of_pod.path_in_document(violation.path))
    for name in spec:
        if name != "resourceClaims" and nearest(str(name), ("resourceClaims",)):
            if name in _fields_of_pods(target):
                continue
            message = f'unknown field "{dot_path((*path, name))}": did you mean resourceClaims?'
            wrong = Violation(
                "unknown-field", None, None, (*_ROOT, name), message, True,
                nearest="resourceClaims", moved_to=(*path, "resourceClaims"),
            )  # fmt: skip
            yield _report_in_pod(document, wrong, (*path, name))


def _is_pod(document: Document, spec: Mapping[str, Any], beside: Sequence[str]) -> bool:
    """Return whether a mapping is a pod's specification: by the schema of its kind, or by
    containers with images. In the settings of a chart or component, ``resourceClaims`` may mean
    anything.
    """
    containers = [spec[name] for name in beside]
    for field in _CONTAINERS:
        containers += items(spec.get(field))
    return group(document.value) in _GROUPS_WITH_PODS or any(
        "image" in mapping(container) for container in containers
    )


def _misspelt_names(path: Path, spec: Mapping[str, Any]) -> Iterator[Flagged]:
    """Yield keys in a chart's settings that resemble the keys of a pod's claims, since the chart
    passes them on.
    """
    for at, entry in enumerate(items(spec.get("resourceClaims"))):
        for key in mapping(entry):
            near = (
                nearest(str(key), _REFERENCE_FIELDS, 0.9) if key not in _REFERENCE_FIELDS else None
            )
            if near and _name(entry):
                key_path = (*path, "resourceClaims", at, str(key))
                message = f'unknown field "{dot_path(key_path)}": did you mean {near}?'
                wrong = Violation(
                    "unknown-field", None, None, key_path, message, True, nearest=near,
                    moved_to=(*key_path[:-1], near),
                )  # fmt: skip
                yield Flagged(wrong, server=False, severity="warning")


def _fields_of_pods(target: Target) -> Collection[str]:
    """Return the fields of a pod's specification in a release."""
    pod = schemas_of(target.release).kind("v1", "Pod")
    spec = pod.field("spec") if pod is not None else None
    return spec.names if isinstance(spec, Record) else ()


def _is_whole(document: Document, spec: Mapping[str, Any]) -> bool:
    """Return True for the pod of a workload, in which every container that names claims has an
    image. Return False for values, which a chart completes.
    """
    using = [
        mapping(item) for field in _CONTAINERS for item in items(spec.get(field)) if _claims(item)
    ]
    return (
        bool(using)
        and all("image" in item for item in using)
        and group(document.value) not in _GROUPS_WITH_VALUES
    )


def _flag_missing_list(
    document: Document,
    path: Path,
    spec: Mapping[str, Any],
    places: Mapping[tuple[str, int], Path] = MappingProxyType({}),
) -> Iterator[Flagged]:
    """Yield the containers that name claims although their pod has no list of claims. If a list is
    at a higher level by mistake, yield only the error in the place of this list.

    ``places`` has the paths of containers that are not in a list, as in :class:`PodSpec`.
    """
    list_path = (*path, "resourceClaims")
    for length in range(len(path) - 1, 0, -1):
        holder = mapping(document.at(path[:length]))
        if items(holder.get("resourceClaims")):
            above = (*path[:length], "resourceClaims")
            message = (
                f"the pods do not get these claims: {dot_path(above)} belongs at "
                f"{dot_path(list_path)}"
            )
            wrong = Violation("unknown-field", None, None, above, message, True, moved_to=list_path)
            yield Flagged(wrong, server=False, severity="warning")
            return
    for field in _CONTAINERS:
        for at, container in enumerate(items(spec.get(field))):
            claims = items(mapping(_claims(container).get("resources")).get("claims"))
            home = (*places.get((field, at), (*path, field, at)), "resources", "claims")
            uses = (((*home, number), use) for number, use in enumerate(claims))
            yield from _flag_unlisted_uses(uses, frozenset())


def _report_in_pod(document: Document, violation: Violation, path: Path) -> Flagged:
    message = violation.message.replace(dot_path(violation.path), dot_path(path))
    if violation.field and (violation.type or "").startswith("FieldValue"):
        message = f"{dot_path(path)}: {message}"
    moved = violation.moved_to
    reported = replace(
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
    return Flagged(reported, server=False, severity="warning")


def _concerns_claims(violation: Violation) -> bool:
    return violation.rule in _CLAIM_RULES or violation.rule in ("unknown-field", "wrong-type")


def _pod(spec: Mapping[str, Any], beside: Sequence[str]) -> dict[str, Any]:
    """Return a pod with only the claims of ``spec`` and of its containers, which keep their
    indices.

    Containers outside the list (``beside``) come after them.
    """
    pod_spec: dict[str, Any] = {"resourceClaims": spec.get("resourceClaims")}
    for field in _CONTAINERS:
        containers = spec.get(field)
        if field == "containers" and beside:
            containers = [*items(containers), *(spec[name] for name in beside)]
        if isinstance(containers, list):
            pod_spec[field] = [
                {"name": f"c{at}", "image": "x", **_claims(item)}
                for at, item in enumerate(containers)
            ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod_spec}


def _claims(container: Any) -> dict[str, Any]:
    resources = container.get("resources") if isinstance(container, dict) else None
    claims = resources.get("claims") if isinstance(resources, dict) else None
    return {"resources": {"claims": claims}} if claims else {}


def _flag_unlisted(
    document: Document, specs: Sequence[tuple[Path, Mapping[str, Any]]]
) -> Iterator[Flagged]:
    """Yield the containers in values (maps by name, such as in a HelmRelease) that name a claim
    which no list has.
    """
    pod_paths = {tuple(path) for path, _ in specs}
    for pod in chart_pods(document, document.value):
        pod_paths.add(pod.path)
        misspelt = None if pod.claims else _find_misspelt_list(pod)
        if misspelt is not None:
            yield misspelt
            continue
        yield from _flag_unlisted_uses(pod.uses, {_name(claim) for _, claim in pod.claims})
    listed = {_name(claim) for _, spec in specs for claim in items(spec.get("resourceClaims"))} - {
        ""
    }
    if listed:
        for path, claims in _lists_of_claims(document.value):
            if not any(path[:length] in pod_paths for length in range(len(path))):
                yield from _flag_unlisted_uses(
                    (((*path, at), claim) for at, claim in enumerate(claims)), listed
                )


def _find_misspelt_list(pod: PodSpec[Document]) -> Flagged | None:
    """Return the error for a misspelt ``resourceClaims`` in the options of a chart's pod, or in the
    options of all pods of the chart.
    """
    above = pod.path[: pod.path.index("controllers")]
    for home in ((*pod.path, "pod"), (*above, "defaultPodOptions")):
        for name, value in mapping(pod.fields.get(str(home[-1]))).items():
            if nearest(str(name), ("resourceClaims",)) and items(value):
                path = (*home, str(name))
                message = f'unknown field "{dot_path(path)}": did you mean resourceClaims?'
                wrong = Violation(
                    "unknown-field", None, None, path, message, True, nearest="resourceClaims",
                    moved_to=(*home, "resourceClaims"),
                )  # fmt: skip
                return Flagged(wrong, server=False, severity="warning")
    return None


def _flag_unlisted_uses(
    uses: Iterable[tuple[Path, Any]], listed: AbstractSet[str]
) -> Iterator[Flagged]:
    for path, claim in uses:
        name = _name(claim)
        if name and name not in listed:
            choices = tuple(sorted(listed))
            message = f'claim "{name}" is not in resourceClaims' + (
                f": {', '.join(choices)}" if choices else " of its pod"
            )
            wrong = Violation(
                "PC-09",
                None,
                None,
                (*path, "name"),
                message,
                allowed=choices,
                nearest=nearest(name, choices),
            )
            yield Flagged(wrong, server=False, severity="warning")


def _name(claim: Any) -> str:
    return text(mapping(claim).get("name"))


def _flag_misplaced(document: Document) -> Iterator[Flagged]:
    """Yield the lists of claims that stand in a wrong place of a container's resources."""
    for path, resources in _resources(document.value):
        for inside in list_misplaced_claims(resources):
            at, right = (*path, *inside), (*path, "claims")
            meant = f"claims belongs at {dot_path(right)}"
            message = f'unknown field "{dot_path(at)}": ' + (
                meant if len(inside) > 1 else "did you mean claims?"
            )
            wrong = Violation(
                "unknown-field", None, None, at, message, True, nearest="claims", moved_to=right
            )
            yield Flagged(wrong, server=False, severity="warning")


def _lists_of_claims(value: Any) -> Iterator[tuple[Path, list[Any]]]:
    for path, resources in _resources(value):
        if isinstance(claims := resources.get("claims"), list):
            yield (*path, "claims"), claims


def _resources(value: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the resources of the containers in a value, with their paths."""
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "resources" and isinstance(item, dict):
                yield (*path, name), item
            yield from _resources(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _resources(item, (*path, at))


class _PodPlaces(Within):
    """Locates the values of a pod that was put together from a part of a document.

    ``beside`` has the keys of containers outside the list, by index.
    """

    def __init__(self, document: Document, path: Path, beside: Mapping[int, str]) -> None:
        super().__init__(document)
        self._path = path
        self._beside = beside

    def path_in_document(self, path: Path) -> Path:
        """Return the path in the document for a path in the pod."""
        name = (
            self._beside.get(path[2])
            if path[1:2] == ("containers",) and isinstance(path[2], int)
            else None
        )
        return (*self._path, *path[1:]) if name is None else (*self._path, name, *path[3:])

    def locate(self, path: Path, *, key: bool, offset: int | None) -> Position:
        return self._outer.locate(self.path_in_document(path), key=key, offset=offset)
