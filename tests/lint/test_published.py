"""What the catalogues of drivers say about selectors, constraints, classes and configurations, without any device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from msgspec.structs import replace

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.lint.published import drivers
from dractl.manifests import load
from dractl.model import Target, decode

if TYPE_CHECKING:
    from dractl.lint.finding import Finding

RULES = [f"DRA{number}" for number in range(714, 725)]
GPU = 'device.attributes["gpu.nvidia.com"]'
NET = 'device.attributes["dra.net"]'


def claim(*requests: tuple[str, str, str], count: int = 1, **devices: object) -> dict[str, object]:
    """A claim; a request is its name, its class and its selector."""
    listed = [
        {
            "name": name,
            "exactly": {
                "deviceClassName": device_class,
                **({"count": count} if count > 1 else {}),
                **({"selectors": [{"cel": {"expression": selector}}]} if selector else {}),
            },
        }
        for name, device_class, selector in requests
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": listed, **devices}},
    }


def device_class(name: str, *selectors: str) -> dict[str, object]:
    spec = {"selectors": [{"cel": {"expression": selector}} for selector in selectors]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec,
    }


def find(
    *documents: dict[str, object], devices: TriedDevices | None = None, release: str = "1.37"
) -> list[Finding]:
    inputs = load(["-"], stdin=yaml.safe_dump_all(documents, width=10_000).encode())
    report = lint(inputs, Target.of(release), devices=devices)
    return [finding for finding in report.findings if finding.code in RULES]


def messages_of(selector: str, device_class: str = "gpu.nvidia.com") -> list[str]:
    return [
        f"{finding.code} {finding.message}"
        for finding in find(claim(("r", device_class, selector)))
    ]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (
            f'{GPU}.model == "H100"',
            ["DRA714 gpu.nvidia.com publishes no attribute gpu.nvidia.com/model"],
        ),
        (f'{GPU}.?model.orValue("") == "H100"', ["DRA714"]),
        (f'{GPU}["family"] == "x"', ["DRA714"]),
        ('device.capacity["gpu.nvidia.com"].cores.isGreaterThan(quantity("1"))', ["DRA714"]),
        (f"{GPU}.index == 0 || {GPU}.index == 1", ["DRA715", "DRA715"]),
        ('device.attributes["nvidia.com"].productName == "x"', ["DRA717"]),
        ('device.attributes["gpu.amd.com"].productName == "x"', ["DRA717"]),
        (f'{GPU}.driverVersion == "580.65.6"', ["DRA718"]),
        (f'{GPU}.driverVersion > "580"', ["DRA718"]),
        (
            f'{GPU}.architecture == "hopper"',
            ['DRA719 gpu.nvidia.com/architecture is never "hopper"; did you'],
        ),
        (f'{GPU}.architecture in ["Hopper", "blackwell"]', ["DRA719"]),
        (f'{GPU}.productName == "H100"', ["DRA719"]),
        (f'{GPU}.architecture.startsWith("hop")', ["DRA721"]),
        (f'{GPU}.type == "mig"', ["DRA721"]),
        ('device.driver == "gpu.amd.com"', ["DRA721"]),
        ("false", ["DRA721 the selector is false for every device"]),
        (f"has({GPU}.uuid) && !has({GPU}.uuid)", ["DRA721 no device satisfies this"]),
        (
            "device.driver == 'gpu.nvidia.com' || true",
            ["DRA721 the selector is true for every device"],
        ),
        (f"{GPU}.uuid != 'a' || {GPU}.uuid != 'b'", ["DRA721 the selector excludes no device"]),
        (f"{GPU}.parentUUID == 'x'", ["DRA716"]),
        ('device.driver == "gpu.nvida.com"', ["DRA721", "DRA723"]),
    ],
)
def test_unsatisfiable_selectors_are_found(selector: str, expected: list[str]) -> None:
    findings = messages_of(selector)
    assert len(findings) == len(expected), findings
    for finding, beginning in zip(findings, expected, strict=True):
        assert finding.startswith(beginning)


@pytest.mark.parametrize(
    "selector",
    [
        f'{GPU}.architecture == "Hopper"',
        f'{GPU}.architecture.lowerAscii() == "hopper"',
        f'{GPU}.productName.lowerAscii().matches("^.*a100.*$")',
        f'{GPU}.productName == "NVIDIA H100 80GB HBM3"',
        f'{GPU}.productName == "NVIDIA Some Future GPU"',
        f'{GPU}.driverVersion.compareTo(semver("580.0.0")) >= 0',
        f'{GPU}.architecture != "Ampere"',
        f'"addressingMode" in {GPU} && {GPU}.addressingMode == "ATS"',
        f'{GPU}.?addressingMode.orValue("") == "ATS"',
        f'{GPU}.uuid == "GPU-1"',
        'device.capacity["gpu.nvidia.com"].memory.isGreaterThan(quantity("40Gi"))',
        (
            f'device.driver == "gpu.nvidia.com" && {GPU}.architecture == "Hopper" || device.driver == "gpu.amd.com" && '
            'device.attributes["gpu.amd.com"].productName == "AMD Instinct MI300X OAM"'
        ),
        'device.attributes["resource.kubernetes.io"].pciBusID == "0000:17:00.0"',
    ],
)
def test_right_selectors(selector: str) -> None:
    assert [finding for finding in messages_of(selector) if not finding.startswith("DRA716")] == []


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        (f'{NET}.ifName == "eth1"', 1),
        (f'"ifName" in {NET} && {NET}.ifName == "eth1"', 0),
        (f'has({NET}.ifName) && {NET}.ifName == "eth1"', 0),
        (f'{NET}.?ifName.orValue("") == "eth1"', 0),
        (
            f'{NET}.ifName == "eth1" && "ifName" in {NET}',
            0,
        ),  # a false operand absorbs the error of the other
        (f'{NET}.rdma == true && {NET}.rdmaDevice == "mlx5_0"', 0),
        (f'{NET}.rdmaDevice == "mlx5_0"', 1),
    ],
)
def test_possibly_absent_attribute_needs_a_guard(selector: str, count: int) -> None:
    findings = find(claim(("nic", "dranet", selector)))
    assert [finding.code for finding in findings] == ["DRA716"] * count


def test_device_type_guards_attributes_of_the_type() -> None:
    own = device_class("any", 'device.driver == "gpu.nvidia.com"')
    profile = f'{GPU}.profile == "1g.5gb"'
    assert find(own, claim(("r", "any", f'{GPU}.type == "mig" && {profile}'))) == []
    assert find(claim(("r", "mig.nvidia.com", profile))) == []


def test_a_class_of_the_files_counts_before_the_installed_one() -> None:
    own = device_class("gpu.nvidia.com", 'device.driver == "gpu.amd.com"')
    selector = 'device.attributes["gpu.amd.com"].productName == "AMD Instinct MI300X OAM"'
    assert find(own, claim(("r", "gpu.nvidia.com", selector))) == []


def test_an_unknown_class_says_nothing_of_the_driver() -> None:
    assert messages_of('device.attributes["gpu.example.org"].model == "x"', "mine") == []
    assert (
        messages_of(f'{GPU}.model == "x"', "mine") == []
    )  # the class may be of a driver that publishes in another's domain


@pytest.mark.parametrize("name", ["sriovnetwork.k8snetworkplumbingwg.io", "npu.furiosa.ai"])
def test_a_driver_known_in_part_may_publish_anything(name: str) -> None:
    own = device_class("mine", f'device.driver == "{name}"')
    selector = (
        f'device.attributes["{name}"].rack == "a" && device.attributes["example.org"].rack == "a"'
    )
    assert (
        find(
            own,
            claim(("r", "mine", selector), constraints=[{"matchAttribute": "example.org/rack"}]),
        )
        == []
    )


def test_published_devices_are_asked_instead() -> None:
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [
                {
                    "name": "gpu-0",
                    "attributes": {"model": {"string": "fake"}, "type": {"string": "gpu"}},
                }
            ],
        },
    }
    devices = TriedDevices([decode(slice_)], {})
    assert find(claim(("r", "gpu.nvidia.com", f'{GPU}.model == "fake"')), devices=devices) == []


@pytest.mark.parametrize(
    ("attribute", "requests", "expected"),
    [
        ("gpu.nvidia.com/memory", [("gpu", "gpu.nvidia.com", "")], "is a capacity"),
        (
            "gpu.nvidia.com/parentUUID",
            [("a", "gpu.nvidia.com", ""), ("b", "dranet", "")],
            "only devices of type mig",
        ),
        ("gpu.nvidia.com/uuid", [("gpu", "gpu.nvidia.com", "")], "no two devices have the same"),
        (
            "resource.kubernetes.io/pciBusID",
            [("gpu", "gpu.nvidia.com", "")],
            "no two devices have the same",
        ),
        ("resource.kubernetes.io/pciBusID", [("mig", "mig.nvidia.com", "")], None),
        (
            "resource.kubernetes.io/pcieRoot",
            [("gpu", "gpu.nvidia.com", ""), ("nic", "dranet", "")],
            None,
        ),
        ("gpu.nvidia.com/productName", [("gpu", "gpu.nvidia.com", "")], None),
        ("gpu.nvidia.com/uuid", [("gpu", "somebodys", "")], None),
        (
            "gpu.nvidia.com/productName",
            [("gpu", "gpu.nvidia.com", ""), ("nic", "dranet", "")],
            "does not publish it",
        ),
    ],
)
def test_constraints(
    attribute: str, requests: list[tuple[str, str, str]], expected: str | None
) -> None:
    findings = find(claim(*requests, count=2, constraints=[{"matchAttribute": attribute}]))
    assert len(findings) == (expected is not None)
    if expected:
        assert findings[0].code == "DRA720"
        assert expected in findings[0].message


def test_constraint_on_a_removed_attribute_is_found() -> None:
    constraints = [{"matchAttribute": "gpu.nvidia.com/pcieBusID"}]
    (finding,) = find(claim(("gpu", "gpu.nvidia.com", ""), count=2, constraints=constraints))
    assert (finding.code, finding.severity) == ("DRA715", "warning")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpu.nvida.com", "gpu.nvidia.com"),
        ("gpu.nvidia.co", "gpu.nvidia.com"),
        ("mig.nvidia.con", "mig.nvidia.com"),
        ("nvidia.com", "gpu.nvidia.com"),
        ("imex.nvidia.com", "ComputeDomain"),
        ("gpu.example.com", None),
        ("dra.hugepages-4m", None),
        ("my-gpus", None),
        ("large.gpu.nvidia.com", None),
    ],
)
def test_classes(name: str, meant: str | None) -> None:
    findings = find(claim(("r", name, "")))
    assert [finding.code for finding in findings] == (["DRA722"] if meant else [])
    assert not meant or meant in findings[0].message + (findings[0].help or "")
    assert (
        find(device_class(name, 'device.driver == "x.example.com"'), claim(("r", name, ""))) == []
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [("gpu.nvidia.io", "DRA723"), ("gpu.nvidia.com", None), ("gpu.amd.com", "DRA723")],
)
def test_configurations_for_another_driver(name: str, code: str | None) -> None:
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
    config = [{"opaque": {"driver": name, "parameters": parameters}}]
    findings = find(claim(("r", "gpu.nvidia.com", ""), config=config))
    assert [finding.code for finding in findings] == ([code] if code else [])


def test_lists_are_of_later_releases() -> None:
    selector = 'device.attributes["resource.kubernetes.io"].?numaNode.orValue(-1) == 0'
    assert [finding.code for finding in find(claim(("nic", "dranet", selector)))] == ["DRA724"]
    assert find(claim(("nic", "dranet", selector)), release="1.35") == []


def test_places_are_those_of_the_names_and_fixes_are_offered() -> None:
    (finding,) = find(claim(("r", "gpu.nvidia.com", f'{GPU}.architecture == "hopper"')))
    assert finding.fix is not None
    assert not finding.fix.safe
    (edit,) = finding.fix.edits
    assert edit.text == "Hopper"
    assert finding.severity == "warning"


def test_versions() -> None:
    nvidia = drivers()["gpu.nvidia.com"]
    row = nvidia.attributes["gpu.nvidia.com/index"]
    assert (nvidia.last_with(row), nvidia.newest) == ("v25.3.2", "v0.5.1")
    assert nvidia.last_with(replace(row, removed=None)) is None
    assert nvidia.is_later(replace(row, since="main"))
    assert [nvidia.first_with(replace(row, since=since)) for since in (None, "25.8", "main")] == [
        None,
        "v25.8.0",
        "main",
    ]
