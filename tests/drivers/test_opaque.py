"""Opaque configuration: what each driver's own types and validation take."""

from __future__ import annotations

import json

import jsonschema
import pytest

from dractl import facts
from dractl.drivers.opaque import OpaqueFault, check, drivers_with_schema

AMD = "gpu.resource.amd.com/v1alpha1"
GPU = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
CHANNEL = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig"}
EXAMPLE = {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"}


@pytest.mark.parametrize("driver", drivers_with_schema())
def test_schemas_are_schemas(driver: str) -> None:
    schema = json.loads(facts.current().data(f"configuration/{driver}.json"))
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("driver", "parameters", "version", "faults"),
    [
        ("dra.net", {"interface": {"arpIgnore": 8}}, "main", []),
        (
            "dra.net",
            {"interface": {"addressing": "SLAAC", "acceptRA": 2, "type": "IPVLAN"}},
            "main",
            [],
        ),
        ("dra.net", {"interface": {"addressing": "SLAAC"}}, None, [("addressing", True)]),
        ("dra.net", {"interface": {"vrf": {"name": ""}}}, "v1.0.1", [("vrf", False)]),
        ("gpu.nvidia.com", {**GPU, "kind": "VfioDeviceConfig"}, "25.8", [("kind", False)]),
        ("gpu.nvidia.com", {**GPU, "kind": "VfioDeviceConfig"}, "25.12", []),
        (
            "compute-domain.nvidia.com",
            {**CHANNEL, "domainID": "x", "allocationMode": "All"},
            "25.3",
            [("allocationMode", False)],
        ),
    ],
)
def test_parameters_are_checked_against_the_version(
    driver: str, parameters: dict, version: str | None, faults: list
) -> None:
    found = check(driver, parameters, version)
    assert [(fault.path[-1], fault.unreleased) for fault in found] == faults


@pytest.mark.parametrize(
    ("driver", "parameters"),
    [
        ("gpu.nvidia.com", GPU),
        (
            "gpu.nvidia.com",
            {
                **GPU,
                "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
            },
        ),
        (
            "gpu.nvidia.com",
            {
                **GPU,
                "sharing": {
                    "strategy": "MPS",
                    "mpsConfig": {
                        "defaultActiveThreadPercentage": 50,
                        "defaultPinnedDeviceMemoryLimit": "10Gi",
                        "defaultPerDevicePinnedMemoryLimit": {"0": "5Gi"},
                    },
                },
            },
        ),
        (
            "gpu.nvidia.com",
            {**GPU, "kind": "VfioDeviceConfig", "iommu": {"backendPolicy": "PreferIommuFD"}},
        ),
        ("compute-domain.nvidia.com", {**CHANNEL, "domainID": "x", "allocationMode": "All"}),
        ("dra.net", {}),
        (
            "dra.net",
            {
                "interface": {
                    "name": "dranet0",
                    "addresses": ["10.0.0.1/24", "fd00::1/64"],
                    "mtu": 9000,
                },
                "routes": [
                    {"destination": "0.0.0.0/0", "gateway": "10.0.0.254"},
                    {"destination": "fd00::/8", "scope": 253},
                ],
                "rules": [{"priority": 100, "source": "10.0.0.0/24", "table": 100}],
                "ethtool": {"features": {"tcp-segmentation-offload": True}},
            },
        ),
        ("dra.cpu", {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": "0-3,5"}, "unknown": 1}),
        ("gpu.example.com", {**EXAMPLE, "sharing": {"strategy": "SpacePartitioning"}}),
        ("driver.nobody.knows", {"anything": 1}),
    ],
)
def test_taken(driver: str, parameters: dict) -> None:
    assert check(driver, parameters) == ()


@pytest.mark.parametrize(
    ("driver", "parameters", "fault"),
    [
        (
            "gpu.nvidia.com",
            {**GPU, "sharing": {"strategy": "TimeSlice"}},
            OpaqueFault(
                ("sharing", "strategy"),
                'must be one of TimeSlicing, MPS, not "TimeSlice"',
                nearest="TimeSlicing",
            ),
        ),
        (
            "gpu.nvidia.com",
            {**GPU, "sharing": {"strategy": "TimeSlicing", "timeslicingConfig": {}}},
            OpaqueFault(
                ("sharing", "timeslicingConfig"),
                'unknown field "timeslicingConfig"',
                key=True,
                nearest="timeSlicingConfig",
            ),
        ),
        (
            "gpu.nvidia.com",
            {
                **GPU,
                "sharing": {"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}},
            },
            OpaqueFault(
                ("sharing", "mpsConfig", "defaultActiveThreadPercentage"),
                "must be at most 100, not 101",
            ),
        ),
        (
            "gpu.nvidia.com",
            {"apiVersion": "gpu.nvidia.com/v1alpha1", "kind": "GpuConfig"},
            OpaqueFault(
                ("apiVersion",),
                'must be "resource.nvidia.com/v1beta1", not "gpu.nvidia.com/v1alpha1"',
                nearest="resource.nvidia.com/v1beta1",
            ),
        ),
        (
            "gpu.nvidia.com",
            {"apiVersion": GPU["apiVersion"]},
            OpaqueFault((), '"kind" is required'),
        ),
        (
            "compute-domain.nvidia.com",
            {**CHANNEL, "domainID": ""},
            OpaqueFault(("domainID",), "must not be empty"),
        ),
        (
            "dra.net",
            {"interface": {"addresses": ["10.0.0.1"]}},
            OpaqueFault(
                ("interface", "addresses", 0),
                'must be an address with a prefix length, such as 10.0.0.1/24, not "10.0.0.1"',
            ),
        ),
        (
            "dra.net",
            {"routes": [{"destination": "10.0.0.0/8", "gateway": "here"}]},
            OpaqueFault(("routes", 0, "gateway"), 'must be an IP address, not "here"'),
        ),
        (
            "dra.net",
            {"interface": {"mtu": 60}},
            OpaqueFault(("interface", "mtu"), "must be at least 68, not 60"),
        ),
        (
            "dra.net",
            {"interface": {"dhcp": "yes"}},
            OpaqueFault(("interface", "dhcp"), 'must be true or false, not "yes"'),
        ),
        (
            "sriovnetwork.k8snetworkplumbingwg.io",
            {
                "apiVersion": "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1",
                "kind": "VfConfig",
                "ifname": "net1",
            },
            OpaqueFault(("ifname",), 'unknown field "ifname"', key=True, nearest="ifName"),
        ),
        (
            "gpu.amd.com",
            {
                "apiVersion": "gpu.resource.amd.com/v1alpha1",
                "kind": "VfioDeviceConfig",
                "iommu": {"backendPolicy": "X"},
            },
            OpaqueFault(
                ("iommu", "backendPolicy"), 'must be one of LegacyOnly, PreferIommuFD, not "X"'
            ),
        ),
        (
            "gpu.nvidia.com",
            {**GPU, "sharing": {"strategy": "MPS", "timeSlicingConfig": {"interval": "Long"}}},
            OpaqueFault(
                ("sharing", "timeSlicingConfig"),
                '"timeSlicingConfig" cannot be used with the strategy MPS',
                key=True,
            ),
        ),
        (
            "gpu.nvidia.com",
            {
                **GPU,
                "sharing": {
                    "strategy": "MPS",
                    "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "10GB"},
                },
            },
            OpaqueFault(
                ("sharing", "mpsConfig", "defaultPinnedDeviceMemoryLimit"),
                'must be a quantity such as 10Gi, not "10GB"',
            ),
        ),
        (
            "dra.cpu",
            {"apiVersion": "v1alpha1", "cpuConfig": {}},
            OpaqueFault(("cpuConfig",), '"cpuset" is required'),
        ),
    ],
)
def test_refused(driver: str, parameters: dict, fault: OpaqueFault) -> None:
    assert check(driver, parameters) == (fault,)


def test_hostile_parameters_end() -> None:
    deep: dict = {}
    for _ in range(150):
        deep = {"sharing": deep}
    assert check("gpu.nvidia.com", {**GPU, **deep})
    assert "gpu.nvidia.com" in drivers_with_schema()
