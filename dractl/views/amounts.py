"""Amounts of resources that containers and pods ask for, as kube-scheduler and quotas add them up.

kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

from dractl.model import Quantity
from dractl.model.paths import map_at, maps_at, text_at
from dractl.objects import Raw

Amounts = Mapping[str, Quantity]
"""Amounts by the name of the resource."""
_TEXT = {str}
_OTHER_AMOUNTS = frozenset({"initContainers", "overhead", "resources"})
"""The fields of a pod, besides its containers, that have amounts."""


def quantity(value: object) -> Quantity:
    """Return a quantity of a node or pod; zero for a value that is not a quantity."""
    return _parse_quantity(str(value)) if isinstance(value, str | int | float) else Quantity()


def quantities(amounts: Raw) -> Amounts:
    """Return the quantities of a node or pod by resource. Equal amounts are one mapping, since most
    nodes are alike, and so are most pods.
    """
    if {*map(type, amounts.values())} <= _TEXT:  # as keys, 1 and True would be equal
        return _parse_quantities(tuple(amounts.items()))
    return {name: quantity(value) for name, value in amounts.items()}


@lru_cache(maxsize=1024)
def _parse_quantities(amounts: tuple[tuple[str, str], ...]) -> Amounts:
    return {name: _parse_quantity(text) for name, text in amounts}


@lru_cache(maxsize=4096)
def _parse_quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except ValueError:
        return Quantity()


def scheduler_units(resource: str, amount: Quantity) -> int:
    """Return an amount as kube-scheduler counts it: CPU in thousandths, other resources in whole
    units, always rounded up.

    kubernetes pkg/scheduler/framework/types.go Resource.Add.
    """
    return amount.milli_value() if resource == "cpu" else amount.value()


def container_requests(container: Raw) -> Amounts:
    """Return the requests of a container.

    The API server copies limits to requests that are missing; manifests that no server has seen
    lack such requests.
    """
    requests = map_at(container, "resources", "requests")
    limits = map_at(container, "resources", "limits")
    return quantities({**limits, **requests})


def container_limits(container: Raw) -> Amounts:
    """Return the limits of a container."""
    return quantities(map_at(container, "resources", "limits"))


def pod_requests(spec: Raw) -> Amounts:
    """Return the requests of a pod (PodRequests)."""
    return _add_up_pod(spec, container_requests, "requests")


def pod_limits(spec: Raw) -> Amounts:
    """Return the limits of a pod, without zeros (PodLimits)."""
    limits = _add_up_pod(spec, container_limits, "limits")
    return {name: amount for name, amount in limits.items() if amount.sign()}


def init_container_request(spec: Raw, resource: str) -> tuple[str, Quantity] | None:
    """Return name and request of the init container that decides how much of a resource the pod
    asks for.

    Return None if the main containers decide.
    """
    init_requests = [
        (text_at(container, "name"), container_requests(container).get(resource, Quantity()))
        for container in maps_at(spec, "initContainers")
        if container.get("restartPolicy") != "Always"
    ]
    name, largest = max(
        init_requests, key=lambda entry: entry[1].milli_value(), default=("", Quantity())
    )
    main_spec = {k: v for k, v in spec.items() if k not in ("initContainers", "overhead")}
    return (name, largest) if pod_requests(main_spec).get(resource, Quantity()) < largest else None


def _add_up_pod(spec: Raw, amounts_of: Callable[[Raw], Amounts], field: str) -> Amounts:
    """Add up ``field`` (``requests`` or ``limits``) of a pod: its containers, the pod-level amounts
    that replace them, and its overhead.
    """
    containers = maps_at(spec, "containers")
    if len(containers) == 1 and _OTHER_AMOUNTS.isdisjoint(spec):  # true of most pods
        return amounts_of(containers[0])
    total: Amounts = {}
    for container in containers:
        total = _add(total, amounts_of(container))
    sidecars: Amounts = {}
    init: Amounts = {}
    for container in maps_at(spec, "initContainers"):
        amounts = amounts_of(container)
        if container.get("restartPolicy") == "Always":
            total, sidecars = _add(total, amounts), _add(sidecars, amounts)
            init = _maximum(init, sidecars)
        else:
            init = _maximum(init, _add(sidecars, amounts))
    pod_level = {n: quantity(value) for n, value in map_at(spec, "resources", field).items()}
    total = {**_maximum(total, init), **pod_level}
    overhead = {name: quantity(value) for name, value in map_at(spec, "overhead").items()}
    return _add(total, {k: v for k, v in overhead.items() if field == "requests" or k in total})


def _add(left: Amounts, right: Amounts) -> dict[str, Quantity]:
    return {
        **left,
        **{name: left[name] + amount if name in left else amount for name, amount in right.items()},
    }


def _maximum(left: Amounts, right: Amounts) -> dict[str, Quantity]:
    return {
        **left,
        **{
            name: max(left[name], amount) if name in left else amount
            for name, amount in right.items()
        },
    }
