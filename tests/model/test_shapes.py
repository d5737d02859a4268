"""The grammar of shapes: kinds, counts, the constraint at the end, and lists of shapes."""

from __future__ import annotations

import pytest

from dractl.errors import UsageError
from dractl.model.shapes import Constraint, parse, split_list


@pytest.mark.parametrize(
    ("text", "counts", "constraint"),
    [
        ("gpu", {"gpu": 1}, None),
        ("gpu=2,nic=1", {"gpu": 2, "nic": 1}, None),
        ("gpu=2, nic", {"gpu": 2, "nic": 1}, None),
        ("gpu=2,nic=1@pcieRoot", {"gpu": 2, "nic": 1}, "pcieRoot"),
        ("gpu=2@numaNode", {"gpu": 2}, "numaNode"),
        ("gpu@none", {"gpu": 1}, "none"),
        ("gpu=2@resource.kubernetes.io/pcieRoot", {"gpu": 2}, "pcieRoot"),
        ("mig=3g.40gb+2x1g.10gb@none", {"mig-3g.40gb": 1, "mig-1g.10gb": 2}, "none"),
    ],
)
def test_a_shape_is_kinds_with_counts_and_a_constraint_at_its_end(
    text: str, counts: dict[str, int], constraint: Constraint | None
) -> None:
    shape = parse(text)
    assert (shape.text, shape.counts, shape.constraint) == (text, counts, constraint)


def test_names_of_device_classes_are_kinds() -> None:
    assert parse("fast.example.com=2", classes=["fast.example.com"]).counts == {
        "fast.example.com": 2
    }


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("gpu=2@foo", "unknown constraint @foo", "@pcieRoot or @numaNode"),
        ("gpu=2@pcieroot", "did you mean @pcieRoot?", "@none"),
        ("gpu=2@numa", "did you mean @numaNode?", "@none"),
        ("gpu=2@", "no constraint follows @", "@pcieRoot or @numaNode"),
        ("gpu=2@none,nic=1", "@none stands within the shape", "gpu=2,nic=1@none"),
        ("gpu=2@none@pcieRoot", "unknown constraint @none@pcieRoot", "@pcieRoot"),
        ("@pcieRoot", "a shape has 1 to 32 devices", ""),
        ("gpus=2", "did you mean gpu?", "gpu, nic, rdma"),
        ("fast.example.co=2", "did you mean fast.example.com?", "DeviceClass: fast.example.com"),
    ],
)
def test_invalid_shape_is_refused_with_the_allowed_forms(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text, classes=["fast.example.com"])
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("gpu=2,nic=1", ["gpu=2,nic=1"]),
        ("gpu=2,nic=1;gpu=4", ["gpu=2,nic=1", "gpu=4"]),
        ("gpu=2,gpu=4", ["gpu=2", "gpu=4"]),
        ("pair,claim/held,gpu=1+nic=1@none", ["pair", "claim/held", "gpu=1+nic=1@none"]),
        ("gpu=2,nic=1@pcieRoot,gpu=8", ["gpu=2,nic=1@pcieRoot", "gpu=8"]),
        ("gpu=2@none,nic=1@numaNode", ["gpu=2@none", "nic=1@numaNode"]),
        ("pair, gpu=8 ;", ["pair", "gpu=8"]),
    ],
)
def test_commas_of_a_list_separate_shapes_or_stand_within_one(text: str, shapes: list[str]) -> None:
    assert split_list(text) == shapes
