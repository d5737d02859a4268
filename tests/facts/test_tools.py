"""The command that compares the pack with a driver's repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

from msgspec.structs import replace

from dractl import facts
from dractl.facts import check
from dractl.facts.kubernetes import kubernetes

TOOL = Path(__file__).parent.parent.parent / "tools" / "facts.py"
CODE = """package main
const AttributeNew = Prefix + "/" + "brandNew"
func device() {
	attributes := map[string]resourceapi.DeviceAttribute{
		"index": {IntValue: &index},
		"model": resourceapi.DeviceAttribute{StringValue: &model},
	}
	attributes["another"] = value
}
"""


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *names, *arguments], check=True, capture_output=True)


def run(*arguments: str | Path) -> str:
    return subprocess.run(
        [sys.executable, TOOL, *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_rows_are_proposed(tmp_path: Path) -> None:
    (tmp_path / "gpu.go").write_text(CODE, encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "code")
    git(tmp_path, "tag", "v99.1.0")
    out = run("propose", "gpu.example.com", tmp_path)
    assert '"name": "brandNew"' in out
    assert '"name": "another"' in out
    assert '"tags": ["v99.1.0"]' in out
    assert '"name": "index"' not in out
    assert "unseen   uuid" in out


def test_files_have_the_form_of_the_format_command(tmp_path: Path) -> None:
    """On a copy: other tests read the pack at the same time."""
    data = Path(facts.__file__).parent / "data"
    copy = tmp_path / "data"
    shutil.copytree(data, copy)
    run("format", copy)
    files = {path.relative_to(copy): path for path in copy.rglob("*.json")}
    changed = [
        name for name, path in files.items() if path.read_bytes() != (data / name).read_bytes()
    ]
    assert changed == []


MIG_CONFIG = """
version: v1
mig-configs:
  all-balanced:
    - device-filter: ["0x233010DE", "0xFFFF10DE"]
      devices: all
      mig-enabled: true
      mig-devices:
        "1g.10gb": 2
        "3g.41gb": 1
    - device-filter: "0x1EB810DE"
      devices: all
      mig-enabled: true
      mig-devices:
        "1g.6gb": 2
"""


def test_gpus_that_are_left_out_have_the_reason(tmp_path: Path) -> None:
    """g_nv_name_released.h of NVIDIA's open kernel modules (595.45.04) lacks 0x233D."""
    config = tmp_path / "config.yaml"
    config.write_text(MIG_CONFIG.replace("FFFF", "233D"), encoding="utf-8")
    last = run("mig", config).splitlines()[-1]
    assert last.startswith("0x233d: left out: an H100 of 96 GB; no source has the name")


def test_mig_parted_entries_absent_from_the_pack_are_listed(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(MIG_CONFIG, encoding="utf-8")
    assert run("mig", config).splitlines() == [
        "0x1eb8: T4 has no MIG layout",
        "0x2330: H100 lacks 3g.41gb",
        "0xffff: no product",
    ]


def instance_type(name: str, *labels: str) -> str:
    """A section of Karpenter's reference of instance types."""
    rows = "".join(f" |karpenter.k8s.aws/{label}|\n" for label in labels)
    return f"### `{name}`\n#### Labels\n | Label | Value |\n |--|--|\n{rows}#### Resources\n"


def test_accelerated_instance_types_without_a_machine_are_listed(tmp_path: Path) -> None:
    document = tmp_path / "instance-types.md"
    document.write_text(
        "## p5 Family\n"
        + instance_type("p5.48xlarge", "instance-cpu|192", "instance-gpu-name|h100")
        + instance_type("p99.48xlarge", "instance-cpu|192", "instance-gpu-name|x100")
        + "## m5 Family\n"
        + instance_type("m5.large", "instance-cpu|2")
        + instance_type("trn99.large", "instance-accelerator-name|trainium99"),
        encoding="utf-8",
    )
    assert run("types", document).splitlines() == ["p99.48xlarge: x100", "trn99.large: trainium99"]


def test_azure_sizes_and_oracle_shapes_without_a_machine_are_listed(tmp_path: Path) -> None:
    sizes = tmp_path / "supported-gpus.yaml"
    sizes.write_text(
        "#  A family:\nstandard_nc4as_t4_v3:\n  gpu: nvidia\n  os: []\n"
        "standard_nd999_v9:\n  gpu: amd\n  os: []\n",
        encoding="utf-8",
    )
    assert run("types", sizes).splitlines() == ["standard_nd999_v9: amd"]
    shapes = tmp_path / "oci-shape-meta.json"
    shapes.write_text(
        '{"prices": [{"shapeName": "BM.GPU.H100.8"}, {"shapeName": "BM.GPU.X.4 (NVL72)"},'
        ' {"shapeName": "VM.Standard3.Flex"}]}',
        encoding="utf-8",
    )
    assert run("types", shapes).splitlines() == ["BM.GPU.X.4: gpu"]


def test_types_that_are_left_out_have_the_reason(tmp_path: Path) -> None:
    """AKS documents no Standard_ND40s_v3 (Karpenter's supported-gpus.yaml has it)."""
    sizes = tmp_path / "supported-gpus.yaml"
    sizes.write_text("standard_nd40s_v3:\n  gpu: nvidia\n  os: []\n", encoding="utf-8")
    (line,) = run("types", sizes).splitlines()
    assert line.startswith("standard_nd40s_v3: left out: Azure documents no such size")


def test_googles_machine_types_without_a_machine_are_listed(tmp_path: Path) -> None:
    types = tmp_path / "deprecated_machine_types_config.go"
    types.write_text(
        'NewMachineTypeInfo("a3-highgpu-8g", 208, 1872).\n  withGpuOverride(NvidiaH100_80gb, 8).\n'
        'NewMachineTypeInfo("a99-highgpu-8g", 224, 4).\n  withSsdCount(4).\n'
        "  withGpuOverride(NvidiaX100, 8),\n"
        'NewMachineTypeInfo("c2-standard-4", 4, 16),\n'
        'NewMachineTypeInfo("ct6e-standard-4t", 180, 720).\n'
        'NewMachineTypeInfo("tpu99-standard-4t", 180, 720).\n',
        encoding="utf-8",
    )
    assert run("types", types).splitlines() == [
        "a99-highgpu-8g: NvidiaX100",
        "tpu99-standard-4t: tpu",
    ]


def list_stale_facts(day: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, TOOL, "old", day], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_facts_are_stale_once_a_preview_is_due() -> None:
    """kubernetes/sig-release releases/release-1.38/README.md: 1.38.0 on 2026-12-16."""
    overdue = "Kubernetes 1.38 was due on 2026-12-16 and is known up to 1.38.0-alpha.2"
    assert overdue not in list_stale_facts("2026-12-16")[1]
    code, lines = list_stale_facts("2026-12-17")
    assert (code, lines[0]) == (1, overdue)


def test_facts_are_stale_after_90_days() -> None:
    assert list_stale_facts("2026-01-01") == (0, [])
    read = date.fromisoformat(kubernetes().read)
    first = (read + timedelta(days=91)).isoformat()
    code, lines = list_stale_facts(first)
    assert code == 1
    assert "Kubernetes: 91 days" in lines
    last = (read + timedelta(days=90)).isoformat()
    assert not any(line.startswith("Kubernetes: ") for line in list_stale_facts(last)[1])


def test_a_row_of_kubernetes_ages_by_itself() -> None:
    known = kubernetes()
    row = replace(known.gates["DRAPreemption"], read="2026-01-02")
    aged = replace(known, gates={**known.gates, "DRAPreemption": row})
    assert ("Kubernetes gate DRAPreemption", "2026-01-02") in tuple(
        check.list_kubernetes_rows(aged)
    )
