"""Claims that read a machine's wiring, on a machine of which no source shows it.

Its devices have PCIe roots and NUMA nodes, but nobody knows which: the verdict is undecided, unless
it is the same for every wiring.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from tests.explain.test_matrix import NIC, claim, request, selector

UNKNOWN = "roots:\n- {wiring: unknown, devices: {H100: 8, ConnectX-7: 4}}\n"
KNOWN = "roots:\n" + "".join(
    f'- {{root: "pci0000:{bus}", numa: 0, devices: [2xH100, ConnectX-7]}}\n'
    for bus in ("17", "3d", "60", "86")
)
"""Four roots, each with two GPUs and a NIC."""

STANDARD = 'device.attributes["resource.kubernetes.io"]'
ON_ROOT = f'{STANDARD}.pcieRoot == "pci0000:17"'
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"


def spec(
    *requests: dict[str, Any], match: str | None = None, distinct: str | None = None
) -> dict[str, Any]:
    fields = {"matchAttribute": match, "distinctAttribute": distinct}
    constraints = [{name: value} for name, value in fields.items() if value is not None]
    return {"requests": list(requests), "constraints": constraints}


def selecting(expression: str, **fields: Any) -> dict[str, Any]:
    return spec(request(selectors=selector(expression), **fields))


def alternatives(*wanted: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": f"a{number}", "deviceClassName": "gpu.nvidia.com", **fields}
        for number, fields in enumerate(wanted)
    ]


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    # Whether two GPUs share a root is what nobody knows; two of KNOWN do, three do not.
    "pair": (spec(request(count=2), match=ROOT), "undecided", "fits"),
    "three": (spec(request(count=3), match=ROOT), "undecided", "constraint-conflict"),
    "gpu-and-nic": (spec(request(), NIC, match=ROOT), "undecided", "fits"),
    "numa": (spec(request(count=8), match=NUMA), "undecided", "fits"),
    # All devices may be on one root, or each on its own.
    "four-apart": (spec(request(count=4), distinct=ROOT), "undecided", "fits"),
    "five-apart": (spec(request(count=5), distinct=ROOT), "undecided", "constraint-conflict"),
    # Some GPU may be on the root, or none.
    "on-root": (selecting(ON_ROOT), "undecided", "fits"),
    "guarded": (selecting(f'"pcieRoot" in {STANDARD} && {ON_ROOT}'), "undecided", "fits"),
    "all-on-root": (selecting(ON_ROOT, allocationMode="All"), "undecided", "fits"),
    # An absent value is unknown, and proves no absence.
    "no-root": (selecting(f'!("pcieRoot" in {STANDARD})'), "undecided", "selector-false"),
    "optional": (
        selecting(f'{STANDARD}.?pcieRoot.orValue("") == ""'),
        "undecided",
        "selector-false",
    ),
    # No value of the root changes these.
    "nine": (spec(request(count=9), match=ROOT), "not-enough", "not-enough"),
    "other-model": (
        spec(
            request(
                count=2,
                selectors=selector('device.attributes["gpu.nvidia.com"].architecture == "Volta"'),
            ),
            match=ROOT,
        ),
        "selector-false",
        "selector-false",
    ),
    "unpublished": (spec(request(), match="gpu.nvidia.com/rack"), "attr-missing", "attr-missing"),
    "either": (selecting(f'device.driver == "gpu.nvidia.com" || {ON_ROOT}'), "fits", "fits"),
    "two": (spec(request(count=2)), "fits", "fits"),
    "fallback": (
        spec(
            {
                "name": "gpu",
                "firstAvailable": alternatives({"selectors": selector(ON_ROOT)}, {"count": 2}),
            }
        ),
        "fits",
        "fits",
    ),
}
UNDECIDED = [name for name, (_, expected, _) in CASES.items() if expected == "undecided"]


@pytest.fixture
def machines(tmp_path: Path) -> tuple[str, str]:
    """The files of two machines: one of unknown wiring, and one of known wiring."""
    paths = tmp_path / "unknown.yaml", tmp_path / "known.yaml"
    for path, text in zip(paths, (UNKNOWN, KNOWN), strict=True):
        path.write_text(text)
    return str(paths[0]), str(paths[1])


def write(tmp_path: Path, *names: str) -> str:
    path = tmp_path / "claims.json"
    items = [claim(name, CASES[name][0]) for name in names]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments, "--isolated"])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, machine: str
) -> dict[str, Any]:
    path = write(tmp_path, name)
    _, out, _ = run(capsys, "explain", path, "--hardware", machine, "-o", "json")
    answer: dict[str, Any] = json.loads(out)["subjects"][0]["machines"][0]["answer"]
    return answer


def result_of(answer: dict[str, Any]) -> str:
    """Return ``fits``, ``undecided``, or the code of the first reason."""
    verdict = answer["verdict"]
    if verdict == "allocatable":
        return "fits"
    return "undecided" if verdict == "undecided" else str(answer["reasons"][0]["code"])


@pytest.mark.parametrize("name", CASES)
def test_verdicts(
    name: str, machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown, known = (explain(tmp_path, capsys, name, machine) for machine in machines)
    assert (result_of(unknown), result_of(known)) == CASES[name][1:]


def test_an_undecided_answer_names_the_attribute_the_machine_and_the_remedy(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = explain(tmp_path, capsys, "pair", machines[0])
    (reason,) = answer["reasons"]
    assert reason["code"] == "not-known-of-machine"
    assert reason["attribute"] == ROOT
    for text in (reason["message"], answer["headline"]):
        assert ROOT in text
        assert "the devices of unknown" in text
    assert "cannot be decided" in answer["headline"]
    assert not answer.get("fixes")
    assert not answer.get("obstacles")
    assert [node["verdict"] for node in answer["nodes"]] == ["undecided"]
    (step,) = answer["next"]
    assert step["command"].startswith("dractl discover --save ")
    assert "--devices" in step["text"]


def test_what_no_wiring_changes_has_its_own_cause_alone(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine of eight GPUs are too many; that a root is not shown is no further cause."""
    answer = explain(tmp_path, capsys, "nine", machines[0])
    assert answer["verdict"] == "unallocatable"
    assert [reason["code"] for reason in answer["reasons"]] == ["not-enough"]
    for fix in answer["fixes"]:
        removed = [operation for change in fix["changes"] for operation in change["json"]]
        assert any("constraints" in operation["path"] for operation in removed)


def test_cells_of_a_matrix(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, *CASES)
    code, out, _ = run(capsys, "explain", path, "--hardware", ",".join(machines), "-o", "csv")
    assert code == 1
    rows = {row["machine"]: row for row in csv.DictReader(io.StringIO(out))}
    for number, machine in enumerate(machines, 1):
        for name, case in CASES.items():
            expected = case[number].replace("undecided", "not-known-of-machine")
            assert rows[machine][f"resourceclaim/ml/{name}"] == expected, (name, machine)


def test_a_matrix_says_of_which_subjects_it_is_unknown(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "pair", "nine", "two")
    _, out, _ = run(capsys, "explain", path, "--hardware", machines[0])
    text = " ".join(out.split())
    assert "? not-known-of-machine" in text
    assert "no machine can serve resourceclaim ml/nine;" in text
    assert "whether a machine can serve resourceclaim ml/pair is unknown" in text
    _, page, _ = run(capsys, "explain", path, "--hardware", machines[0], "-o", "html")
    assert page.count('title="not-known-of-machine">? ') == 1


@pytest.mark.parametrize(
    ("shape", "fits", "undecided", "code"),
    [
        ("gpu=2@pcieRoot", 0, True, "not-known-of-machine"),
        ("gpu=9@pcieRoot", 0, False, "not-enough"),
        ("gpu=2@none", 4, False, "device-in-use"),
    ],
)
def test_copies(
    shape: str,
    fits: int,
    undecided: bool,
    code: str,
    machines: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "fit", shape, "--hardware", machines[0], "-o", "json")
    answer = json.loads(out)
    assert (answer["fits"], answer["undecided"]) == (fits, undecided)
    assert [reason["code"] for reason in answer["stops"]] == [code]


def test_copies_that_the_known_part_of_a_machine_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of the four GPUs of g2-standard-48 are known to share a root; two may be anywhere."""
    arguments = ("fit", "gpu=2@pcieRoot", "--hardware", "g2-standard-48")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "at least 1 copy fits; whether more copies fit is unknown" in out
    code, out, _ = run(capsys, *arguments, "--replicas", "2")
    assert code == 1
    assert "discover --save" in out
    code, out, _ = run(capsys, *arguments, "--pack", "-o", "json")
    answer = json.loads(out)
    assert (answer["fits"], answer["undecided"], answer["most"]) == (1, True, None)
    assert answer["stranded"] == []


def test_a_value_for_an_unknown_place_is_not_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """gpu.amd.com publishes numaNode -1 where there is no NUMA node; here there is one, which no
    source shows.
    """
    constraint = {"matchAttribute": "gpu.amd.com/numaNode"}
    wanted = {"requests": [request("gpu.amd.com", count=2)], "constraints": [constraint]}
    path = tmp_path / "amd.json"
    path.write_text(json.dumps(claim("amd", wanted)))
    code, out, _ = run(capsys, "explain", str(path), "--hardware", "BM.GPU.MI355X.8", "-o", "json")
    assert code == 1
    answer = json.loads(out)["subjects"][0]["machines"][0]["answer"]
    assert answer["reasons"][0]["attribute"] == "gpu.amd.com/numaNode"


def test_lint_reports_only_what_no_wiring_changes(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, *UNDECIDED)
    code, out, _ = run(capsys, "lint", path, "--hardware", machines[0], "-o", "json")
    findings = json.loads(out)["findings"]
    assert code == 0
    assert not [row["code"] for row in findings if row["code"].startswith("DRA75")]
    path = write(tmp_path, "nine")
    code, out, _ = run(capsys, "lint", path, "--hardware", machines[0])
    assert code == 1
    assert "DRA756" in out
    assert "wants 9 devices; the largest machine has 8" in " ".join(out.split())


def test_upgrade_does_not_compare_what_depends_on_the_wiring(
    machines: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--from", "1.36", "--to", "1.37", "--hardware", machines[0], "-o", "json")
    code, out, _ = run(capsys, "upgrade", write(tmp_path, "pair"), *arguments)
    answer = json.loads(out)
    assert code == 0
    assert answer["summary"]["breaks"] == 0
    assert any("values that no source shows" in row for row in answer["notCompared"])


def test_a_selector_is_tried_where_the_wiring_is_known(
    machines: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "cel", ON_ROOT, "--hardware", ",".join(machines))
    # Of 8 GPUs, 4 NICs and 2 channels and daemons of the known machine, 2 GPUs and a NIC are there.
    assert "true on 3 of 14 devices" in out
    assert f"no source shows {ROOT} of the devices of unknown: " in err
    code, out, err = run(capsys, "cel", ON_ROOT, "--hardware", machines[0])
    assert code == 0
    assert "not tried on devices" in out


@pytest.mark.parametrize(
    ("roots", "number"),
    [("- {wiring: unknown, devices: {MI300X: 2}}", None), ("- {numa: 1, devices: [MI300X]}", 1)],
)
def test_render_leaves_out_the_numa_node_that_no_source_shows(
    roots: str, number: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """gpu.amd.com publishes what sysfs has in numa_node, -1 included: here nobody knows it."""
    path = tmp_path / "amd.yaml"
    path.write_text(f"roots:\n{roots}\n")
    _, out, _ = run(
        capsys, "render", "--hardware", str(path), "--driver", "gpu.amd.com", "-o", "json"
    )
    slices = [item for item in json.loads(out)["items"] if item["kind"] == "ResourceSlice"]
    numbers = [
        device["attributes"].get("numaNode", {}).get("int")
        for item in slices
        for device in item["spec"]["devices"]
    ]
    assert set(numbers) == {number}
