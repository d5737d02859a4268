"""What the API server says: to objects that a change creates or patches, and to pods that controllers make anew.

Faults that an object already has are not held against a change of it: the server compares with the old object, too
(ratcheting), and a cluster's objects were accepted once.
"""

from collections.abc import Iterable, Iterator

from dractl.allocation import Features
from dractl.cluster.changes import Change, Create, Patch, apply, parse_target
from dractl.cluster.state import ClusterState, map_at, maps_at, text_at
from dractl.model import Target
from dractl.objects import Raw
from dractl.scheduler.quota import forbidden, room
from dractl.scheduler.snapshot import container_requests, quantity
from dractl.validation import validate

Fault = tuple[str, str, str]


def refusal(state: ClusterState, changes: Iterable[Change], target: Target) -> str | None:
    """What the API server of ``target`` says against ``changes`` of ``state``, applied in their order; None where it
    accepts them. Raises PatchError where one does not apply."""
    for change in changes:
        after = apply(state, (change,))
        match change:
            case Patch(name):
                before, value = state.get(*parse_target(name)), after.get(*parse_target(name))
            case Create(created):
                before, value = None, created
            case _:
                before = value = None
        faults = _faults(after, value, target) - _faults(state, before, target)
        if faults:
            return min(faults)[-1]
        state = after
    return None


def _faults(state: ClusterState, value: Raw | None, target: Target) -> set[Fault]:
    """Rule, field and sentence of everything that the server refuses about an object."""
    if value is None:
        return set()
    namespaces = {
        name: {k: v for k, v in labels.items() if isinstance(v, str)}
        for (_, name), namespace in state.all("Namespace").items()
        if isinstance(labels := (namespace.get("metadata") or {}).get("labels") or {}, dict)
    }
    sent = {k: v for k, v in value.items() if k != "status"}
    found = validate(sent, target, namespaces=namespaces)
    faults = {
        (v.rule, v.field or "", f"{v.field}: {v.message}") for v in found if v.type is not None
    }
    return faults | set(_of_pod_spec(value))


def _of_pod_spec(value: Raw) -> Iterator[Fault]:
    """Rules about pods that changes of ours can break (kubernetes pkg/apis/core/validation/validation.go
    validateMinDomains)."""
    path, spec = "spec", map_at(value, "spec")
    if value.get("kind") != "Pod":
        path, spec = "spec.template.spec", map_at(spec, "template", "spec")
    for index, spread in enumerate(maps_at(spec, "topologySpreadConstraints")):
        if (
            spread.get("minDomains") is not None
            and spread.get("whenUnsatisfiable") == "ScheduleAnyway"
        ):
            field = f"{path}.topologySpreadConstraints[{index}].minDomains"
            yield (
                "min-domains",
                field,
                f"{field}: can only use minDomains if whenUnsatisfiable=DoNotSchedule",
            )


def pod_refusal(state: ClusterState, features: Features, pod: Raw) -> str | None:
    """Why the API server refuses to create a pod like one that it has taken before; None where it does not. Quotas and
    LimitRanges: no change of ours touches what Pod Security looks at."""
    namespace = text_at(pod, "metadata", "namespace")
    unsaid = forbidden(state, pod)
    if unsaid is not None:
        return unsaid.message
    limit = room(state, features, pod, ())
    if limit is not None and limit[0] < 1:
        exceeded = limit[1]
        return (
            f"exceeded quota: {exceeded.quota[1]}, requested: {exceeded.resource}={exceeded.need}, "
            f"used: {exceeded.used}, limited: {exceeded.limit}"
        )
    return next(_of_limit_ranges(state, namespace, map_at(pod, "spec")), None)


def _of_limit_ranges(state: ClusterState, namespace: str, spec: Raw) -> Iterator[str]:
    """Requests of containers that a LimitRange finds too small or too large
    (kubernetes plugin/pkg/admission/limitranger/admission.go)."""
    for key, value in state.all("LimitRange").items():
        for limit in maps_at(value, "spec", "limits") if key[0] == namespace else ():
            for container in (
                maps_at(spec, "containers") if limit.get("type") == "Container" else ()
            ):
                for name, amount in container_requests(container).items():
                    least, most = map_at(limit, "min").get(name), map_at(limit, "max").get(name)
                    if least is not None and amount < quantity(least):
                        yield f"minimum {name} usage per Container is {least}, but request is {amount}"
                    if most is not None and quantity(most) < amount:
                        yield f"maximum {name} usage per Container is {most}, but request is {amount}"
