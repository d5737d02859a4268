"""The pack of facts can be swapped under dractl, and a damaged one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import validate

from dractl import facts
from dractl.cli.main import main
from dractl.cluster import live
from dractl.cluster.state import ClusterState
from dractl.facts import check, pack
from dractl.facts.drivers import driver, names
from dractl.facts.images import runs, versions_that_run
from dractl.facts.words import pack_option
from dractl.resources import data_dir

DATA = Path(pack.__file__).parent / "data"
DRIVER = {
    "name": "gpu.acme.test",
    "title": "Acme's GPUs",
    "source": "acme/driver main.go",
    "read": "2026-11-01",
    "versions": [{"name": "1.0", "tags": ["v1.0.0"]}],
    "classes": [{"name": "acme", "selectors": ["device.driver == 'gpu.acme.test'"]}],
    "attributes": [{"name": "model", "type": "string", "about": "the model", "values": ["A", "B"]}],
}
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: acme
        selectors: [{cel: {expression: 'device.attributes["gpu.acme.test"].model == "C"'}}]
"""


class Output(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def dractl(*arguments: str | Path, stdin: str = "", path: Path | None = None) -> Output:
    variables = {**os.environ, **({"PYTHONPATH": str(path)} if path is not None else {})}
    command = [sys.executable, "-m", "dractl", *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, env=variables
    )
    return Output(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A pack as the wheel installs it."""
    data = tmp_path / "site" / "dractl_facts" / "data"
    shutil.copytree(DATA, data)
    return data


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **values}), encoding="utf-8")


def origin(path: Path | None = None, *arguments: str | Path) -> tuple[dict[str, Any], str]:
    code, out, err = dractl("facts", "-o", "json", *arguments, path=path)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    validate(found, json.loads((data_dir("schemas") / "dractl" / "facts-v1.json").read_bytes()))
    return found, err


def test_a_driver_of_ones_own(tmp_path: Path) -> None:
    """lint knows a driver that the pack lacks."""
    file = tmp_path / "acme.json"
    file.write_text(json.dumps(DRIVER), encoding="utf-8")
    code, out, _ = dractl(
        "lint", "-", "--isolated", "--facts", file, "--fail-on", "warning", stdin=CLAIM
    )
    assert code == 1
    assert 'gpu.acme.test/model is never "C"' in out
    assert "known to v1.0.0, read on 2026-11-01" in out
    assert dractl("lint", "-", "--isolated", "--fail-on", "warning", stdin=CLAIM)[0] == 0


def test_a_version_of_a_driver_is_added_by_data_alone(tmp_path: Path) -> None:
    """As docs/extending.md says: a version and its rows are listed, judged and rendered without a line of code."""
    text = (DATA / "drivers" / "dra.cpu.json").read_text(encoding="utf-8")
    known = json.loads(text.replace('"since": "main"', '"since": "0.9"'))
    released = [one for one in known["versions"] if "seen" not in one]
    known["versions"] = [*released, {"name": "0.9", "tags": ["v0.9.0"], "released": "2026-11-20"}]
    row = {
        "name": "dra.cpu/turbo",
        "type": "bool",
        "since": "0.9",
        "about": "new",
        "source": "x",
        "read": "2026-11-21",
    }
    known["attributes"].append(row)
    file = tmp_path / "dra.cpu.json"
    file.write_text(json.dumps(known), encoding="utf-8")
    text = CLAIM.replace("deviceClassName: acme", "deviceClassName: dra.cpu")
    text = text.replace(
        'device.attributes["gpu.acme.test"].model == "C"', 'device.attributes["dra.cpu"].turbo'
    )
    lint = ("lint", "-", "--isolated", "--facts", file, "--fail-on", "warning")
    assert dractl(*lint, stdin=text)[:1] == (0,)
    code, out, _ = dractl(*lint, "--driver-version", "dra.cpu=0.2", stdin=text)
    assert code == 1
    assert "DRA715" in out
    assert "v0.9.0" in out
    assert "unknown" in dractl("lint", "-", "--isolated", "--fail-on", "warning", stdin=text)[1]
    (line,) = [
        line for line in origin(None, "--facts", file)[0]["drivers"] if line["name"] == "dra.cpu"
    ]
    assert line["known"] == "v0.9.0"
    render = (
        "render",
        "--hardware",
        "numa=2,cpus=8",
        "--driver",
        "dra.cpu",
        "--driver-version",
        "0.9",
        "--facts",
        file,
    )
    assert "resource.kubernetes.io/numaNode" in dractl(*render)[1]


def test_a_newer_wheel_wins_where_it_is_installed(copy: Path) -> None:
    change(copy / "pack.json", version="2100.1.1")
    found, err = origin(copy.parent.parent)
    assert (found["origin"], found["version"], err) == ("dractl-facts", "2100.1.1", "")


def test_the_wheel_of_the_pack_is_built_installed_and_used(tmp_path: Path) -> None:
    """As ``python -m build --wheel tools/facts-wheel`` and ``pip install`` do it, with a version of a driver more."""
    root = DATA.parent.parent.parent
    shutil.copytree(root / "tools" / "facts-wheel", tmp_path / "tools" / "facts-wheel")
    data = tmp_path / "dractl" / "facts" / "data"
    shutil.copytree(DATA, data)
    change(data / "pack.json", version="2100.1.1", date="2100-01-01")
    known = json.loads((data / "drivers" / "gpu.nvidia.com.json").read_bytes())["versions"]
    change(
        data / "drivers" / "gpu.nvidia.com.json",
        versions=[*known, {"name": "9.0", "tags": ["v9.0.0"]}],
    )
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(tmp_path / "dist"),
    ]
    subprocess.run(build, cwd=tmp_path / "tools" / "facts-wheel", check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("dractl_facts-2100.1.1-*.whl")
    install = [
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(tmp_path / "site"),
        str(wheel),
    ]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    found, err = origin(tmp_path / "site")
    assert (found["origin"], found["version"], found["date"], err) == (
        "dractl-facts",
        "2100.1.1",
        "2100-01-01",
        "",
    )
    (line,) = [line for line in found["drivers"] if line["name"] == "gpu.nvidia.com"]
    assert line["known"] == "v9.0.0"
    code, out, _ = dractl("--version", "-v", path=tmp_path / "site")
    assert code == 0
    assert "facts 2100.1.1 of 2100-01-01 (dractl-facts" in out


def test_an_older_one_does_not(copy: Path) -> None:
    change(copy / "pack.json", version="2001.1.1")
    assert origin(copy.parent.parent)[0]["origin"] == "built in"


def test_an_archive_is_the_same_pack_as_its_folder(copy: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "dractl_facts-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in copy.rglob("*"):
            archive.write(file, file.relative_to(copy.parent.parent))
    digests = {
        origin(None, "--facts", given)[0]["digest"] for given in (wheel, copy, copy.parent.parent)
    }
    assert digests == {facts.Pack(folder=DATA, origin="", head=facts.current().head).digest}
    code, out, _ = dractl(
        "render", "--facts", wheel, "--hardware", "p5.4xlarge", "--driver", "gpu.nvidia.com"
    )
    assert code == 0
    assert "NVIDIA H100 80GB HBM3" in out


def test_releases_are_part_of_it(copy: Path) -> None:
    change(copy / "kubernetes.json", compared=["1.36", "1.37"])
    code, out, _ = dractl("--facts", copy, "--version", "-v")
    assert code == 0
    assert "Kubernetes 1.36 to 1.37: compared" in out
    change(copy / "kubernetes.json", compared=["1.36", "1.99"])
    assert "1.99 is not one of its releases" in dractl("lint", "--facts", copy)[2]


def cut_short(data: Path) -> None:
    (data / "drivers" / "dra.cpu.json").write_bytes(b'{"name": "dra.c')


def of_another_form(data: Path) -> None:
    change(data / "pack.json", schema=99)


def of_no_version(data: Path) -> None:
    change(data / "pack.json", version="../..")


def with_a_version_that_is_none(data: Path) -> None:
    file = data / "drivers" / "dra.cpu.json"
    change(file, attributes=[{"name": "a", "type": "int", "about": "", "since": "7.7"}])


def without_a_date(data: Path) -> None:
    change(data / "drivers" / "dra.cpu.json", read="")


def without_a_change(data: Path) -> None:
    change(data / "drivers" / "gpu.nvidia.com.json", changes={})


def without_a_driver(data: Path) -> None:
    (data / "drivers" / "dra.cpu.json").unlink()


def without_a_layout(data: Path) -> None:
    change(data / "mig.json", layouts={})


def without_a_file(data: Path) -> None:
    (data / "resources.json").unlink()


def with_a_folder(data: Path) -> None:
    (data / "resources.json").unlink()
    (data / "resources.json").mkdir()


DAMAGES = [
    (cut_short, "drivers/dra.cpu.json"),
    (of_another_form, "its form is 99, and this dractl knows form 1"),
    (of_no_version, "is not a version such as"),
    (with_a_version_that_is_none, "7.7 is not one of its versions 0.1, 0.2, main"),
    (without_a_date, "drivers/dra.cpu.json: '' is not a date such as"),
    (without_a_change, "drivers/gpu.nvidia.com.json: its changes lack "),
    (without_a_driver, "drivers/dra.cpu.json is missing"),
    (without_a_layout, "which mig.json lacks"),
    (without_a_file, "resources.json: No such file or directory"),
    (with_a_folder, "resources.json"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_damaged_installed_pack_is_named_and_not_used(copy: Path, damage: Any, said: str) -> None:
    change(copy / "pack.json", version="2100.1.1")
    damage(copy)
    found, err = origin(copy.parent.parent)
    assert found["origin"] == "built in"
    assert said in err
    assert "dractl-facts" in err


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_damaged_named_pack_is_an_error(copy: Path, damage: Any, said: str) -> None:
    damage(copy)
    code, out, err = dractl("facts", "--facts", copy)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\x00\xff" * 100, b"[" * 100_000, b'{"name": "../x"}']
)
def test_file_other_than_a_pack_is_refused(tmp_path: Path, content: bytes) -> None:
    for name in ("own.json", "own.whl"):
        (tmp_path / name).write_bytes(content)
        code, _, err = dractl("facts", "--facts", tmp_path / name)
        assert code == 2
        assert "is not a pack of facts" in err


def test_age_of_facts_depends_on_the_day() -> None:
    ages = dict(check.old(facts.current(), date(2100, 1, 1)))
    assert set(facts.names()) <= set(ages)
    assert check.old(facts.current(), date(2000, 1, 1)) == ()


def test_every_file_of_the_pack_is_sound() -> None:
    check.check(facts.current())


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["lint", "--facts", "a"], "a"),
        (["lint", "--facts=b"], "b"),
        (["lint", "--", "--facts=b"], "c"),
        (["lint", "--isolated"], None),
        (["lint", "--facts"], None),
    ],
)
def test_pack_named_on_the_command_line_is_used(words: list[str], path: str | None) -> None:
    assert pack_option(words, {"DRACTL_FACTS": "c"}) == path


def test_workloads_running_a_driver_are_recognized() -> None:
    def made(kind: str, name: str, image: str) -> dict[str, Any]:
        spec = {"containers": [{"image": image}]}
        metadata = {"name": name, "namespace": "dra"}
        return {
            "kind": kind,
            "metadata": metadata,
            "spec": {"template": {"spec": spec}} if kind != "Pod" else spec,
        }

    image = "host:5000/dra-driver-nvidia-gpu:v0.5.0@sha256:1"
    found = [
        made("DaemonSet", "gpu", image),
        made("DaemonSet", "web", "nginx:1"),
        made("Pod", "gpu-x", image),
    ]
    assert list(runs("gpu.nvidia.com", found)) == ["DaemonSet/dra/gpu"]
    assert list(runs("dra.net", found)) == []


def test_running_versions_are_read_from_images() -> None:
    def pod(image: str) -> dict[str, Any]:
        return {"kind": "Pod", "spec": {"containers": [{"image": image}]}}

    both = [
        pod("registry/dra-driver-nvidia-gpu:v0.4.1"),
        pod("host:5000/dra-driver-nvidia-gpu:v0.5.0@sha256:1"),
    ]
    assert versions_that_run(both)["gpu.nvidia.com"] == "v0.4.1"
    assert versions_that_run([pod("host:5000/dranet"), pod("dranet:v1.4.0-x")]) == {
        "dra.net": "v1.4.0-x"
    }
    assert (
        versions_that_run([{"kind": "DaemonSet", "spec": {"template": 3}}, {"kind": "Pod"}]) == {}
    )


def test_images_of_drivers_are_known() -> None:
    # the images of npu.huawei.com are in no source that could be read
    assert [name for name in names() if not driver(name).images] == ["npu.huawei.com"]


def test_running_newer_drivers_are_reported(tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "r/dranet:v9.1.0"}]}
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod), encoding="utf-8")
    (line,) = [line for line in origin(None, file)[0]["drivers"] if line["name"] == "dra.net"]
    assert (line["running"], line["newer"]) == ("v9.1.0", True)


@pytest.mark.parametrize(
    "command",
    [
        ("lint", "-", "--isolated"),
        ("cel", "true"),
        ("migrate", "-"),
        ("upgrade", "-", "--from", "1.36", "--to", "1.37"),
        ("devices", "--hardware", "dgx-h100"),
    ],
    ids=lambda command: command[0],
)
def test_a_json_report_names_the_pack(command: tuple[str, ...]) -> None:
    out = json.loads(dractl(*command, "-o", "json", stdin=CLAIM)[1])
    assert out["facts"] == {
        "version": facts.current().head.version,
        "date": facts.current().head.date,
        "digest": facts.current().digest,
    }


def test_facts_compares_the_drivers_of_a_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "kube-system"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "r/dranet:v9.1.0"}]}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "gpu-0", "attributes": {"nosuchthing": {"int": 1}}}]
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n", "pool": pool, "devices": devices}
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": spec,
    }
    state = ClusterState(
        {"Pod": {("kube-system", "p"): pod}, "ResourceSlice": {("", "s"): published}},
        release="1.99.1",
    )
    monkeypatch.setattr(live, "read", lambda *_, **__: live.Live(state, "default", (), {}))
    assert main(["facts", "--cluster"]) == 0
    said = capsys.readouterr().out
    assert "v9.1.0 runs here and is NEWER" in said
    names = [line.split()[0] for line in said.splitlines() if "known to" in line]
    assert names[:2] == ["gpu.nvidia.com", "dra.net"]  # gpu.amd.com and others do not run here
    assert "gpu.amd.com" in names
    assert " ".join(said.split()).count("publishes slices here, no image shows its version") == 1
    assert "attribute nosuchthing" in said
    assert "1.99.1 runs here: Kubernetes 1.99.1 is newer than dractl knows" in said


ACME = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: GENERATION}
spec:
  driver: gpu.acme.com
  nodeName: n1
  pool: {name: n1, generation: GENERATION, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes:
      model: {string: X100}
      resource.kubernetes.io/pcieRoot: {string: "pci0000:17"}
  - name: gpu-1
    attributes: {model: {string: X100}}
"""


def test_undescribed_driver_is_named(tmp_path: Path) -> None:
    """Devices of an older generation of the pool do not count: nobody allocates them."""
    file = tmp_path / "slices.yaml"
    file.write_text(
        "---\n".join(ACME.replace("GENERATION", number) for number in ("1", "2")), "utf-8"
    )
    found, _ = origin(None, file)
    assert found["unknown"] == [{"name": "gpu.acme.com", "devices": 2, "attributes": 2}]
    out = dractl("facts", file)[1]
    assert (
        "gpu.acme.com: unknown to dractl; 2 devices, 2 attributes; `--facts FILE` describes it\n"
        in out
    )
    file.write_text(ACME.replace("gpu.acme.com", "gpu.nvidia.com").replace("GENERATION", "1"))
    assert origin(None, file)[0]["unknown"] == []
