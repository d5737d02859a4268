"""The nodes that ``--hardware`` values describe."""

import pytest

from dractl.errors import UsageError
from dractl.machines.nodes import node_name, parse_machines, single_machine


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
