"""The nodes that ``--hardware`` values describe."""

import pytest

from dractl.errors import UsageError
from dractl.machines import described, names
from dractl.machines.nodes import node_name, parse_machines, single_machine
from dractl.machines.patterns import VENDORS


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("p5.48xlarge", "p5.48xlarge"),
        ("machines/Rack 7.yaml", "rack-7"),
        ("8xH100,8xnic", "8xh100-8xnic"),
        ("--", "node-1"),
    ],
)
def test_a_node_has_a_valid_name_made_of_its_machine(spec: str, name: str) -> None:
    assert node_name(spec) == name


@pytest.mark.parametrize(
    ("values", "machines"),
    [
        (["dgx-h100*4", "dgx-h100,p5.48xlarge*2"], ["dgx-h100", "p5.48xlarge"]),
        (["dgx-h100,cpus=64", "2xH100"], ["dgx-h100,cpus=64", "2xH100"]),
        (["8xH100,8xnic,cpus=64,dgx-a100"], ["8xH100,8xnic,cpus=64", "dgx-a100"]),
        (["a.yaml,b.yml"], ["a.yaml", "b.yml"]),
    ],
)
def test_parts_between_commas_belong_to_the_machine_before_them(
    values: list[str], machines: list[str]
) -> None:
    assert parse_machines(values) == machines


@pytest.mark.parametrize("value", ["dgx-h100,dgx-a100", "dgx-h100*2"])
def test_several_machines_are_refused_where_one_is_shown(value: str) -> None:
    with pytest.raises(UsageError, match="discover shows one"):
        single_machine([value], "discover shows one")


@pytest.mark.parametrize(
    ("value", "machines"),
    [
        ("p5*", ["p5.48xlarge", "p5.4xlarge", "p5e.48xlarge", "p5en.48xlarge"]),
        ("P5.4?XLARGE", ["p5.48xlarge"]),
        ("dgx-[ab]*00", ["dgx-a100", "dgx-b200"]),
        ("dell,p5.48xlarge*2", ["xe9680-mi300x", "p5.48xlarge"]),
        ("p5.48xlarge,ibm,8xH100,8xnic", ["p5.48xlarge", "gx3d-160x1792x8h100", "8xH100,8xnic"]),
        ("p5.4*,p5.48xlarge", ["p5.48xlarge", "p5.4xlarge"]),
    ],
)
def test_pattern_names_all_matching_machines(value: str, machines: list[str]) -> None:
    assert parse_machines([value]) == machines


def test_all_are_the_machines_of_all_vendors() -> None:
    """Titles begin with the vendor; each machine has one."""
    assert parse_machines(["all"]) == list(names.every())
    assert sorted(parse_machines([",".join(VENDORS)])) == sorted(names.every())
    assert sum(len(parse_machines([word])) for word in VENDORS) == len(names.every())
    assert described.load(parse_machines(["aws"])[0]).title.startswith("Amazon EC2")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("p55*", "no machine matches 'p55*'; the nearest are p5"),
        ("*dgx-h10?0", "no machine matches '*dgx-h10?0'; the nearest are dgx-h100"),
        ("???", "no machine matches '???'"),
        ("p5*,cpus=64", "cpus=64 follows p5*, which matches several machines"),
    ],
)
def test_refused_patterns(value: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_machines([value])
    assert message in str(refused.value)
