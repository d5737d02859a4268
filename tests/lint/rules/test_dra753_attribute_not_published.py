"""DRA753 attribute-not-published."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import GPU, NICS, ROOT, claim, documents, published


@pytest.mark.parametrize(
    ("types", "matched"),
    [(("int: 0", 'string: "0"'), True), (("int: 0", "int: 1"), False), (("int: 0", ""), True)],
)
def test_values_of_different_types_never_match(types: tuple[str, str], matched: bool) -> None:
    devices = []
    for driver, value in zip(("gpu.example.com", "nic.example.com"), types, strict=True):
        text = published("node-1", "a").replace("gpu.example.com", driver)
        devices.append(
            text
            + (
                f"    attributes: {{resource.kubernetes.io/numaNode: {{{value}}}}}\n"
                if value
                else ""
            )
        )
    slices = load(["-"], stdin=documents(*devices).encode()).documents
    classes = {
        d.name or "": d.value for d in load(["-"], stdin=documents(GPU, NICS).encode()).documents
    }
    text = claim("gpu gpu.example.com\nnic nic.example.com", ROOT.replace("pcieRoot", "numaNode"))
    inventory = TriedDevices([decode(document.value) for document in slices], classes)
    report = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory)
    assert [finding.code for finding in report.findings] == (["DRA753"] if matched else [])
