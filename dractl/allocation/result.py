"""Verdicts, and the allocation that a solution of the search represents."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.allocation.build import Built, ResolvedRequest
from dractl.allocation.faults import AttemptFailed, Fault
from dractl.allocation.features import Behaviour
from dractl.allocation.pools import PoolDevice
from dractl.allocation.search import Solution
from dractl.model import Node, ResourceClaim
from dractl.model.claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from dractl.model.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

SHARE_ID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
"""A placeholder for the random UUID of a share."""

FILTER_TIMEOUT = 10.0
"""Seconds that kube-scheduler gives the search of one node (DynamicResourcesArgs.filterTimeout)."""

_MARGIN = 2.0  # the error of upstream_seconds, as a factor


class Cost(Struct, frozen=True):
    """The cost of a verdict."""

    work: int = 0
    """Devices that our search examined."""
    upstream_steps: float = 0.0
    """The number of upstream's calls of allocateOne, estimated for the parts that our search
    pruned.
    """
    upstream_seconds: float = 0.0
    """The approximate duration of these calls."""


class Verdict(Struct, frozen=True):
    """The scheduler's verdict on one node."""

    cost: Cost = Cost()
    unordered: bool = False
    """True if upstream walks pools in random order here, and another order could lead to another
    verdict.
    """

    @property
    def times_out(self) -> bool:
        """True if the scheduler gives up before it reaches this verdict, within the limits of the
        estimate.
        """
        return self.cost.upstream_seconds > FILTER_TIMEOUT * _MARGIN

    @property
    def nears_timeout(self) -> bool:
        """True if the scheduler may give up first: its time limit is within the error of the
        estimate.
        """
        return not self.times_out and self.cost.upstream_seconds > FILTER_TIMEOUT

    @property
    def message(self) -> str:
        """The scheduler's text; empty for an allocation."""
        return ""


class Allocated(Verdict, frozen=True):
    """The allocations of all claims, in the order of the claims; a share ID is :data:`SHARE_ID`."""

    results: tuple[AllocationResult, ...] = ()


class Unallocatable(Verdict, frozen=True):
    """A proof that the claims cannot be allocated on this node."""

    @property
    def message(self) -> str:
        return "cannot allocate all claims"


INVALID_POOLS = Fault("pools-invalid", "invalid resource pools were encountered")


class NodeError(Verdict, frozen=True):
    """An error that rejects this node only."""

    fault: Fault = INVALID_POOLS

    @property
    def message(self) -> str:
        return self.fault.text


class Fatal(Verdict, frozen=True, kw_only=True):
    """An error that ends the scheduling attempt for all nodes."""

    fault: Fault

    @property
    def panics(self) -> bool:
        """True if kube-scheduler itself crashes."""
        return self.fault.kind == "panic"

    @property
    def message(self) -> str:
        return self.fault.text


class Exhausted(Verdict, frozen=True):
    """The budget ended before a solution or a proof was found."""

    @property
    def times_out(self) -> bool:
        """True: the scheduler takes longer for a search of this size."""
        return True

    @property
    def message(self) -> str:
        return "search budget exhausted"


class NoAllocator(Verdict, frozen=True):
    """No allocator of this release supports the features."""

    text: str = ""

    @property
    def message(self) -> str:
        return self.text


def allocation_results(
    built: Built, solution: Solution, node: Node
) -> tuple[AllocationResult, ...]:
    """Return the allocation of each claim. Raises AttemptFailed for one that upstream
    cannot store.
    """
    features = built.features
    results = []
    for index, claim in enumerate(built.claims):
        picks = [
            (built.asked[slot], device, slot)
            for slot, device in solution.picks
            if built.asked[slot].claim_index == index
        ]
        devices = tuple(_device_result(built, asked, device, slot) for asked, device, slot in picks)
        chosen = _requests_in_use(built, solution, index)
        config = _config(claim, chosen, once=features.has("config-once"))
        selector = _node_selector(
            [built.candidate(device) for _, device, _ in picks], node, built.behaviour, claim
        )
        results.append(AllocationResult(DeviceAllocationResult(devices, config), selector))
    return tuple(results)


def _device_result(
    built: Built, asked: ResolvedRequest, device: int, slot: int
) -> DeviceRequestAllocationResult:
    candidate = built.candidate(device)
    features, behaviour = built.features, built.behaviour
    binding = behaviour.binding and (
        features.binding_conditions
        if features.has("binding-with-status")
        else features.enabled("DRADeviceBindingConditions")
    )
    shared = bool(built.problem.multi >> device & 1)
    consumed = built.share_consumption(slot, device) if shared else None
    return DeviceRequestAllocationResult(
        request=asked.full_name,
        driver=candidate.id.driver,
        pool=candidate.id.pool,
        device=candidate.id.device,
        admin_access=True if asked.admin else None,
        tolerations=() if behaviour.counters_in_slice else asked.tolerations,
        binding_conditions=candidate.device.binding_conditions if binding else (),
        binding_failure_conditions=candidate.device.binding_failure_conditions if binding else (),
        share_id=SHARE_ID if shared else None,
        consumed_capacity=consumed or None,
        skip_node_operations=candidate.slice.spec.skip_node_operations
        if built.node_operations
        else (),
    )


def _requests_in_use(built: Built, solution: Solution, claim: int) -> list[ResolvedRequest]:
    """Return for each request of a claim the request itself, or the alternative that was chosen."""
    numbers = built.problem.requests
    return [
        built.asked[slots[solution.chosen[request]]]
        for request, slots in enumerate(numbers)
        if built.asked[slots[0]].claim_index == claim
    ]


def _config(
    claim: ResourceClaim, chosen: Sequence[ResolvedRequest], *, once: bool
) -> tuple[DeviceAllocationConfiguration, ...]:
    """Return the configuration of the classes, each class once, followed by the claim's
    configuration.

    With ``once`` (from 1.37 on), a configuration of the claim appears only once even if it names
    several requests, and it names none if it covers all requests.
    """
    names_of_class: dict[str, list[str]] = {}
    for asked in chosen:
        names_of_class.setdefault(asked.device_class.metadata.name, []).append(asked.full_name)
    classes = {asked.device_class.metadata.name: asked.device_class for asked in chosen}
    configs = [
        DeviceAllocationConfiguration("FromClass", tuple(names), config.opaque)
        for name, names in names_of_class.items()
        for config in classes[name].spec.config
    ]
    for config in claim.spec.devices.config:
        copy = DeviceAllocationConfiguration("FromClaim", config.requests, config.opaque)
        if not config.requests:
            configs.append(copy)
            continue
        named = sum(1 for asked in chosen if asked.is_named_by(config.requests))
        configs += [copy] * (min(named, 1) if once else named)
    if once:
        configs = [
            DeviceAllocationConfiguration(config.source, (), config.opaque)
            if config.requests and all(asked.is_named_by(config.requests) for asked in chosen)
            else config
            for config in configs
        ]
    return tuple(configs)


def _node_selector(
    candidates: Sequence[PoolDevice], node: Node, behaviour: Behaviour, claim: ResourceClaim
) -> NodeSelector | None:
    """Return the nodes where the claim can be used: this node, the nodes that all slices have in
    common, or None for every node.
    """
    fields: list[NodeSelectorRequirement] = []
    labels: list[NodeSelectorRequirement] = []
    for candidate in candidates:
        spec = candidate.slice.spec
        source = candidate.device if spec.per_device_node_selection else spec
        if source.node_name is not None or (behaviour.binding and candidate.device.binds_to_node):
            name = node.metadata.name if behaviour.binding else source.node_name or ""
            requirement = NodeSelectorRequirement("metadata.name", "In", (name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(requirement,)),))
        if source.node_selector is None or not source.node_selector.node_selector_terms:
            continue
        terms = source.node_selector.node_selector_terms
        if len(terms) > 1:
            text = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            text = f"create NodeSelector for claim {claim.metadata.name}: {text}"
            raise AttemptFailed(
                Fault("result", text, claim.metadata.full_name, device=candidate.id)
            )
        _extend(fields, terms[0].match_fields)
        _extend(labels, terms[0].match_expressions)
    if not fields and not labels:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(labels), tuple(fields)),))


def _extend(known: list[NodeSelectorRequirement], new: Sequence[NodeSelectorRequirement]) -> None:
    for requirement in new:
        if not any(
            requirement.key == old.key
            and requirement.operator == old.operator
            and set(requirement.values) == set(old.values)
            for old in known
        ):
            known.append(requirement)


# -- as JSON ---------------------------------------------------------------------------------------


def as_json(result: AllocationResult) -> dict[str, Any]:
    """Return an allocation in the shape of resource.k8s.io/v1, without empty fields."""
    devices: dict[str, Any] = {}
    if result.devices.results:
        devices["results"] = [_device_json(device) for device in result.devices.results]
    if result.devices.config:
        devices["config"] = [_config_json(config) for config in result.devices.config]
    allocation: dict[str, Any] = {"devices": devices}
    if result.node_selector is not None:
        allocation["nodeSelector"] = _selector_json(result.node_selector)
    return allocation


def _device_json(result: DeviceRequestAllocationResult) -> dict[str, Any]:
    capacity: Mapping[str, object] = result.consumed_capacity or {}
    return _drop_empty(
        {
            "request": result.request,
            "driver": result.driver,
            "pool": result.pool,
            "device": result.device,
            "adminAccess": result.admin_access,
            "tolerations": [
                _drop_empty(
                    {
                        "key": toleration.key,
                        "operator": toleration.operator,
                        "value": toleration.value,
                        "effect": toleration.effect,
                        "tolerationSeconds": toleration.toleration_seconds,
                    }
                )
                for toleration in result.tolerations
            ],
            "bindingConditions": list(result.binding_conditions),
            "bindingFailureConditions": list(result.binding_failure_conditions),
            "shareID": result.share_id,
            "consumedCapacity": {name: str(quantity) for name, quantity in capacity.items()},
            "skipNodeOperations": list(result.skip_node_operations),
        }
    )


def _config_json(config: DeviceAllocationConfiguration) -> dict[str, Any]:
    opaque = None
    if config.opaque is not None:
        opaque = {"driver": config.opaque.driver, "parameters": config.opaque.parameters}
    return _drop_empty(
        {"source": config.source, "requests": list(config.requests), "opaque": opaque}
    )


def _selector_json(selector: NodeSelector) -> dict[str, Any]:
    def requirements(items: Sequence[NodeSelectorRequirement]) -> list[dict[str, Any]]:
        return [
            _drop_empty({"key": item.key, "operator": item.operator, "values": list(item.values)})
            for item in items
        ]

    return {
        "nodeSelectorTerms": [
            _drop_empty(
                {
                    "matchExpressions": requirements(term.match_expressions),
                    "matchFields": requirements(term.match_fields),
                }
            )
            for term in selector.node_selector_terms
        ]
    }


def _drop_empty(mapping: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in mapping.items()
        if value not in (None, [], {}, "") or (value == 0 and value is not False)
    }
