"""Drivers whose devices only a vendor's agent knows. Expectations are those of the drivers' code."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.drivers import Options, find, reported
from dractl.model.releases import Target
from dractl.topology import Machine


def devices(driver: str, *items: dict[str, Any], **settings: str) -> tuple[dict[str, Any], ...]:
    machine = Machine(reported=tuple(reported.device(driver, item) for item in items))
    chosen = Options("node-1", Target.of("1.37"), settings={driver: settings})
    return find(driver).inventory(machine, chosen).devices


def test_a_rebellions_npu_is_as_its_agent_says() -> None:
    given = {
        "name": "rbln0",
        "type": "npu",
        "productName": "RBLN-CA25",
        "capacity": {"memory": "16Gi"},
    }
    assert devices("npu.rebellions.ai", given) == (
        {
            "name": "rbln0",
            "attributes": {"type": {"string": "npu"}, "productName": {"string": "RBLN-CA25"}},
            "capacity": {"memory": {"value": "16Gi"}},
        },
    )


def test_several_claims_share_a_hygon_hcu() -> None:
    found = devices(
        "dra.hygon.com", {"name": "hcu-0000-05-00-0", "capacity": {"cores": 80, "memory": "64Gi"}}
    )[0]
    assert found["allowMultipleAllocations"] is True
    assert found["attributes"] == {"type": {"string": "hcu"}, "architecture": {"string": ""}}
    assert found["capacity"] == {
        "slices": {
            "value": "4",
            "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "4", "step": "1"}},
        },
        "cores": {
            "value": "80",
            "requestPolicy": {
                "default": "80",
                "validRange": {"min": "0", "max": "80", "step": "1"},
            },
        },
        "memory": {
            "value": "64Gi",
            "requestPolicy": {
                "default": "64Gi",
                "validRange": {"min": "0", "max": "64Gi", "step": "1Mi"},
            },
        },
    }


def test_an_ovs_bridge_has_ports_for_many() -> None:
    driver = "ovsdpdk.k8snetworkplumbingwg.io"
    assert devices(driver, {"name": "br-dpdk0"}) == (
        {
            "name": "br-dpdk0",
            "attributes": {f"{driver}/bridgeName": {"string": "br-dpdk0"}},
            "allowMultipleAllocations": True,
            "capacity": {
                f"{driver}/ports": {
                    "value": "32768",
                    "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}},
                }
            },
        },
    )


@pytest.mark.parametrize(
    ("shares", "valid"),
    [("1", {"min": "1", "max": "1"}), ("8", {"min": "1", "max": "8", "step": "1"})],
)
def test_claims_share_a_rockchip_block(shares: str, valid: dict[str, str]) -> None:
    found = devices(
        "dra.rockchip.com", {"name": "npu-0", "type": "npu", "capacity": {"shares": shares}}
    )[0]
    assert found["capacity"]["shares"]["requestPolicy"] == {"default": "1", "validRange": valid}


def test_an_ascend_npu_whole_and_shared() -> None:
    driver, given = (
        "ascend.project-hami.io",
        {"name": "npu-0-0", "index": 0, "model": "910B3", "cores": 20, "memory": 64},
    )
    whole = devices(driver, given)[0]
    assert whole["attributes"] == {
        "index": {"int": 0},
        "model": {"string": "910B3"},
        "cores": {"int": 20},
        "memory": {"int": 64},
        "brand": {"string": "Huawei"},
        "type": {"string": "NPU"},
        "uuid": {"string": "node-1-0"},
    }
    assert "capacity" not in whole
    shared = devices(driver, {**given, "capacity": {"memory": "64Gi"}}, hamiVNPUCore="true")[0]
    assert set(shared["attributes"]) == {"index", "model", "brand", "type", "uuid"}
    assert shared["capacity"]["memory"]["requestPolicy"]["default"] == "64Gi"
    assert shared["allowMultipleAllocations"] is True


def test_nothing_is_invented_for_an_agent() -> None:
    for driver in (
        "npu.rebellions.ai",
        "tenstorrent.com",
        "npu.furiosa.ai",
        "ascend.project-hami.io",
    ):
        found = find(driver).inventory(Machine(), Options("node-1", Target.of("1.37")))
        assert (found.devices, len(found.notices)) == ((), 1)
        assert "machine file" in found.notices[0]


@pytest.mark.parametrize(
    ("driver", "words"), [("npu.furiosa.ai", "public"), ("npu.huawei.com", "quotations")]
)
def test_drivers_without_readable_source_are_noted(driver: str, words: str) -> None:
    assert any(words in note for note in find(driver).catalogue.notes)
    assert not find(driver).catalogue.complete


def test_attribute_unknown_to_the_driver_is_refused() -> None:
    with pytest.raises(reported.Unpublishable, match="productNam") as error:
        reported.device("npu.rebellions.ai", {"name": "rbln0", "productNam": "RBLN-CA25"})
    assert "productName" in f"{error.value.message} {error.value.hint}"
