"""One small document for every validation rule, and what kube-apiserver says to it.

Written after the sources that the rules name; ``tests/conformance/test_validation_live.py`` asks running servers about
every row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_BETA_1_36 = "DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices"
ALL = {
    "1.34": _BETA_1_36,
    "1.35": _BETA_1_36,
    "1.36": "DRAListTypeAttributes DRANodeAllocatableResources",
    "1.37": (
        "DRADerivedAttributes DRADeviceCompatibilityGroups DRAFractionalCapacityRange DRAListTypeAttributes"
        " DRANodeAllocatableResources DRAOptionalNodeOperations DRAPartitionableDevicesType DRAResourcePoolStatus"
    ),
}
"""The gates that these documents need and that are off by default."""

INVALID, REQUIRED, DUPLICATE = "FieldValueInvalid", "FieldValueRequired", "FieldValueDuplicate"
FORBIDDEN, NOT_SUPPORTED, NOT_FOUND = (
    "FieldValueForbidden",
    "FieldValueNotSupported",
    "FieldValueNotFound",
)
TOO_LONG, TOO_MANY = "FieldValueTooLong", "FieldValueTooMany"


class Row(NamedTuple):
    """``causes``: all that the server says, as (rule, type, field)."""

    document: dict[str, Any]
    causes: frozenset[tuple[str, str, str]]
    release: str
    gates: str


def row(
    document: dict[str, Any],
    *causes: tuple[str, str, str],
    release: str = "1.37",
    gates: str = "all",
) -> Row:
    return Row(document, frozenset(causes), release, gates)


# -- documents --------------------------------------------------------------------------------------------------------


def obj(kind: str, spec: Any, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    api_version = version if kind == "Pod" else f"resource.k8s.io/{version}"
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "it", **metadata},
        "spec": spec,
    }


def exact(name: Any = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **fields}}


def sub(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "deviceClassName": "gpu.example.com", **fields}


def claim(*requests: Any, version: str = "v1", **devices: Any) -> dict[str, Any]:
    return obj(
        "ResourceClaim", {"devices": {"requests": list(requests) or [exact()], **devices}}, version
    )


def selecting(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


def opaque(**fields: Any) -> dict[str, Any]:
    return {"opaque": {"driver": "gpu.example.com", "parameters": {}, **fields}}


def device_class(**spec: Any) -> dict[str, Any]:
    return obj("DeviceClass", spec)


def published(*devices: Any, **spec: Any) -> dict[str, Any]:
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    where = (
        {}
        if spec.keys() & {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"}
        else {"nodeName": "node-1"}
    )
    listed = {"devices": list(devices)} if devices else {}
    return obj(
        "ResourceSlice", {"driver": "gpu.example.com", "pool": pool, **where, **listed, **spec}
    )


def device(name: Any = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


def shareable(**policy: Any) -> dict[str, Any]:
    """A slice with one device of 8 Gi that can be shared as ``policy`` says."""
    return published(
        device(
            allowMultipleAllocations=True, capacity={"m": {"value": "8", "requestPolicy": policy}}
        )
    )


def counted(**fields: Any) -> dict[str, Any]:
    return {"counterSet": "s", "counters": {"c": {"value": "1"}}, **fields}


def taint_rule(**spec: Any) -> dict[str, Any]:
    return obj("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}, **spec})


def pool_status(**spec: Any) -> dict[str, Any]:
    return obj("ResourcePoolStatusRequest", {"driver": "gpu.example.com", **spec}, "v1alpha3")


def pod(claims: list[Any], *references: Any, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"claims": list(references)}}
    return obj("Pod", {"containers": [container], "resourceClaims": claims, **spec})


def asking(resources: dict[str, Any]) -> dict[str, Any]:
    return obj("Pod", {"containers": [{"name": "c", "image": "i", "resources": resources}]})


def named(name: str = "a") -> dict[str, Any]:
    return {"name": name, "resourceClaimName": "claim"}


LONG = "x" * 64
EXACTLY = "spec.devices.requests[0].exactly"
POLICY = "spec.devices[0].capacity[m].requestPolicy"
COSTLY = "[1,2,3,4].all(a, [1,2,3,4,5,6,7,8].all(b, " * 4 + "true" + "))" * 4

ROWS = [
    # -- claims
    row(claim(*(exact(f"r{i}") for i in range(33))), ("RC-01", TOO_MANY, "spec.devices.requests")),
    row(
        claim(constraints=[{"matchAttribute": "a/b"}] * 33),
        ("RC-01", TOO_MANY, "spec.devices.constraints"),
    ),
    row(claim(config=[opaque()] * 33), ("RC-01", TOO_MANY, "spec.devices.config")),
    row(claim(exact(), exact()), ("RC-02", DUPLICATE, "spec.devices.requests[1]")),
    row(
        claim(exact(), exact()),
        ("RC-02", DUPLICATE, "spec.devices.requests[1].name"),
        release="1.34",
    ),
    row(claim(exact("")), ("RC-03", INVALID, "spec.devices.requests[0].name")),
    row(claim(exact("a.b")), ("RC-03", INVALID, "spec.devices.requests[0].name")),
    row(claim(exact(LONG)), ("RC-03", INVALID, "spec.devices.requests[0].name")),
    row(claim({"name": "a"}), ("RC-04", REQUIRED, "spec.devices.requests[0]")),
    row(
        claim({"name": "a", "firstAvailable": []}), ("RC-04", REQUIRED, "spec.devices.requests[0]")
    ),
    row(
        claim({**exact(), "firstAvailable": [sub()]}),
        ("RC-05", INVALID, "spec.devices.requests[0]"),
    ),
    row(
        claim({"name": "a", "deviceClassName": "a", "firstAvailable": [sub()]}, version="v1beta1"),
        ("RC-05", INVALID, "spec.devices.requests[0]"),
    ),
    # Generated code looks into what code written by hand leaves alone, and spells the path as v1beta1 does.
    row(
        claim(
            {
                "name": "a",
                "deviceClassName": "a",
                "tolerations": [{"effect": "x"}],
                "firstAvailable": [sub()],
            },
            version="v1beta1",
        ),
        ("RC-05", INVALID, "spec.devices.requests[0]"),
        ("RC-18", NOT_SUPPORTED, "spec.devices.requests[0].tolerations[0].effect"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(f"s{i}") for i in range(9)]}),
        ("RC-06", TOO_MANY, "spec.devices.requests[0].firstAvailable"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(), sub()]}),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[1]"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub("A")]}),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[0].name"),
    ),
    row(claim({"name": "a", "exactly": {}}), ("RC-08", REQUIRED, f"{EXACTLY}.deviceClassName")),
    # Without a class a flat request has no defaults.
    row(
        claim({"name": "a", "count": 1}, version="v1beta1"),
        ("RC-08", REQUIRED, f"{EXACTLY}.deviceClassName"),
        ("RC-17", NOT_SUPPORTED, f"{EXACTLY}.allocationMode"),
    ),
    row(claim(exact(deviceClassName="A")), ("RC-09", INVALID, f"{EXACTLY}.deviceClassName")),
    row(
        claim(exact(selectors=[selecting("true")] * 33)),
        ("RC-10", TOO_MANY, f"{EXACTLY}.selectors"),
    ),
    row(claim(exact(selectors=[{}])), ("RC-11", REQUIRED, f"{EXACTLY}.selectors[0].cel")),
    row(
        claim(exact(selectors=[selecting("true || " + "x" * 10240)])),
        ("RC-12", TOO_LONG, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting("(")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting("1")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting(COSTLY)])),
        ("RC-14", FORBIDDEN, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(claim(exact(allocationMode="All", count=1)), ("RC-15", INVALID, f"{EXACTLY}.count")),
    row(claim(exact(count=-1)), ("RC-16", INVALID, f"{EXACTLY}.count")),
    row(claim(exact(allocationMode="all")), ("RC-17", NOT_SUPPORTED, f"{EXACTLY}.allocationMode")),
    row(
        claim(exact(tolerations=[{"key": "a b"}])),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[0].key"),
    ),
    row(
        claim(exact(tolerations=[{"operator": "In"}])),
        ("RC-18", NOT_SUPPORTED, f"{EXACTLY}.tolerations[0].operator"),
    ),
    row(
        claim(exact(tolerations=[{"operator": "Exists", "value": "v"}])),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[0].value"),
    ),
    row(
        claim(exact(tolerations=[{"value": LONG}])),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[0].value"),
    ),
    row(
        claim(exact(tolerations=[{"effect": "PreferNoSchedule"}])),
        ("RC-18", NOT_SUPPORTED, f"{EXACTLY}.tolerations[0].effect"),
    ),
    # 1.34 does not know the effect None, and drops no tolerations where their gate is off.
    row(
        claim(exact(tolerations=[{"effect": "None"}])),
        ("RC-18", NOT_SUPPORTED, f"{EXACTLY}.tolerations[0].effect"),
        release="1.34",
        gates="default",
    ),
    row(
        claim(constraints=[{"requests": ["a"] * 33, "matchAttribute": "a/b"}]),
        ("RC-20", TOO_MANY, "spec.devices.constraints[0].requests"),
    ),
    row(
        claim(constraints=[{"requests": ["a", "a"], "matchAttribute": "a/b"}]),
        ("RC-20", DUPLICATE, "spec.devices.constraints[0].requests[1]"),
    ),
    row(
        claim(constraints=[{"requests": ["b", "a/x", "a/b/c"], "matchAttribute": "a/b"}]),
        *(("RC-21", INVALID, f"spec.devices.constraints[0].requests[{i}]") for i in range(3)),
    ),
    row(
        claim(
            {"name": "a", "firstAvailable": [sub()]},
            constraints=[{"requests": ["a", "a/a"], "matchAttribute": "a/b"}],
        )
    ),
    row(
        claim(constraints=[{"matchAttribute": "b"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": f"a/{LONG}"}]),
        ("RC-22", TOO_LONG, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": "A/b"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(claim(constraints=[{"matchAttribute": "A/b"}]), release="1.36"),
    row(claim(constraints=[{"matchAttribute": "a/b/c"}])),
    row(
        claim(constraints=[{"distinctAttribute": "b"}]),
        ("RC-23", INVALID, "spec.devices.constraints[0].distinctAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": "a/b", "distinctAttribute": "b"}]),
        ("RC-23", INVALID, "spec.devices.constraints[0].distinctAttribute"),
    ),
    row(claim(constraints=[{"matchAttribute": "a/b", "distinctAttribute": "b"}]), release="1.36"),
    row(claim(constraints=[{}]), ("RC-24", REQUIRED, "spec.devices.constraints[0]")),
    row(
        claim(constraints=[{"distinctAttribute": "a/b"}]),
        ("RC-24", REQUIRED, "spec.devices.constraints[0].matchAttribute"),
        release="1.35",
        gates="default",
    ),
    row(
        claim(config=[{**opaque(), "requests": ["b"]}]),
        ("RC-25", INVALID, "spec.devices.config[0].requests[0]"),
    ),
    row(
        claim(config=[{**opaque(), "requests": ["a", "a"]}]),
        ("RC-25", DUPLICATE, "spec.devices.config[0].requests[1]"),
    ),
    row(claim(config=[{}]), ("RC-26", REQUIRED, "spec.devices.config[0].opaque")),
    row(
        claim(config=[opaque(driver="")]),
        ("RC-27", REQUIRED, "spec.devices.config[0].opaque.driver"),
    ),
    row(
        claim(config=[opaque(driver="a_b")]),
        ("RC-27", INVALID, "spec.devices.config[0].opaque.driver"),
    ),
    row(
        claim(config=[opaque(driver=LONG)]),
        ("RC-27", TOO_LONG, "spec.devices.config[0].opaque.driver"),
    ),
    row(claim(config=[opaque(driver="GPU.example.com")])),
    row(
        claim(config=[opaque(parameters=None)]),
        ("RC-28", REQUIRED, "spec.devices.config[0].opaque.parameters"),
    ),
    row(
        claim(config=[opaque(parameters={"a": "x" * 10233})]),
        ("RC-29", TOO_LONG, "spec.devices.config[0].opaque.parameters"),
    ),
    row(claim(config=[opaque(parameters={"a": "x" * 10232})])),
    row(
        claim(config=[opaque(parameters=[])]),
        ("RC-30", INVALID, "spec.devices.config[0].opaque.parameters"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "{'a': 1}"}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", INVALID, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(exact(derivedAttributes=[{"name": "", "expression": ""}])),
        ("RC-31", REQUIRED, f"{EXACTLY}.derivedAttributes[0].name"),
        ("RC-31", REQUIRED, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "[1]"}]),
            constraints=[{"matchAttribute": "a/b"}],
        )
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "1"}]),
            constraints=[{"matchAttribute": "a/c"}],
        ),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[0].name"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": COSTLY}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-33", FORBIDDEN, f"{EXACTLY}.derivedAttributes[0].expression"),
        ("RC-33", FORBIDDEN, "spec.devices"),
    ),
    # Defaults: a count of 0 is 1.
    row(claim(exact(count=0))),
    row(obj("ResourceClaim", None)),
    row(
        obj(
            "ResourceClaimTemplate", {"metadata": {"name": "x", "labels": {"a": LONG}}, "spec": {}}
        ),
        ("OM-09", FORBIDDEN, "spec.metadata.name"),
        ("OM-04", INVALID, "spec.metadata.labels"),
    ),
    row(
        obj(
            "ResourceClaimTemplate",
            {"metadata": {"uid": "x"}, "spec": {"devices": {"requests": [exact("A")]}}},
        ),
        ("OM-09", FORBIDDEN, "spec.metadata.uID"),
        ("RC-03", INVALID, "spec.spec.devices.requests[0].name"),
    ),
    # -- classes
    row(device_class(selectors=[selecting("true")] * 33), ("DC-01", TOO_MANY, "spec.selectors")),
    row(device_class(selectors=[{}]), ("DC-02", REQUIRED, "spec.selectors[0].cel")),
    row(
        device_class(selectors=[selecting("x" * 10241)]),
        ("DC-03", TOO_LONG, "spec.selectors[0].cel.expression"),
    ),
    row(
        device_class(selectors=[selecting("")]),
        ("DC-04", INVALID, "spec.selectors[0].cel.expression"),
    ),
    row(
        device_class(selectors=[selecting(COSTLY)]),
        ("DC-05", FORBIDDEN, "spec.selectors[0].cel.expression"),
    ),
    row(device_class(config=[opaque()] * 33), ("DC-06", TOO_MANY, "spec.config")),
    row(device_class(config=[{}]), ("DC-07", REQUIRED, "spec.config[0].opaque")),
    row(
        device_class(config=[opaque(driver="a..b")]),
        ("DC-08", INVALID, "spec.config[0].opaque.driver"),
    ),
    row(
        device_class(config=[{"opaque": {"driver": "a"}}]),
        ("DC-09", REQUIRED, "spec.config[0].opaque.parameters"),
    ),
    row(
        device_class(config=[opaque(parameters={"a": "<" * 1720})]),
        ("DC-10", TOO_LONG, "spec.config[0].opaque.parameters"),
    ),
    row(
        device_class(config=[opaque(parameters="x")]),
        ("DC-11", INVALID, "spec.config[0].opaque.parameters"),
    ),
    row(device_class(extendedResourceName="gpu"), ("DC-12", INVALID, "spec.extendedResourceName")),
    row(
        device_class(extendedResourceName="kubernetes.io/gpu"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(
        device_class(extendedResourceName="requests.a/b"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(device_class(extendedResourceName="example.com/gpu")),
    # -- slices
    row(published(driver=""), ("RS-01", REQUIRED, "spec.driver")),
    row(published(driver="a_b"), ("RS-01", INVALID, "spec.driver")),
    row(
        published(driver=""),
        ("RS-01", REQUIRED, "spec.driver"),
        ("RS-01", INVALID, "spec.driver"),
        release="1.34",
    ),
    row(
        published(pool={"name": "a//b", "resourceSliceCount": 1}),
        ("RS-02", INVALID, "spec.pool.name"),
    ),
    row(
        published(pool={"name": "", "resourceSliceCount": 1}), ("RS-02", REQUIRED, "spec.pool.name")
    ),
    row(published(pool={"name": "a"}), ("RS-03", INVALID, "spec.pool.resourceSliceCount")),
    row(
        published(pool={"name": "a", "resourceSliceCount": 1, "generation": -1}),
        ("RS-04", INVALID, "spec.pool.generation"),
    ),
    row(published(nodeName="A"), ("RS-06", INVALID, "spec.nodeName")),
    row(published(nodeName="", allNodes=True), ("RS-06", INVALID, "spec.nodeName")),
    row(published(nodeName="a", allNodes=False), ("RS-07", INVALID, "spec.allNodes")),
    row(
        published(nodeSelector={"nodeSelectorTerms": []}),
        ("RS-08", REQUIRED, "spec.nodeSelector.nodeSelectorTerms"),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms"),
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "zone", "operator": "In"},
                            {"key": "zone", "operator": "Exists", "values": ["a"]},
                            {"key": "a b", "operator": "x"},
                        ],
                        "matchFields": [{"key": "zone", "operator": "In", "values": ["a"]}],
                    }
                ]
            }
        ),
        ("RS-08", REQUIRED, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values"),
        ("RS-08", FORBIDDEN, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[1].values"),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[2].key"),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[2].operator"),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].key"),
    ),
    row(published(nodeName=None), ("RS-09", REQUIRED, "spec")),
    row(published(nodeName="a", allNodes=True), ("RS-10", INVALID, "spec")),
    row(published(device(), sharedCounters=[]), ("RS-11", INVALID, "spec")),
    row(published(device(), sharedCounters=[]), release="1.34"),
    row(published(*(device(f"d{i}") for i in range(129))), ("RS-12", TOO_MANY, "spec.devices")),
    row(
        published(*(device(f"d{i}", taints=[{"key": "a", "effect": "None"}]) for i in range(65))),
        ("RS-12", TOO_MANY, "spec.devices"),
    ),
    row(
        published(
            *(device(f"d{i}", taints=[{"key": "a", "effect": "NoSchedule"}]) for i in range(65))
        ),
        release="1.34",
    ),
    row(
        published(*(device(f"d{i}", attributes={"a": {"ints": [1]}}) for i in range(65))),
        ("RS-12", TOO_MANY, "spec.devices"),
        release="1.36",
    ),
    row(published(device(), device()), ("RS-13", DUPLICATE, "spec.devices[1]")),
    row(published(device("a.b")), ("RS-14", INVALID, "spec.devices[0].name")),
    row(
        published(
            device(
                attributes={f"a{i}": {"int": 1} for i in range(32)}, capacity={"c": {"value": 1}}
            )
        ),
        ("RS-15", INVALID, "spec.devices[0]"),
    ),
    row(
        published(device(attributes={"a": {"ints": [1] * 49}})),
        ("RS-16", INVALID, "spec.devices[0]"),
    ),
    row(
        published(device(attributes={"a-b": {"int": 1}})),
        ("RS-17", INVALID, "spec.devices[0].attributes"),
    ),
    row(
        published(device(capacity={"/b": {"value": 1}})),
        ("RS-17", INVALID, "spec.devices[0].capacity"),
    ),
    row(
        published(device(attributes={"a-b": {"int": 1}})),
        ("RS-17", INVALID, "spec.devices[0].attributes[a-b]"),
        release="1.35",
    ),
    row(
        published(device(capacity={"/b": {"value": 1}})),
        ("RS-17", REQUIRED, "spec.devices[0].capacity[/b]"),
        release="1.34",
    ),
    row(
        published(device(attributes={"a": {}})), ("RS-18", INVALID, "spec.devices[0].attributes[a]")
    ),
    row(
        published(device(attributes={"a": {}})),
        ("RS-18", REQUIRED, "spec.devices[0].attributes[a]"),
        release="1.34",
    ),
    row(
        published(device(attributes={"a": {"int": 1, "bool": True}})),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
    ),
    row(
        published(device(attributes={"a": {"string": "x" * 65}})),
        ("RS-19", TOO_LONG, "spec.devices[0].attributes[a].string"),
    ),
    row(
        published(device(attributes={"a": {"version": "550.08.1"}})),
        ("RS-20", INVALID, "spec.devices[0].attributes[a].version"),
    ),
    row(
        published(device(attributes={"a": {"ints": []}})),
        ("RS-21", INVALID, "spec.devices[0].attributes[a].ints"),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
    ),
    row(
        published(device(attributes={"a": {"ints": []}})),
        ("RS-21", INVALID, "spec.devices[0].attributes[a].ints"),
        release="1.36",
    ),
    # The list's gate is off, so the attribute loses its value.
    row(
        published(device(attributes={"a": {"ints": [1]}})),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
        gates="default",
    ),
    row(
        published(device(capacity={"m": {"value": "8", "requestPolicy": {"default": "1"}}})),
        ("RS-22", FORBIDDEN, POLICY),
    ),
    row(
        shareable(default="1", validValues=["1"], validRange={"min": "1"}),
        ("RS-23", FORBIDDEN, POLICY),
    ),
    row(shareable(validValues=["1"]), ("RS-24", REQUIRED, f"{POLICY}.default")),
    row(
        shareable(default="1", validValues=["2", "1"]),
        ("RS-25", INVALID, f"{POLICY}.validValues[1]"),
    ),
    row(
        shareable(default="1", validValues=["1", "1"]),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[1]"),
    ),
    row(
        shareable(default="1", validValues=[f"{i}m" for i in range(1, 12)]),
        ("RS-26", TOO_MANY, f"{POLICY}.validValues"),
        ("RS-28", INVALID, f"{POLICY}.validValues"),
    ),
    row(
        shareable(default="1", validValues=["1", "9"]),
        ("RS-27", INVALID, f"{POLICY}.validValues[1]"),
    ),
    row(
        shareable(default="3", validValues=["1", "2"]), ("RS-28", INVALID, f"{POLICY}.validValues")
    ),
    row(shareable(default="1", validRange={}), ("RS-29", REQUIRED, f"{POLICY}.validRange.min")),
    row(
        shareable(default="1", validRange={"min": "2"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.default"),
    ),
    row(
        shareable(default="1", validRange={"min": "2"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.min"),
        release="1.36",
    ),
    row(
        shareable(default="1", validRange={"min": "1", "max": "9"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.max"),
    ),
    row(
        shareable(default="1", validRange={"min": "1", "step": "0"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    row(
        shareable(default="2", validRange={"min": "1", "step": "2"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    row(
        shareable(default="1", validRange={"min": "1", "step": "8"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    # Fractions are rounded up to whole numbers, unless their gate is on.
    row(
        shareable(default="1500m", validRange={"min": "1", "step": "1"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    row(shareable(default="1500m", validRange={"min": "1", "step": "1"}), gates="default"),
    row(
        shareable(default="1u", validRange={"min": "1u", "step": "1"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.default"),
        ("RS-30", INVALID, f"{POLICY}.validRange.min"),
    ),
    row(
        published(device(consumesCounters=[counted()] * 2)),
        ("RS-32", DUPLICATE, "spec.devices[0].consumesCounters[1]"),
    ),
    row(
        published(device(consumesCounters=[counted(counterSet=f"s{i}") for i in range(3)])),
        ("RS-32", TOO_MANY, "spec.devices[0].consumesCounters"),
    ),
    row(
        published(device(consumesCounters=[{}])),
        ("RS-32", REQUIRED, "spec.devices[0].consumesCounters[0].counterSet"),
        ("RS-32", REQUIRED, "spec.devices[0].consumesCounters[0].counters"),
    ),
    row(
        published(device(consumesCounters=[counted(counters={"A": {}})])),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].counters"),
    ),
    row(
        published(device(consumesCounters=[counted(compatibilityGroups=["a", "a"])])),
        ("RS-32", DUPLICATE, "spec.devices[0].consumesCounters[0].compatibilityGroups[1]"),
    ),
    row(
        published(device(consumesCounters=[counted()])),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].counterSet"),
        release="1.34",
    ),
    row(
        published(
            device(consumesCounters=[counted(counters={"d": {}})]),
            sharedCounters=[{"name": "s", "counters": {"c": {}}}],
        ),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].counters"),
        release="1.34",
    ),
    row(published(device(), perDeviceNodeSelection=True), ("RS-33", REQUIRED, "spec.devices[0]")),
    row(
        published(device(nodeName="a", allNodes=True), perDeviceNodeSelection=True),
        ("RS-33", INVALID, "spec.devices[0]"),
    ),
    row(published(device(nodeName="a")), ("RS-34", INVALID, "spec.devices[0]")),
    row(
        published(device(bindingConditions=["a"])),
        ("RS-35", INVALID, "spec.devices[0].bindingFailureConditions"),
    ),
    row(
        published(device(bindingConditions=["a", "a", "b c"], bindingFailureConditions=["a"])),
        ("RS-35", DUPLICATE, "spec.devices[0].bindingConditions[1]"),
        ("RS-35", INVALID, "spec.devices[0].bindingConditions[2]"),
        ("RS-35", INVALID, "spec.devices[0].bindingFailureConditions[0]"),
    ),
    row(
        published(device(bindingConditions=[*"abcde"], bindingFailureConditions=["f"])),
        ("RS-35", TOO_MANY, "spec.devices[0].bindingConditions"),
    ),
    row(
        published(sharedCounters=[{"name": f"s{i}", "counters": {"c": {}}} for i in range(9)]),
        ("RS-36", TOO_MANY, "spec.sharedCounters"),
    ),
    row(
        published(sharedCounters=[{}, {}]),
        ("RS-36", REQUIRED, "spec.sharedCounters[0].name"),
        ("RS-36", REQUIRED, "spec.sharedCounters[0].counters"),
        ("RS-36", REQUIRED, "spec.sharedCounters[1].name"),
        ("RS-36", REQUIRED, "spec.sharedCounters[1].counters"),
        ("RS-36", DUPLICATE, "spec.sharedCounters[1]"),
    ),
    row(
        published(sharedCounters=[{"name": "s", "counters": {f"c{i}": {} for i in range(33)}}]),
        ("RS-36", TOO_MANY, "spec.sharedCounters[0].counters"),
    ),
    row(
        published(sharedCounters=[{"name": "s", "counters": {f"c{i}": {} for i in range(33)}}]),
        ("RS-36", INVALID, "spec.sharedCounters"),
        release="1.34",
    ),
    row(
        published(
            device(
                nodeAllocatableResources={
                    "gpu": {"overhead": {}},
                    "cpu": {},
                    "memory": {"mapping": {}},
                }
            )
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[gpu]"),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[gpu].overhead"),
        ("RS-37", REQUIRED, "spec.devices[0].nodeAllocatableResources[cpu]"),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[memory].mapping"),
    ),
    row(
        published(
            device(
                nodeAllocatableResources={
                    "cpu": {"mapping": {"capacityKey": "c", "capacityMultiplier": "0"}}
                }
            )
        ),
        ("RS-37", NOT_FOUND, "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey"),
        (
            "RS-37",
            INVALID,
            "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityMultiplier",
        ),
    ),
    row(
        published(
            device(
                nodeAllocatableResourceMappings={
                    "a/b": {"capacityKey": "", "allocationMultiplier": "-1"}
                }
            )
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResourceMappings[a/b]"),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResourceMappings[a/b].capacityKey"),
        (
            "RS-37",
            INVALID,
            "spec.devices[0].nodeAllocatableResourceMappings[a/b].allocationMultiplier",
        ),
        release="1.36",
    ),
    row(
        published(device(), partitionTypeAttribute="a/b"),
        ("RS-38", INVALID, "spec.partitionTypeAttribute"),
    ),
    row(
        published(device(consumesCounters=[counted()]), partitionTypeAttribute="a/b"),
        ("RS-38", REQUIRED, "spec.devices[0].attributes[a/b]"),
    ),
    row(
        published(
            device(consumesCounters=[counted()], attributes={"b": {"int": 1}}),
            partitionTypeAttribute="gpu.example.com/b",
        ),
        ("RS-38", INVALID, "spec.devices[0].attributes[gpu.example.com/b]"),
    ),
    row(
        published(skipNodeOperations=["NodePrepareResources"]),
        ("RS-39", INVALID, "spec.skipNodeOperations"),
    ),
    row(
        published(skipNodeOperations=["*", "*", "x"]),
        ("RS-39", DUPLICATE, "spec.skipNodeOperations[1]"),
        ("RS-39", NOT_SUPPORTED, "spec.skipNodeOperations[2]"),
    ),
    row(
        published(device(taints=[{"key": "", "value": LONG, "effect": "x"}, {"key": "a"}])),
        ("RS-40", INVALID, "spec.devices[0].taints[0].key"),
        ("RS-41", INVALID, "spec.devices[0].taints[0].value"),
        ("RS-42", NOT_SUPPORTED, "spec.devices[0].taints[0].effect"),
        ("RS-42", REQUIRED, "spec.devices[0].taints[1].effect"),
    ),
    row(
        published(device(taints=[{"key": "a", "effect": "NoSchedule"}] * 17)),
        ("RS-43", TOO_MANY, "spec.devices[0].taints"),
    ),
    row(
        published(device(taints=[{"key": "a", "effect": "NoSchedule"}] * 5)),
        ("RS-43", TOO_MANY, "spec.devices[0].taints"),
        release="1.34",
    ),
    # -- taint rules and requests for the state of pools
    row(
        taint_rule(deviceSelector={"driver": ""}), ("DT-01", REQUIRED, "spec.deviceSelector.driver")
    ),
    row(taint_rule(deviceSelector={"pool": "A"}), ("DT-02", INVALID, "spec.deviceSelector.pool")),
    row(
        taint_rule(deviceSelector={"device": ""}), ("DT-03", INVALID, "spec.deviceSelector.device")
    ),
    row(
        obj(
            "DeviceTaintRule",
            {
                "deviceSelector": {"deviceClassName": "A", "selectors": [selecting("1")]},
                "taint": {"key": "a", "effect": "NoSchedule"},
            },
            "v1alpha3",
        ),
        ("DT-04", INVALID, "spec.deviceSelector.deviceClassName"),
        ("DT-04", INVALID, "spec.deviceSelector.selectors[0].cel.expression"),
        release="1.34",
    ),
    row(
        obj("DeviceTaintRule", {"taint": {"value": "a b"}}),
        ("DT-05", INVALID, "spec.taint.key"),
        ("DT-06", INVALID, "spec.taint.value"),
        ("DT-07", REQUIRED, "spec.taint.effect"),
    ),
    row(pool_status(driver=""), ("PS-01", REQUIRED, "spec.driver")),
    row(pool_status(poolName="a//b"), ("PS-02", INVALID, "spec.poolName")),
    row(pool_status(limit=1001), ("PS-03", INVALID, "spec.limit")),
    row(
        pool_status(defaultPartitionTypeAttribute="b"),
        ("PS-04", INVALID, "spec.defaultPartitionTypeAttribute"),
    ),
    # -- pods
    row(pod([{"resourceClaimName": "claim"}]), ("PC-01", REQUIRED, "spec.resourceClaims[0].name")),
    row(pod([named(), named()]), ("PC-02", DUPLICATE, "spec.resourceClaims[1].name")),
    row(pod([named("A")]), ("PC-03", INVALID, "spec.resourceClaims[0].name")),
    row(
        pod([{**named(), "resourceClaimTemplateName": "t"}]),
        ("PC-04", INVALID, "spec.resourceClaims[0]"),
    ),
    row(pod([{"name": "a"}]), ("PC-05", INVALID, "spec.resourceClaims[0]")),
    row(
        pod([{"name": "a", "resourceClaimTemplateName": "A"}]),
        ("PC-06", INVALID, "spec.resourceClaims[0].resourceClaimTemplateName"),
    ),
    row(
        pod([named()], {"request": "r"}),
        ("PC-07", REQUIRED, "spec.containers[0].resources.claims[0]"),
    ),
    row(
        pod([named()], {"name": "a", "request": "r"}, {"name": "a"}),
        ("PC-08", DUPLICATE, "spec.containers[0].resources.claims[1]"),
    ),
    row(
        pod([named()], {"name": "b"}),
        ("PC-09", NOT_FOUND, "spec.containers[0].resources.claims[0]"),
    ),
    row(
        pod([named()], {"name": "a", "request": "r/s"}),
        ("PC-10", INVALID, "spec.containers[0].resources.claims[0].request"),
    ),
    row(
        pod([named()], resources={"claims": [{"name": "a"}]}),
        ("PC-11", FORBIDDEN, "spec.resources.claims"),
    ),
    row(
        pod(
            [named()],
            ephemeralContainers=[
                {"name": "e", "image": "i", "resources": {"claims": [{"name": "a"}]}}
            ],
        ),
        ("PC-12", FORBIDDEN, "spec.ephemeralContainers"),
        ("PC-12", FORBIDDEN, "spec.ephemeralContainers[0].resources"),
    ),
    row(
        asking({"requests": {"a.com/b": "1"}}),
        ("PC-13", REQUIRED, "spec.containers[0].resources.limits"),
    ),
    row(
        asking({"requests": {"a.com/b": "1"}, "limits": {"a.com/b": "2"}}),
        ("PC-13", INVALID, "spec.containers[0].resources.requests"),
    ),
    row(
        asking({"limits": {"a.com/b": "500m"}}),
        ("PC-13", INVALID, "spec.containers[0].resources.limits[a.com/b]"),
        ("PC-13", INVALID, "spec.containers[0].resources.requests[a.com/b]"),
    ),
    row(asking({"limits": {"deviceclass.resource.kubernetes.io/gpu": "500m"}})),
    row(
        pod([], initContainers=[{"name": "a"}]), ("PC-17", REQUIRED, "spec.initContainers[0].image")
    ),
    row(
        pod([], initContainers=[{"name": "c", "image": "i"}]),
        ("PC-18", DUPLICATE, "spec.initContainers[0].name"),
    ),
    # -- metadata
    row(obj("DeviceClass", {}, name=""), ("OM-01", REQUIRED, "metadata.name")),
    row(obj("ResourceClaim", {}, name="A"), ("OM-02", INVALID, "metadata.name")),
    row(
        obj("ResourceClaim", {}, name="", generateName="a."),
        ("OM-03", INVALID, "metadata.generateName"),
    ),
    row(
        obj("ResourceClaim", {}, name="", generateName="A"),
        ("OM-03", INVALID, "metadata.generateName"),
        ("OM-03", INVALID, "metadata.name"),
    ),
    row(obj("DeviceClass", {}, name="", generateName="A"), ("OM-03", INVALID, "metadata.name")),
    row(obj("ResourceClaim", {}, labels={"a b": ""}), ("OM-04", INVALID, "metadata.labels")),
    row(
        obj("ResourceClaim", {}, annotations={"a b": ""}),
        ("OM-05", INVALID, "metadata.annotations"),
    ),
    row(
        obj("ResourceClaim", {}, annotations={"a": "x" * 262144}),
        ("OM-05", TOO_LONG, "metadata.annotations"),
    ),
    row(obj("ResourceClaim", {}, finalizers=["a"]), ("OM-06", INVALID, "metadata.finalizers[0]")),
    row(
        obj(
            "ResourceClaim", {}, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "a"}]
        ),
        ("OM-07", REQUIRED, "metadata.ownerReferences[0].uid"),
    ),
    row(
        obj(
            "ResourceClaim", {}, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "a"}]
        ),
        ("OM-07", INVALID, "metadata.ownerReferences.uid"),
        release="1.36",
    ),
    row(obj("ResourceClaim", {}, generation=-1), ("OM-08", INVALID, "metadata.generation")),
    row(obj("ResourceSlice", published()["spec"], generation=-1)),
    # -- more of each rule, in the order of the ids
    row(
        claim({"name": "a", "firstAvailable": [sub(deviceClassName="")]}),
        ("RC-08", REQUIRED, "spec.devices.requests[0].firstAvailable[0].deviceClassName"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(deviceClassName="A")]}),
        ("RC-09", INVALID, "spec.devices.requests[0].firstAvailable[0].deviceClassName"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(selectors=[selecting("true")] * 33)]}),
        ("RC-10", TOO_MANY, "spec.devices.requests[0].firstAvailable[0].selectors"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(selectors=[{}])]}),
        ("RC-11", REQUIRED, "spec.devices.requests[0].firstAvailable[0].selectors[0].cel"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(selectors=[selecting("x")])]}),
        (
            "RC-13",
            INVALID,
            "spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression",
        ),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(allocationMode="All", count=1)]}),
        ("RC-15", INVALID, "spec.devices.requests[0].firstAvailable[0].count"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(count=-1)]}),
        ("RC-16", INVALID, "spec.devices.requests[0].firstAvailable[0].count"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(allocationMode="x")]}),
        ("RC-17", NOT_SUPPORTED, "spec.devices.requests[0].firstAvailable[0].allocationMode"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(tolerations=[{"key": "a b", "effect": "x"}])]}),
        ("RC-18", INVALID, "spec.devices.requests[0].firstAvailable[0].tolerations[0].key"),
        (
            "RC-18",
            NOT_SUPPORTED,
            "spec.devices.requests[0].firstAvailable[0].tolerations[0].effect",
        ),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub("")]}),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[0].name"),
    ),
    row(claim({"name": "a", "firstAvailable": [sub(f"s{i}") for i in range(8)]})),
    row(claim(*(exact(f"r{i}") for i in range(32)))),
    row(obj("ResourceClaim", {"devices": {}})),
    row(claim(exact(adminAccess=False))),
    row(
        claim(None),
        ("RC-03", INVALID, "spec.devices.requests[0].name"),
        ("RC-04", REQUIRED, "spec.devices.requests[0]"),
    ),
    row(
        claim(exact(selectors=[selecting("device.name == 'a'")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(claim(exact(selectors=[selecting("device.attributes['d'].a")]))),
    row(
        claim(exact(selectors=[selecting("device.capacity['d'].m")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting("device.capacity['d'].m > quantity('1Gi')")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting("device.attributes['d'].a.matches('[')")])),
        ("RC-13", INVALID, f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(
        claim(exact(selectors=[selecting("device.attributes['d'].a.find('[') == ''")])),
        ("RC-13", "InternalError", f"{EXACTLY}.selectors[0].cel.expression"),
    ),
    row(claim(exact(selectors=[selecting("quantity('6 GiB') == quantity('1')")]))),
    row(
        claim(exact(tolerations=[{"key": "Up/a"}, {"key": "/a"}, {"key": "a/b/c"}])),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[0].key"),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[1].key"),
        ("RC-18", INVALID, f"{EXACTLY}.tolerations[2].key"),
    ),
    row(claim(exact(tolerations=[{"operator": ""}, {"key": "a", "tolerationSeconds": -1}]))),
    row(claim(exact(tolerations=[{"key": "a", "effect": "None"}] * 17))),
    row(claim(exact(capacity={"requests": {"-": "-1", "": "0"}}))),
    row(
        claim(constraints=[{"matchAttribute": ""}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": "/b"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": "a/"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": f"{'d' * 64}/b"}]),
        ("RC-22", TOO_LONG, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"matchAttribute": "a/b-c"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
    ),
    row(
        claim(constraints=[{"distinctAttribute": f"a/{LONG}"}]),
        ("RC-23", TOO_LONG, "spec.devices.constraints[0].distinctAttribute"),
    ),
    row(
        claim(constraints=[{"distinctAttribute": "A/b"}]),
        ("RC-23", INVALID, "spec.devices.constraints[0].distinctAttribute"),
    ),
    row(claim(constraints=[{"matchAttribute": "a/b", "distinctAttribute": "a/c"}])),
    row(
        claim(constraints=[{"requests": [""], "matchAttribute": "a/b"}]),
        ("RC-21", INVALID, "spec.devices.constraints[0].requests[0]"),
    ),
    row(
        claim(constraints=[{"requests": ["A"], "matchAttribute": "a/b"}]),
        ("RC-21", INVALID, "spec.devices.constraints[0].requests[0]"),
    ),
    row(claim(constraints=[{"matchAttribute": "a/b"}] * 32)),
    row(
        claim(config=[{**opaque(), "requests": ["a"] * 33}]),
        ("RC-25", TOO_MANY, "spec.devices.config[0].requests"),
    ),
    row(
        claim(config=[{**opaque(), "requests": ["a/b"]}]),
        ("RC-25", INVALID, "spec.devices.config[0].requests[0]"),
    ),
    row(claim(config=[opaque(driver="x" * 63)])),
    row(
        claim(config=[{"opaque": {}}]),
        ("RC-27", REQUIRED, "spec.devices.config[0].opaque.driver"),
        ("RC-28", REQUIRED, "spec.devices.config[0].opaque.parameters"),
    ),
    row(
        claim(config=[opaque(parameters=1)]),
        ("RC-30", INVALID, "spec.devices.config[0].opaque.parameters"),
    ),
    row(
        claim(exact(derivedAttributes=[{"name": f"a/b{i}", "expression": "1"} for i in range(33)])),
        ("RC-31", TOO_MANY, f"{EXACTLY}.derivedAttributes"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[0].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[10].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[11].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[12].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[13].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[14].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[15].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[16].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[17].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[18].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[19].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[1].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[20].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[21].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[22].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[23].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[24].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[25].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[26].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[27].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[28].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[29].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[2].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[30].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[31].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[32].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[3].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[4].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[5].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[6].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[7].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[8].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[9].name"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "1"}] * 2),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", DUPLICATE, f"{EXACTLY}.derivedAttributes[1]"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "b", "expression": "1"}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", INVALID, f"{EXACTLY}.derivedAttributes[0].name"),
        ("RC-32", INVALID, f"{EXACTLY}.derivedAttributes[0].name"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "1.5"}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", INVALID, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "quantity('1')"}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", INVALID, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "("}]),
            constraints=[{"distinctAttribute": "a/b"}],
        ),
        ("RC-31", INVALID, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(
            exact(derivedAttributes=[{"name": "a/b", "expression": "x" * 10241}]),
            constraints=[{"matchAttribute": "a/b"}],
        ),
        ("RC-31", TOO_LONG, f"{EXACTLY}.derivedAttributes[0].expression"),
    ),
    row(
        claim(
            exact(),
            exact("b", derivedAttributes=[{"name": "a/b", "expression": "1"}]),
            constraints=[{"requests": ["a"], "matchAttribute": "a/b"}],
        ),
        ("RC-32", INVALID, "spec.devices.requests[1].exactly.derivedAttributes[0].name"),
    ),
    row(
        claim(
            {
                "name": "a",
                "firstAvailable": [
                    sub("s", derivedAttributes=[{"name": "a/b", "expression": "1"}])
                ],
            },
            constraints=[{"requests": ["a/s"], "matchAttribute": "a/b"}],
        )
    ),
    row(
        claim({"name": "a", "deviceClassName": "a", "count": -1}, version="v1beta1"),
        ("RC-16", INVALID, f"{EXACTLY}.count"),
    ),
    row(
        claim({"name": "a", "selectors": [selecting("true")]}, version="v1beta1"),
        ("RC-08", REQUIRED, f"{EXACTLY}.deviceClassName"),
        ("RC-17", NOT_SUPPORTED, f"{EXACTLY}.allocationMode"),
    ),
    row(
        claim(
            {"name": "a", "deviceClassName": "a", "tolerations": [{"effect": "x"}]},
            version="v1beta1",
        ),
        ("RC-18", NOT_SUPPORTED, "spec.devices.requests[0].tolerations[0].effect"),
    ),
    row(claim({"name": "a"}, version="v1beta1"), ("RC-04", REQUIRED, "spec.devices.requests[0]")),
    row(obj("ResourceClaimTemplate", {})),
    row(
        obj(
            "ResourceClaimTemplate",
            {"metadata": {"annotations": {"a b": ""}, "creationTimestamp": None}},
        ),
        ("OM-05", INVALID, "spec.metadata.annotations"),
    ),
    row(
        obj(
            "ResourceClaimTemplate",
            {"metadata": {"namespace": "x", "generateName": "a", "finalizers": ["a"]}},
        ),
        ("OM-09", FORBIDDEN, "spec.metadata.finalizers"),
        ("OM-09", FORBIDDEN, "spec.metadata.generateName"),
        ("OM-09", FORBIDDEN, "spec.metadata.namespace"),
    ),
    row(
        obj(
            "ResourceClaimTemplate",
            {
                "metadata": {
                    "generation": 1,
                    "resourceVersion": "1",
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}
                    ],
                }
            },
        ),
        ("OM-09", FORBIDDEN, "spec.metadata.generation"),
        ("OM-09", FORBIDDEN, "spec.metadata.ownerReferences"),
        ("OM-09", FORBIDDEN, "spec.metadata.resourceVersion"),
    ),
    row(
        obj(
            "ResourceClaimTemplate",
            {
                "spec": {
                    "devices": {"requests": [exact(count=-1)], "constraints": [{}], "config": [{}]}
                }
            },
        ),
        ("RC-16", INVALID, "spec.spec.devices.requests[0].exactly.count"),
        ("RC-24", REQUIRED, "spec.spec.devices.constraints[0]"),
        ("RC-26", REQUIRED, "spec.spec.devices.config[0].opaque"),
    ),
    row(obj("ResourceClaimTemplate", None)),
    row(device_class()),
    row(obj("DeviceClass", None)),
    row(device_class(selectors=[selecting("true")] * 32, config=[opaque()] * 32)),
    row(
        device_class(selectors=[selecting("1")]),
        ("DC-04", INVALID, "spec.selectors[0].cel.expression"),
    ),
    row(
        device_class(config=[opaque(driver="")]),
        ("DC-08", REQUIRED, "spec.config[0].opaque.driver"),
    ),
    row(
        device_class(config=[opaque(driver=LONG)]),
        ("DC-08", TOO_LONG, "spec.config[0].opaque.driver"),
    ),
    row(
        device_class(config=[opaque(parameters=None)]),
        ("DC-09", REQUIRED, "spec.config[0].opaque.parameters"),
    ),
    row(device_class(extendedResourceName=""), ("DC-12", INVALID, "spec.extendedResourceName")),
    row(
        device_class(extendedResourceName="a.kubernetes.io/gpu"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(
        device_class(extendedResourceName=f"a.com/{LONG}"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(
        device_class(extendedResourceName="A.com/gpu"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(
        device_class(extendedResourceName="a.com/b/c"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
    ),
    row(obj("DeviceClass", {}, name="A"), ("OM-02", INVALID, "metadata.name")),
    row(obj("DeviceClass", {}, name="x" * 254), ("OM-02", INVALID, "metadata.name")),
    row(published(driver="GPU.example.com")),
    row(published(driver=LONG), ("RS-01", TOO_LONG, "spec.driver")),
    row(published(pool={"name": "a/b", "resourceSliceCount": 1})),
    row(
        published(pool={"name": "x" * 254, "resourceSliceCount": 1}),
        ("RS-02", INVALID, "spec.pool.name"),
        ("RS-02", TOO_LONG, "spec.pool.name"),
    ),
    row(
        published(pool={"name": "A", "resourceSliceCount": -1}),
        ("RS-02", INVALID, "spec.pool.name"),
        ("RS-03", INVALID, "spec.pool.resourceSliceCount"),
    ),
    row(
        published(pool=None),
        ("RS-02", REQUIRED, "spec.pool.name"),
        ("RS-03", INVALID, "spec.pool.resourceSliceCount"),
    ),
    row(published(nodeName="a" * 254), ("RS-06", INVALID, "spec.nodeName")),
    row(
        published(allNodes=False), ("RS-07", INVALID, "spec.allNodes"), ("RS-09", REQUIRED, "spec")
    ),
    row(
        published(nodeName="a", perDeviceNodeSelection=False),
        ("RS-07", INVALID, "spec.perDeviceNodeSelection"),
    ),
    row(published(allNodes=True, perDeviceNodeSelection=True), ("RS-10", INVALID, "spec")),
    row(
        published(nodeSelector={"nodeSelectorTerms": [{}, {}]}),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms"),
    ),
    row(
        published(nodeSelector={}),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms"),
        ("RS-08", REQUIRED, "spec.nodeSelector.nodeSelectorTerms"),
    ),
    row(published(nodeSelector={"nodeSelectorTerms": [{}]})),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt"}]}]
            }
        ),
        ("RS-08", REQUIRED, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values"),
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "Lt", "values": ["x"]}]}
                ]
            }
        )
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]}
                ]
            }
        ),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]"),
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}
                ]
            }
        ),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].operator"),
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A"]}]}
                ]
            }
        ),
        ("RS-08", INVALID, "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].values[0]"),
    ),
    row(
        published(
            nodeSelector={
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": []}]}
                ]
            }
        ),
        ("RS-08", REQUIRED, "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].values"),
    ),
    row(published()),
    row(published(devices=[])),
    row(published(*(device(f"d{i}") for i in range(128)))),
    row(
        published(*(device(f"d{i}", consumesCounters=[counted()]) for i in range(65))),
        ("RS-12", TOO_MANY, "spec.devices"),
    ),
    row(published(device("")), ("RS-14", INVALID, "spec.devices[0].name")),
    row(published(None), ("RS-14", INVALID, "spec.devices[0].name")),
    row(published(device(attributes={f"a{i}": {"int": 1} for i in range(32)}))),
    row(published(device(attributes={"a": {"strings": ["x"] * 48}}))),
    row(published(device(attributes={"a/b/c": {"int": 1}}))),
    row(
        published(device(attributes={"": {"int": 1}})),
        ("RS-17", INVALID, "spec.devices[0].attributes"),
    ),
    row(
        published(device(attributes={"a/": {"int": 1}})),
        ("RS-17", INVALID, "spec.devices[0].attributes"),
    ),
    row(
        published(device(attributes={"x" * 33: {"int": 1}})),
        ("RS-17", TOO_LONG, "spec.devices[0].attributes"),
    ),
    row(
        published(device(attributes={f"{'d' * 64}/a": {"int": 1}})),
        ("RS-17", TOO_LONG, "spec.devices[0].attributes"),
    ),
    row(published(device(attributes={"A.com/a": {"int": 1}}))),
    row(
        published(device(attributes={"a": None})),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
    ),
    row(
        published(device(attributes={"a": {"strings": ["x" * 65, ""]}})),
        ("RS-19", TOO_LONG, "spec.devices[0].attributes[a].strings[0]"),
    ),
    row(
        published(device(attributes={"a": {"versions": ["1.0.0", "v1"]}})),
        ("RS-20", INVALID, "spec.devices[0].attributes[a].versions[1]"),
    ),
    row(
        published(device(attributes={"a": {"version": "1.0.0-" + "x" * 60}})),
        ("RS-20", TOO_LONG, "spec.devices[0].attributes[a].version"),
    ),
    row(
        published(device(attributes={"a": {"version": ""}})),
        ("RS-20", INVALID, "spec.devices[0].attributes[a].version"),
    ),
    row(published(device(attributes={"a": {"string": ""}}))),
    row(
        published(
            device(attributes={"a": {"bools": []}, "b": {"strings": []}, "c": {"versions": []}})
        ),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
        ("RS-18", INVALID, "spec.devices[0].attributes[b]"),
        ("RS-18", INVALID, "spec.devices[0].attributes[c]"),
        ("RS-21", INVALID, "spec.devices[0].attributes[a].bools"),
        ("RS-21", INVALID, "spec.devices[0].attributes[b].strings"),
        ("RS-21", INVALID, "spec.devices[0].attributes[c].versions"),
    ),
    row(published(device(capacity={"a": {}, "b": {"value": "-1"}}))),
    row(shareable()),
    row(shareable(default="100")),
    row(shareable(default="1", validValues=[])),
    row(shareable(default="1", validValues=["1", "2", "4"])),
    row(shareable(validRange={"min": "1"}), ("RS-24", REQUIRED, f"{POLICY}.default")),
    row(
        shareable(default="9", validRange={"min": "9"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.min"),
    ),
    row(
        shareable(default="4", validRange={"min": "4", "max": "2"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.default"),
        ("RS-29", INVALID, f"{POLICY}.validRange.max"),
    ),
    row(
        shareable(default="8", validRange={"min": "1", "max": "4"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.default"),
    ),
    row(
        shareable(default="1", validRange={"min": "1", "step": "-1"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    row(
        shareable(default="1", validRange={"min": "1", "max": "4", "step": "2"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.step"),
    ),
    row(
        shareable(default="-1", validRange={"min": "-1", "step": "1"}),
        ("RS-30", INVALID, f"{POLICY}.validRange.default"),
        ("RS-30", INVALID, f"{POLICY}.validRange.min"),
    ),
    row(shareable(default="1", validRange={"min": "1", "max": "8", "step": "1"})),
    row(
        published(device(consumesCounters=[counted(counterSet="")])),
        ("RS-32", REQUIRED, "spec.devices[0].consumesCounters[0].counterSet"),
    ),
    row(
        published(device(consumesCounters=[counted(counterSet="A")])),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].counterSet"),
    ),
    row(
        published(device(consumesCounters=[counted(counters={})])),
        ("RS-32", REQUIRED, "spec.devices[0].consumesCounters[0].counters"),
    ),
    row(
        published(device(consumesCounters=[counted(counters={f"c{i}": {} for i in range(33)})])),
        ("RS-32", TOO_MANY, "spec.devices[0].consumesCounters[0].counters"),
    ),
    row(published(device(consumesCounters=[counted(counters={"c": {"value": "-1"}})]))),
    row(
        published(device(consumesCounters=[counted(compatibilityGroups=["a", "b", "c"])])),
        ("RS-32", TOO_MANY, "spec.devices[0].consumesCounters[0].compatibilityGroups"),
    ),
    row(
        published(device(consumesCounters=[counted(compatibilityGroups=["A"])])),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].compatibilityGroups[0]"),
    ),
    row(
        published(device(nodeName="", allNodes=False), perDeviceNodeSelection=True),
        ("RS-33", INVALID, "spec.devices[0].allNodes"),
        ("RS-33", INVALID, "spec.devices[0].nodeName"),
        ("RS-33", REQUIRED, "spec.devices[0]"),
    ),
    row(
        published(device(nodeName=""), perDeviceNodeSelection=True),
        ("RS-33", INVALID, "spec.devices[0].nodeName"),
        ("RS-33", REQUIRED, "spec.devices[0]"),
    ),
    row(
        published(device(allNodes=False), perDeviceNodeSelection=True),
        ("RS-33", INVALID, "spec.devices[0].allNodes"),
        ("RS-33", REQUIRED, "spec.devices[0]"),
    ),
    row(
        published(device(nodeName="A"), perDeviceNodeSelection=True),
        ("RS-33", INVALID, "spec.devices[0].nodeName"),
    ),
    row(
        published(device(nodeSelector={"nodeSelectorTerms": [{}, {}]}), perDeviceNodeSelection=True)
    ),
    row(published(device(allNodes=True), perDeviceNodeSelection=True)),
    row(published(device(allNodes=True)), ("RS-34", INVALID, "spec.devices[0]")),
    row(
        published(device(nodeSelector={"nodeSelectorTerms": [{}]})),
        ("RS-34", INVALID, "spec.devices[0]"),
    ),
    row(
        published(device(bindingFailureConditions=["a"])),
        ("RS-35", INVALID, "spec.devices[0].bindingConditions"),
    ),
    row(
        published(device(bindingConditions=["a"], bindingFailureConditions=["a/b/c"])),
        ("RS-35", INVALID, "spec.devices[0].bindingFailureConditions[0]"),
    ),
    row(published(device(bindsToNode=True))),
    row(published(device(allowMultipleAllocations=True))),
    row(
        published(sharedCounters=[{"name": "A", "counters": {"B": {}}}]),
        ("RS-36", INVALID, "spec.sharedCounters[0].counters"),
        ("RS-36", INVALID, "spec.sharedCounters[0].name"),
    ),
    row(
        published(sharedCounters=[{"name": "s", "counters": {}}]),
        ("RS-36", REQUIRED, "spec.sharedCounters[0].counters"),
    ),
    row(
        published(sharedCounters=[{"name": "s", "counters": {"c": {}}}] * 2),
        ("RS-36", DUPLICATE, "spec.sharedCounters[1]"),
    ),
    row(
        published(
            device(
                nodeAllocatableResources={
                    "cpu": {"mapping": {"capacityKey": "c", "deviceMultiplier": "1"}}
                }
            )
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[cpu].mapping"),
        ("RS-37", NOT_FOUND, "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey"),
        (
            "RS-37",
            REQUIRED,
            "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityMultiplier",
        ),
    ),
    row(
        published(
            device(nodeAllocatableResources={"cpu": {"mapping": {"capacityMultiplier": "1"}}})
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[cpu].mapping"),
        ("RS-37", REQUIRED, "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey"),
    ),
    row(
        published(device(nodeAllocatableResources={"cpu": {"mapping": {"deviceMultiplier": "0"}}})),
        (
            "RS-37",
            INVALID,
            "spec.devices[0].nodeAllocatableResources[cpu].mapping.deviceMultiplier",
        ),
    ),
    row(
        published(
            device(
                capacity={"c": {"value": "1"}},
                nodeAllocatableResources={"cpu": {"mapping": {"capacityKey": "c"}}},
            )
        ),
        (
            "RS-37",
            REQUIRED,
            "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityMultiplier",
        ),
    ),
    row(
        published(
            device(
                nodeAllocatableResources={
                    "cpu": {"mapping": {"capacityKey": "", "capacityMultiplier": "1"}}
                }
            )
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[cpu].mapping.capacityKey"),
    ),
    row(
        published(
            device(
                nodeAllocatableResources={
                    "hugepages-2Mi": {"overhead": {"perPod": "-1", "perContainer": "-1"}}
                }
            )
        ),
        (
            "RS-37",
            INVALID,
            "spec.devices[0].nodeAllocatableResources[hugepages-2Mi].overhead.perContainer",
        ),
        (
            "RS-37",
            INVALID,
            "spec.devices[0].nodeAllocatableResources[hugepages-2Mi].overhead.perPod",
        ),
    ),
    row(
        published(
            device(nodeAllocatableResources={"ephemeral-storage": {"overhead": {"perPod": "1"}}})
        ),
        ("RS-37", INVALID, "spec.devices[0].nodeAllocatableResources[ephemeral-storage]"),
    ),
    row(
        published(
            device(consumesCounters=[counted()], attributes={"b": {"string": "x"}}),
            partitionTypeAttribute="gpu.example.com/b",
        )
    ),
    row(
        published(device(), partitionTypeAttribute="b"),
        ("RS-38", INVALID, "spec.partitionTypeAttribute"),
    ),
    row(published(skipNodeOperations=["NodeUnprepareResources"])),
    row(published(skipNodeOperations=["NodePrepareResources", "*"])),
    row(
        published(
            device(
                taints=[
                    {"key": "/a", "effect": "None"},
                    {"key": "a/b/c", "effect": "NoExecute"},
                    {"key": "Up/a", "effect": "NoSchedule"},
                ]
            )
        ),
        ("RS-40", INVALID, "spec.devices[0].taints[0].key"),
        ("RS-40", INVALID, "spec.devices[0].taints[1].key"),
        ("RS-40", INVALID, "spec.devices[0].taints[2].key"),
    ),
    row(published(device(taints=[{"key": "a", "effect": "NoSchedule"}] * 16))),
    row(
        published(device(taints=[None])),
        ("RS-40", INVALID, "spec.devices[0].taints[0].key"),
        ("RS-42", REQUIRED, "spec.devices[0].taints[0].effect"),
    ),
    row(taint_rule()),
    row(taint_rule(deviceSelector={})),
    row(
        taint_rule(deviceSelector={"driver": "a_b", "pool": "", "device": "a.b"}),
        ("DT-01", INVALID, "spec.deviceSelector.driver"),
        ("DT-02", REQUIRED, "spec.deviceSelector.pool"),
        ("DT-03", INVALID, "spec.deviceSelector.device"),
    ),
    row(
        taint_rule(deviceSelector={"driver": LONG, "pool": "x" * 254}),
        ("DT-01", TOO_LONG, "spec.deviceSelector.driver"),
        ("DT-02", INVALID, "spec.deviceSelector.pool"),
        ("DT-02", TOO_LONG, "spec.deviceSelector.pool"),
    ),
    row(
        taint_rule(taint={"key": "a", "effect": "PreferNoSchedule"}),
        ("DT-07", NOT_SUPPORTED, "spec.taint.effect"),
    ),
    row(
        taint_rule(taint=None),
        ("DT-05", INVALID, "spec.taint.key"),
        ("DT-07", REQUIRED, "spec.taint.effect"),
    ),
    row(
        obj("DeviceTaintRule", None),
        ("DT-05", INVALID, "spec.taint.key"),
        ("DT-07", REQUIRED, "spec.taint.effect"),
    ),
    row(pool_status()),
    row(pool_status(driver="GPU.example.com")),
    row(pool_status(driver=f"{LONG}.a")),
    row(pool_status(driver="a_b"), ("PS-01", INVALID, "spec.driver")),
    row(pool_status(driver=".".join(["x" * 62] * 5)), ("PS-01", INVALID, "spec.driver")),
    row(pool_status(poolName=""), ("PS-02", INVALID, "spec.poolName")),
    row(pool_status(poolName="A"), ("PS-02", INVALID, "spec.poolName")),
    row(pool_status(poolName="/".join(["x" * 63] * 4)), ("PS-02", TOO_LONG, "spec.poolName")),
    row(pool_status(limit=0), ("PS-03", INVALID, "spec.limit")),
    row(pool_status(limit=-1), ("PS-03", INVALID, "spec.limit")),
    row(pool_status(limit=1000)),
    row(
        pool_status(defaultPartitionTypeAttribute=""),
        ("PS-04", INVALID, "spec.defaultPartitionTypeAttribute"),
    ),
    row(
        pod([{}]),
        ("PC-01", REQUIRED, "spec.resourceClaims[0].name"),
        ("PC-05", INVALID, "spec.resourceClaims[0]"),
    ),
    row(pod([named("")]), ("PC-01", REQUIRED, "spec.resourceClaims[0].name")),
    row(pod([named(LONG)]), ("PC-03", INVALID, "spec.resourceClaims[0].name")),
    row(pod([named("a.b")]), ("PC-03", INVALID, "spec.resourceClaims[0].name")),
    row(
        pod([{"name": "a", "resourceClaimName": ""}]),
        ("PC-06", INVALID, "spec.resourceClaims[0].resourceClaimName"),
    ),
    row(
        pod([{"name": "a", "resourceClaimName": "x" * 254}]),
        ("PC-06", INVALID, "spec.resourceClaims[0].resourceClaimName"),
    ),
    row(
        pod([{"name": "a", "resourceClaimName": "A", "resourceClaimTemplateName": "B"}]),
        ("PC-04", INVALID, "spec.resourceClaims[0]"),
        ("PC-06", INVALID, "spec.resourceClaims[0].resourceClaimName"),
        ("PC-06", INVALID, "spec.resourceClaims[0].resourceClaimTemplateName"),
    ),
    row(
        pod([named()], {"name": "a"}, {"name": "a"}),
        ("PC-08", DUPLICATE, "spec.containers[0].resources.claims[1]"),
    ),
    row(
        pod([named()], {"name": "a"}, {"name": "a", "request": "r"}),
        ("PC-08", DUPLICATE, "spec.containers[0].resources.claims[1]"),
    ),
    row(
        pod([named()], {"name": "a", "request": "r"}, {"name": "a", "request": "r"}),
        ("PC-08", DUPLICATE, "spec.containers[0].resources.claims[1]"),
    ),
    row(pod([named()], {"name": "a", "request": "r"}, {"name": "a", "request": "s"})),
    row(pod([], {"name": "a"}), ("PC-09", NOT_FOUND, "spec.containers[0].resources.claims[0]")),
    row(
        pod([named()], {"name": "b"}, {"name": "b"}),
        ("PC-08", DUPLICATE, "spec.containers[0].resources.claims[1]"),
        ("PC-09", NOT_FOUND, "spec.containers[0].resources.claims[0]"),
        ("PC-09", NOT_FOUND, "spec.containers[0].resources.claims[1]"),
    ),
    row(
        pod([named()], {"name": "a", "request": "A"}),
        ("PC-10", INVALID, "spec.containers[0].resources.claims[0].request"),
    ),
    row(
        pod([named()], {"name": "a", "request": LONG}),
        ("PC-10", INVALID, "spec.containers[0].resources.claims[0].request"),
    ),
    row(pod([named()], None), ("PC-07", REQUIRED, "spec.containers[0].resources.claims[0]")),
    row(pod([named()])),
    row(
        pod(
            [named()],
            initContainers=[
                {"name": "i", "image": "i", "resources": {"claims": [{"name": "b"}, {}]}}
            ],
        ),
        ("PC-07", REQUIRED, "spec.initContainers[0].resources.claims[1]"),
        ("PC-09", NOT_FOUND, "spec.initContainers[0].resources.claims[0]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "resources": {"claims": [{"name": "a", "request": "r"}]},
                    }
                ],
                "resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}],
            },
        )
    ),
    row(asking({"requests": {"a.com/b": "1"}, "limits": {"a.com/b": "1"}})),
    row(asking({"limits": {"a.com/b": "1"}})),
    row(
        asking({"limits": {"a.com/b": "-1"}}),
        ("PC-13", INVALID, "spec.containers[0].resources.limits[a.com/b]"),
        ("PC-13", INVALID, "spec.containers[0].resources.requests[a.com/b]"),
    ),
    row(
        asking({"limits": {"a.com/b": "1.5"}, "requests": {"a.com/b": "1.5"}}),
        ("PC-13", INVALID, "spec.containers[0].resources.limits[a.com/b]"),
        ("PC-13", INVALID, "spec.containers[0].resources.requests[a.com/b]"),
    ),
    row(
        asking({"limits": {"requests.a.com/b": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[requests.a.com/b]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[requests.a.com/b]"),
    ),
    row(
        asking({"limits": {"A.com/b": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[A.com/b]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[A.com/b]"),
    ),
    row(
        asking({"limits": {"a.com/b c": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[a.com/b c]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[a.com/b c]"),
    ),
    row(asking({"limits": {"deviceclass.resource.kubernetes.io/gpu": "1"}})),
    row(asking({"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}})),
    row(
        asking(
            {
                "requests": {"deviceclass.resource.kubernetes.io/gpu": "1"},
                "limits": {"deviceclass.resource.kubernetes.io/gpu": "2"},
            }
        )
    ),
    row(
        asking(
            {
                "requests": {"deviceclass.resource.kubernetes.io/gpu": "2"},
                "limits": {"deviceclass.resource.kubernetes.io/gpu": "1"},
            }
        ),
        ("PC-13", INVALID, "spec.containers[0].resources.requests"),
    ),
    row(asking({"limits": {"a.com/b": "0"}})),
    row(
        asking({"limits": {"gpu": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[gpu]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[gpu]"),
    ),
    row(
        asking({"limits": {f"a.com/{LONG}": "1"}}),
        ("PC-15", INVALID, f"spec.containers[0].resources.limits[a.com/{LONG}]"),
        ("PC-15", INVALID, f"spec.containers[0].resources.requests[a.com/{LONG}]"),
    ),
    row(asking({"limits": {"a.kubernetes.io/b": "500m"}})),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"a.com/b": "1"}},
            },
        ),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"requests": {"a.com/b": "1"}, "claims": []},
            },
        ),
        ("PC-11", FORBIDDEN, "spec.resources.claims"),
        ("PC-13", REQUIRED, "spec.resources.limits"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.requests[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "initContainers": [
                    {"name": "d", "image": "i", "resources": {"limits": {"a.com/b": "1500m"}}}
                ],
            },
        ),
        ("PC-13", INVALID, "spec.initContainers[0].resources.limits[a.com/b]"),
        ("PC-13", INVALID, "spec.initContainers[0].resources.requests[a.com/b]"),
    ),
    row(obj("ResourceClaim", {}, name="x" * 254), ("OM-02", INVALID, "metadata.name")),
    row(obj("ResourceClaim", {}, name="a.b")),
    row(obj("ResourceClaim", {}, labels={"a": "b c"}), ("OM-04", INVALID, "metadata.labels")),
    row(
        obj("ResourceClaim", {}, finalizers=["a.com/b", ""]),
        ("OM-06", INVALID, "metadata.finalizers"),
        ("OM-06", INVALID, "metadata.finalizers[1]"),
    ),
    row(
        obj(
            "ResourceClaim",
            {},
            ownerReferences=[{"apiVersion": "", "kind": "", "name": "", "uid": ""}],
        ),
        ("OM-07", REQUIRED, "metadata.ownerReferences[0].apiVersion"),
        ("OM-07", REQUIRED, "metadata.ownerReferences[0].kind"),
        ("OM-07", REQUIRED, "metadata.ownerReferences[0].name"),
        ("OM-07", REQUIRED, "metadata.ownerReferences[0].uid"),
    ),
    row(
        obj(
            "ResourceClaim",
            {},
            ownerReferences=[
                {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": True},
                {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "2", "controller": True},
            ],
        ),
        ("OM-07", INVALID, "metadata.ownerReferences"),
    ),
    row(
        obj("ResourceClaimTemplate", {}, name="A", labels={"": "a"}),
        ("OM-02", INVALID, "metadata.name"),
        ("OM-04", INVALID, "metadata.labels"),
    ),
    row(obj("ResourceSlice", published()["spec"], name="A"), ("OM-02", INVALID, "metadata.name")),
    row(
        obj("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}}, name="A"),
        ("OM-02", INVALID, "metadata.name"),
    ),
    row(
        obj("ResourceSlice", {**published()["spec"], "nodeName": "", "allNodes": False}, "v1beta1"),
        ("RS-09", REQUIRED, "spec"),
    ),
    row(
        obj("ResourceSlice", {**published()["spec"], "perDeviceNodeSelection": False}, "v1beta1"),
        ("RS-07", INVALID, "spec.perDeviceNodeSelection"),
    ),
    row(
        obj(
            "ResourceSlice",
            {**published()["spec"], "devices": [{"name": "a"}, {"name": "b", "basic": None}]},
            "v1beta1",
        )
    ),
    row(
        obj(
            "ResourceSlice",
            {**published()["spec"], "devices": [{"name": "A", "basic": {"attributes": {"a": {}}}}]},
            "v1beta1",
        ),
        ("RS-14", INVALID, "spec.devices[0].name"),
        ("RS-18", INVALID, "spec.devices[0].basic.attributes[a]"),
    ),
    row(
        asking({"limits": {"pods": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[pods]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[pods]"),
    ),
    row(
        asking({"limits": {"": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[]"),
    ),
    row(
        asking({"limits": {f"{'x' * 60}.{'x' * 60}.{'x' * 60}.{'x' * 60}.aaaa/b": "1"}}),
        (
            "PC-15",
            INVALID,
            "spec.containers[0].resources.limits[xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.aaaa/b]",
        ),
        (
            "PC-15",
            INVALID,
            "spec.containers[0].resources.requests[xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.aaaa/b]",
        ),
    ),
    row(
        asking({"limits": {"/b": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[/b]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[/b]"),
    ),
    row(
        asking({"limits": {"a.com/": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[a.com/]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[a.com/]"),
    ),
    row(
        asking({"limits": {"a.com/b/c": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[a.com/b/c]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[a.com/b/c]"),
    ),
    row(
        asking({"requests": {"requests.a.com/b": "1"}}),
        ("PC-13", REQUIRED, "spec.containers[0].resources.limits"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[requests.a.com/b]"),
    ),
    row(
        asking({"requests": {"A.com/b": "500m"}, "limits": {"A.com/b": "1"}}),
        ("PC-13", INVALID, "spec.containers[0].resources.requests"),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[A.com/b]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[A.com/b]"),
    ),
    row(
        asking({"limits": {"kubernetes.io/b c": "1"}}),
        ("PC-15", INVALID, "spec.containers[0].resources.limits[kubernetes.io/b c]"),
        ("PC-15", INVALID, "spec.containers[0].resources.requests[kubernetes.io/b c]"),
    ),
    row(asking({"limits": {"kubernetes.io/B": "1500m"}, "requests": {"kubernetes.io/B": "1"}})),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"requests": {"a.com/b": "1"}},
            },
        ),
        ("PC-13", REQUIRED, "spec.resources.limits"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.requests[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"requests": {"a.com/b": "2"}, "limits": {"a.com/b": "1"}},
            },
        ),
        ("PC-13", INVALID, "spec.resources.requests"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.requests[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"a.com/b": "-1"}},
            },
        ),
        ("PC-13", INVALID, "spec.resources.limits[a.com/b]"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"a.com/b": "500m"}},
            },
        ),
        ("PC-13", INVALID, "spec.resources.limits[a.com/b]"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"A.com/b": "1", "a.com/b c": "1"}},
            },
        ),
        ("PC-15", INVALID, "spec.resources.limits[A.com/b]"),
        ("PC-15", INVALID, "spec.resources.limits[a.com/b c]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"limits": {"a.com/b": "1"}}}
                ],
                "resources": {"limits": {"cpu": "1"}},
            },
        )
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"limits": {"a.com/b": "1"}}}
                ],
                "resources": {"limits": {"a.com/b": "1"}},
            },
        ),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"deviceclass.resource.kubernetes.io/x": "1"}},
            },
        ),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[deviceclass.resource.kubernetes.io/x]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "resources": {"limits": {"gpu": "1", "a.com/b": "1"}},
            },
        ),
        ("PC-15", INVALID, "spec.resources.limits[gpu]"),
        ("PC-16", NOT_SUPPORTED, "spec.resources.limits[a.com/b]"),
    ),
    row(
        obj(
            "Pod",
            {
                "containers": [{"name": "c", "image": "i"}],
                "initContainers": [
                    {"name": "d", "image": "i", "resources": {"limits": {"gpus": "1"}}}
                ],
            },
        ),
        ("PC-15", INVALID, "spec.initContainers[0].resources.limits[gpus]"),
        ("PC-15", INVALID, "spec.initContainers[0].resources.requests[gpus]"),
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub(), sub()]}),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[1].name"),
        release="1.34",
    ),
    row(
        claim({"name": "a", "firstAvailable": [sub("A")] * 9}),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[1].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[2].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[3].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[4].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[5].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[6].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[7].name"),
        ("RC-06", DUPLICATE, "spec.devices.requests[0].firstAvailable[8].name"),
        ("RC-06", TOO_MANY, "spec.devices.requests[0].firstAvailable"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[0].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[1].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[2].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[3].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[4].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[5].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[6].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[7].name"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[8].name"),
        release="1.34",
    ),
    row(
        claim(*(exact("A") for i in range(33))),
        ("RC-01", TOO_MANY, "spec.devices.requests"),
        ("RC-02", DUPLICATE, "spec.devices.requests[10].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[11].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[12].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[13].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[14].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[15].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[16].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[17].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[18].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[19].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[1].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[20].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[21].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[22].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[23].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[24].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[25].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[26].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[27].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[28].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[29].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[2].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[30].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[31].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[32].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[3].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[4].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[5].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[6].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[7].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[8].name"),
        ("RC-02", DUPLICATE, "spec.devices.requests[9].name"),
        ("RC-03", INVALID, "spec.devices.requests[0].name"),
        ("RC-03", INVALID, "spec.devices.requests[10].name"),
        ("RC-03", INVALID, "spec.devices.requests[11].name"),
        ("RC-03", INVALID, "spec.devices.requests[12].name"),
        ("RC-03", INVALID, "spec.devices.requests[13].name"),
        ("RC-03", INVALID, "spec.devices.requests[14].name"),
        ("RC-03", INVALID, "spec.devices.requests[15].name"),
        ("RC-03", INVALID, "spec.devices.requests[16].name"),
        ("RC-03", INVALID, "spec.devices.requests[17].name"),
        ("RC-03", INVALID, "spec.devices.requests[18].name"),
        ("RC-03", INVALID, "spec.devices.requests[19].name"),
        ("RC-03", INVALID, "spec.devices.requests[1].name"),
        ("RC-03", INVALID, "spec.devices.requests[20].name"),
        ("RC-03", INVALID, "spec.devices.requests[21].name"),
        ("RC-03", INVALID, "spec.devices.requests[22].name"),
        ("RC-03", INVALID, "spec.devices.requests[23].name"),
        ("RC-03", INVALID, "spec.devices.requests[24].name"),
        ("RC-03", INVALID, "spec.devices.requests[25].name"),
        ("RC-03", INVALID, "spec.devices.requests[26].name"),
        ("RC-03", INVALID, "spec.devices.requests[27].name"),
        ("RC-03", INVALID, "spec.devices.requests[28].name"),
        ("RC-03", INVALID, "spec.devices.requests[29].name"),
        ("RC-03", INVALID, "spec.devices.requests[2].name"),
        ("RC-03", INVALID, "spec.devices.requests[30].name"),
        ("RC-03", INVALID, "spec.devices.requests[31].name"),
        ("RC-03", INVALID, "spec.devices.requests[32].name"),
        ("RC-03", INVALID, "spec.devices.requests[3].name"),
        ("RC-03", INVALID, "spec.devices.requests[4].name"),
        ("RC-03", INVALID, "spec.devices.requests[5].name"),
        ("RC-03", INVALID, "spec.devices.requests[6].name"),
        ("RC-03", INVALID, "spec.devices.requests[7].name"),
        ("RC-03", INVALID, "spec.devices.requests[8].name"),
        ("RC-03", INVALID, "spec.devices.requests[9].name"),
        release="1.34",
    ),
    row(
        claim({**exact(count=-1), "firstAvailable": [sub("A")]}),
        ("RC-05", INVALID, "spec.devices.requests[0]"),
        ("RC-07", INVALID, "spec.devices.requests[0].firstAvailable[0].name"),
        ("RC-16", INVALID, f"{EXACTLY}.count"),
        release="1.34",
    ),
    row(
        claim(constraints=[{"requests": ["a", "a"], "matchAttribute": "a/b"}]),
        ("RC-20", DUPLICATE, "spec.devices.constraints[0].requests[1]"),
        release="1.34",
    ),
    row(
        claim(constraints=[{"matchAttribute": ""}]),
        ("RC-22", REQUIRED, "spec.devices.constraints[0].matchAttribute"),
        release="1.34",
    ),
    row(
        claim(constraints=[{"matchAttribute": "b"}]),
        ("RC-22", INVALID, "spec.devices.constraints[0].matchAttribute"),
        release="1.34",
    ),
    row(claim(constraints=[{"matchAttribute": "A/b"}]), release="1.34"),
    row(
        claim(config=[opaque(driver="")]),
        ("RC-27", INVALID, "spec.devices.config[0].opaque.driver"),
        ("RC-27", REQUIRED, "spec.devices.config[0].opaque.driver"),
        release="1.34",
    ),
    row(
        published(device(), device()), ("RS-13", DUPLICATE, "spec.devices[1].name"), release="1.34"
    ),
    row(
        published(device(attributes={"": {"int": 1}})),
        ("RS-17", REQUIRED, "spec.devices[0].attributes[]"),
        release="1.34",
    ),
    row(
        published(device(attributes={"/a": {"int": 1}, "a/": {"int": 1}})),
        ("RS-17", REQUIRED, "spec.devices[0].attributes[/a]"),
        ("RS-17", REQUIRED, "spec.devices[0].attributes[a/]"),
        release="1.34",
    ),
    row(
        published(sharedCounters=[{"name": "s", "counters": {"c": {}}}] * 2),
        ("RS-36", DUPLICATE, "spec.sharedCounters[1].name"),
        release="1.34",
    ),
    row(
        published(sharedCounters=[{"name": f"s{i}", "counters": {"c": {}}} for i in range(9)]),
        release="1.34",
    ),
    row(
        published(
            device(consumesCounters=[counted()] * 2),
            sharedCounters=[{"name": "s", "counters": {"c": {}}}],
        ),
        ("RS-32", DUPLICATE, "spec.devices[0].consumesCounters[1].counterSet"),
        release="1.34",
    ),
    row(
        published(
            device(consumesCounters=[counted(counters={f"c{i}": {} for i in range(33)})]),
            sharedCounters=[{"name": "s", "counters": {f"c{i}": {} for i in range(32)}}],
        ),
        ("RS-32", INVALID, "spec.devices[0]"),
        ("RS-32", INVALID, "spec.devices[0].consumesCounters[0].counters"),
        release="1.34",
    ),
    row(
        published(
            *(
                device(
                    f"d{i}", consumesCounters=[counted(counters={f"c{j}": {} for j in range(32)})]
                )
                for i in range(33)
            ),
            sharedCounters=[{"name": "s", "counters": {f"c{i}": {} for i in range(32)}}],
        ),
        ("RS-32", INVALID, "spec.devices"),
        release="1.34",
    ),
    row(
        published(device(taints=[{"key": "a", "effect": "None"}])),
        ("RS-42", NOT_SUPPORTED, "spec.devices[0].taints[0].effect"),
        release="1.34",
    ),
    row(
        published(device(attributes={"a": {"int": 1, "bool": True}})),
        ("RS-18", INVALID, "spec.devices[0].attributes[a]"),
        release="1.34",
    ),
    row(
        published(
            *(device(f"d{i}", consumesCounters=[counted()]) for i in range(65)),
            sharedCounters=[{"name": "s", "counters": {"c": {}}}],
        ),
        release="1.34",
    ),
    row(
        shareable(default="1", validValues=[f"{i}m" for i in range(1, 12)]),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[10]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[1]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[2]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[3]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[4]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[5]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[6]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[7]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[8]"),
        ("RS-26", DUPLICATE, f"{POLICY}.validValues[9]"),
        ("RS-26", TOO_MANY, f"{POLICY}.validValues"),
        ("RS-28", INVALID, f"{POLICY}.validValues"),
        release="1.34",
    ),
    row(
        shareable(default="8", validRange={"min": "1", "max": "4"}),
        ("RS-29", INVALID, f"{POLICY}.validRange.max"),
        release="1.34",
    ),
    row(
        device_class(extendedResourceName="gpu"),
        ("DC-12", INVALID, "spec.extendedResourceName"),
        release="1.34",
    ),
    row(
        obj(
            "DeviceTaintRule",
            {
                "taint": {"key": "a", "effect": "NoSchedule"},
                "deviceSelector": {"driver": "", "pool": "", "device": ""},
            },
            "v1alpha3",
        ),
        ("DT-01", INVALID, "spec.deviceSelector.driver"),
        ("DT-01", REQUIRED, "spec.deviceSelector.driver"),
        ("DT-02", REQUIRED, "spec.deviceSelector.pool"),
        ("DT-03", INVALID, "spec.deviceSelector.device"),
        release="1.34",
    ),
    row(
        obj("DeviceTaintRule", {"taint": {"key": "a", "effect": "None"}}, "v1alpha3"),
        ("DT-07", NOT_SUPPORTED, "spec.taint.effect"),
        release="1.34",
    ),
    row(
        obj(
            "DeviceTaintRule",
            {"taint": {"key": "a", "effect": "NoSchedule"}, "deviceSelector": {"selectors": [{}]}},
            "v1alpha3",
        ),
        ("DT-04", REQUIRED, "spec.deviceSelector.selectors[0].cel"),
        release="1.34",
    ),
]
