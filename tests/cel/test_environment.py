"""Declarations by release and mode: k8s.io/dynamic-resource-allocation/cel/compile.go, apiserver/pkg/cel/environment/base.go."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dractl.cel import attribute_environment, environment
from dractl.model import Target
from tests.cel.conftest import compiled

ATTRIBUTE = 'device.attributes["d"].x'


@pytest.mark.parametrize(
    ("release", "mode", "ok"),
    [
        ("1.33", "new", False),
        ("1.34", "new", False),
        ("1.34", "stored", True),
        ("1.35", "new", True),
        ("1.37", "new", True),
    ],
)
def test_extension_lists(release: str, mode: str, ok: bool) -> None:
    assert compiled("[2, 1].sort() == [1, 2]", release, mode).ok is ok


@pytest.mark.parametrize(
    ("release", "mode", "gate", "ok"),
    [
        ("1.34", "new", None, False),
        ("1.34", "new", True, True),
        ("1.34", "stored", None, True),
        ("1.36", "new", None, True),
        ("1.36", "new", False, False),
        ("1.36", "stored", False, True),
    ],
)
def test_allow_multiple_allocations(release: str, mode: str, gate: bool | None, ok: bool) -> None:
    gates = {} if gate is None else {"DRAConsumableCapacity": gate}
    program = compiled("device.allowMultipleAllocations", release, mode, **gates)
    assert program.ok is ok
    if not ok:
        assert program.issues[0].message == "undefined field 'allowMultipleAllocations'"
        assert program.issues[0].offset == len("device")


@pytest.mark.parametrize(
    ("release", "mode", "gate", "kind"),
    [
        ("1.35", "new", False, "google.protobuf.Any"),
        ("1.36", "stored", False, "google.protobuf.Any"),
        ("1.36", "new", True, "dyn"),
        ("1.37", "new", False, "google.protobuf.Any"),
        ("1.37", "stored", False, "dyn"),
    ],
)
def test_attribute_type(release: str, mode: str, gate: bool, kind: str) -> None:
    gates = {"DRAListTypeAttributes": gate} if gate else {}
    assert compiled(ATTRIBUTE, release, mode, **gates).output_type == kind


@pytest.mark.parametrize(
    ("release", "mode", "gate", "ok"),
    [
        ("1.35", "stored", False, False),
        ("1.36", "new", False, False),
        ("1.36", "new", True, True),
        ("1.36", "stored", False, True),
    ],
)
def test_includes(release: str, mode: str, gate: bool, ok: bool) -> None:
    gates = {"DRAListTypeAttributes": gate} if gate else {}
    assert compiled(f'{ATTRIBUTE}.includes("a")', release, mode, **gates).ok is ok


def test_duration_of_int_is_gone_in_1_37() -> None:
    assert compiled('duration(int(device.driver)) == duration("1s")', "1.36").ok
    assert not compiled('duration(int(device.driver)) == duration("1s")', "1.37").ok


def test_quoted_field_names() -> None:
    text = "{'a-b': 1}.`a-b` == 1"
    assert compiled(text, "1.37", "new").ok
    refused = compiled(text, "1.36", "new")
    assert [(i.message, i.column) for i in refused.issues] == [("unsupported syntax: '`'", 12)]


@pytest.mark.parametrize(
    "text",
    [
        "math.abs(1) == 1",
        "base64.encode(b'a') == ''",
        "'abc'.reverse() == 'cba'",
        "[1].existsOne(x, x == 1)",
    ],
)
def test_absent_everywhere(text: str) -> None:
    assert not compiled(text, "1.37", "new").ok
    assert not compiled(text, "1.37", "stored").ok


def test_derived_attributes_may_be_scalars() -> None:
    env = attribute_environment(Target.of("1.37"))
    assert env.compile('device.driver + "x"').ok
    refused = env.compile("1.5")
    assert (
        refused.error
        == "must evaluate to a primitive scalar (string, integer, boolean, semver), not double"
    )
    assert not env.compile("[1]").ok
    assert attribute_environment(Target.of("1.37"), "stored").compile("[1]").ok


def test_environments_and_programs_are_shared() -> None:
    target = Target.of("1.36")
    assert environment(target, "new") is environment(Target.of("1.36"), "new")
    assert environment(target, "new").compile("true") is environment(target, "new").compile("true")
    assert environment(target, "new") is not environment(target, "stored")


def test_importing_loads_no_library() -> None:
    code = (
        "import sys, dractl.cel\n"
        "heavy = {'cel_expr_python', 'google.protobuf', 're2', 'yaml', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
