"""Rejections by the API server: of changed objects, and of pods that controllers create.

An object of the cluster was accepted once, and the server compares a changed object with the old
one (ratcheting). So a change is not rejected for violations that the object already had.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.changes import Change, Create, Patch, apply, parse_target
from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.model import Target
from dractl.objects import Raw
from dractl.scheduler.quota import find_missing_requests, find_quota_room
from dractl.validation import validate
from dractl.views import Pod, View, Workload
from dractl.views.amounts import container_requests, quantity
from dractl.views.quota import ContainerLimit, LimitRange


class Rejection(Struct, frozen=True, order=True):
    """A reason for which the API server rejects an object."""

    rule: str
    """Id of the rule, such as ``RC-11``."""

    field: str
    """Path of the field, such as ``spec.devices``."""

    message: str
    """The sentence of the API server, which begins with the field."""


def find_rejection(state: ClusterState, changes: Iterable[Change], target: Target) -> str | None:
    """Return why the API server of ``target`` rejects the first change that it does not accept.

    The changes are applied in their order. Return None if all are accepted. Raises PatchError if
    one does not apply.
    """
    for change in changes:
        changed_state = apply(state, (change,))
        rejections = _reject_change(state, changed_state, change, target)
        if rejections:
            return min(rejections).message
        state = changed_state
    return None


def _reject_change(
    state: ClusterState, changed_state: ClusterState, change: Change, target: Target
) -> frozenset[Rejection]:
    """Return the rejections that apply to an object after a change, but not before it."""
    match change:
        case Patch(name):
            kind, key = parse_target(name)
            rejections = _reject_object(changed_state, changed_state.get(kind, key), target)
            return rejections - _reject_object(state, state.get(kind, key), target)
        case Create(manifest):
            return _reject_object(changed_state, manifest, target)
        case _:
            return frozenset()


def _reject_object(
    state: ClusterState, manifest: Raw | None, target: Target
) -> frozenset[Rejection]:
    """Return the rejections of an object. They are computed once, since a candidate is judged
    again when it is proven and when it is shown.
    """
    if manifest is None:
        return frozenset()
    return state.cache.from_sources(
        ("rejections", target),
        (manifest, state.objects("Namespace")),
        lambda _: frozenset(_list_rejections(state, manifest, target)),
    )


def _list_rejections(state: ClusterState, manifest: Raw, target: Target) -> set[Rejection]:
    request = {key: field for key, field in manifest.items() if key != "status"}
    violations = validate(request, target, namespaces=_namespace_labels(state))
    rejections = {
        Rejection(v.rule, v.field or "", f"{v.field}: {v.message}")
        for v in violations
        if v.type is not None
    }
    return rejections | set(_reject_min_domains(manifest))


@derive_from("Namespace")
def _namespace_labels(state: ClusterState) -> Mapping[str, Mapping[str, str]]:
    """Return the labels of each namespace, except values that are not strings."""
    return {
        name: {k: v for k, v in View(namespace).labels.items() if isinstance(v, str)}
        for (_, name), namespace in state.objects("Namespace").items()
    }


def _reject_min_domains(manifest: Raw) -> Iterator[Rejection]:
    """Yield rejections of ``minDomains`` in a pod or pod template, which fixes may add.

    Upstream: kubernetes pkg/apis/core/validation/validation.go validateMinDomains.
    """
    path, pod = "spec", Pod(manifest)
    if pod.kind != "Pod":
        path, pod = "spec.template.spec", Workload(manifest).template_pod
    for index, constraint in enumerate(pod.topology_spread):
        is_soft = constraint.get("whenUnsatisfiable") == "ScheduleAnyway"
        if is_soft and constraint.get("minDomains") is not None:
            field = f"{path}.topologySpreadConstraints[{index}].minDomains"
            message = "can only use minDomains if whenUnsatisfiable=DoNotSchedule"
            yield Rejection("min-domains", field, f"{field}: {message}")


def find_pod_rejection(state: ClusterState, features: Features, pod: Raw) -> str | None:
    """Return why the API server refuses to create a pod; None if the API server creates it.

    The API server has already accepted a pod like this. So only quotas and LimitRanges matter: no
    fix changes a field that Pod Security checks.
    """
    missing_requests = find_missing_requests(state, pod)
    if missing_requests is not None:
        return missing_requests.message
    room = find_quota_room(state, features, pod, ())
    if room is not None and room.copies < 1:
        quota = room.refusal
        return (
            f"exceeded quota: {quota.quota[1]}, requested: {quota.resource}={quota.need}, "
            f"used: {quota.used}, limited: {quota.limit}"
        )
    return next(_violate_limit_ranges(state, Pod(pod)), None)


def _violate_limit_ranges(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Yield a message for each container request outside a LimitRange of the pod's namespace.

    Upstream: kubernetes plugin/pkg/admission/limitranger/admission.go.
    """
    for limit in _container_limits(state, pod.namespace):
        for container in pod.main_containers:
            for name, amount in container_requests(container).items():
                low, high = limit.minimum.get(name), limit.maximum.get(name)
                if low is not None and amount < quantity(low):
                    yield f"minimum {name} usage per Container is {low}, but request is {amount}"
                if high is not None and quantity(high) < amount:
                    yield f"maximum {name} usage per Container is {high}, but request is {amount}"


def _container_limits(state: ClusterState, namespace: str) -> Iterator[ContainerLimit]:
    for key, limit_range in state.objects("LimitRange").items():
        if key[0] == namespace:
            yield from LimitRange(limit_range, key).container_limits
