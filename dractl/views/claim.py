"""ResourceClaims."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.allocation import DeviceID
from dractl.model import NodeSelector
from dractl.model.paths import at, list_at, map_at, maps_at, text_at
from dractl.objects import PoolName, Raw, text
from dractl.properties import cached_property
from dractl.views.base import Condition, View, conditions_by_type
from dractl.views.selectors import node_selector


class AllocatedDevice(Struct, frozen=True):
    """An entry of ``status.allocation.devices.results``."""

    request: str
    """The request, or ``request/alternative``."""
    driver: str
    pool: str
    device: str
    share_id: str
    admin_access: bool

    @property
    def id(self) -> DeviceID:
        """The device, as allocation identifies it."""
        return DeviceID(self.driver, self.pool, self.device)


class ReportedDevice(Struct, frozen=True):
    """An entry of ``status.devices``: an allocated device as its driver reports it."""

    id: DeviceID
    conditions: Mapping[str, Condition]
    """The conditions by type."""

    def condition(self, kind: str) -> Condition:
        """Return the condition of one type; one with empty fields if the driver reports none."""
        return self.conditions.get(kind, Condition())


class Consumer(Struct, frozen=True):
    """An entry of ``status.reservedFor``."""

    resource: str
    """``pods``, ``podgroups`` or another resource in lower case."""
    name: str
    uid: str
    api_group: str


class Configuration(Struct, frozen=True):
    """An entry of ``config`` in the spec of a claim, or in its allocation."""

    driver: str
    """``opaque.driver``."""
    parameters: Raw
    """``opaque.parameters``."""
    requests: tuple[str, ...]
    """The requests that the configuration is for; empty for all."""


class RequestOption(Struct, frozen=True):
    """``exactly`` of a request, or one of its alternatives."""

    path: tuple[str | int, ...]
    """The path below the request."""
    raw: Raw

    @property
    def derived_attributes(self) -> tuple[str, ...]:
        """The names of ``derivedAttributes``."""
        return tuple(text_at(entry, "name") for entry in maps_at(self.raw, "derivedAttributes"))


class DeviceRequest(Struct, frozen=True):
    """An entry of ``spec.devices.requests``."""

    raw: Raw

    @property
    def name(self) -> str:
        """The name that constraints and results use."""
        return text_at(self.raw, "name")

    @property
    def exactly(self) -> Mapping[str, Any]:
        """``exactly``; empty if the request has alternatives."""
        return map_at(self.raw, "exactly")

    @property
    def has_fixed_count(self) -> bool:
        """True if the request takes the same number of devices wherever it is allocated."""
        return bool(self.exactly) and self.exactly.get("allocationMode") != "All"

    @property
    def alternatives(self) -> Sequence[Raw]:
        """``firstAvailable``; empty if the request has none."""
        return maps_at(self.raw, "firstAvailable")

    @property
    def options(self) -> tuple[RequestOption, ...]:
        """``exactly`` and the alternatives."""
        alternatives = (
            RequestOption(("firstAvailable", number), alternative)
            for number, alternative in enumerate(self.alternatives)
        )
        return (RequestOption(("exactly",), self.exactly), *alternatives)


class Claim(View):
    """A ResourceClaim."""

    @cached_property
    def devices(self) -> Mapping[str, Any]:
        """``spec.devices``: requests, constraints and configuration."""
        return map_at(self.spec, "devices")

    @property
    def requests(self) -> tuple[DeviceRequest, ...]:
        """``spec.devices.requests``."""
        return tuple(map(DeviceRequest, maps_at(self.devices, "requests")))

    @property
    def parameters(self) -> tuple[Raw, ...]:
        """The opaque parameters of ``spec.devices.config``."""
        return tuple(map_at(entry, "opaque", "parameters") for entry in self.config_entries)

    @property
    def config_entries(self) -> Sequence[Raw]:
        """``spec.devices.config`` as written."""
        return maps_at(self.devices, "config")

    @property
    def allocated_configurations(self) -> tuple[Configuration, ...]:
        """``status.allocation.devices.config``: the configurations of the claim and of its
        classes.
        """
        return tuple(
            Configuration(
                text_at(entry, "opaque", "driver"),
                map_at(entry, "opaque", "parameters"),
                tuple(name for name in list_at(entry, "requests") if isinstance(name, str)),
            )
            for entry in maps_at(self.allocation, "devices", "config")
        )

    @property
    def constraints(self) -> Sequence[Raw]:
        """``spec.devices.constraints`` as written."""
        return maps_at(self.devices, "constraints")

    @cached_property
    def allocation(self) -> Mapping[str, Any]:
        """``status.allocation``; empty if the claim is not allocated."""
        return map_at(self.status, "allocation")

    @property
    def is_allocated(self) -> bool:
        """True if the claim has an allocation."""
        return bool(self.allocation)

    @property
    def results(self) -> Sequence[Raw]:
        """``status.allocation.devices.results`` as written."""
        return maps_at(self.allocation, "devices", "results")

    @cached_property
    def allocated_devices(self) -> tuple[AllocatedDevice, ...]:
        """The devices that the claim holds."""
        return tuple([_read_allocated_device(result) for result in self.results])

    @property
    def held_devices(self) -> tuple[AllocatedDevice, ...]:
        """The allocated devices that no other claim can get at the same time: all except devices
        for adminAccess.
        """
        return tuple([device for device in self.allocated_devices if not device.admin_access])

    @cached_property
    def held_pools(self) -> tuple[PoolName, ...]:
        """The pools of :attr:`held_devices`, found without a look at other fields of the
        results.
        """
        pools = {
            (text(result.get("driver")), text(result.get("pool"))): None
            for result in self.results
            if result.get("adminAccess") is not True
        }
        return tuple(pools)

    @cached_property
    def reported_devices(self) -> tuple[ReportedDevice, ...]:
        """The devices on which drivers report in ``status.devices``."""
        return tuple(
            ReportedDevice(
                DeviceID(
                    text_at(entry, "driver"), text_at(entry, "pool"), text_at(entry, "device")
                ),
                conditions_by_type(entry),
            )
            for entry in maps_at(self.status, "devices")
        )

    @property
    def consumes_capacity(self) -> bool:
        """True if the claim holds only a share of the capacity of some device."""
        return any(result.get("consumedCapacity") for result in self.results)

    @property
    def allocation_timestamp(self) -> str:
        """The time at which the claim was allocated (RFC 3339); "" if unknown."""
        return text_at(self.allocation, "allocationTimestamp")

    @cached_property
    def node_selector(self) -> NodeSelector | None:
        """The nodes on which the allocated devices can be used; None if all."""
        selector = at(self.allocation, "nodeSelector")
        return node_selector(selector) if isinstance(selector, dict) else None

    @cached_property
    def reserved_for(self) -> Sequence[Raw]:
        """``status.reservedFor`` as written."""
        return maps_at(self.status, "reservedFor")

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """The nodes that :attr:`node_selector` names; empty if it selects by labels."""
        return tuple(
            [
                name
                for term in maps_at(self.allocation, "nodeSelector", "nodeSelectorTerms")
                for field in maps_at(term, "matchFields")
                for name in list_at(field, "values")
                if isinstance(name, str)
            ]
        )

    @cached_property
    def node_selector_values(self) -> tuple[str, ...]:
        """The names and the values of labels that :attr:`node_selector` allows."""
        terms = () if self.node_selector is None else self.node_selector.node_selector_terms
        requirements = (r for t in terms for r in (*t.match_fields, *t.match_expressions))
        return tuple(value for requirement in requirements for value in requirement.values)

    @cached_property
    def consumers(self) -> tuple[Consumer, ...]:
        """The objects that the claim is reserved for."""
        return tuple(
            Consumer(
                text_at(entry, "resource"),
                text_at(entry, "name"),
                text_at(entry, "uid"),
                text_at(entry, "apiGroup"),
            )
            for entry in self.reserved_for
        )

    @cached_property
    def consumer_pods(self) -> tuple[str, ...]:
        """The names of the pods that the claim is reserved for."""
        entries = maps_at(self.raw, "status", "reservedFor")
        return tuple([text_at(e, "name") for e in entries if e.get("resource") == "pods"])

    @cached_property
    def owner_pods(self) -> tuple[str, ...]:
        """The names of the pods for which the claim was generated."""
        owners = maps_at(self.raw, "metadata", "ownerReferences")
        return tuple([text_at(owner, "name") for owner in owners if owner.get("kind") == "Pod"])

    @property
    def pod_claim_name(self) -> str:
        """The entry of the pod's ``spec.resourceClaims`` for which the claim was generated; "" if
        it was not generated (kubernetes pkg/controller/resourceclaim/controller.go
        podResourceClaimAnnotation).
        """
        return text(self.annotations.get("resource.kubernetes.io/pod-claim-name"))


_TEXT_FIELDS = ("request", "driver", "pool", "device", "shareID")


def _read_allocated_device(result: Raw) -> AllocatedDevice:
    # A cluster has up to a hundred thousand results, so the fields are tested here, without another
    # function call.
    texts = [value if isinstance(value := result.get(key), str) else "" for key in _TEXT_FIELDS]
    request, driver, pool, device, share = texts
    return AllocatedDevice(request, driver, pool, device, share, result.get("adminAccess") is True)
