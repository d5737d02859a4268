"""Decoding: every version becomes the same object; what cannot be is told with its path."""

from __future__ import annotations

from typing import Any

import pytest

import dractl.model
from dractl.model import (
    DecodeError,
    DeviceClass,
    DeviceTaintRule,
    Node,
    Pod,
    Quantity,
    ResourceClaim,
    decodable,
    decode,
    to_v1,
)


def resource(kind: str, spec: Any, version: str = "v1", **rest: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "it"},
        "spec": spec,
        **rest,
    }


BODY = {
    "deviceClassName": "gpu.example.com",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
REST = {
    "constraints": [{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    "config": [
        {"requests": ["gpu"], "opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}
    ],
}


def claims() -> list[dict[str, Any]]:
    wrapped = [{"name": "gpu", "exactly": BODY}]
    return [
        *(
            resource("ResourceClaim", {"devices": {"requests": wrapped, **REST}}, v)
            for v in ("v1", "v1beta2")
        ),
        resource(
            "ResourceClaim", {"devices": {"requests": [{"name": "gpu", **BODY}], **REST}}, "v1beta1"
        ),
    ]


@pytest.mark.parametrize("document", claims(), ids=lambda d: d["apiVersion"])
def test_a_claim_of_any_version_is_the_same(document: dict[str, Any]) -> None:
    claim = decode(document)
    assert isinstance(claim, ResourceClaim)
    assert claim == decode(claims()[0])
    (request,) = claim.spec.devices.requests
    assert request.name == "gpu"
    assert request.first_available == ()
    exactly = request.exactly
    assert exactly is not None
    assert (exactly.device_class_name, exactly.count, exactly.admin_access) == (
        "gpu.example.com",
        2,
        False,
    )
    assert exactly.selectors[0].cel is not None
    assert exactly.selectors[0].cel.expression == "true"
    assert exactly.capacity is not None
    assert exactly.capacity.requests == {"memory": Quantity.parse("1024Mi")}
    assert claim.spec.devices.constraints[0].match_attribute == "resource.kubernetes.io/pcieRoot"
    opaque = claim.spec.devices.config[0].opaque
    assert opaque is not None
    assert opaque.parameters == {"a": 1}
    assert claim.status.allocation is None


@pytest.mark.parametrize(
    ("flat", "wrapped"),
    [
        ({"selectors": []}, True),  # an empty list is one
        ({"count": 0, "allocationMode": "", "deviceClassName": ""}, False),
        ({"count": 1}, True),
        ({"adminAccess": False}, True),
        ({"tolerations": None}, False),
    ],
)
def test_which_flat_fields_make_an_exact_request(flat: dict[str, Any], wrapped: bool) -> None:
    """pkg/apis/resource/v1beta1/conversion.go hasAnyMainRequestFieldsSet."""
    claim = decode(
        resource("ResourceClaim", {"devices": {"requests": [{"name": "a", **flat}]}}, "v1beta1")
    )
    assert isinstance(claim, ResourceClaim)
    assert (claim.spec.devices.requests[0].exactly is not None) == wrapped


def test_a_template_is_converted_as_a_claim() -> None:
    spec = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"devices": {"requests": [{"name": "gpu", **BODY}]}},
    }
    template = decode(resource("ResourceClaimTemplate", spec, "v1beta1"))
    assert template == decode(
        resource(
            "ResourceClaimTemplate",
            {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": BODY}]}},
            },
        )
    )


DEVICE = {
    "attributes": {
        "model": {"string": "x"},
        "index": {"int": 1},
        "ready": {"bool": False},
        "driverVersion": {"version": "1.2.3"},
        "numa": {"ints": [0, 1]},
        "gone": {},
    },
    "capacity": {
        "memory": {
            "value": "80Gi",
            "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": 2}},
        }
    },
    "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}, "d": None}}],
    "taints": [{"key": "k", "effect": "NoSchedule"}],
    "allowMultipleAllocations": True,
}


def published(devices: Any, version: str = "v1", **spec: Any) -> dict[str, Any]:
    pool = {"name": "p", "generation": 3, "resourceSliceCount": 1}
    return resource(
        "ResourceSlice",
        {"driver": "d", "pool": pool, "nodeName": "n", "devices": devices, **spec},
        version,
    )


@pytest.mark.parametrize(
    "document",
    [published([{"name": "a", **DEVICE}]), published([{"name": "a", "basic": DEVICE}], "v1beta1")],
    ids=["v1", "v1beta1"],
)
def test_devices_are_read_as_they_are_asked_for(document: dict[str, Any]) -> None:
    found: Any = decode(document)
    assert (found.spec.driver, found.spec.pool.generation, found.spec.node_name) == ("d", 3, "n")
    (device,) = found.spec.devices
    types = {
        name: (attribute.type, attribute.value) for name, attribute in device.attributes.items()
    }
    assert types == {
        "model": ("string", "x"),
        "index": ("int", 1),
        "ready": ("bool", False),
        "driverVersion": ("version", "1.2.3"),
        "numa": ("ints", (0, 1)),
        "gone": (None, None),
    }
    memory = device.capacity["memory"]
    assert memory.value == Quantity.parse("80Gi")
    assert memory.request_policy.valid_range.step == Quantity.parse("2")
    assert device.consumes_counters[0].counters == {"c": Quantity.parse("1"), "d": Quantity()}
    assert device.taints[0].effect == "NoSchedule"
    assert device.allow_multiple_allocations is True
    assert device.binding_conditions == ()
    assert device.node_name is None
    assert device.attributes["model"] is device.attributes["model"]


def test_older_slices_mean_unset_where_v1_minds() -> None:
    """In v1beta1 nodeName and allNodes are no pointers."""
    found: Any = decode(published([], "v1beta1", nodeName="", allNodes=False))
    assert (found.spec.node_name, found.spec.all_nodes) == (None, None)
    found = decode(published([], "v1beta2", nodeName="", allNodes=False))
    assert (found.spec.node_name, found.spec.all_nodes) == ("", False)


def test_v1alpha3_capacities_are_plain_quantities() -> None:
    found: Any = decode(
        published([{"name": "a", "basic": {"capacity": {"memory": "1Gi"}}}], "v1alpha3")
    )
    assert found.spec.devices[0].capacity["memory"].value == Quantity.parse("1Gi")


def test_v1_object_is_not_copied() -> None:
    document = published([{"name": "a"}])
    assert to_v1(document) is document


def test_absent_is_none_or_empty() -> None:
    claim: Any = decode(resource("ResourceClaim", None))
    assert claim.spec.devices.requests == ()
    claim = decode(
        resource("ResourceClaim", {"devices": {"requests": [{"name": "a", "exactly": {}}, None]}})
    )
    exactly = claim.spec.devices.requests[0].exactly
    assert (exactly.count, exactly.allocation_mode, exactly.admin_access, exactly.capacity) == (
        None,
    ) * 4
    assert claim.spec.devices.requests[1].name == ""


def test_an_allocated_claim() -> None:
    result = {
        "request": "a",
        "driver": "d",
        "pool": "p",
        "device": "x",
        "shareID": "s",
        "consumedCapacity": {"m": "1"},
    }
    selector = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
        ]
    }
    status = {
        "allocation": {
            "devices": {"results": [result], "config": [{"source": "FromClass"}]},
            "nodeSelector": selector,
        },
        "reservedFor": [{"resource": "pods", "name": "pod", "uid": "u"}],
        "devices": [
            {
                "driver": "d",
                "pool": "p",
                "device": "x",
                "conditions": [{"type": "Ready", "status": "True"}],
            }
        ],
    }
    claim: Any = decode(resource("ResourceClaim", {}, status=status))
    (found,) = claim.status.allocation.devices.results
    assert (found.request, found.share_id, found.consumed_capacity) == (
        "a",
        "s",
        {"m": Quantity.parse("1")},
    )
    assert claim.status.allocation.node_selector.node_selector_terms[0].match_fields[0].values == (
        "n",
    )
    assert claim.status.reserved_for[0].uid == "u"
    assert claim.status.devices[0].conditions[0].status == "True"


def test_pods_and_nodes() -> None:
    pod: Any = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "resources": {
                            "claims": [{"name": "gpu", "request": "r"}],
                            "limits": {"cpu": 1},
                        },
                    }
                ],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{}]
                        }
                    }
                },
                "schedulingGates": [{"name": "g"}],
            },
            "status": {
                "phase": "Pending",
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-1"}],
            },
        }
    )
    assert isinstance(pod, Pod)
    assert pod.spec.containers[0].resources.claims[0].request == "r"
    assert pod.spec.containers[0].resources.limits["cpu"] == Quantity.parse("1")
    assert pod.spec.resource_claims[0].resource_claim_template_name == "t"
    assert pod.spec.node_affinity is not None
    assert pod.spec.scheduling_gates == ("g",)
    assert pod.status.resource_claim_statuses[0].resource_claim_name == "p-gpu-1"
    node: Any = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "4"},
                "nodeInfo": {"kubeletVersion": "v1.36.3"},
                "declaredFeatures": ["X"],
            },
        }
    )
    assert isinstance(node, Node)
    assert (node.status.kubelet_version, node.status.declared_features) == ("v1.36.3", ("X",))
    assert node.spec.taints[0].key == "k"


def test_classes_and_taint_rules() -> None:
    found = decode(
        resource(
            "DeviceClass",
            {"selectors": [{"cel": {"expression": "x"}}], "extendedResourceName": "a/b"},
        )
    )
    assert isinstance(found, DeviceClass)
    assert found.spec.extended_resource_name == "a/b"
    spec = {"deviceSelector": {"pool": "p"}, "taint": {"key": "k", "effect": "NoExecute"}}
    rules = [
        decode(resource("DeviceTaintRule", spec, version))
        for version in ("v1", "v1beta2", "v1alpha3")
    ]
    assert rules[0] == rules[1] == rules[2]
    assert isinstance(rules[0], DeviceTaintRule)
    selector = rules[0].spec.device_selector
    assert selector is not None
    assert (selector.driver, selector.pool) == (None, "p")
    nothing = decode(resource("DeviceTaintRule", {"taint": {}}))
    assert isinstance(nothing, DeviceTaintRule)
    assert nothing.spec.device_selector is None


@pytest.mark.parametrize(
    ("document", "place", "message"),
    [
        (resource("ResourceClaim", []), "spec", "must be a map, not a list"),
        (
            resource("ResourceClaim", {"devices": {"requests": [{"name": 1}]}}),
            "spec.devices.requests[0].name",
            "must be a string, not a number",
        ),
        (
            resource("ResourceClaim", {"devices": {"requests": [{"exactly": {"count": 1.5}}]}}),
            "spec.devices.requests[0].exactly.count",
            "must be a whole number, not 1.5",
        ),
        (
            resource("ResourceClaim", {"devices": {"requests": [{"exactly": {"count": 2**63}}]}}),
            "spec.devices.requests[0].exactly.count",
            "must be a number of 64 bits",
        ),
        (
            resource(
                "ResourceClaim",
                {"devices": {"requests": [{"name": "a", "adminAccess": "yes"}]}},
                "v1beta1",
            ),
            "spec.devices.requests[0].exactly.adminAccess",
            "must be true or false, not a string",
        ),
        (published({}), "spec.devices", "must be a list, not a map"),
        (published(["a"]), "spec.devices[0]", "must be a map, not a string"),
        (published([{"name": ["a"]}]), "spec.devices[0].name", "must be a string"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}},
            "metadata.labels.a",
            "must be a string",
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, None, "no object that dractl reads"),
        ({"apiVersion": ["v1"], "kind": {}}, None, "no object that dractl reads"),
    ],
)
def test_invalid_object_is_reported_with_its_place(
    document: dict[str, Any], place: str | None, message: str
) -> None:
    with pytest.raises(DecodeError) as raised:
        decode(document)
    assert raised.value.place == place
    assert message in raised.value.message


def test_invalid_capacity_is_reported_when_read() -> None:
    found: Any = decode(
        published([{"name": "a", "capacity": {"memory": {"value": "6 GiB"}}, "taints": {}}])
    )
    (device,) = found.spec.devices
    with pytest.raises(DecodeError) as raised:
        device.capacity["memory"]
    assert raised.value.place == "spec.devices[0].capacity.memory.value"
    assert "quantities must match the regular expression" in raised.value.message
    assert device.taints == ()
    assert "memory" in device.capacity


def test_deep_nesting_in_unread_fields_does_no_harm() -> None:
    parameters: dict[str, Any] = {}
    for _ in range(100_000):
        parameters = {"a": parameters}
    config = [{"opaque": {"driver": "d", "parameters": parameters}}]
    claim: Any = decode(resource("ResourceClaim", {"devices": {"config": config}}))
    assert claim.spec.devices.config[0].opaque.parameters is parameters


def test_decodable() -> None:
    assert decodable({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"})
    assert not decodable({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim"})
    assert not decodable({"kind": ["x"]})


@pytest.mark.parametrize("value", [[], "text", 1, [{"kind": "Pod"}]])
def test_value_other_than_an_object_is_not_decoded(value: Any) -> None:
    with pytest.raises(DecodeError, match="must be a map"):
        decode(value)


PUBLIC = sorted(name for name, value in vars(dractl.model).items() if isinstance(value, type))


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_have_docstrings(name: str) -> None:
    """``help()`` of a class without a docstring shows its signature."""
    value = getattr(dractl.model, name)
    if isinstance(value, type):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize(
    ("attributes", "plain"),
    [
        ({"a": {"int": 1}, "b": {"version": "1.2.3"}}, True),
        ({"a": {"version": "one"}}, False),
        ({"a": {"int": 1, "string": "x"}}, False),
        ({"a": {}}, False),
        ({"a": "x"}, False),
        ({"a": None}, False),
    ],
)
def test_attributes_that_every_release_can_convert(attributes: Any, plain: bool) -> None:
    devices = [{"name": "d", "attributes": attributes}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "x.example.com", "pool": pool, "nodeName": "n", "devices": devices}
    (device,) = decode(resource("ResourceSlice", spec)).spec.devices
    assert device.is_plain is plain
