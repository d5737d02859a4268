"""Migration of manifests with device-plugin requests, in text and before the scheduler."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dractl.allocation import Features
from dractl.cli.main import main
from dractl.cli.options.device_sources import render_machine
from dractl.manifests import Document, read_text
from dractl.migration import MigratedFile, Migration
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.resources import data_dir
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import node, state_of

if TYPE_CHECKING:
    from pathlib import Path

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: a, namespace: ml}}
spec:
  {more}
  containers:
  - name: main
    image: x
    resources: {{limits: {{cpu: 1, {resource}: {count}}}}}
"""


def migrated(text: str) -> MigratedFile:
    documents = [item for item in read_text("a.yaml", text) if isinstance(item, Document)]
    return Migration(documents).migrate("a.yaml", text, ".")


def written(
    resource: str, count: int | str = 1, more: str = "restartPolicy: Never"
) -> MigratedFile:
    return migrated(POD.format(resource=resource, count=count, more=more))


def values(result: MigratedFile) -> list[dict[str, Any]]:
    return [item.value for item in read_text("a.yaml", result.after) if isinstance(item, Document)]


def exactly(result: MigratedFile) -> dict[str, Any]:
    request: dict[str, Any] = values(result)[1]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    return request


@pytest.mark.parametrize(
    ("resource", "device_class", "selected"),
    [
        ("nvidia.com/gpu", "gpu.nvidia.com", None),
        ("nvidia.com/gpu.shared", "gpu.nvidia.com", None),
        ("nvidia.com/mig-1g.5gb", "mig.nvidia.com", '"1g.5gb"'),
        ("nvidia.com/mig-1g.10gb.me", "mig.nvidia.com", '"1g.10gb+me"'),
        ("amd.com/gpu", "gpu.amd.com", None),
        ("gpu.intel.com/xe", "gpu.intel.com", None),
        ("aws.amazon.com/neuron", "neuron.aws.com", None),
        ("vpc.amazonaws.com/efa", "efa.networking.k8s.aws", None),
        ("openshift.io/sriov_net_a", "sriovnetwork.k8snetworkplumbingwg.io", '"sriov_net_a"'),
    ],
)
def test_a_resource_becomes_a_request_of_a_class(
    resource: str, device_class: str, selected: str | None
) -> None:
    result = written(resource, 2)
    asked = exactly(result)
    assert (asked["deviceClassName"], asked["count"]) == (device_class, 2)
    assert (selected or "") in str(asked.get("selectors", ""))
    changed = values(result)[0]["spec"]
    resources = changed["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": 1}
    assert resources["claims"] == [{"name": changed["resourceClaims"][0]["name"]}]


def test_the_template_is_in_the_namespace_of_the_pod() -> None:
    assert values(written("nvidia.com/gpu"))[1]["metadata"]["namespace"] == "ml"


@pytest.mark.parametrize(
    ("resource", "count", "said"),
    [
        ("nvidia.com/gpuu", 1, "did you mean nvidia.com/gpu?"),
        ("aws.amazon.com/neuroncore", 2, "whole Neuron devices"),
        ("nvidia.com/gpu", "${GPUS}", "filled in later"),
        ("example.com/widget", 1, "no DRA driver is known"),
        ("nvidia.com/GH100_H100_PCIE", 1, "no class of gpu.nvidia.com"),
        ("huawei.com/Ascend910", 1, "no class of npu.huawei.com is known to stand for it"),
    ],
)
def test_inconvertible_resource_is_left_alone_with_the_reason(
    resource: str, count: int | str, said: str
) -> None:
    result = written(resource, f'"{count}"' if isinstance(count, str) else count)
    assert result.after == result.before
    assert any(said in remark.message for remark in result.remarks)


@pytest.mark.parametrize(
    "amounts",
    [", nvidia.com/gpumem: 3000", "}, requests: {nvidia.com/gpumem: 3000"],
    ids=["limits", "requests"],
)
def test_a_part_of_a_device_gets_no_claim_of_a_whole_one(amounts: str) -> None:
    result = migrated(POD.format(resource="nvidia.com/gpu", count=f"1{amounts}", more=""))
    assert result.after == result.before
    said = [remark.message for remark in result.remarks]
    assert (
        "nvidia.com/gpu with nvidia.com/gpumem is a part of a device, and a claim would get all of it"
        in said
    )
    assert any("which part of nvidia.com/gpu the container gets" in message for message in said)


def test_node_labels_become_selectors_and_others_stay() -> None:
    labels = '{nvidia.com/gpu.memory: "81920", nvidia.com/gpu.count: "8", zone: a}'
    result = written("nvidia.com/gpu", more=f"nodeSelector: {labels}")
    assert values(result)[0]["spec"]["nodeSelector"] == {"nvidia.com/gpu.count": "8", "zone": "a"}
    (selector,) = exactly(result)["selectors"]
    assert 'quantity("81920Mi")' in selector["cel"]["expression"]
    assert any("gpu.count is kept" in remark.message for remark in result.remarks)


def test_a_product_of_mig_devices_asks_for_the_profile() -> None:
    label = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb}"
    asked = exactly(written("nvidia.com/gpu", more=label))
    assert asked["deviceClassName"] == "mig.nvidia.com"
    assert [item["cel"]["expression"].partition('.com"].')[2] for item in asked["selectors"]] == [
        'profile == "1g.5gb"',
        'productName == "NVIDIA A100-SXM4-40GB"',
    ]


def test_containers_have_claims_of_their_own_and_one_template_and_an_init_container_borrows() -> (
    None
):
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  initContainers:
  - name: warm
    resources:
      limits:
        nvidia.com/gpu: 1
  containers:
  - name: x
    resources: # both parts
      requests:
        # one is enough
        nvidia.com/gpu: 1
      limits:
        nvidia.com/gpu: 1
  - name: y
    resources:
      limits: {nvidia.com/gpu: 1}
"""
    result = migrated(text)
    spec, template = values(result)
    names = [claim["name"] for claim in spec["spec"]["resourceClaims"]]
    assert names == ["gpu", "gpu-2"]
    assert {c["resourceClaimTemplateName"] for c in spec["spec"]["resourceClaims"]} == {
        template["metadata"]["name"]
    }
    assert spec["spec"]["initContainers"][0]["resources"] == {"claims": [{"name": "gpu"}]}
    assert [c["resources"] for c in spec["spec"]["containers"]] == [
        {"claims": [{"name": "gpu"}]},
        {"claims": [{"name": "gpu-2"}]},
    ]
    assert "# both parts" in result.after
    assert "# one is enough" in result.after


def test_a_comment_behind_a_request_goes_to_the_claim() -> None:
    limits = '      limits:\n        cpu: "8"\n        nvidia.com/gpu: 4 # half a node\n'
    result = migrated(
        f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n    resources:\n{limits}"
    )
    assert "- name: gpu  # half a node\n" in result.after
    assert result.after.count("#") == 1


def test_a_file_without_a_last_line_break_is_turned() -> None:
    block = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - resources:\n      limits:\n        nvidia.com/gpu: 2"
    assert values(migrated(block))[0]["spec"]["containers"] == [
        {"resources": {"claims": [{"name": "gpu"}]}}
    ]


def test_shared_anchors_are_left_alone_and_a_second_run_changes_nothing() -> None:
    shared = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: x
    resources: &r
      limits: {nvidia.com/gpu: 1}
  - name: y
    resources: *r
"""
    result = migrated(shared)
    assert result.after == shared
    assert any("anchors" in remark.message for remark in result.remarks)
    once = written("nvidia.com/gpu").after
    assert migrated(once).after == once


def test_before_and_after_fit_on_the_same_machine() -> None:
    """Four of the eight GPUs of a DGX H100: of a device plugin, and through claims on what the driver publishes."""
    text = POD.format(
        resource="nvidia.com/gpu",
        count=4,
        more="nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}",
    )
    features, target = Features.for_release("1.37"), Target.of("1.37")
    before = read_text("a.yaml", text)[0].value  # type: ignore[union-attr]
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    plugin = node("dgx-h100", labels=labels)
    plugin["status"]["allocatable"] = {**plugin["status"]["allocatable"], "nvidia.com/gpu": "8"}
    assert Scheduler(state_of(before, plugin), features).attempt_pod(before).fits

    fleet = render_machine("dgx-h100", target, DriverChoice(("gpu.nvidia.com",)))
    parts = [
        item
        for kind in ("ResourceSlice", "DeviceClass", "Node")
        for item in fleet.objects(kind).values()
    ]
    after, template = values(migrated(text))
    names = {item["name"]: f"a-{item['name']}" for item in after["spec"]["resourceClaims"]}
    claims = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": made,
                "namespace": "ml",
                "ownerReferences": [
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": "a",
                        "uid": "uid-a",
                        "controller": True,
                    }
                ],
            },
            "spec": template["spec"]["spec"],
        }
        for made in names.values()
    ]
    after["metadata"]["uid"] = "uid-a"
    after["status"] = {
        "resourceClaimStatuses": [
            {"name": name, "resourceClaimName": made} for name, made in names.items()
        ]
    }
    nodes = [] if fleet.objects("Node") else [node("dgx-h100")]
    attempt = Scheduler(state_of(after, template, *claims, *parts, *nodes), features).attempt_pod(
        after
    )
    assert attempt.fits, attempt
    busy = after | {"spec": {**after["spec"]}}
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 9
    assert (
        not Scheduler(state_of(busy, template, *claims, *parts, *nodes), features)
        .attempt_pod(busy)
        .fits
    )


def run(*arguments: str) -> int:
    return main(["migrate", "--isolated", *arguments])


def test_exit_codes_and_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "# head\n" + POD.format(resource="nvidia.com/gpu", count=1, more="restartPolicy: Never")
    )
    os.chmod(file, 0o640)
    assert run("--diff", str(file)) == 1
    assert "+apiVersion: resource.k8s.io/v1" in capsys.readouterr().out
    assert run(str(file)) == 0
    converted = capsys.readouterr().out
    assert "resourceClaims" not in file.read_text()
    assert run("--write", str(file)) == 0
    assert file.read_text() == converted
    assert converted.startswith("# head\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert run("--diff", str(file)) == 0
    assert main(["lint", "--isolated", str(file)]) == 0
    assert run(str(tmp_path / "missing.yaml")) == 3


def test_several_converted_files_are_a_stream_in_which_each_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("a.yaml", "b.yaml")
    for name in names:
        text = POD.format(resource="nvidia.com/gpu", count=1, more="restartPolicy: Never")
        (tmp_path / name).write_text(text.replace("name: ", f"name: {name[0]}", 1))
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    assert run(str(tmp_path)) == 0
    out = capsys.readouterr().out
    sources = [line for line in out.splitlines() if line.startswith("# Source:")]
    assert sources == [f"# Source: {tmp_path / name}" for name in names]
    kinds = [document["kind"] for document in yaml.safe_load_all(out)]
    assert kinds == ["Pod", "ResourceClaimTemplate", "Pod"]


@pytest.mark.parametrize("other", ["--diff", "--keep-requests"])
def test_write_excludes_other_outputs(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write", other, "a.yaml") == 2
    assert f"--write and {other}" in capsys.readouterr().err


def test_keep_requests_gives_the_uninstalled_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        POD.format(resource="nvidia.com/gpu", count=1, more="x: y")
        + "---\n"
        + POD.format(resource="amd.com/gpu", count=1, more="x: y")
    )
    assert run("--keep-requests", str(file)) == 0
    seen = capsys.readouterr()
    assert "extendedResourceName: amd.com/gpu" in seen.out
    assert "extendedResourceName: nvidia.com/gpu" not in seen.out
    assert "1.36 beta (on by default)" in seen.out
    assert "gpu.nvidia.com provides it" in seen.err


@pytest.mark.parametrize("keep", [[], ["--keep-requests"]])
def test_the_json_has_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: list[str]
) -> None:
    for name, count in (("a.yaml", "2"), ("b.yaml", '"{{ n }}"')):
        text = POD.format(
            more="restartPolicy: Never", resource="nvidia.com/mig-1g.10gb.me", count=count
        )
        (tmp_path / name).write_text(text)
    main(["migrate", str(tmp_path), "-o", "json", "-q", *keep])
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "migrate-v1.json").read_bytes())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    assert [os.path.basename(item["file"]) for item in found["files"]] == (
        [] if keep else ["a.yaml"]
    )
    assert {item["kind"] for item in found["classes"]} == ({"DeviceClass"} if keep else set())


# -- tolerations --

TAINTED = """\
---
apiVersion: v1
kind: Node
metadata: {name: node-1}
spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}
"""
TOLERATION = {
    "key": "nvidia.com/gpu",
    "operator": "Exists",
}  # admission.go of ExtendedResourceToleration


def tolerations(result: MigratedFile) -> Any:
    return values(result)[0]["spec"].get("tolerations")


def test_a_taint_of_a_node_in_the_input_is_tolerated() -> None:
    pod = POD.format(resource="nvidia.com/gpu", count=1, more="restartPolicy: Never")
    assert tolerations(migrated(pod)) is None
    assert "--tolerate" in "".join(map(str, migrated(pod).remarks))
    result = migrated(pod + TAINTED)
    assert tolerations(result) == [TOLERATION]
    assert result.remarks == ()
    assert tolerations(migrated(pod.replace("nvidia.com/gpu", "amd.com/gpu") + TAINTED)) is None


@pytest.mark.parametrize(
    "written", ["[{key: a, operator: Exists}]", "\n  - key: a\n    operator: Exists"]
)
def test_existing_tolerations_stay(written: str) -> None:
    own = POD.format(resource="nvidia.com/gpu", count=1, more=f"tolerations: {written}")
    assert tolerations(migrated(own + TAINTED)) == [TOLERATION, {"key": "a", "operator": "Exists"}]
    own = POD.format(resource="nvidia.com/gpu", count=1, more="tolerations: [{operator: Exists}]")
    assert tolerations(migrated(own + TAINTED)) == [{"operator": "Exists"}]


def test_every_resource_is_tolerated_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        POD.format(resource="nvidia.com/mig-1g.5gb", count=1, more="restartPolicy: Never")
    )
    assert run("--tolerate", str(path)) == 0
    captured = capsys.readouterr()
    assert "  - key: nvidia.com/mig-1g.5gb\n    operator: Exists\n" in captured.out
    assert [line.split(":")[1] for line in captured.err.splitlines()] == [" steps", " rollback"]


def test_map_losing_all_other_keys_has_no_comma() -> None:
    flow = POD.format(resource="nvidia.com/gpu", count=1, more="restartPolicy: Never").replace(
        "cpu: 1, ", ""
    )
    assert "resources: {claims: [{name: gpu}]}" in migrated(flow).after


def test_a_patch_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kustomize looks for an object to patch for every document of a patch's file."""
    (tmp_path / "kustomization.yaml").write_text("patches: [{path: more.yaml}]\n")
    path = tmp_path / "more.yaml"
    path.write_text(POD.format(resource="nvidia.com/gpu", count=2, more="restartPolicy: Never"))
    assert run(str(tmp_path)) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "more.yaml:9:5: left as it is: a patch" in captured.err


POD_JSON = """\
{
  "apiVersion": "v1",
  "kind": "Pod",
  "metadata": {"name": "a", "annotations": {"x": "\\u003cb\\u003e"}},
  "spec": {
    "containers": [
      {"name": "c", "image": "x", "resources": {"limits": {"cpu": 1.0, "nvidia.com/gpu": 2}}}
    ]
  }
}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_json_stays_json_and_keeps_its_layout(newline: str) -> None:
    text = POD_JSON.replace("\n", newline)
    after = migrated(text).after
    made = json.loads(after)
    assert made["kind"] == "List"
    pod, template = made["items"]
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": 1},
        "claims": [{"name": "gpu"}],
    }
    assert pod["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimTemplateName": template["metadata"]["name"]}
    ]
    assert template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2
    assert (
        f'      "metadata": {{"name": "a", "annotations": {{"x": "\\u003cb\\u003e"}}}},{newline}'
        in after
    )
    assert '{"limits": {"cpu": 1.0}, "claims": [{"name": "gpu"}]}' in after
    assert after.count("\n") == after.count(newline)
    assert migrated(after).after == after


def test_objects_follow_a_file_of_several_json_objects_at_its_margin() -> None:
    other = json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}, indent=2)
    pod = json.dumps(json.loads(POD_JSON), indent=2)
    after = migrated(f"{pod}\n{other}\n").after
    made = after.partition(f"{other}\n")[2]
    assert made == json.dumps(json.loads(made), indent=2) + "\n"
    assert json.loads(made)["kind"] == "ResourceClaimTemplate"


def test_json_without_spaces_gets_none() -> None:
    pod = json.loads(POD_JSON) | {
        "metadata": {"name": "a", "annotations": {"x": '{"a": 1, "b": 2}'}}
    }
    after = migrated(json.dumps(pod, separators=(",", ":"))).after
    assert after == json.dumps(json.loads(after), separators=(",", ":")) + "\n"


def test_a_list_gets_the_template_as_an_item_and_a_stream_as_a_value() -> None:
    whole = (
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(POD_JSON)]}, indent=4)
        + "\n"
    )
    after = migrated(whole).after
    assert [item["kind"] for item in json.loads(after)["items"]] == ["Pod", "ResourceClaimTemplate"]
    assert after == json.dumps(json.loads(after), indent=4) + "\n"
    stream = migrated(POD_JSON + POD_JSON.replace('"a"', '"b"'))
    assert [item["kind"] for item in values(stream)] == ["Pod", "Pod", "ResourceClaimTemplate"]


def test_a_list_of_pods_has_no_place_for_a_template() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [json.loads(POD_JSON)]})
    result = migrated(text)
    assert result.after == text
    assert any("left as it is" in remark.message for remark in result.remarks)


@pytest.mark.parametrize(
    "patch",
    [
        "{op: replace, path: /spec/containers/0/resources/limits/nvidia.com~1gpu, value: 2}",
        "{op: add, path: /spec/containers/0/resources, value: {limits: {nvidia.com/gpu: 2}}}",
        "{op: add, path: /spec/containers/0/resources/limits, value: {nvidia.com/gpu: 2}}",
    ],
)
def test_an_inline_patch_is_pointed_at(patch: str) -> None:
    text = (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"patches:\n- target: {{kind: Pod}}\n  patch: |-\n    - {patch}\n"
    )
    (remark,) = migrated(text).remarks
    assert "nvidia.com/gpu is left as it is: a patch" in remark.message
    assert (remark.position.line, text.splitlines()[5][remark.position.column - 1 :][:10]) == (
        6,
        "nvidia.com",
    )


@pytest.mark.parametrize(
    ("name", "patch", "place"),
    [
        (
            "p.yaml",
            "- op: add\n  path: /spec/template/spec/containers/0/resources/limits\n  value: {GPU: 1}\n",
            "3:11",
        ),
        (
            "p.json",
            '[{"op": "replace", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"}]',
            "1:65",
        ),
    ],
)
def test_operations_in_a_file_are_pointed_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, patch: str, place: str
) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        f"patches: [{{path: {name}, target: {{kind: Deployment}}}}]\n"
    )
    (tmp_path / name).write_text(patch.replace("GPU", "nvidia.com/gpu"))
    main(["migrate", str(tmp_path)])
    err = capsys.readouterr().err
    assert f"{name}:{place}: nvidia.com/gpu is left as it is: a patch" in err


def test_files_outside_of_a_kustomization_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "kustomization.yaml").write_text(
        "patches: [{path: ../p.yaml}, {path: missing.yaml}]\n"
    )
    (tmp_path / "p.yaml").write_text(
        "- {op: add, path: /spec/containers/0/resources/limits/nvidia.com~1gpu}\n"
    )
    main(["migrate", str(tmp_path / "app")])
    assert "left as it is" not in capsys.readouterr().err


def test_an_inline_patch_of_other_resources_is_not() -> None:
    text = (
        "kind: Kustomization\npatches:\n- patch: |-\n"
        "    - {op: add, path: /spec/containers/0/resources/limits, value: {memory: 2Gi}}\n"
        "    - {op: add, path: /metadata/labels/nvidia.com~1gpu, value: a}\n"
    )
    assert migrated(text).remarks == ()


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: r}
spec:
  workerGroupSpecs:
  - groupName: g
    PARAMS
    template:
      spec:
        containers:
        - name: ray
          image: x
          resources: {limits: {cpu: 1, nvidia.com/gpu: 4}}
"""


@pytest.mark.parametrize(
    ("params", "after"),
    [
        ("rayStartParams: {}", {"num-gpus": "4"}),
        ('rayStartParams: {block: "true"}', {"num-gpus": "4", "block": "true"}),
        ('rayStartParams:\n      block: "true"', {"num-gpus": "4", "block": "true"}),
        ('rayStartParams: {num-gpus: "2"}', {"num-gpus": "2"}),
    ],
)
def test_ray_gets_num_gpus_from_the_limit(params: str, after: dict[str, str]) -> None:
    made, template = values(migrated(RAY.replace("PARAMS", params)))
    assert made["spec"]["workerGroupSpecs"][0]["rayStartParams"] == after
    assert template["kind"] == "ResourceClaimTemplate"


def test_a_group_without_parameters_is_a_remark() -> None:
    remarks = [item.message for item in migrated(RAY.replace("PARAMS", "replicas: 1")).remarks]
    assert 'Ray no longer sees the limit: add rayStartParams: {num-gpus: "4"}' in remarks


SHARING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: RENAMED
        resources: [{name: nvidia.com/gpu, replicas: 8}]
---
"""


@pytest.mark.parametrize(
    ("renamed", "resource"), [("false", "nvidia.com/gpu"), ("true", "nvidia.com/gpu.shared")]
)
def test_a_replica_of_the_plugin_is_a_part_of_a_device(renamed: str, resource: str) -> None:
    text = SHARING.replace("RENAMED", renamed) + POD.format(
        resource=resource, count=1, more="restartPolicy: Never"
    )
    (note,) = (item.message for item in migrated(text).remarks if "replica" in item.message)
    assert note.startswith(f"{resource} is one of 8 replicas of a device (ConfigMap sharing)")
    assert "consumableShares=8" in note


OTHERS = {
    "nvidia.com/v1 ClusterPolicy {devicePlugin: {enabled: true}}": "set devicePlugin.enabled: false",
    "nvidia.com/v1 ClusterPolicy {devicePlugin: {enabled: false}, mig: {strategy: single}}": "class mig.nvidia.com",
    "kueue.x-k8s.io/v1beta1 ClusterQueue {resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu]}]}": (
        "deviceClassMappings"
    ),
    "v1 ResourceQuota {hard: {requests.nvidia.com/gpu: 8}}": "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
}


@pytest.mark.parametrize(("other", "said"), OTHERS.items())
def test_users_and_providers_of_the_resource_are_named(other: str, said: str) -> None:
    version, kind, spec = other.split(" ", 2)
    (remark,) = migrated(
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
    ).remarks
    assert said in remark.message


@pytest.mark.parametrize(
    ("text", "error"),
    [("{bad: [", "did not find"), ("a: {{ x }}\n{{ if y }}\n", "skipped, a template")],
    ids=["broken", "template"],
)
def test_unread_file_is_never_reported_as_nothing_to_convert(
    text: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text("a: b\n")
    assert run(str(tmp_path)) == 3
    shown = capsys.readouterr().err
    assert error in shown
    assert "nothing to convert" not in shown


def test_the_steps_and_the_rollback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(POD.format(resource="nvidia.com/gpu", count=1, more="restartPolicy: Never"))
    run(str(file))
    shown = capsys.readouterr().err
    assert "steps: 1. install gpu.nvidia.com with class gpu.nvidia.com" in shown
    assert "rollback: restore the manifests;" in shown
    run("-o", "json", str(file))
    assert [note.split(":")[0] for note in json.loads(capsys.readouterr().out)["notes"]] == [
        "steps",
        "rollback",
    ]
