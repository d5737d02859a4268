"""DRA732 one-interface-name: a network namespace has each name of an interface once (EEXIST)."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found

CONFIG = """\
- {requests: [REQUESTS], opaque: {driver: dra.net, parameters: {apiVersion: dra.net/v1, kind: NetworkConfig, interface: {name: NAME}}}}
"""


def configs(*entries: str) -> str:
    """Entries are ``requests=name``."""
    rows = (entry.partition("=") for entry in entries)
    return "config:\n" + "".join(
        CONFIG.replace("REQUESTS", requests).replace("NAME", name) for requests, _, name in rows
    )


def test_two_devices_of_one_request() -> None:
    (finding,) = found(claim("nic dranet {count: 2}", configs("nic=eth1")), "DRA732")
    assert finding.path.endswith("config[0].opaque.parameters.interface.name")
    assert finding.message.startswith("2 devices get the name eth1")


def test_one_configuration_for_all_requests_of_the_driver() -> None:
    text = claim("a dranet\nb dranet\ngpu gpu.nvidia.com", configs("=eth1"))
    (finding,) = found(text, "DRA732")
    assert finding.message.startswith("2 devices")
    assert found(claim("a dranet\ngpu gpu.nvidia.com {count: 2}", configs("=eth1")), "DRA732") == []


def test_two_configurations_with_one_name() -> None:
    (finding,) = found(claim("a dranet\nb dranet", configs("a=eth1", "b=eth1")), "DRA732")
    assert "a, b get the same name eth1" in finding.message
    assert found(claim("a dranet\nb dranet", configs("a=eth1", "b=eth2")), "DRA732") == []


@pytest.mark.parametrize("name", ['""', "{}", "3"])
def test_no_name_is_no_name_twice(name: str) -> None:
    assert found(claim("nic dranet {count: 2}", configs(f"nic={name}")), "DRA732") == []


def test_the_class_of_sriov() -> None:
    text = claim(
        "vf my-class {count: 2}",
        "config:\n- {requests: [vf], opaque: {driver: sriovnetwork.k8snetworkplumbingwg.io,"
        " parameters: {apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, ifName: net1}}}",
    )
    assert len(found(text, "DRA732")) == 1
