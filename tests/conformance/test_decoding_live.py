"""Documents made up from the schemas, some of their values replaced, and what a running API server says to them.

Needs the programs of ``$DRACTL_SHARED/oracle`` (``kube-<release>``) and skips where they are missing. ``DRACTL_FUZZ``
sets how many documents each release is asked about, ``DRACTL_SEED`` which."""

from __future__ import annotations

import json
import os
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from dractl.model import Target
from dractl.model.releases import COMPARED
from dractl.validation import scalars
from dractl.validation.decoding import decode
from dractl.validation.schemas import schemas_of
from dractl.validation.shapes import List, Map, Record
from tests.oracle import control_plane, create

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dractl.validation.shapes import Shape

pytestmark = [pytest.mark.conformance, pytest.mark.oracle, pytest.mark.live]

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 5.0, 1.5, -0.0, 1e-7, 1e20, 1e21, 2**31, 2**63, -(2**63) - 1, 2**64,
    "", "x", "1", "1.5", " 2 ", "1Gi", "1e3", "+5", "-", "1..", "Ki", "true", "25%", "a\nb", "1Gi\n", "é", "\u2003 1",
    "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00+25:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00z", "2026-01-01T1:00:00,5Z",
    [], {}, ["a"], [None], [1], {"a": 1}, {"a": "b"}, {"": None},
]  # fmt: skip
PLAIN: dict[Any, list[Any]] = {
    scalars.BOOL: [True, False, None],
    scalars.INT32: [0, 1, 5, -3, 2**31 - 1, None, 4.0],
    scalars.INT64: [0, 1, 5, -3, 2**63 - 1, -(2**63), None, 4.0, 1e18],
    scalars.QUANTITY: [
        "1",
        "1Gi",
        "100m",
        "1e3",
        5,
        1.5,
        "-1",
        ".5",
        "5.",
        "+1",
        "1E",
        "1Ei",
        "0",
        None,
        1e21,
        10**20,
    ],
    scalars.TIME: [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00+01:00",
        "2026-01-01T00:00:00.123Z",
        None,
    ],
    scalars.MICRO_TIME: ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", None],
    scalars.INT32_OR_STRING: [1, "http", "25%", None, 0],
    scalars.ANYTHING: [*ODD, {"apiVersion": "v1", "kind": "X"}],
}


class Maker:
    """Makes documents of a release that mostly decode."""

    def __init__(self, release: str, seed: int) -> None:
        self.random = random.Random(f"{release} {seed}")
        schemas = schemas_of(release)
        files = [
            file
            for group in ("core", "apps", "batch", "resource.k8s.io")
            for file in schemas.files(group)
        ]
        self.kinds = []
        for file in files:
            group, _, version = file.rpartition("-")
            api_version = version if group == "core" else f"{group}/{version}"
            self.kinds += [
                (api_version, kind, schemas.kind(api_version, kind)) for kind in schemas.kinds(file)
            ]

    def document(self) -> tuple[dict[str, Any], Record]:
        api_version, kind, shape = self.random.choice(self.kinds)
        assert shape is not None
        made: dict[str, Any] = {"apiVersion": api_version, "kind": kind}
        for name in sorted(set(shape.names) - set(made)):
            if self.random.random() < {"spec": 0.97, "metadata": 1}.get(name, 0.3):
                made[name] = self.value(shape.field(name), 9)
        if isinstance(made.get("metadata"), dict):
            for name in (
                "namespace",
                "uid",
                "resourceVersion",
            ):  # other checks of the request look at these
                made["metadata"].pop(name, None)
        return made, shape

    def value(self, shape: Shape | None, depth: int) -> Any:
        choose = self.random.choice
        if self.random.random() < 0.02:
            return choose(ODD)
        if isinstance(shape, Record):
            names = sorted(shape.names) if depth > 0 else []
            some = self.random.sample(names, min(len(names), choose([1, 2, 3, 4])))
            made = {name: self.value(shape.field(name), depth - 1) for name in some}
            if self.random.random() < 0.01:
                made[choose(["foo", "Name", "", " name", "spec", "status"])] = choose(ODD)
            return made
        number = choose([0, 1, 1, 2]) if depth > 0 else 0
        if isinstance(shape, List):
            return [self.value(shape.item, depth - 1) for _ in range(number)]
        if isinstance(shape, Map):
            return {
                choose(["a", "b", "cpu", "x.y/z"]): self.value(shape.item, depth - 1)
                for _ in range(number)
            }
        return choose(PLAIN.get(shape, ["a", "b", "", "x.y/z", "default", None, "1"]))


@pytest.fixture(params=COMPARED)
def cluster(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> Iterator[Any]:
    with control_plane(whole, request.param, tmp_path) as running:
        yield running


def difference(
    status: int, message: str, document: dict[str, Any], shape: Record, release: str
) -> str | None:
    ours = decode(document, shape, Target.of(release), ())
    wrong = [violation.said for violation in ours if violation.rule == "wrong-type"]
    unknown = {violation.field for violation in ours if violation.rule == "unknown-field"}
    if status != 400:
        return f"we say {[violation.message for violation in ours]}" if ours else None
    if "strict decoding error" in message:
        return (
            None
            if unknown == set(re.findall(r'unknown field "([^"]*)"', message))
            else f"we say {unknown}"
        )
    said = message.partition("cannot be handled as a ")[2].partition(": ")[2]
    return (
        None
        if said and any(text.endswith(said) for text in wrong)
        else f"we say {wrong or unknown}"
    )


def test_a_running_server_says_the_same(cluster: Any, record_property: Any) -> None:
    maker = Maker(cluster.release, int(os.environ.get("DRACTL_SEED", "1")))
    number = int(os.environ.get("DRACTL_FUZZ", "500"))
    wrong = {}
    for _ in range(number):
        document, shape = maker.document()
        status, _, message = create(cluster, document)
        if found := difference(status, message, document, shape, cluster.release):
            wrong[json.dumps(document)] = f"the server says {status} {message[-500:]}; {found}"
    record_property("cases", number)
    assert not wrong
