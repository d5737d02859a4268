"""Numbers of aligned copies, counted by hand on machines whose wiring is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.capacity.aligned_counts import count_aligned_copies
from dractl.capacity.shapes import place_closest, shape_copies
from dractl.cli.main import main
from tests.alignment.machines import allocated_claim, cluster

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.capacity.aligned_counts import AlignedCounts

FEATURES = Features.for_release("1.37")
FIRST_NIC = "pci-0000-18-00-0"  # of dgx-h100, beside gpu-0
OTHER_NICS = [f"pci-0000-{bus}-00-0" for bus in ("5e", "9a", "c0", "ce", "dc")]  # gpu-3 to gpu-7


def count_aligned(shape: str, *objects: dict[str, Any]) -> tuple[int, AlignedCounts]:
    state = cluster("dgx-h100", *objects)
    found = place_closest(shape_copies(state, FEATURES, shape, "ml"), FEATURES)
    return found.fits, count_aligned_copies(found, FEATURES)


def test_first_fit_is_aligned_while_the_orders_of_gpus_and_nics_agree() -> None:
    fits, near = count_aligned("gpu=1,nic=1@none")
    assert (fits, near.first, near.possible, near.is_choice_missed) == (8, 8, 8, False)
    assert near.constraint is None


def test_one_nic_in_use_puts_every_pair_of_first_fit_apart() -> None:
    """gpu-0 gets the second NIC, gpu-1 the third, and so on; seven GPUs still have their own."""
    fits, near = count_aligned("gpu=1,nic=1@none", allocated_claim("c", "n", nic=[FIRST_NIC]))
    assert (fits, near.first, near.possible, near.is_choice_missed) == (7, 0, 7, True)
    assert near.constraint is not None
    assert near.constraint.match_attribute == "resource.kubernetes.io/pcieRoot"
    assert near.fits_with_constraint == 7


def test_pairs_are_on_one_socket_where_they_can_be() -> None:
    """Three roots are left on one socket, four on the other: one copy and two."""
    fits, near = count_aligned("gpu=2,nic=2@none", allocated_claim("c", "n", nic=[FIRST_NIC]))
    assert (fits, near.first, near.possible) == (3, 0, 3)
    assert near.constraint is not None
    assert (near.constraint.parts, near.fits_with_constraint) == (2, 3)


@pytest.mark.parametrize(("shape", "copies"), [("gpu=1,nic=1", 7), ("gpu=2,nic=2", 3)])
def test_a_shape_without_a_constraint_takes_the_aligned_choices(shape: str, copies: int) -> None:
    """The claim with the closest alignment gets what first fit misses on the nodes above."""
    fits, near = count_aligned(shape, allocated_claim("c", "n", nic=[FIRST_NIC]))
    assert (fits, near.first, near.is_choice_missed) == (copies, copies, False)


def test_copies_of_one_kind_or_one_device_are_aligned() -> None:
    fits, near = count_aligned("gpu=1")
    assert (fits, near.first, near.is_choice_missed) == (8, 8, False)
    # Three of the first socket; then one of it with two of the other.
    fits, near = count_aligned("gpu=3@none")
    assert (fits, near.first, near.possible) == (2, 1, 2)
    fits, near = count_aligned("gpu=3")  # three of each socket
    assert (fits, near.first) == (2, 2)


def test_copies_farther_apart_than_the_idle_node_allows_are_not_counted() -> None:
    """The NICs beside gpu-0 to gpu-2 are left, and all GPUs: three copies of two GPUs and a NIC.

    On the idle node both GPUs are on the socket of the NIC. This socket has four GPUs, so the third
    copy takes two of the other one.
    """
    fits, near = count_aligned("gpu=2,nic=1", allocated_claim("c", "n", nic=OTHER_NICS))
    assert (fits, near.first) == (3, 2)


def test_fit_aligned_counts_the_aligned_copies_of_first_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = cluster("dgx-h100", allocated_claim("c", "n", nic=[FIRST_NIC]))
    items = [value for kind in state.kinds for value in state.objects(kind).values()]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def fit(shape: str, *options: str) -> tuple[int, str]:
        code = main(["fit", shape, "-f", str(dump), "--aligned", "--isolated", *options])
        return code, capsys.readouterr().out

    code, out = fit("gpu=1,nic=1@none", "-o", "json")
    answer = json.loads(out)
    assert (code, answer["fits"]) == (1, 0)
    assert (answer["aligned"]["placed"], answer["aligned"]["possible"]) == (7, 7)
    code, out = fit("gpu=1,nic=1@none")
    text = " ".join(out.split())
    assert (code, "7 more copies fit, 0 of them with the best alignment" in text) == (1, True)
    assert "at least 7 could have it" in text
    assert "over gpu and nic: 7 fit, all of them aligned" in text
    code, out = fit("gpu=1,nic=1@none;gpu=8")
    text = " ".join(out.split())
    assert code == 1
    assert "without constraint or preference 0 of 7 with the best alignment" in text
    assert "1 of 1 with the best alignment" in text
    code, out = fit("gpu=1,nic=1@none", "-o", "html")
    assert (code, "0 of 7 with the best alignment" in out) == (1, True)
    code, out = fit("gpu=1,nic=1")
    assert (code, "7 more copies fit, all with the best alignment" in out) == (0, True)
