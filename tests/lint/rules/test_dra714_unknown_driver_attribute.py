"""DRA714 unknown-driver-attribute."""

from __future__ import annotations

import pytest

from tests.lint.written import device_class, documents, found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("expression", "effect"),
    [
        (f'{GPU}.model == "H100"', "the selector fails on each of its devices"),
        (f'{GPU}.?model.orValue("") == "H100"', "the selector never matches"),
        (f'"model" in {GPU} && {GPU}.model == "H100"', "the selector never matches"),
    ],
)
def test_name_of_no_version_is_found(expression: str, effect: str) -> None:
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA714")
    assert (finding.severity, finding.confidence, marked(finding)) == ("warning", "likely", "model")
    assert (
        finding.message == f"gpu.nvidia.com publishes no attribute gpu.nvidia.com/model: {effect}"
    )
    assert "productName" in (finding.help or "")


def test_a_webhook_of_dranet_may_add_it() -> None:
    # kubernetes-sigs/dranet v1.4.0 pkg/cloudprovider/webhook/webhook.go GetDeviceAttributes
    nic = 'device.attributes["dra.net"]'
    dranet = device_class("nics", 'device.driver == "dra.net"')
    (finding,) = found(documents(dranet, selecting(f'{nic}.rack == "r1"', "nics")), "DRA714")
    assert (finding.severity, finding.message.partition(", ")[2]) == (
        "warning",
        "unless a webhook of dranet (since 1.4) adds it",
    )
    guarded = selecting(f'has({nic}.rack) && {nic}.rack == "r1"', "nics")
    (finding,) = found(documents(dranet, guarded), "DRA714")
    assert finding.severity == "info"


def test_a_capacity() -> None:
    expression = 'device.capacity["gpu.nvidia.com"].cores.isGreaterThan(quantity("1"))'
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA714")
    assert "publishes no capacity gpu.nvidia.com/cores" in finding.message
    assert "memory" in (finding.help or "")


def test_near_misses_are_those_of_dra713() -> None:
    assert found(selecting(f'{GPU}.architcture == "Hopper"', "gpu.nvidia.com"), "DRA714") == []


def test_unknown_driver_is_not_judged() -> None:
    own = device_class("mine", 'device.driver == "gpu.vendor.example"')
    text = selecting('device.attributes["gpu.vendor.example"].model == "x"', "mine")
    assert found(documents(own, text), "DRA714") == []


def test_a_driver_may_publish_attributes_in_the_domain_of_another() -> None:
    pods = device_class("pods", 'device.driver == "wormhole.tenstorrent.com"')
    text = selecting('device.attributes["tenstorrent.com"].physical_pod == "a"', "pods")
    assert found(documents(pods, text), "DRA714") == []
    assert (
        found(text, "DRA714") == []
    )  # SliferSkyd/wh-dra-plugin deploy/test-scheduler.yaml, without the class
