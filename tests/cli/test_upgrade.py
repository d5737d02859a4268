"""``dractl upgrade``: inputs, formats, exit codes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dractl import atomic
from dractl.cli.main import main
from dractl.manifests import yamltext
from dractl.manifests.source import Source
from dractl.resources import data_dir

RULE = """\
apiVersion: resource.k8s.io/v1alpha3
kind: DeviceTaintRule
metadata: {name: sick, labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: drivers}}
spec: {deviceSelector: {deviceClassName: gpu}, taint: {key: example.com/sick, effect: NoSchedule}}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu}
"""

LOWER = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: tolerant}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, tolerations: [{key: a, operator: exists}]}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "manifest.yaml"
    file.write_text(RULE)
    return file


def upgrade(*arguments: str | Path) -> int:
    return main(["upgrade", "--isolated", "-q", *map(str, arguments)])


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "upgrade-v1.json").read_bytes())
    Draft202012Validator(schema).validate(found)
    return found


def test_manifest_breaks_at_the_refusing_release(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DeviceTaintRules selected by class up to 1.34 (kubernetes/kubernetes v1.35.0 pkg/apis/resource/types.go)."""
    assert upgrade(manifest, "--from", "1.34", "--to", "1.36", "-o", "json") == 1
    found = report(capsys)
    assert [step["step"] for step in found["steps"]] == ["Kubernetes 1.35", "Kubernetes 1.36"]
    first, last = found["steps"]
    (finding,) = first["findings"]
    assert (finding["code"], finding["level"], finding["objects"]) == (
        "refused",
        "breaks",
        ["DeviceTaintRule/sick"],
    )
    assert "deviceClassName" in finding["message"]
    assert finding["owner"] == "Helm release drivers"
    assert (
        last["findings"] == []
    )  # from 1.38.0-alpha.2 on no release removes resource.k8s.io/v1alpha3
    assert found["summary"] == {"breaks": 1, "changes": 0, "infos": 0}


def test_version_removed_in_a_later_release_is_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """k8s.io/api resource/v1beta1/zz_generated.prerelease-lifecycle.go"""
    (tmp_path / "class.yaml").write_text(
        CLASS.replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta1\n")
    )
    assert upgrade(tmp_path, "--from", "1.36", "-o", "json") == 0
    (finding,) = [one for step in report(capsys)["steps"] for one in step["findings"]]
    assert (finding["code"], finding["level"]) == ("version-ends", "info")
    assert "1.38" in finding["message"]
    assert "resource.k8s.io/v1" in finding["fix"]
    assert finding["source"].endswith("zz_generated.prerelease-lifecycle.go")


def test_manifest_without_dra_is_compared_only_if_it_is_the_named_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
    job += (
        "spec: {template: {spec: {containers: [{name: main, image: x}], restartPolicy: Never}}}\n"
    )
    (tmp_path / "job.yaml").write_text(job)
    assert upgrade(tmp_path / "job.yaml", "--from", "1.34", "--to", "1.35") == 0
    assert "nothing changes for Job" in capsys.readouterr().out
    assert upgrade(tmp_path, "--from", "1.34", "--to", "1.35") == 0
    assert "Job" not in capsys.readouterr().out


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_reports_to_hand_on(form: str, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert upgrade(manifest, "--from", "1.34", "-o", form) == 1
    text = capsys.readouterr().out
    assert "DeviceTaintRule/sick" in text
    assert "deviceClassName" in text


def test_a_fix_of_lint_comes_with_the_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.35 drops tolerations and 1.36 checks them (conformance/validation rc-v1-toleration-operator-lower)."""
    (tmp_path / "claim.yaml").write_text(LOWER)
    assert upgrade(tmp_path, "--from", "1.35", "--to", "1.36", "-o", "json") == 1
    (finding,) = report(capsys)["steps"][0]["findings"]
    assert finding["level"] == "breaks"
    assert "dractl lint --fix" in finding["fix"]
    assert "--kubernetes-version 1.36" in finding["fix"]


COMMENTED = LOWER.replace("metadata: {name: tolerant}", "metadata: {name: tolerant}  # ours")


def test_fix_applies_lint_fixes_to_breaking_manifests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """conformance/validation rc-v1-toleration-operator-lower: 1.36 refuses the operator, whose case lint corrects."""
    wrong = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: UPPER}\nspec: {devices: {}}\n"
    (tmp_path / "claim.yaml").write_text(COMMENTED)
    (tmp_path / "wrong.yaml").write_text(
        wrong
    )  # wrong for every release: not the upgrade's business
    assert (
        upgrade(tmp_path, "--from", "1.35", "--to", "1.36", "--fix", "--unsafe-fixes", "-o", "json")
        == 0
    )
    assert report(capsys)["summary"]["breaks"] == 0
    assert (tmp_path / "claim.yaml").read_text() == COMMENTED.replace(
        "operator: exists", "operator: Exists"
    )
    assert (tmp_path / "wrong.yaml").read_text() == wrong
    assert upgrade(tmp_path, "--from", "1.35", "--to", "1.36", "-o", "json") == 0


def test_unfixable_manifest_stays_and_is_reported(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(manifest, "--from", "1.34", "--fix", "-o", "json") == 1
    assert report(capsys)["summary"]["breaks"] == 1
    assert manifest.read_text() == RULE


def test_unwritable_file_is_left_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "claim.yaml").write_text(LOWER)
    monkeypatch.setattr(atomic, "edit", full)
    assert upgrade(tmp_path, "--from", "1.35", "--to", "1.36", "--fix", "--unsafe-fixes") == 3
    assert "claim.yaml: cannot be written: No space left on device" in capsys.readouterr().err
    assert (tmp_path / "claim.yaml").read_text() == LOWER


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fix", "--from", "1.34"], "--fix changes files"),
        (["-", "--fix", "--from", "1.34"], "--fix changes files"),
        (["x.yaml", "--unsafe-fixes", "--from", "1.34"], "--unsafe-fixes needs --fix"),
    ],
)
def test_fixes_of_nothing_are_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(*arguments) == 2
    assert said in capsys.readouterr().err


def test_yaml_has_the_content_of_json_and_name_the_objects(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(manifest, "--from", "1.34", "-o", "json") == 1
    found = report(capsys)
    assert upgrade(manifest, "--from", "1.34", "-o", "yaml") == 1
    assert yaml.safe_load(capsys.readouterr().out) == found
    assert upgrade(manifest, "--from", "1.34", "-o", "name") == 1
    assert capsys.readouterr().out == "DeviceTaintRule/sick\n"


def test_unreleased_version_breaks_its_removed_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """k8s.io/api v0.38.0-alpha.2: v1beta1 is gone; what is planned for the gates is information with its source."""
    (tmp_path / "class.yaml").write_text(
        CLASS.replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta1\n")
    )
    assert upgrade(tmp_path, "--from", "1.37", "--to", "1.38", "-o", "json") == 1
    found = report(capsys)
    (step,) = [step for step in found["steps"] if step["step"] == "Kubernetes 1.38"]
    assert ("not-served", "breaks") in {(one["code"], one["level"]) for one in step["findings"]}
    planned = [one for one in step["findings"] if one["code"] == "planned"]
    assert any("DRAPreemption" in one["message"] for one in planned)
    assert all(one["source"] and one["date"] and one["level"] == "info" for one in planned)
    assert any("1.38.0-alpha.2" in text for text in found["notCompared"])


def test_breaking_objects_have_their_owners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tool that applies an object, and its namespace; the namespace alone where no tool is named."""
    helm = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "llm"}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    spec = yaml.safe_load(LOWER)["spec"]
    objects = [
        {
            **head,
            "metadata": {"name": "a", "namespace": "ml", "labels": helm},
            "spec": {"spec": spec},
        },
        {**head, "metadata": {"name": "b", "namespace": "dev"}, "spec": {"spec": {**spec}}},
    ]
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all(objects))
    assert (
        upgrade("-f", tmp_path / "dump.yaml", "--from", "1.35", "--to", "1.36", "-o", "json") == 1
    )
    owners = {
        one["objects"][0]: one["owner"]
        for step in report(capsys)["steps"]
        for one in step["findings"]
    }
    assert owners["ResourceClaimTemplate/dev/b"] == "namespace dev, Helm release llm, namespace ml"


def test_gates_shown_by_objects_are_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class.yaml").write_text(CLASS)
    assert upgrade("-f", tmp_path / "class.yaml", "--from", "1.34", "-o", "json") == 0
    assert any("spec.extendedResourceName" in text for text in report(capsys)["notCompared"])


def test_an_unknown_gate_is_wrong_usage(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert upgrade(manifest, "--from", "1.34", "--feature-gates", "DRANonsense=true") == 2
    assert "DRANonsense" in capsys.readouterr().err


def test_an_invalid_byte_beside_a_pod_is_reported_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = b"spec: {resourceClaims: [{name: a, resourceClaimName: b}]}\n"
    pod = b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n" + claims
    (tmp_path / "a.yaml").write_bytes(pod + b'---\nnote: "caf\xe9"\n')
    assert upgrade(tmp_path, "--from", "1.36") == 3
    assert "a.yaml:6:11: invalid UTF-8: byte 0xe9" in capsys.readouterr().err


def test_a_kind_that_is_no_text_is_no_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"apiVersion": "v1", "kind": ["Pod"], "metadata": {"name": "x"}}
    driver = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "gpu.example.com"},
    }
    (tmp_path / "a.json").write_text(json.dumps({"kind": "List", "items": [odd, driver]}))
    assert upgrade("-f", tmp_path, "--from", "1.36", "--to", "1.37", "-v") == 0
    assert "the roles of drivers: not in the input" in " ".join(capsys.readouterr().out.split())


def test_stored_object_loses_a_field(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert upgrade("-f", manifest, "--from", "1.34", "-o", "json") == 1
    found = report(capsys)
    assert [one["code"] for step in found["steps"] for one in step["findings"]] == ["field-lost"]


def test_a_field_takes_effect_with_its_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DRAExtendedResource is on by default from 1.36 on; with the gate on, nothing changes."""
    (tmp_path / "class.yaml").write_text(CLASS)
    assert upgrade(tmp_path, "--from", "1.34") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "extendedResourceName: dropped silently before, in effect from 1.36 on" in text
    assert (
        upgrade(
            tmp_path, "--from", "1.34", "--feature-gates", "DRAExtendedResource=true", "-o", "json"
        )
        == 0
    )
    assert report(capsys)["summary"] == {"breaks": 0, "changes": 0, "infos": 0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--from", "1.36", "--to", "1.35"], "1.36 to 1.35 is a downgrade"),
        (["--from", "1.34", "--to", "1.99"], "unknown Kubernetes release 1.99"),
        (["--from", "1.30"], "Kubernetes 1.30 is not known"),
        (["--from", "x"], "not a Kubernetes release: 'x'"),
    ],
)
def test_an_unknown_release_and_a_downgrade_are_wrong_usage(
    options: list[str], said: str, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade(manifest, *options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert re.search("1.3[78]", error)


def test_dump_without_a_release_needs_from(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade("-f", manifest) == 2
    assert "--from names it" in capsys.readouterr().err


def test_selector_on_a_removed_attribute_breaks_with_the_driver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NVIDIA's driver publishes no index since 25.8 (deviceinfo.go): a selector that reads it is an error."""
    (tmp_path / "claim.yaml").write_text(
        """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: first-gpu, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].index == 0'}}]
"""
    )
    arguments = [tmp_path / "claim.yaml", "--hardware", "dgx-h100", "--from", "1.37", "-o", "json"]
    assert upgrade(*arguments, "--driver-version", "gpu.nvidia.com=25.3..25.8") == 1
    found = report(capsys)
    assert found["drivers"] == {"gpu.nvidia.com": {"from": "25.3", "to": "25.8"}}
    (step,) = found["steps"]
    assert step["step"] == "gpu.nvidia.com 25.8"
    assert step["findings"][0]["code"] == "selector-error"
    assert step["findings"][0]["objects"] == ["ResourceClaimTemplate/ml/first-gpu"]
    assert any(
        one["code"] == "attribute-gone" and "index" in one["message"] for one in step["findings"]
    )


def test_a_driver_is_judged_by_its_present_slices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        [
            "render",
            "--isolated",
            "-q",
            "--hardware",
            "dgx-h100",
            "--driver",
            "gpu.nvidia.com",
            "--driver-version",
            "25.3",
        ]
    )
    (tmp_path / "slices.yaml").write_text(capsys.readouterr().out)
    arguments = ["-f", tmp_path / "slices.yaml", "--from", "1.37", "-o", "json", "--driver-version"]
    assert upgrade(*arguments, "gpu.nvidia.com=0.5") == 0
    found = report(capsys)
    assert found["drivers"]["gpu.nvidia.com"]["from"] == "25.3"
    codes = {one["code"] for one in found["steps"][-1]["findings"]}
    assert {"attribute-gone", "attribute-new", "attribute-may-come", "driver-change"} <= codes
    assert any("present slices" in text for text in found["notCompared"])
    assert any("numaNode" in text for text in found["notCompared"])
    assert upgrade(*arguments, "dra.net=main") == 0
    assert report(capsys)["notCompared"][0] == "dra.net: the input has no slice of it"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("gpu.nvidia.com=0.9", "0.9 is not a version that dractl knows"),
        ("gpu.nvidia.com=0.5..0.4", "0.5 to 0.4 is a downgrade"),
        ("gpu.nvidia.con=0.5", "did you mean gpu.nvidia.com?"),
    ],
)
def test_an_unknown_driver_or_version_is_wrong_usage(
    version: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upgrade("--hardware", "dgx-h100", "--from", "1.37", "--driver-version", version) == 2
    assert said in capsys.readouterr().err


def test_a_field_not_known_of_a_preview_neither_breaks_nor_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.37 refuses it; whether 1.38 has it nobody knows before its release."""
    (tmp_path / "class.yaml").write_text(CLASS.replace("gpu}", "gpu, novel: 1}"))
    assert upgrade(tmp_path, "--from", "1.37", "--to", "1.38", "-o", "json") == 0
    (step,) = [one for one in report(capsys)["steps"] if one["step"] == "Kubernetes 1.38"]
    (finding,) = [one for one in step["findings"] if one["objects"]]
    assert (finding["code"], finding["level"]) == ("not-known", "info")
    assert "not known of 1.38.0-alpha.2, read 2026-" in finding["message"]


def test_only_a_preview_takes_an_unknown_gate(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = ("--feature-gates", "DRANonsense=true")
    assert upgrade(manifest, "--from", "1.36", "--to", "1.38", *gates) == 0
    assert "DRANonsense: not known of 1.38.0-alpha.2" in capsys.readouterr().err
    assert upgrade(manifest, "--from", "1.36", "--to", "1.37", *gates) == 2


def test_gate_unknown_to_the_oldest_scheduler_is_left_out_there(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.33 is read as 1.34, the first release with a modelled scheduler, and 1.35 adds the gate
    DRADeviceTaintRules (kubernetes pkg/features/kube_features.go).
    """
    gates = ("--feature-gates", "DRADeviceTaints=true,DRADeviceTaintRules=true")
    assert upgrade(manifest, "--from", "1.33", "--to", "1.35", *gates) in {0, 1}
    assert "error" not in capsys.readouterr().err


def test_landed_and_planned_are_distinguished(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CHANGELOG-1.38.md: kubernetes#140256 and #142218 are in the alphas; KEP-5690 is not."""
    upgrade(manifest, "--from", "1.37", "--to", "1.38", "-o", "json")
    (step,) = [one for one in report(capsys)["steps"] if one["step"] == "Kubernetes 1.38"]
    landed = " ".join(one["message"] for one in step["findings"] if one["code"] == "landed")
    planned = [one["message"] for one in step["findings"] if one["code"] == "planned"]
    assert "locked on; 1.41 removes" in landed
    assert "unless the driver opts out" in landed
    assert "proposed" not in landed
    assert any("DRAPreemption" in text for text in planned)
    assert all("(planned)" in text for text in planned)


OLD_DRIVER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: intel-gpu}
spec:
  template:
    spec:
      containers: [{name: plugin, image: registry.example/intel/intel-gpu-resource-driver:v0.8.0}]
"""
API_SERVER = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs: [{name: runtime-config, value: resource.k8s.io/v1beta1=true}]
"""


@pytest.mark.parametrize(
    ("start", "to", "files", "code"),
    [
        ("1.33", "1.34", (OLD_DRIVER,), 1),
        ("1.33", "1.34", (OLD_DRIVER, API_SERVER), 0),
        ("1.34", "1.37", (OLD_DRIVER,), 0),
        ("1.34", "1.38", (OLD_DRIVER, API_SERVER), 1),
        ("1.31", "1.37", (API_SERVER,), 0),
    ],
)
def test_driver_using_a_removed_version_breaks_from_its_removal_on(
    start: str,
    to: str,
    files: tuple[str, ...],
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """intel-resource-drivers-for-kubernetes#47: 0.8 has v1beta1 alone; neither file names anything of DRA."""
    for number, text in enumerate(files):
        (tmp_path / f"{number}.yaml").write_text(text)
    assert upgrade(tmp_path, "--from", start, "--to", to) == code
    text = " ".join(capsys.readouterr().out.split())
    assert ("upgrade the driver gpu.intel.com to 0.9.0 or later" in text) is bool(code)


def test_explain_describes_the_claim_after_the_upgrade(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence is that of `dractl explain`, not kube-scheduler's."""
    from tests.explain.cluster import claim, device_class, node, request, slice_of
    from tests.upgrade.test_driver_pairs import DEVICES, NV

    first = {"cel": {"expression": f'device.attributes["{NV}"].index == 0'}}
    objects = [
        node("node-1"),
        slice_of(NV, "node-1", *DEVICES["gpus-25.3"]()),
        device_class("all", f'device.driver == "{NV}"'),
        claim("asks", request("r", "all", selectors=[first])),
    ]
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    options = [
        "-f",
        tmp_path / "dump.json",
        "--from",
        "1.37",
        "--driver-version",
        f"{NV}=25.3..25.8",
    ]
    assert upgrade(*options, "-o", "json") == 1
    (step,) = [one for one in report(capsys)["steps"] if one["step"].startswith(NV)]
    (finding,) = [one for one in step["findings"] if one.get("reads")]
    assert finding["before"] == "fits on node-1"
    assert "no such key: index" in finding["after"]
    assert "nodes are available" not in finding["message"]


def test_each_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    read = yamltext.read

    def count(source: Source, **options: bool) -> Any:
        parsed.append(Path(source.name).name)
        return read(source, **options)

    (tmp_path / "class.yaml").write_text(CLASS)
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    monkeypatch.setattr(yamltext, "read", count)
    assert upgrade(tmp_path, "--from", "1.35", "--to", "1.37") == 0
    assert sorted(parsed) == ["class.yaml", "other.yaml"]


def test_manifests_that_break_are_linted_as_they_were_read(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("dractl.cli.commands.upgrade.load")
    (manifest.parent / "lower.yaml").write_text(LOWER)
    assert upgrade(manifest.parent, "--from", "1.34", "--to", "1.37") == 1
    assert "lint --fix" in capsys.readouterr().out


def test_manifests_without_an_object_do_not_ask_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder may hold a chart's templates alone, which nothing renders."""
    monkeypatch.setenv("PATH", str(tmp_path))  # no kubectl
    (tmp_path / "deviceclass.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: {{ .Values.name }}\n"
    )
    assert main(["upgrade", str(tmp_path), "--from", "1.34", "--to", "1.35"]) == 0
    output = capsys.readouterr()
    assert "nothing breaks" in output.out
    assert "deviceclass.yaml" in output.out


def test_standard_input_is_read_only_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    releases = ["upgrade", "--from", "1.36", "--to", "1.37", "--isolated"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RULE.encode())))
    assert main([*releases, "-"]) == 0
    assert "DeviceTaintRule" in capsys.readouterr().out
    (tmp_path / "rule.yaml").write_text(RULE)
    monkeypatch.setattr("sys.stdin", io.StringIO())  # has no bytes to read
    assert main([*releases, str(tmp_path / "rule.yaml")]) == 0
