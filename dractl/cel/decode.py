"""Decodes checked expressions, as cel-expr-python serializes them, to the nodes of
:mod:`dractl.cel.ast`.
"""

from functools import lru_cache
from typing import Any

from google.protobuf import any_pb2
from msgspec import Struct

from dractl.cel.ast import (
    DYN,
    Call,
    Checked,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from dractl.cel.protos import CheckedExpr, Expr, Kind
from dractl.cel.rewrite import FLATTEN

_PRIMITIVE = ("", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN = ("", "google.protobuf.Any", "google.protobuf.Timestamp", "google.protobuf.Duration")


def decode(serialized: bytes, source: str, tests: dict[int, str] | None = None) -> Checked:
    """Decode the result of ``cel_expr_python.cel.Expression.serialize``.

    ``tests`` has the offsets at which a ``!`` replaces ``has(device.FIELD)`` (see
    :mod:`dractl.cel.rewrite`).
    """
    checked = CheckedExpr.FromString(any_pb2.Any.FromString(serialized).value)
    decoder = _Decoder(
        types={item.key: _type(item.value) for item in checked.type_map},
        overloads={item.key: tuple(item.value.overload_id) for item in checked.reference_map},
        offsets={item.key: item.value for item in checked.source_info.positions},
        tests=tests or {},
    )
    return Checked(decoder.node(checked.expr), source)


@lru_cache(4096)
def _type(data: bytes) -> str:
    """Return a type as cel-go prints it."""
    message = Kind.FromString(data)
    match message.WhichOneof("kind"):
        case "primitive":
            return _PRIMITIVE[message.primitive]
        case "null":
            return "null_type"
        case "wrapper":
            return f"wrapper({_PRIMITIVE[message.wrapper]})"
        case "well_known":
            return _WELL_KNOWN[message.well_known]
        case "list_type":
            return f"list({_type(message.list_type.elem_type)})"
        case "map_type":
            return f"map({_type(message.map_type.key_type)}, {_type(message.map_type.value_type)})"
        case "message_type":
            return str(message.message_type)
        case "type_param":
            return f"<{message.type_param}>"
        case "type":
            return f"type({_type(message.type)})" if message.type else "type"
        case "error":
            return "!error!"
        case "abstract_type":
            inner = ", ".join(map(_type, message.abstract_type.parameter_types))
            return (
                f"{message.abstract_type.name}({inner})"
                if inner
                else str(message.abstract_type.name)
            )
        case _:
            return DYN


class _Decoder(Struct, frozen=True):
    """The tables of a checked expression about its nodes, by their ids."""

    types: dict[int, str]
    overloads: dict[int, tuple[str, ...]]
    offsets: dict[int, int]
    tests: dict[int, str]

    def node(self, data: bytes) -> Node:
        message = Expr.FromString(data)
        identity = message.id
        place = (identity, self.types.get(identity, DYN), self.offsets.get(identity, 0))
        match message.WhichOneof("kind"):
            case "const_expr":
                kind = message.const_expr.WhichOneof("kind")
                if kind in (None, "null_value"):
                    return Const(*place, "null_type", None)
                value = getattr(message.const_expr, kind)
                return Const(*place, kind.removesuffix("_value").removesuffix("64"), value)
            case "ident_expr":
                return Ident(*place, message.ident_expr.name)
            case "select_expr":
                select = message.select_expr
                return Select(*place, self.node(select.operand), select.field, select.test_only)
            case "call_expr":
                return self._call(place, message.call_expr)
            case "list_expr":
                made = message.list_expr
                return ListLiteral(
                    *place, self._nodes(made.elements), frozenset(made.optional_indices)
                )
            case "struct_expr":
                return self._struct(place, message.struct_expr)
            case "comprehension_expr":
                loop = message.comprehension_expr
                parts = (
                    loop.iter_range,
                    loop.accu_init,
                    loop.loop_condition,
                    loop.loop_step,
                    loop.result,
                )
                return Comprehension(
                    *place, loop.iter_var, loop.iter_var2, loop.accu_var, *self._nodes(parts)
                )
            case _:
                return Const(*place, "null_type", None)

    def _nodes(self, parts: Any) -> tuple[Node, ...]:
        return tuple(map(self.node, parts))

    def _call(self, place: tuple[int, str, int], call: Any) -> Node:
        identity, _, offset = place
        if offset in self.tests and call.function == "!_":
            device = Ident(-identity, "kubernetes.DRADevice", offset, "device")
            return Select(*place, device, self.tests[offset], True)
        function = "flatten" if call.function == FLATTEN else call.function
        target = self.node(call.target) if call.target else None
        return Call(
            *place, function, target, self._nodes(call.args), self.overloads.get(identity, ())
        )

    def _struct(self, place: tuple[int, str, int], struct: Any) -> Node:
        if struct.message_name:
            fields = tuple(
                (e.field_key, self.node(e.value), e.optional_entry) for e in struct.entries
            )
            return StructLiteral(*place, struct.message_name, fields)
        entries = (
            MapEntry(self.node(e.map_key), self.node(e.value), e.optional_entry)
            for e in struct.entries
        )
        return MapLiteral(*place, tuple(entries))
