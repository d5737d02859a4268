"""How many copies are aligned, counted by hand on machines whose wiring is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dractl.allocation import Features
from dractl.capacity import place
from dractl.capacity.aligned import aligned
from dractl.capacity.shapes import of_shape
from dractl.cli.main import main
from tests.alignment.machines import cluster, holding

if TYPE_CHECKING:
    import pytest

    from dractl.capacity.aligned import Aligned

FEATURES = Features.for_release("1.37")
FIRST_NIC = "pci-0000-18-00-0"  # of dgx-h100, beside gpu-0


def counted(shape: str, *objects: dict[str, Any]) -> tuple[int, Aligned]:
    state = cluster("dgx-h100", *objects)
    found = place(of_shape(state, FEATURES, shape, "ml", constrained=False), FEATURES)
    return found.fits, aligned(found, FEATURES)


def test_first_fit_is_aligned_while_the_orders_of_gpus_and_nics_agree() -> None:
    fits, told = counted("gpu=1,nic=1")
    assert (fits, told.first, told.possible, told.missed) == (8, 8, 8, False)
    assert told.constraint is None


def test_one_nic_in_use_puts_every_pair_of_first_fit_apart() -> None:
    """gpu-0 gets the second NIC, gpu-1 the third, and so on; seven GPUs still have their own."""
    fits, told = counted("gpu=1,nic=1", holding("c", "n", nic=[FIRST_NIC]))
    assert (fits, told.first, told.possible, told.missed) == (7, 0, 7, True)
    assert told.constraint is not None
    assert told.constraint.match_attribute == "resource.kubernetes.io/pcieRoot"
    assert told.constrained == 7


def test_pairs_are_on_one_socket_where_they_can_be() -> None:
    """Three roots are left on one socket, four on the other: one copy and two."""
    fits, told = counted("gpu=2,nic=2", holding("c", "n", nic=[FIRST_NIC]))
    assert (fits, told.first, told.possible) == (3, 0, 3)
    assert told.constraint is not None
    assert (told.constraint.parts, told.constrained) == (2, 3)


def test_copies_of_one_kind_and_of_one_device() -> None:
    fits, told = counted("gpu=1")
    assert (fits, told.first, told.missed) == (8, 8, False)
    fits, told = counted("gpu=3")  # three of the first socket; then one of it with two of the other
    assert (fits, told.first, told.possible) == (2, 1, 2)


def test_the_command_counts_what_first_fit_aligns(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "dump.json"
    state = cluster("dgx-h100", holding("c", "n", nic=[FIRST_NIC]))
    items = [value for kind in state.kinds for value in state.all(kind).values()]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert (
        main(["fit", "gpu=1,nic=1", "-f", str(dump), "--aligned", "-o", "json", "--isolated"]) == 1
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["fits"], found["aligned"]["placed"], found["aligned"]["possible"]) == (0, 7, 7)
    assert main(["fit", "gpu=1,nic=1", "-f", str(dump), "--aligned", "--isolated"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "7 more copies fit, 0 of them with the best alignment" in said
    assert "at least 7 could have it" in said
    assert "over gpu and nic: 7 fit, all of them aligned" in said
    assert main(["fit", "gpu=1,nic=1;gpu=8", "-f", str(dump), "--aligned", "--isolated"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "gpu=1,nic=1: 0 of 7 with the best alignment" in said
    assert "gpu=8: 1 of 1 with the best alignment" in said
    assert (
        main(["fit", "gpu=1,nic=1", "-f", str(dump), "--aligned", "-o", "html", "--isolated"]) == 1
    )
    assert "0 of 7 with the best alignment" in capsys.readouterr().out
