"""DRA606 contradictory-selectors."""

from __future__ import annotations

import pytest

from tests.lint.written import GPU, claim, device_class, documents, found

IS_A100 = 'device.attributes["gpu.example.com"].model == "A100"'


@pytest.mark.parametrize(
    ("expressions", "at"),
    [
        (('device.driver == "a.example.com"',), 'device.driver == "a.example.com"'),
        ((IS_A100, '"H100" == device.attributes["gpu.example.com"]["model"]'), '"H100" == device'),
        (
            (IS_A100 + ' && device.attributes["gpu.example.com"].model == "H100"',),
            'device.attributes["gpu.example.com"].model == "H',
        ),
        (
            (IS_A100, 'device.attributes["gpu.example.com"].model in ["H100", "H200"]'),
            "device.attributes",
        ),
        (
            (IS_A100, 'device.attributes["gpu.example.com"].?model.orValue("") == "H100"'),
            "device.attributes",
        ),
        (
            (IS_A100, 'true && (1 == 1 && device.attributes["gpu.example.com"].model == 1)'),
            "device.attributes",
        ),
    ],
)
def test_mutually_exclusive_selectors_leave_no_device(
    expressions: tuple[str, ...], at: str
) -> None:
    listed = ", ".join("{cel: {expression: '" + expression + "'}}" for expression in expressions)
    text = documents(GPU, claim("gpu gpu.example.com {selectors: [" + listed + "]}"))
    (advice,) = found(text, "DRA606")
    assert advice.severity == "error"
    assert text.splitlines()[advice.position.line - 1][advice.position.column - 1 :].startswith(at)


@pytest.mark.parametrize(
    "expressions",
    [
        (IS_A100, IS_A100),
        (IS_A100, 'device.attributes["other.example.com"].model == "H100"'),
        (IS_A100 + ' || device.attributes["gpu.example.com"].model == "H100"',),
        (IS_A100, '!(device.attributes["gpu.example.com"].model == "H100")'),
        (IS_A100, 'device.attributes["gpu.example.com"].model != "H100"'),
        (IS_A100, 'device.attributes["gpu.example.com"].model in ["H100", "A100"]'),
        (
            'device.attributes["gpu.example.com"].count == 1',
            'device.attributes["gpu.example.com"].count in [1.0]',
        ),
        # A device without the attribute satisfies both.
        (
            'device.attributes["gpu.example.com"].?model.orValue("A") == "A"',
            'device.attributes["gpu.example.com"].?model.orValue("B") == "B"',
        ),
        # The items of a list are different things.
        (
            'device.attributes["a.example.com"].x[0] == "A" && device.attributes["a.example.com"].x[1] == "B"',
        ),
    ],
)
def test_compatible_selectors_are_left_alone(expressions: tuple[str, ...]) -> None:
    listed = ", ".join("{cel: {expression: '" + expression + "'}}" for expression in expressions)
    assert not found(
        documents(GPU, claim("gpu gpu.example.com {selectors: [" + listed + "]}")), "DRA606"
    )


def test_contradictory_class_is_reported_once() -> None:
    bad = device_class("bad", 'device.driver == "a"', 'device.driver == "b"')
    (advice,) = found(documents(bad, claim("gpu bad"), claim("gpu bad", name="other")), "DRA606")
    assert advice.object.kind == "DeviceClass"
