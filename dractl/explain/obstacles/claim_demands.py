"""Demands of the claims of a subject."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dractl.cel import Program, reading
from dractl.cluster.changes import parse_target
from dractl.cluster.state import Key
from dractl.explain.ask import CLAIMS, Question
from dractl.explain.obstacles.demands import Demand
from dractl.explain.obstacles.releases import release_claims
from dractl.explain.obstacles.trial import Trial, filter_entries, map_entries, set_in
from dractl.model.nearest import nearest
from dractl.model.paths import remove_at
from dractl.objects import Claim, Constraint, Raw, Request, newest, slice_of
from dractl.scheduler.claims import PodClaim

Compile = Callable[[str], Program]

_EVERY_TAINT = ({"operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"})
"""Tolerations of all taints. One of them names NoExecute, since the eviction controller requires
the effect.
"""


class ClaimDemand(Demand, frozen=True):
    """A demand in a claim, or in the template of one."""

    target: str
    """The object in which people write the demand."""
    prefix: tuple[str, ...]
    """The path of the claim's spec in that object."""

    @property
    def object(self) -> str:
        return self.target

    def edit_spec(self, trial: Trial, edit: Callable[[Claim[str], Raw], Raw]) -> Trial:
        """Return the trial with an edited claim. ``edit`` gets a view of the claim and the object
        that contains it, and returns the new object.
        """
        return trial.edit(
            self.target, lambda value: edit(Claim.of(self.target, value, self.prefix), value)
        )


class RequestDemand(ClaimDemand, frozen=True):
    """A demand of a request, or of one alternative."""

    request: str

    def edit_request(self, trial: Trial, edit: Callable[[Request, Raw], Raw]) -> Trial:
        """Return the trial with an edited request, or the same trial if it lacks the request."""

        def edit_value(claim: Claim[str], value: Raw) -> Raw:
            request = claim.request(self.request)
            return value if request is None else edit(request, value)

        return self.edit_spec(trial, edit_value)

    def put(self, trial: Trial, field: Sequence[str | int], new: object) -> Trial:
        """Return the trial in which a field of the request has the value ``new``."""
        return self.edit_request(
            trial, lambda request, value: set_in(value, (*request.path, *field), new)
        )


class FreeDevices(Demand, frozen=True):
    """The demand that no other claim holds the devices of a request."""

    kind = "device-in-use"
    passes = True
    stage = 13
    remoteness = 0.9

    @property
    def want(self) -> str:
        return "devices that no other claim holds"

    def lift(self, trial: Trial) -> Trial:
        # Devices of the subject's own claims are not in its way.
        claims = trial.state.objects("ResourceClaim")
        kept = {key: claims[key] for key in _claims_of_subject(trial.question) if key in claims}
        released = release_claims(trial.state)
        state = trial.state.with_kinds(
            {"ResourceClaim": {**released, **kept} if kept else released}
        )
        return Trial(state, trial.question)


def _claims_of_subject(question: Question) -> set[Key]:
    if question.kind in CLAIMS:
        return {question.key}
    return {(question.key[0], name) for name in question.pod.claim_names}


class UsablePools(Demand, frozen=True):
    """The demand that the slices of pools are consistent."""

    kind = "pool"
    stage = 3
    remoteness = 3

    pools: tuple[tuple[str, str], ...]
    """The drivers and names of pools that the scheduler does not use."""

    @property
    def want(self) -> str:
        return f"complete pool {', '.join(name for _, name in self.pools)}"

    def lift(self, trial: Trial) -> Trial:
        slices = trial.state.objects("ResourceSlice")
        pools = {
            name: value
            for (_, name), value in slices.items()
            if slice_of(value).identity[:2] in self.pools
        }
        groups = newest(pools.items(), lambda item: slice_of(item[1]).identity)
        for group in groups.values():
            for name, _ in group:
                announce = partial(_announce, count=len(group))
                trial = trial.edit(f"ResourceSlice/{name}", announce)
        return trial


class FreeCounters(Demand, frozen=True):
    """The demand that counters have enough left, although no claim holds the wanted devices."""

    kind = "counters"
    stage = 14
    remoteness = 3

    drivers: tuple[str, ...]

    @property
    def want(self) -> str:
        return f"enough left of the counters of {', '.join(self.drivers)}"

    def lift(self, trial: Trial) -> Trial:
        def lift_slice(value: Raw) -> Raw:
            is_counted = slice_of(value).driver in self.drivers
            return _drop_counters(value) if is_counted else value

        return trial.edit_all("ResourceSlice", lift_slice)


def _announce(value: Raw, *, count: int) -> Raw:
    """Return a slice of a pool that announces ``count`` slices; its devices use no counters."""
    return _drop_counters(set_in(value, ("spec", "pool", "resourceSliceCount"), count))


def _drop_counters(value: Raw) -> Raw:
    """Return a slice whose devices use no counters."""
    return map_entries(value, ("spec", "devices"), _drop_consumption)


def _drop_consumption(device: Raw) -> Raw:
    for path in (("consumesCounters",), ("basic", "consumesCounters")):
        device = remove_at(device, path)
    return device


class UntaintedDevices(RequestDemand, frozen=True):
    """The demand that devices of a request have no taints that the request does not tolerate."""

    kind = "device-taint"
    stage = 12

    @property
    def want(self) -> str:
        return f"request {self.request}: devices without taints"

    def lift(self, trial: Trial) -> Trial:
        return self.edit_request(
            trial,
            lambda request, value: set_in(
                value, (*request.path, "tolerations"), [*request.tolerations, *_EVERY_TAINT]
            ),
        )


class Condition(RequestDemand, frozen=True):
    """A condition of a selector: the whole selector, or an operand of ``&&``."""

    kind = "selector"
    stage = 6

    text: str

    @property
    def want(self) -> str:
        return f"request {self.request}: {self.text}"

    def lift(self, trial: Trial) -> Trial:
        return self.edit_request(trial, self._drop)

    def _drop(self, request: Request, value: Raw) -> Raw:
        for selector in request.selectors:
            text = selector.text.replace(self.text, "true")
            value = set_in(value, selector.path, text)
        return value


class Amount(RequestDemand, frozen=True):
    """The demand for an amount of a capacity."""

    kind = "capacity"
    stage = 7

    capacity: str
    amount: str

    @property
    def want(self) -> str:
        return f"request {self.request}: {self.amount} of {self.capacity}"

    def lift(self, trial: Trial) -> Trial:
        return self.edit_request(
            trial,
            lambda request, value: remove_at(
                value, (*request.path, "capacity", "requests", self.capacity)
            ),
        )


class Count(RequestDemand, frozen=True):
    """The demand for more than one device."""

    kind = "count"
    stage = 8

    count: int
    """The number of devices; 0 for all devices."""
    constraints: tuple[ClaimDemand, ...] = ()
    """The constraints that this count stands for among the obstacles, if it stands for several."""

    @property
    def want(self) -> str:
        return f"request {self.request}: {self.count or 'all'} devices"

    def lift(self, trial: Trial) -> Trial:
        trial = self.put(trial, ("allocationMode",), "ExactCount")
        return self.put(trial, ("count",), 1)


class SharedAttribute(ClaimDemand, frozen=True):
    """A constraint of the claim."""

    kind = "constraint"
    stage = 10

    field: str
    attribute: str
    requests: tuple[str, ...]

    @property
    def want(self) -> str:
        return f"{self.field} {self.attribute} of {', '.join(self.requests) or 'all requests'}"

    def lift(self, trial: Trial) -> Trial:
        return self.edit_spec(trial, self._drop)

    def _drop(self, claim: Claim[str], value: Raw) -> Raw:
        others = [c.fields for c in claim.constraints if not self._is(c)]
        return set_in(value, (*claim.path, "constraints"), others)

    def _is(self, constraint: Constraint) -> bool:
        """Decide whether a constraint is the one of this demand, even after some of its requests
        were dropped.
        """
        names = tuple(constraint.requests)
        is_part = bool(names) and set(names) <= set(self.requests)
        is_same_field = (constraint.kind, constraint.attribute) == (self.field, self.attribute)
        return is_same_field and (names == self.requests or is_part)


class ClassOfRequest(RequestDemand, frozen=True):
    """The class that a request names, with its selectors."""

    kind = "class"
    stage = 4
    remoteness = 2

    device_class: str
    drivers: tuple[str, ...]
    """The drivers that the class is probably for; empty if that is not known."""

    @property
    def hides(self) -> bool:
        return not self.drivers

    @property
    def want(self) -> str:
        return f"request {self.request}: class {self.device_class}"

    def lift(self, trial: Trial) -> Trial:
        if not self.drivers:  # the wanted devices are unknown
            return drop_request(self, trial)
        tests = " || ".join(f"device.driver == '{driver}'" for driver in self.drivers)
        value = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": self.device_class},
            "spec": {"selectors": [{"cel": {"expression": tests}}]},
        }
        state = trial.state.replace("DeviceClass", ("", self.device_class), value)
        return Trial(state, trial.question)


class RequestedDevices(RequestDemand, frozen=True):
    """The demand for any device at all."""

    kind = "devices"
    stage = 5
    remoteness = 6

    device_class: str

    @property
    def want(self) -> str:
        return f"request {self.request}: devices of class {self.device_class}"

    def lift(self, trial: Trial) -> Trial:
        return drop_request(self, trial)


def drop_request(demand: RequestDemand, trial: Trial) -> Trial:
    """Return the trial without a request, and without the constraints that cover only that
    request.
    """
    whole = demand.request.partition("/")[0]

    def drop(claim: Claim[str], value: Raw) -> Raw:
        remaining = (_release_constraint(constraint, whole) for constraint in claim.constraints)
        constraints = [constraint for constraint in remaining if constraint is not None]
        path = (*claim.path, "requests")
        edited = filter_entries(value, path, lambda entry: entry.get("name") != whole)
        return set_in(edited, (*claim.path, "constraints"), constraints)

    return demand.edit_spec(trial, drop)


def _release_constraint(constraint: Constraint, whole: str) -> Mapping[str, Any] | None:
    """Return a constraint without a request; None if it covers no other request."""
    names = [name for name in constraint.requests if name.partition("/")[0] != whole]
    if not constraint.requests:
        return constraint.fields
    return {**constraint.fields, "requests": names} if names else None


class ClaimLocation(ClaimDemand, frozen=True):
    """The demand for the nodes on which an allocated claim can be used."""

    kind = "claim-location"
    stage = 11

    @property
    def want(self) -> str:
        return f"claim {self.target.partition('/')[2]} where it is allocated"

    def lift(self, trial: Trial) -> Trial:
        # The devices of the claim may not exist elsewhere, so it stays allocated and becomes usable
        # on every node.
        path = ("status", "allocation", "nodeSelector")
        return trial.edit(self.target, lambda claim: remove_at(claim, path))


# -- the demands of a claim --


def demands_of_claim(
    claim: PodClaim, drivers: frozenset[str], compile_: Compile, trial: Trial
) -> Iterator[Demand]:
    """Yield the demands of a claim that is not allocated; demands that should be given up last come
    last."""
    if claim.editable is None:
        return
    target, prefix = claim.editable.target, claim.editable.path
    value = trial.state.get(*parse_target(target))
    if value is None:
        return
    view = Claim.of(target, value, prefix)
    for request in view.alternatives:
        yield UntaintedDevices(target, prefix, request.reference)
    for request in view.alternatives:
        for text in _conditions(request, compile_):
            yield Condition(target, prefix, request.reference, text)
    for request in view.alternatives:
        for name, amount in request.capacity.items():
            yield Amount(target, prefix, request.reference, name, str(amount))
    for constraint in view.constraints:
        names = tuple(constraint.requests)
        yield SharedAttribute(target, prefix, constraint.kind, constraint.attribute, names)
    for request in view.alternatives:
        if request.amount != 1:
            yield Count(target, prefix, request.reference, request.amount)
    classes = (class_demand(target, prefix, request, drivers) for request in view.alternatives)
    yield from (demand for demand in classes if demand.drivers)
    for request in view.alternatives:
        yield RequestedDevices(target, prefix, request.reference, request.device_class)


def class_demand(
    target: str, prefix: tuple[str, ...], request: Request, drivers: frozenset[str]
) -> ClassOfRequest:
    """Return the demand for the class of a request."""
    domains = {
        lookup.full_name.partition("/")[0]
        for selector in request.selectors
        for lookup in reading(selector.text).lookups
    }
    name = request.device_class
    similar = nearest(name, drivers)
    resembling = {d for d in drivers if d == similar or d in name or (name and name in d)}
    named = tuple(sorted(domains & drivers or resembling))
    return ClassOfRequest(target, prefix, request.reference, name, named)


def _conditions(request: Request, compile_: Compile) -> Iterator[str]:
    """Yield the conditions of all selectors of a request."""
    for selector in request.selectors:
        yield from (part.text for part in compile_(selector.text).conjuncts)


def location_of(claim: PodClaim) -> ClaimLocation:
    """Return the demand for the nodes of an allocated claim."""
    return ClaimLocation(f"ResourceClaim/{claim.full_name}", ("spec",))
