"""DRA358 malformed-standard-attribute."""

from __future__ import annotations

import pytest

from tests.lint.written import found, published


def with_attribute(name: str, value: str) -> str:
    return (
        published("node-1", "gpu-0")
        + f"    attributes: {{resource.kubernetes.io/{name}: {{{value}}}}}\n"
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("pcieRoot", 'string: "pci0000:17"', ""),
        ("pcieRoot", 'string: "pci10000:00"', ""),  # behind Intel VMD
        ("pcieRoot", 'string: "0000:17:00.0"', '"0000:17:00.0"'),
        ("pcieRoot", "int: 17", "of type int"),
        ("pciBusID", 'string: "0000:3b:00.0"', ""),
        ("pciBusID", 'string: "3b:00.0"', '"3b:00.0"'),
        ("pciBusID", 'string: "0000:3B:00.0"', '"0000:3B:00.0"'),
        ("numaNode", "int: 1", ""),
        ("numaNode", 'string: "1"', "of type string"),
    ],
)
def test_standard_attributes_have_one_form(name: str, value: str, said: str) -> None:
    advice = found(with_attribute(name, value), "DRA358")
    assert len(advice) == bool(said)
    assert all(said in finding.message for finding in advice)
