"""Derived attributes: the value that a request's CEL expression gives a device, for the claim's constraints.

EvaluateDerivedAttribute and valToDeviceAttribute in k8s.io/dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.cel.device import View
from dractl.cel.evaluation import build, frame
from dractl.cel.values import Aborted, CelError, Uint
from dractl.model.slices import DeviceAttribute
from dractl.model.version import Version

if TYPE_CHECKING:
    from dractl.cel import Environment, Program
    from dractl.model import Device

_NOT_BOOL = "must evaluate to bool or the unknown type, not "
_ALLOWED = re.compile(r"(bool|int|string|any|dyn|google\.protobuf\.Any|kubernetes\.Semver)")


class DerivedFault(ValueError):
    """An expression that gives no value; the text is upstream's."""


class DerivedAttributes:
    """The derived attributes of devices, each expression evaluated once a device."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._programs: dict[str, Program | str] = {}

    def compile_fault(self, expression: str) -> str | None:
        """Upstream's text for an expression that does not compile as a derived attribute."""
        program = self._program(expression)
        return program if isinstance(program, str) else None

    def value(self, expression: str, driver: str, device: Device) -> DeviceAttribute:
        """The attribute. Raises DerivedFault."""
        program = self._program(expression)
        if isinstance(program, str):
            raise DerivedFault(program)
        view = View(driver, device)
        fault = view.fault(program.declarations.list_values)
        if fault is not None:
            raise DerivedFault(fault)
        assert program.checked is not None
        try:
            result = build(program.checked.root, program.declarations.release)(frame(view))
        except (CelError, Aborted) as error:
            raise DerivedFault(str(error)) from None
        return _attribute(result)

    def _program(self, expression: str) -> Program | str:
        found = self._programs.get(expression)
        if found is None:
            found = self._programs[expression] = self._compile(expression)
        return found

    def _compile(self, expression: str) -> Program | str:
        program = self.environment.compile(expression)
        if program.ok:
            kind = program.output_type or ""
        elif program.error is not None and program.error.startswith(_NOT_BOOL):
            kind = program.error.removeprefix(_NOT_BOOL)
            # The selector's rule for its type does not hold here; dyn() takes any type and changes nothing else.
            program = self.environment.compile(f"dyn({expression}\n)")
        else:
            return program.error or ""
        element = kind[5:-1] if kind.startswith("list(") else kind
        if not _ALLOWED.fullmatch(element):
            return (
                "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, "
                f"not {kind}"
            )
        return program


def _attribute(value: Any) -> DeviceAttribute:
    if isinstance(value, list):
        return _list_attribute(value)
    kind = _kind(value)
    if kind is None:
        raise DerivedFault(f"unsupported CEL return type: {_go_type(value)}")
    return DeviceAttribute(kind, str(value) if kind == "version" else value)  # type: ignore[arg-type]


def _list_attribute(values: list[Any]) -> DeviceAttribute:
    if not values:
        return DeviceAttribute("strings", ())
    kind = _kind(values[0])
    if kind is None:
        raise DerivedFault(f"unsupported list element type: {_go_type(values[0])}")
    for index, value in enumerate(values):
        if _kind(value) != kind:
            word = "semver" if kind == "version" else kind
            raise DerivedFault(f"expected list element at index {index} to be {word}, got {_go_type(value)}")
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
    """The name that Go's %T prints for the value's own type."""
    if isinstance(value, Uint):
        return "uint64"
    names = {bool: "bool", int: "int64", str: "string", float: "float64", bytes: "[]uint8", Version: "semver.Version"}
    if value is None:
        return "structpb.NullValue"
    return names.get(type(value), "map[ref.Val]ref.Val" if isinstance(value, dict) else "types.ref.Val")
