"""``dractl check-driver`` as the author of a driver meets it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from dractl.cli.main import main
from dractl.model import Target
from dractl.model.releases import PREVIEWS, RELEASES
from tests.driver_checks.published import resource_slice

if TYPE_CHECKING:
    from pathlib import Path

ONE = resource_slice("gpu-0 {uuid: {string: GPU-1}}\ngpu-1 {uuid: {string: GPU-2}}")
SWAPPED = resource_slice(
    "gpu-0 {uuid: {string: GPU-2}}\ngpu-1 {uuid: {string: GPU-1}}", generation=2
)


@pytest.fixture
def snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the working directory, with two snapshots."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.yaml").write_text(ONE)
    (tmp_path / "after.yaml").write_text(SWAPPED)
    return tmp_path


class Output(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Output:
    """Return exit code, standard output and standard error of a run."""
    code = main(["check-driver", "--isolated", *words])
    printed = capsys.readouterr()
    return Output(code, printed.out, printed.err)


@pytest.mark.usefixtures("snapshots")
def test_exit_codes_are_those_of_lint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "before.yaml")[0] == 0
    assert run(capsys, "before.yaml", "after.yaml")[0] == 1
    assert run(capsys, "before.yaml", "after.yaml", "--exit-zero")[0] == 0
    assert run(capsys, "before.yaml", "after.yaml", "--ignore", "DRA382")[0] == 0
    assert run(capsys, "before.yaml", "after.yaml", "--select", "device-renamed")[0] == 1


def test_a_dump_has_objects_with_and_without_a_namespace(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "apiVersion: v1\nkind: ServiceAccount\nmetadata: "
    accounts = [f"{head}{{name: a}}\n", f"{head}{{name: b, namespace: drivers}}\n"]
    (snapshots / "dump.yaml").write_text("---\n".join([*accounts, ONE]))
    printed = run(capsys, "--cluster", "-f", "dump.yaml")
    assert printed.code in (0, 1), printed.err


@pytest.mark.usefixtures("snapshots")
def test_the_same_input_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (run(capsys, "before.yaml", "after.yaml", "-o", "json") for _ in range(2))
    assert first == second
    (finding,) = json.loads(first[1])["findings"]
    assert (finding["code"], finding["file"]) == ("DRA382", "after.yaml")
    assert finding["related"][0]["file"] == "before.yaml"


@pytest.mark.usefixtures("snapshots")
@pytest.mark.parametrize("form", ["full", "concise", "yaml", "sarif", "junit", "github", "gitlab"])
def test_every_format_of_lint_has_the_finding(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    code, output, _ = run(capsys, "before.yaml", "after.yaml", "-o", form)
    assert code == 1
    assert "DRA382" in output


@pytest.mark.usefixtures("snapshots")
def test_summary_for_a_readme_lists_unchecked_parts(capsys: pytest.CaptureFixture[str]) -> None:
    _, output, _ = run(capsys, "before.yaml", "-o", "markdown")
    assert "| Pools and counters | passed |" in output
    assert "| Stable over snapshots | not checked |" in output
    _, output, _ = run(capsys, "before.yaml", "after.yaml", "-o", "markdown")
    assert "| Stable over snapshots | 1 error |" in output
    assert "2 devices, 2 snapshots, Kubernetes 1.37" in output


def test_names_in_the_summary_are_no_markup(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = '"<b>|[x](y)"'
    hostile = ONE.replace("GPU-2", value).replace("GPU-1", value)
    (snapshots / "hostile.yaml").write_text(hostile)
    _, output, _ = run(capsys, "hostile.yaml", "-o", "markdown")
    assert "DRA368" in output
    assert "<b>" not in output
    assert "](y)" not in output.replace("\\](", "")


def test_a_comment_suppresses_a_finding(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = SWAPPED.replace("- {name: gpu-0", "# dractl: ignore[DRA382]\n  - {name: gpu-0")
    (snapshots / "after.yaml").write_text(after)
    code, _, _ = run(capsys, "before.yaml", "after.yaml")
    assert code == 0


def test_a_folder_is_one_snapshot(snapshots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = snapshots / "nodes"
    folder.mkdir()
    for node in ("node-1", "node-2"):
        text = resource_slice("gpu-0", name=node, pool=node, node=node)
        (folder / f"{node}.yaml").write_text(text)
    code, output, _ = run(capsys, "nodes")
    assert code == 0
    assert "2 documents" in output


def test_classes_are_tried_on_the_newest_snapshot(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (snapshots / "classes.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.example.com}\n"
        "spec:\n  selectors:\n  - cel:\n      expression: device.driver == 'gpu.example.com' &&"
        " device.attributes['gpu.example.com'].modle == 'A'\n"
    )
    code, output, _ = run(capsys, "before.yaml", "--classes", "classes.yaml", "-o", "concise")
    assert code == 1
    assert "classes.yaml" in output
    assert "modle" in output


def test_a_limit_of_another_release_is_named_with_the_release(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """128 devices with taints are taken by 1.34 and 1.35; from 1.36 on there are 64 of them."""
    taint = "taints: [{key: gpu.example.com/x, effect: NoSchedule}]"
    devices = "\n".join(f"gpu-{index}" for index in range(70))
    text = resource_slice(devices).replace("attributes: {}", taint)
    (snapshots / "many.yaml").write_text(text)
    words = ("many.yaml", "--kubernetes-version", "1.34", "-o", "json")
    findings = json.loads(run(capsys, *words)[1])["findings"]
    (limit,) = [finding for finding in findings if finding["code"] == "DRA312"]
    assert "1.37" in limit["releases"]
    assert "1.34" not in limit["releases"]


@pytest.mark.parametrize("release", RELEASES)
def test_no_release_takes_lists_by_default(release: str) -> None:
    """Else check-driver has to compare their limits as well (driver_checks/limits.py)."""
    assert "DRAListTypeAttributes" not in Target.of(release).gates


def test_a_name_that_a_preview_refuses_is_a_warning(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to 1.37 everything after the first slash is the name; the next release takes one slash only."""
    text = resource_slice("gpu-0 {gpu.example.com/link/speed: {int: 1}}")
    (snapshots / "names.yaml").write_text(text)
    findings = json.loads(run(capsys, "names.yaml", "-o", "json")[1])["findings"]
    (refused,) = [finding for finding in findings if finding.get("releases")]
    assert refused["severity"] == "warning"
    assert refused["releases"] == list(PREVIEWS)
    assert "gpu.example.com/link/speed" in refused["message"]


@pytest.mark.usefixtures("snapshots")
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "nothing to check"),
        (("before.yaml", "--cluster"), 2, "--cluster and SLICES cannot be combined"),
        (("-f", "before.yaml"), 2, "-f needs --cluster"),
        (("before.yaml", "--driver", "gpu.exmaple.com"), 2, "did you mean gpu.example.com?"),
        (("before.yaml", "-o", "xml"), 2, "markdown"),
        (("missing.yaml",), 3, "missing.yaml"),
        (("before.yaml", "--chart", "missing"), 3, "missing"),
    ],
)
def test_wrong_usage(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, text: str
) -> None:
    got, output, errors = run(capsys, *words)
    assert got == code
    assert text in errors
    assert not output


@pytest.mark.parametrize(
    "content", ["{", "kind: [", "\x00", "- 1\n- 2\n", "apiVersion: v1\nkind: Pod\n"]
)
def test_files_without_slices_are_an_error(
    snapshots: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (snapshots / "broken.yaml").write_text(content)
    code, output, errors = run(capsys, "broken.yaml")
    assert code == 3
    assert "broken.yaml" in errors
    assert not output


@pytest.mark.parametrize(
    "spec",
    [
        "spec: 1",
        "spec: {driver: gpu.example.com, pool: 1, devices: 1}",
        (
            "spec: {driver: gpu.example.com, pool: {name: p, generation: x, resourceSliceCount: -1},"
            " devices: [1, {name: 1, attributes: [1], capacity: {a: 1}, taints: 1}]}"
        ),
    ],
)
def test_invalid_slices_are_reported(
    snapshots: Path, capsys: pytest.CaptureFixture[str], spec: str
) -> None:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
    (snapshots / "odd.yaml").write_text(head + spec + "\n")
    (snapshots / "class.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\n"
        "spec: {selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}\n"
    )
    code, output, _ = run(capsys, "odd.yaml", "odd.yaml", "--classes", "class.yaml")
    assert code == 1
    assert "error" in output


def test_a_chart_without_slices(snapshots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The driver is the one that its classes select; what needs slices is not checked."""
    (snapshots / "chart").mkdir()
    (snapshots / "chart" / "all.yaml").write_text(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin}\nspec:\n"
        "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
        "    spec: {containers: [{name: c, image: x}]}\n"
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\n"
        "spec: {selectors: [{cel: {expression: device.driver == 'gpu.example.com' &&}}]}\n"
    )
    code, output, _ = run(capsys, "--chart", "chart", "-o", "json")
    assert code == 1
    codes = [finding["code"] for finding in json.loads(output)["findings"]]
    assert codes.count("DRA393") == 3
    assert "DRA113" in codes  # the selector does not compile
    _, output, _ = run(capsys, "--chart", "chart", "-o", "markdown")
    assert "| Pools and counters | not checked |" in output
    assert "| DeviceClasses | 1 error |" in output


def test_a_dump_of_a_cluster(snapshots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
    (snapshots / "dump.yaml").write_text(ONE + node)
    code, output, _ = run(capsys, "--cluster", "-f", "dump.yaml", "-o", "markdown")
    assert code == 0
    assert "| At work in a cluster | passed |" in output
    assert "| DaemonSet and rights | not checked |" in output


def test_release_of_a_cluster_is_read_from_its_kubelets(
    snapshots: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
    status = "status: {nodeInfo: {kubeletVersion: v1.35.2}}\n"
    (snapshots / "dump.yaml").write_text(ONE + node + status)
    for arguments in (["--cluster", "-f", "dump.yaml"], ["dump.yaml"]):
        _, output, _ = run(capsys, *arguments)
        assert "Kubernetes 1.35 (from kubelets)" in output


KUBECTL = """#!{python}
import json, sys
words = sys.argv[1:]
if "get" not in words:
    sys.exit("only get is allowed")
names = words[words.index("get") + 1]
print(json.dumps({{"apiVersion": "v1", "kind": "List", "metadata": {{}}, "items":
    json.load(open({slices!r})) if "resourceslices" in names else []}}))
"""


def test_a_live_cluster_is_only_read(
    snapshots: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    item = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s", "uid": "u"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 2},
            "devices": [{"name": "gpu-0"}],
        },
    }
    (snapshots / "slices.json").write_text(json.dumps([item]))
    kubectl = snapshots / "kubectl"
    kubectl.write_text(KUBECTL.format(python=sys.executable, slices=str(snapshots / "slices.json")))
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{snapshots}{os.pathsep}{os.environ['PATH']}")
    code, output, errors = run(capsys, "--cluster", "-o", "concise")
    assert (code, errors) == (1, "")
    assert "DRA352" in output
