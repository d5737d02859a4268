"""Lists of machines: which comma begins a machine, and the number of nodes behind ``*``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dractl.errors import UsageError
from dractl.machines.described import is_description
from dractl.machines.spec import node_groups


def groups(text: str) -> dict[str, int]:
    return {group.machine: group.count for group in node_groups(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dgx-h100", {"dgx-h100": 1}),
        ("dgx-h100*4,p5.48xlarge*2", {"dgx-h100": 4, "p5.48xlarge": 2}),
        ("p5.48xlarge,dgx-a100", {"p5.48xlarge": 1, "dgx-a100": 1}),
        ("2xH100,1xnic", {"2xH100,1xnic": 1}),
        ("2xH100,1xnic*3", {"2xH100,1xnic": 3}),
        ("2xH100*3,1xnic", {"2xH100": 3, "1xnic": 1}),
        ("dgx-h100,mig=7x1g.10gb*2", {"dgx-h100,mig=7x1g.10gb": 2}),
        ("H100,mig=3g.40gb+2x1g.10gb,nic", {"H100,mig=3g.40gb+2x1g.10gb,nic": 1}),
        (
            "p5.48xlarge,dgx-a100,driver=570.1,2xH100,nic",
            {"p5.48xlarge": 1, "dgx-a100,driver=570.1": 1, "2xH100,nic": 1},
        ),
        ("H100,mig=1g.10gb, a.yaml ,4xB200", {"H100,mig=1g.10gb": 1, "a.yaml": 1, "4xB200": 1}),
        ("racks/lab.yaml*8,dgx-h100", {"racks/lab.yaml": 8, "dgx-h100": 1}),
    ],
)
def test_a_list_is_split_at_commas_between_machines(text: str, expected: dict[str, int]) -> None:
    assert groups(text) == expected


@pytest.mark.parametrize("count", ["0", "", "x", "-1", "1000000", "2*3", "٣"])
def test_number_of_nodes_is_refused_with_the_allowed_ones(count: str) -> None:
    with pytest.raises(UsageError, match="the number of nodes is 1 to 100,000"):
        node_groups(f"p5.48xlarge,dgx-h100*{count}")


@pytest.mark.parametrize("text", ["", " , "])
def test_a_list_without_a_machine_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--hardware names no machine"):
        node_groups(text)


def test_a_setting_behind_a_number_of_nodes_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match="driver=570 follows the number") as refused:
        node_groups("dgx-h100*4,driver=570")
    assert refused.value.hint == "write dgx-h100,driver=570*4"


def test_existing_files_begin_machines_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot or slices may have any name, even one with a comma; a product is no file."""
    monkeypatch.chdir(tmp_path)
    for name in ("node.json", "node,1.json", "nic"):
        (tmp_path / name).write_text("{}")
    assert groups("node.json*2,H100,nic") == {"node.json": 2, "H100,nic": 1}
    assert groups("node,1.json") == {"node,1.json": 1}


@pytest.mark.parametrize(
    ("name", "text", "describes"),
    [
        ("lab.yaml", "roots:\n- {devices: [H100]}\n", True),
        ("slices.yaml", "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n", False),
        ("list.yaml", '{"kind": "List", "apiVersion": "v1"}', False),
        ("node.yaml", "schema: dractl/machine/v1\n", False),
        ("node.json", "{}", False),
    ],
)
def test_machine_file_is_distinguished_from_slices_and_snapshots(
    name: str, text: str, describes: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert is_description(str(tmp_path / name)) is describes
