"""Devices that expressions are evaluated on."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cel import EvalError, Program, environment
from dractl.model import Device, Target

GPU = {
    "name": "gpu-0",
    "attributes": {
        "type": {"string": "gpu"},
        "index": {"int": 3},
        "healthy": {"bool": True},
        "driverVersion": {"version": "580.65.6"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"},
    },
    "capacity": {"memory": {"value": "80Gi"}, "cores": {"value": "1500m"}},
}


def compiled(text: str, release: str = "1.37", mode: str = "stored", **gates: bool) -> Program:
    return environment(Target.of(release, gates), mode).compile(text)  # type: ignore[arg-type]


def evaluated(
    text: str,
    device: dict[str, Any] | None = None,
    driver: str = "gpu.example.com",
    release: str = "1.37",
) -> Any:
    """The result, or the error's text."""
    program = compiled(text, release)
    assert program.ok, program.error
    result = program.evaluate(driver, Device(GPU if device is None else {"name": "d", **device}))
    return result.text if isinstance(result, EvalError) else result


@pytest.fixture
def gpu() -> Device:
    return Device(GPU)
