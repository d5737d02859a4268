"""Derived attributes: the value that a request's CEL expression gives a device, for the claim's
constraints.

EvaluateDerivedAttribute and valToDeviceAttribute in
k8s.io/dynamic-resource-allocation/cel/compile.go.
"""

from typing import Any

from dractl.cel import EvalError, attribute_environment
from dractl.cel.values import Uint
from dractl.model import Device
from dractl.model.releases import Target
from dractl.model.slices import DeviceAttribute
from dractl.model.version import Version


class DerivedFault(ValueError):
    """An expression that yields no value; the text is upstream's."""


class DerivedAttributes:
    """The derived attributes of devices, as the scheduler of a release evaluates them."""

    def __init__(self, target: Target) -> None:
        self._environment = attribute_environment(target, "stored")

    def compile_fault(self, expression: str) -> str | None:
        """Return upstream's text for an expression that does not compile as a derived attribute;
        None if it compiles.
        """
        return self._environment.compile(expression).error

    def value(self, expression: str, driver: str, device: Device) -> DeviceAttribute:
        """Return the attribute. Raises DerivedFault."""
        program = self._environment.compile(expression)
        if program.error is not None:
            raise DerivedFault(program.error)
        result = program.value(driver, device)
        if type(result) is EvalError:
            raise DerivedFault(result.text)
        return _attribute(result)


def _attribute(value: Any) -> DeviceAttribute:
    if isinstance(value, list):
        return _list_attribute(value)
    kind = _kind(value)
    if kind is None:
        raise DerivedFault(f"unsupported CEL return type: {_go_type(value)}")
    content = str(value) if kind == "version" else value
    return DeviceAttribute(kind, content)  # type: ignore[arg-type]


def _list_attribute(values: list[Any]) -> DeviceAttribute:
    if not values:
        return DeviceAttribute("strings", ())
    kind = _kind(values[0])
    if kind is None:
        raise DerivedFault(f"unsupported list element type: {_go_type(values[0])}")
    for index, value in enumerate(values):
        if _kind(value) != kind:
            word = "semver" if kind == "version" else kind
            raise DerivedFault(
                f"expected list element at index {index} to be {word}, got {_go_type(value)}"
            )
    texts = tuple(str(value) for value in values) if kind == "version" else tuple(values)
    return DeviceAttribute(f"{kind}s", texts)  # type: ignore[arg-type]


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Uint):
        return None
    if isinstance(value, int):
        return "int"
    if isinstance(value, str):
        return "string"
    return "version" if isinstance(value, Version) else None


def _go_type(value: Any) -> str:
    """Return the name that Go's %T prints for the value's own type."""
    if isinstance(value, Uint):
        return "uint64"
    names = {
        bool: "bool",
        int: "int64",
        str: "string",
        float: "float64",
        bytes: "[]uint8",
        Version: "semver.Version",
    }
    if value is None:
        return "structpb.NullValue"
    return names.get(
        type(value), "map[ref.Val]ref.Val" if isinstance(value, dict) else "types.ref.Val"
    )
