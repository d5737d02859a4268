"""DRA751 selector-fails and DRA752 selector-matches-nothing."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import A100, GPU, GPU_SLICE, NIC_SLICE, documents, published, selecting

NAMELESS = "{name: b}"


@pytest.mark.parametrize(
    ("devices", "expression", "codes"),
    [
        (A100, 'device.attributes["gpu.example.com"].modle == "A100"', ["DRA751"]),
        (A100, 'device.attributes["gpu.example.com"].model == "H100"', ["DRA752"]),
        (f"{A100}, {NAMELESS}", 'device.attributes["gpu.example.com"].model == "H100"', ["DRA752"]),
        (
            f"{A100}, {NAMELESS}",
            'device.attributes["gpu.example.com"].model == "A100"',
            [],
        ),  # the class may leave out b
        (
            A100,
            'device.attributes["other.example.com"].model == "A100"',
            [],
        ),  # of a driver that is not there
        (A100, 'device.driver == "other.example.com"', []),
    ],
)
def test_unknown_class_is_judged_by_facts_of_all_devices(
    devices: str, expression: str, codes: list[str]
) -> None:
    text = selecting(expression, "our-own")
    slices = load(
        ["-"], stdin=documents(NIC_SLICE, GPU_SLICE.replace("DEVICES", devices)).encode()
    ).documents
    values = [document.value for document in slices]
    report = lint(
        load(["-"], stdin=text.encode()), Target.of(), devices=TriedDevices(map(decode, values), {})
    )
    assert [
        (finding.code, finding.severity, finding.confidence) for finding in report.findings
    ] == [(code, "warning", "possible") for code in codes]
    known = {"gpu": load(["-"], stdin=GPU.encode()).documents[0].value}
    report = lint(
        load(["-"], stdin=text.encode()),
        Target.of(),
        devices=TriedDevices(map(decode, values), known),
    )
    assert [finding.code for finding in report.findings] == ["DRA755"]


def test_classes_are_taken_as_they_were_assumed() -> None:
    text = selecting('device.attributes["gpu.example.com"].model == "A100"', "gpu.example.com")
    slices = load(
        ["-"],
        stdin=documents(NIC_SLICE, GPU_SLICE.replace("DEVICES", f"{A100}, {NAMELESS}")).encode(),
    ).documents
    assumed = {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value}
    inventory = TriedDevices([decode(document.value) for document in slices], {}, assumed=assumed)
    (advice,) = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory).findings
    assert (advice.code, advice.severity, advice.confidence) == ("DRA751", "error", "likely")
    assert "fails on 1 of 2 devices" in advice.message


TYPED = (
    published("node-1", "gpu-0")
    + "    attributes: {model: {string: A100}, version: {version: 1.2.3}, cores: {int: 4}}\n"
)


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        (
            'version == "1.2.3"',
            "DRA751",
            "version has type version, such as 1.2.3: compare it with compareTo(semver(",
        ),
        ('cores > "3"', "DRA751", "cores has type int, such as 4"),
        ("model", "DRA751", "model has type string, such as A100"),
        ('modell == "A100"', "DRA751", "did you mean model?"),
        ('cores == "4"', "DRA752", 'cores: 4 ×1 (of type int, which never equals the string "4")'),
        ("cores == 5", "DRA752", "cores: 4 ×1"),
    ],
)
def test_selector_meeting_another_type_names_the_type(
    expression: str, code: str, said: str
) -> None:
    (slice_,) = load(["-"], stdin=TYPED.encode()).documents
    text = selecting(f'device.attributes["gpu.example.com"].{expression}', "gpu.example.com")
    inventory = TriedDevices(
        [decode(slice_.value)],
        {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value},
    )
    (finding,) = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory).findings
    assert finding.code == code
    assert (finding.help or "").startswith(said)
