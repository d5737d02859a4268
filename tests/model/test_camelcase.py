"""Values as JSON."""

from __future__ import annotations

from msgspec import Struct

from dractl.model.camelcase import camel_case, encode


class Inner(Struct, frozen=True):
    class_code: str | None = None
    pci_bus_id: int = 0


class Outer(Struct, frozen=True):
    inner: Inner
    many: tuple[Inner, ...] = ()
    text: str = ""


def test_names() -> None:
    assert [camel_case(name) for name in ("bdf", "numa_node", "pci_bus_id")] == [
        "bdf",
        "numaNode",
        "pciBusId",
    ]


def test_nothing_known_is_left_out_unless_it_is_always_there() -> None:
    value = Outer(Inner(), (Inner("0x03"),))
    assert encode(value, renamed={"class_code": "class"}) == {
        "inner": {"pciBusId": 0},
        "many": [{"class": "0x03", "pciBusId": 0}],
        "text": "",
    }
    assert encode(Outer(Inner()), always={"class_code", "many"}, absent=(None, (), "")) == {
        "inner": {"classCode": None, "pciBusId": 0},
        "many": [],
    }
