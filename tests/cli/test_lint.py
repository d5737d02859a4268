"""``dractl lint`` and ``dractl rule`` as a user meets them."""

from __future__ import annotations

import difflib
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from dractl.cli.main import main

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: 2
    constraints:
    - matchAttribute: resource.kubernbetes.io/pcieRoot
"""
BAD = CLAIM.replace("count: 2", "count: -2")
FLAT = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.example.com  # the class
      selectors:
      - cel:
          expression: |
            device.driver == "gpu.example.com"

      count: 2
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("DRACTL_") and name != "DRACTL_SHARED":
            monkeypatch.delenv(name)
    (tmp_path / "dractl.toml").write_text("")  # nothing above is looked at
    (tmp_path / "claim.yaml").write_text(CLAIM)
    return tmp_path


def good(path: Path) -> None:
    path.write_text(CLAIM.replace("kubernbetes", "kubernetes"))


def test_an_error_is_1_and_none_is_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "claim.yaml"]) == 1
    out = capsys.readouterr().out
    assert "error[DRA701] unknown-standard-attribute" in out
    assert "claim.yaml:12:23" in out
    assert "1 error in 1 document of 1 file for Kubernetes 1.37" in out
    assert main(["lint", "claim.yaml", "--exit-zero"]) == 0
    good(here / "claim.yaml")
    capsys.readouterr()
    assert main(["lint", "claim.yaml"]) == 0
    said = "nothing found in 1 document of 1 file for Kubernetes 1.37"
    assert capsys.readouterr().out == f"{said} (default)\n"
    assert main(["lint", "claim.yaml", "--kubernetes-version", "1.37"]) == 0
    assert capsys.readouterr().out == f"{said}\n"


def test_caret_stands_below_the_faulty_value(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lint", "claim.yaml", "--color", "never"])
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if "^" in line)
    source, marks = lines[at - 1], lines[at]
    assert source[marks.index("^") : marks.rindex("^") + 1] == "resource.kubernbetes.io/pcieRoot"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lint", "claim.yaml", "-o", "jsn"], "did you mean json?"),
        (["lint", "claim.yaml", "--select", "DRA99999"], "--select: unknown rule 'DRA99999'"),
        (["lint", "claim.yaml", "--fail-on", "fatal"], "--fail-on: unknown value 'fatal'"),
        (["lint", "claim.yaml", "--kubernetes-version", "1.12"], "1.12"),
        (
            ["lint", "claim.yaml", "--feature-gates", "DRAListTypeAtributes=true"],
            "DRAListTypeAtributes",
        ),
        (["lint", "claim.yaml", "--fix", "--diff"], "cannot be combined"),
        (["rule", "DRA9999"], "unknown rule or reason 'DRA9999'"),
    ],
)
def test_wrong_usage_is_2(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_missing_path_is_3(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Readable files are reported all the same, and 3 wins over 1."""
    assert main(["lint", "missing.yaml", "claim.yaml", "-q"]) == 3
    captured = capsys.readouterr()
    assert "error[DRA701]" in captured.out
    assert "missing.yaml" in captured.err


def test_unreadable_file_below_a_folder_is_3(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A green CI would say that it is right."""
    denied = PermissionError(errno.EACCES, "Permission denied")

    def deny_open(path: str, *arguments: Any, **more: Any) -> int:
        if os.fspath(path).endswith("secret.yaml"):
            raise denied
        return open_file(path, *arguments, **more)

    def deny_listing(path: str | Path) -> Any:
        if os.fspath(path).endswith("closed"):
            raise denied
        return list_folder(path)

    open_file, list_folder = os.open, os.scandir
    monkeypatch.setattr(os, "open", deny_open)
    monkeypatch.setattr(os, "scandir", deny_listing)
    (here / "closed").mkdir()
    (here / "secret.yaml").write_text(CLAIM)
    assert main(["lint", ".", "-q", "-o", "json"]) == 3
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert [finding["code"] for finding in report["findings"]] == ["DRA701"]
    assert [item["file"] for item in report["summary"]["skipped"]] == ["secret.yaml", "closed"]
    for name in ("secret.yaml", "closed"):
        assert f"{name}: cannot be read: Permission denied" in captured.err
    assert main(["lint", ".", "--show-files"]) == 3
    assert main(["lint", ".", "--diff"]) == 3
    assert (
        main(["lint", ".", "--exit-zero", "--exclude", "secret.yaml", "--exclude", "closed/"]) == 0
    )


def test_a_list_of_objects_below_a_folder_is_a_mistake(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kubectl does not take it; other lists are patches, values and playbooks."""
    lines = ("  " + line for line in CLAIM.splitlines())
    (here / "claim.yaml").write_text("-" + "\n".join(lines)[1:] + "\n")
    (here / "patch.yaml").write_text(
        "- {op: remove, path: /spec/devices, why: a ResourceClaim has them}\n"
    )
    assert main(["lint", ".", "-o", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["file"]) == ("DRA001", "claim.yaml")
    assert "kind List" in found["help"]


def test_nothing_about_dra_is_0_with_a_notice(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert main(["lint", "other.yaml"]) == 0
    assert "no DRA objects found" in capsys.readouterr().err
    main(["lint", "other.yaml", "-q"])
    assert capsys.readouterr().err == ""


def test_standard_input_has_a_name(
    monkeypatch: pytest.MonkeyPatch, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CLAIM.encode())))
    assert main(["lint", "-", "-o", "concise"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:12:23: error DRA701 ")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CLAIM.encode())))
    assert main(["lint", "-f", "-", "-o", "concise", "--stdin-filename", "a/b.yaml"]) == 1
    assert capsys.readouterr().out.startswith("a/b.yaml:12:23: error DRA701 ")


def test_the_threshold_can_be_lower(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "claim.yaml").write_text(
        CLAIM.replace("kubernbetes", "kubernetes").replace("count: 2", "count: 0")
    )
    assert main(["lint", "claim.yaml"]) == 0
    assert main(["lint", "claim.yaml", "--fail-on", "warning"]) == 1
    (here / "dractl.toml").write_text('[lint]\nfail-on = "warning"\n')
    assert main(["lint", "claim.yaml"]) == 1
    assert main(["lint", "claim.yaml", "--isolated"]) == 0
    monkeypatch.setenv("DRACTL_FAIL_ON", "error")
    assert main(["lint", "claim.yaml"]) == 0


def test_the_least_severity_hides_and_fails_as_before(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "claim.yaml").write_text(
        CLAIM.replace("kubernbetes", "kubernetes").replace("count: 2", "count: 0")
    )
    assert main(["lint", "claim.yaml", "--min-severity", "error", "--fail-on", "warning"]) == 1
    shown = capsys.readouterr().out
    assert "DRA704" not in shown
    assert "less severe than error and not shown" in shown
    assert main(["lint", "claim.yaml", "--min-severity", "warning"]) == 0
    assert "DRA704" in capsys.readouterr().out
    assert main(["lint", "claim.yaml", "--min-severity", "fatal"]) == 2
    assert "accepts error, warning, info" in capsys.readouterr().err


def test_folders_are_walked_and_excluded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "vendor").mkdir()
    (here / "vendor" / "more.yaml").write_text(CLAIM)
    assert main(["lint", ".", "-o", "json"]) == 1
    files = {finding["file"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert {Path(file).as_posix() for file in files} == {"claim.yaml", "vendor/more.yaml"}
    main(["lint", ".", "--exclude", "vendor/", "--show-files"])
    assert capsys.readouterr().out == "claim.yaml\n"


def test_skipped_chart_is_reported(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(here))  # no helm
    (here / "chart" / "templates").mkdir(parents=True)
    (here / "chart" / "Chart.yaml").write_text("name: c\n")
    (here / "chart" / "templates" / "claim.yaml").write_text(CLAIM + "# {{ .Values.note }}\n")
    assert main(["lint", "chart", "-o", "json"]) == 0
    captured = capsys.readouterr()
    (skipped,) = json.loads(captured.out)["summary"]["skipped"]
    assert skipped["file"] == "chart/templates/claim.yaml"
    assert "helm template chart | dractl lint -" in captured.err


@pytest.mark.parametrize("name", ["dractl-baseline.json", "known [1] *.json"])
def test_the_baseline_in_a_folder_is_none_of_its_files(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sub").mkdir()
    (here / "claim.yaml").rename(here / "sub" / "claim.yaml")
    baseline = here / "sub" / name
    main(["lint", "sub", "-o", "json", "--output-file", str(baseline)])
    for folder in (".", "sub", str(here)):
        capsys.readouterr()
        assert main(["lint", folder, "--baseline", f"sub/{name}"]) == 0
        assert capsys.readouterr().out.startswith("nothing found in 1 document of 1 file ")
    (here / "dractl.toml").write_text(f'[lint]\nbaseline = "sub/{name}"\n')
    assert main(["lint", "."]) == 0
    assert capsys.readouterr().out.startswith("nothing found in 1 document of 1 file ")


def test_folder_as_a_baseline_is_2_and_names_its_origin(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "known").mkdir()
    assert main(["lint", "claim.yaml", "--baseline", "known"]) == 2
    assert capsys.readouterr().err.startswith("error: the baseline known is a folder")
    monkeypatch.setenv("DRACTL_BASELINE", "known")
    assert main(["lint", "claim.yaml"]) == 2
    assert capsys.readouterr().err.startswith("error: DRACTL_BASELINE: the baseline known is")
    monkeypatch.delenv("DRACTL_BASELINE")
    (here / "dractl.toml").write_text('[lint]\nbaseline = "known"\n')
    assert main(["lint", "claim.yaml"]) == 2
    assert "dractl.toml: lint.baseline: the baseline" in capsys.readouterr().err


def test_a_baseline_is_an_earlier_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "claim.yaml", "-o", "json", "--output-file", "known.json"]) == 1
    assert capsys.readouterr().out == ""
    (here / "claim.yaml").write_text("# moved\n" + CLAIM.replace("count: 2", "count: -2"))
    assert main(["lint", "claim.yaml", "--baseline", "known.json", "-o", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [finding["code"] for finding in report["findings"]] == ["DRA116"]
    assert report["summary"]["suppressed"] == 1


def test_statistics_count_the_rules(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "claim.yaml", "--statistics", "-o", "concise"])
    assert "\n1  DRA701  unknown-standard-attribute\n" in capsys.readouterr().out


# -- fixes --


def test_fix_writes_the_file_and_remaining_findings_count(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "claim.yaml"
    path.write_text(
        CLAIM
        + "    - matchAttribute: gpu.example.com/model\n      requests: [gpu]\n"
        + "---\n"
        + BAD
    )
    path.chmod(0o640)
    assert main(["lint", "claim.yaml", "--fix", "-o", "concise"]) == 1
    assert path.read_text().startswith(CLAIM.replace("kubernbetes", "kubernetes"))
    assert path.stat().st_mode & 0o777 == 0o640
    assert "DRA116" in capsys.readouterr().out
    assert sorted(item.name for item in here.iterdir()) == ["claim.yaml", "dractl.toml"]


def test_fix_is_not_applied_if_the_server_would_still_reject(here: Path) -> None:
    path = here / "claim.yaml"
    path.write_text(BAD)
    assert main(["lint", "claim.yaml", "--fix"]) == 1
    assert path.read_text() == BAD
    assert main(["lint", "claim.yaml", "--fix", "--unsafe-fixes"]) == 1
    assert path.read_text() == BAD


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("- {name: gpu, deviceClassName: x}", "- {name: gpu, exactly: {deviceClassName: x}}"),
        (
            "- {deviceClassName: x, count: 2, name: gpu}",
            "- {exactly: {deviceClassName: x, count: 2}, name: gpu}",
        ),
        (
            "- deviceClassName: x\n      name: gpu",
            "- exactly:\n        deviceClassName: x\n      name: gpu",
        ),
        (
            "- name: gpu\n      exactly: {deviceClassName: x, count: '2'}",
            "- name: gpu\n      exactly: {deviceClassName: x, count: 2}",
        ),
        (
            "- name: gpu\n      exactly: {deviceClassName: y, selectors: [{cel: 'true'}]}",
            "- name: gpu\n      exactly: {deviceClassName: \"y\", selectors: [{cel: {expression: 'true'}}]}",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fix_keeps_the_style_of_the_file(here: Path, wrong: str, right: str, newline: str) -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: g}\nspec:\n  devices:\n    requests:\n"
    path = here / "claim.yaml"
    path.write_bytes(f"\ufeff{text}    {wrong}\n".replace("\n", newline).encode())
    assert main(["lint", "claim.yaml", "--fix"]) == 0
    assert path.read_bytes().decode() == f"\ufeff{text}    {right}\n".replace("\n", newline)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims:
  - name: gpu
    source:
      resourceClaimName: x
  - {name: old, source: {resourceClaimTemplateName: t}}
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}, {name: old}]}}]
"""


def test_fix_unwraps_the_source_of_a_claim(here: Path) -> None:
    path = here / "claim.yaml"
    path.write_text(POD)
    assert main(["lint", "claim.yaml", "--fix"]) == 0
    assert path.read_text() == POD.replace("    source:\n      res", "    res").replace(
        "source: {resourceClaimTemplateName: t}", "resourceClaimTemplateName: t"
    )


@pytest.mark.parametrize("comment", ["source:  # why", "source:\n      # why"])
def test_fix_leaves_a_commented_source_wrapped(here: Path, comment: str) -> None:
    path = here / "claim.yaml"
    text = POD.replace("    source:\n", f"    {comment}\n").replace(
        ", source: {", ", resourceClaimTemplateName: t} #"
    )
    assert "# why" in text
    path.write_text(text)
    assert main(["lint", "claim.yaml", "--fix"]) == 1
    assert path.read_text() == text


OLD_SLICE = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    basic:
      attributes:
        model: {string: A100}
      capacity:
        memory: {value: 10Gi}
"""


def test_an_api_version_is_only_replaced_for_a_named_release(here: Path) -> None:
    path = here / "claim.yaml"
    path.write_text(OLD_SLICE)
    assert main(["lint", "claim.yaml", "--fix"]) == 0
    assert path.read_text() == OLD_SLICE
    assert main(["lint", "claim.yaml", "--fix", "--kubernetes-version", "1.36"]) == 0
    head, _, tail = OLD_SLICE.replace("v1beta1", "v1").partition("    basic:\n")
    assert path.read_text() == head + "".join(line[2:] for line in tail.splitlines(keepends=True))


EMPTY_BASIC = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: a
    basic: {}
  - name: b
    basic:
  - basic: {}
    name: c
  - {name: d, basic: {}}
  - {basic: {}, name: e}
"""


def test_fix_removes_a_wrapper_without_content(here: Path) -> None:
    path = here / "slice.yaml"
    path.write_text(EMPTY_BASIC)
    assert main(["lint", "slice.yaml", "--fix"]) == 0
    devices = "  - name: a\n  - name: b\n  - name: c\n  - {name: d}\n  - {name: e}\n"
    assert path.read_text() == EMPTY_BASIC.partition("  - name")[0] + devices
    commented = EMPTY_BASIC.replace("    basic: {}\n", "    # none yet\n    basic: {}\n")
    path.write_text(commented)
    assert main(["lint", "slice.yaml", "--fix"]) == 1
    assert path.read_text() == commented


LITERALS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel:
            expression: SELECTOR
"""


@pytest.mark.parametrize(
    ("before", "after", "safe"),
    [
        (
            'CAPACITY.compareTo(quantity("80GiB")) > 0',
            'CAPACITY.compareTo(quantity("80Gi")) > 0',
            True,
        ),
        (
            'CAPACITY.compareTo(quantity("80 gi")) > 0',
            'CAPACITY.compareTo(quantity("80Gi")) > 0',
            False,
        ),
        ('VERSION.isLessThan(semver("580.65.06"))', 'VERSION.isLessThan(semver("580.65.6"))', True),
        ('VERSION == "580.65.06"', 'VERSION.compareTo(semver("580.65.6")) == 0', False),
    ],
)
def test_fix_of_literals(here: Path, before: str, after: str, safe: bool) -> None:
    def written(selector: str) -> str:
        selector = selector.replace("CAPACITY", 'device.capacity["gpu.nvidia.com"].memory')
        selector = selector.replace("VERSION", 'device.attributes["gpu.nvidia.com"].driverVersion')
        return LITERALS.replace("SELECTOR", selector)

    path = here / "claim.yaml"
    path.write_text(written(before))
    main(["lint", "claim.yaml", "--fix"])
    assert path.read_text() == written(after if safe else before)
    assert main(["lint", "claim.yaml", "--fix", "--unsafe-fixes"]) == 0
    assert path.read_text() == written(after)


CLASSIC = """\
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata: {name: c}
spec: {resourceClassName: gpu.example.com}
"""


def test_classic_dra_is_not_made_an_empty_claim(here: Path) -> None:
    path = here / "claim.yaml"
    path.write_text(CLASSIC)
    assert main(["lint", "claim.yaml", "--fix", "--kubernetes-version", "1.37"]) == 1
    assert path.read_text() == CLASSIC


def test_diff_shows_the_edits_of_fix(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "claim.yaml"
    path.write_text(FLAT.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1"))
    named = ["--kubernetes-version", "1.37"]
    assert main(["lint", "claim.yaml", "--diff", *named]) == 1
    shown = capsys.readouterr().out
    before = path.read_text().splitlines(keepends=True)
    main(["lint", "claim.yaml", "--fix", *named])
    after = path.read_text().splitlines(keepends=True)
    assert shown.splitlines(keepends=True) == list(
        difflib.unified_diff(before, after, "a/claim.yaml", "b/claim.yaml")
    )


def test_fix_of_standard_input_prints_the_text(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CLAIM.encode())))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    assert main(["lint", "-", "--fix"]) == 0
    assert out.buffer.getvalue().decode() == CLAIM.replace("kubernbetes", "kubernetes")
    assert "nothing found" in capsys.readouterr().err


def test_several_outputs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["lint", "claim.yaml", "-o", "concise", "-o", "sarif=a.sarif", "-o", "json=b.json"])
        == 1
    )
    assert capsys.readouterr().out.startswith("claim.yaml:12:23: error DRA701")
    assert json.loads((here / "a.sarif").read_text())["version"] == "2.1.0"
    assert json.loads((here / "b.json").read_text())["schema"] == "dractl/lint/v1"
    assert main(["lint", "claim.yaml", "-o", "concise", "-o", "json"]) == 2
    assert main(["lint", "claim.yaml", "-o", "sarif="]) == 2


def test_the_configuration_gives_a_rule_another_severity(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "dractl.toml").write_text(
        '[lint.severity]\nDRA7 = "info"\nunknown-standard-attribute = "warning"\n'
    )
    assert main(["lint", "claim.yaml", "-o", "concise"]) == 0
    assert "warning DRA701" in capsys.readouterr().out
    (here / "dractl.toml").write_text('[lint.severity]\nDRA7 = "off"\n')
    assert main(["lint", "claim.yaml"]) == 2


HELM = r"""#!/bin/sh
PATH=/usr/bin:/bin
[ "$1 $2 $4 $5" = "template release --kube-version 1.37.0" ] || exit 2
printf -- '---\n# Source: c/templates/claim.yaml\n'
sed 's/{{ .Values.count }}/-1/' "$3/templates/claim.yaml"
"""


def test_a_chart_is_rendered_where_helm_is_installed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "c" / "templates").mkdir(parents=True)
    (here / "c" / "Chart.yaml").write_text("name: c\nversion: 1.0.0\n")
    template = CLAIM.replace("kubernbetes", "kubernetes").replace(
        "count: 2", "count: {{ .Values.count }}"
    )
    (here / "c" / "templates" / "claim.yaml").write_text(template)
    monkeypatch.setenv("PATH", f"{here}/bin:/usr/bin:/bin")
    assert main(["lint", "c", "-o", "concise"]) == 0
    assert "skipped, a template of a Helm chart" in capsys.readouterr().err
    assert main(["lint", "c", "-o", "concise", "--fail-on-skipped"]) == 1
    (here / "bin").mkdir()
    (here / "bin" / "helm").write_text(HELM)
    (here / "bin" / "helm").chmod(0o755)
    capsys.readouterr()
    assert main(["lint", "c", "-o", "concise"]) == 1
    assert capsys.readouterr().out.startswith("c/templates/claim.yaml:10:")
    assert main(["lint", "c", "-o", "concise", "--no-render"]) == 0
    (here / "bin" / "helm").write_text("#!/bin/sh\necho 'Error: no such dependency' >&2; exit 1\n")
    capsys.readouterr()
    assert main(["lint", "c", "-o", "concise", "--fail-on-skipped"]) == 1
    assert "helm template failed: Error: no such dependency" in capsys.readouterr().err


KUSTOMIZE = r"""#!/bin/sh
PATH=/usr/bin:/bin
[ "$1" = build ] || exit 2
grep -q originAnnotations "$2/kustomization.yaml" || exit 3
base=$(sed 's/.*"resources": \["\(.*\)"\].*/\1/' "$2/kustomization.yaml")
cat <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  annotations:
    config.kubernetes.io/origin: |
      path: ${base%/prod}/base/claim.yaml
  name: prod-gpus
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: -1}
END
"""
GOOD = CLAIM.replace("kubernbetes", "kubernetes")


@pytest.fixture
def kustomization(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "base").mkdir()
    (here / "prod").mkdir()
    (here / "base" / "claim.yaml").write_text(GOOD)
    (here / "base" / "kustomization.yaml").write_text("resources: [claim.yaml]\n")
    (here / "prod" / "kustomization.yaml").write_text("resources: [../base]\nnamePrefix: prod-\n")
    (here / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{here}/bin")
    return here


def _install(here: Path, name: str, script: str) -> None:
    (here / "bin" / name).write_text(script)
    (here / "bin" / name).chmod(0o755)


def test_a_kustomization_is_built_where_kustomize_is_installed(
    kustomization: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(kustomization, "kustomize", KUSTOMIZE)
    assert main(["lint", "base", "prod", "-o", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["file"], finding["object"]["name"]) == (
        "DRA116",
        "base/claim.yaml",
        "prod-gpus",
    )
    assert (finding["line"], finding["origin"]) == (10, "prod")
    assert main(["lint", "base", "prod", "--no-render", "-q"]) == 0


def test_unbuilt_kustomization_is_a_note(
    kustomization: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "base", "prod"]) == 0
    assert (
        "prod: skipped, the kustomization was not built: neither kustomize nor kubectl"
        in capsys.readouterr().err
    )
    assert main(["lint", "base", "prod", "--fail-on-skipped"]) == 1
    _install(kustomization, "kustomize", "#!/bin/sh\necho 'Error: no such field' >&2; exit 1\n")
    assert main(["lint", "base", "prod"]) == 0
    assert "kustomize build failed: Error: no such field" in capsys.readouterr().err


REMOTE = "it refers to files that are not on this machine"
DOWNLOADS = {
    'resources: [../base, "https://example.com/a.yaml"]': REMOTE,
    'resources: [../base, "github.com/a/b"]': REMOTE,
    'resources: [../base, "github.com/a/b\\n"]': REMOTE,
    'resources: [../base, "git@example.com:a/b"]': REMOTE,
    'resources: [../base, "example.com/a/b?ref=v1"]': REMOTE,
    "resources: [../base, missing]": REMOTE,
    # Go's encoding/json, which decodes kustomizations, takes a field's name in any case.
    "resources: [../base]\nResources: [github.com/a/b]": REMOTE,
    "resources: [../base]\nBASE\u017f: [github.com/a/b]": REMOTE,
    "resources: [../base]\nopenapi: {path: 'https://example.com/a'}": REMOTE,
    # Builtin plugins load files of their own: configMapGenerator's from https:, for one.
    "resources: [../base]\ngenerators: [plugin.yaml]": "it uses generators",
    "resources: [../base]\nTransformers: [plugin.yaml]": "it uses transformers",
    "resources: [../base]\nvalidators: [github.com/a/b]": "it uses validators",
    "resources: [../base]\nhelmCharts: [{name: a, repo: 'https://example.com'}]": "it uses helmCharts",
    # kustomize reads files of any size, and its first document only.
    "resources: [../base]\n#"
    + "#" * 2**20
    + "\nbases: [github.com/a/b]": "kustomization.yaml cannot be read",
    "resources: [../base\n": "kustomization.yaml cannot be read",
}


@pytest.mark.parametrize(("text", "why"), DOWNLOADS.items(), ids=[text[:60] for text in DOWNLOADS])
def test_nothing_is_downloaded_for_a_kustomization(
    kustomization: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    (kustomization / "github.com" / "a" / "b").mkdir(
        parents=True
    )  # kustomize clones it all the same
    _install(kustomization, "kustomize", '#!/bin/sh\n/bin/touch "$0.ran"\n')
    (kustomization / "prod" / "plugin.yaml").write_text(
        "apiVersion: builtin\nkind: ConfigMapGenerator\n"
    )
    (kustomization / "prod" / "kustomization.yaml").write_text(f"# resource.k8s.io\n{text}\n")
    for outermost in ("prod", "outer"):
        (kustomization / outermost).mkdir(exist_ok=True)
        if outermost == "outer":
            (kustomization / "outer" / "kustomization.yaml").write_text("resources: [../prod]\n")
        main(["lint", "prod"])
        assert (
            f"{outermost}: skipped, the kustomization was not built: {why}"
            in capsys.readouterr().err
        )
        assert not (kustomization / "bin" / "kustomize.ran").exists()


def test_rendering_programs_are_kept_from_the_network(
    kustomization: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "example.com")
    _install(kustomization, "kustomize", '#!/bin/sh\n/usr/bin/env >"$0.env"\n')
    main(["lint", "base", "prod"])
    variables = (kustomization / "bin" / "kustomize.env").read_text().splitlines()
    assert {"GIT_ALLOW_PROTOCOL=none", "https_proxy=http://127.0.0.1:9", "no_proxy="} <= set(
        variables
    )
    assert not any("example.com" in variable for variable in variables)


def test_chart_does_not_read_files_outside_the_repository(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """helm follows links, and ``.Files.Get`` would print the file into a report."""
    repository = here / "repository"
    (repository / "chart" / "templates").mkdir(parents=True)
    (repository / ".git").mkdir()
    (repository / "chart" / "Chart.yaml").write_text("name: c\nversion: 1.0.0\n")
    (repository / "chart" / "templates" / "claim.yaml").write_text(
        CLAIM.replace("kubernbetes", "kubernetes").replace("count: 2", "count: {{ .Values.count }}")
    )
    (repository / "shared").mkdir()
    (repository / "chart" / "shared").symlink_to("../shared")
    (here / "bin").mkdir()
    _install(here, "helm", '#!/bin/sh\n/bin/touch "$0.ran"\n')
    link = repository / "shared" / "notes.txt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{here}/bin")
        for target in ("../../secret", "/etc/passwd", "../.git/config"):
            link.symlink_to(target)
            main(["lint", "repository"])
            assert "chart/shared/notes.txt leads out of the repository" in capsys.readouterr().err
            link.unlink()
        assert not (here / "bin" / "helm.ran").exists()
        link.symlink_to("../chart/Chart.yaml")
        main(["lint", "repository"])
        assert (here / "bin" / "helm.ran").exists()


def test_a_flat_request_goes_below_exactly(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "claim.yaml"
    path.write_text(FLAT)
    assert main(["lint", "claim.yaml", "--fix"]) == 0
    assert path.read_text() == FLAT.replace(
        FLAT[FLAT.index("      deviceClassName") :],
        """\
      exactly:
        deviceClassName: gpu.example.com  # the class
        selectors:
        - cel:
            expression: |
              device.driver == "gpu.example.com"

        count: 2
""",
    )


def test_diff_changes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "claim.yaml", "--diff"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("--- a/claim.yaml\n+++ b/claim.yaml\n")
    assert "\n-    - matchAttribute: resource.kubernbetes.io/pcieRoot\n" in out
    assert "\n+    - matchAttribute: resource.kubernetes.io/pcieRoot\n" in out
    assert (here / "claim.yaml").read_text() == CLAIM
    good(here / "claim.yaml")
    assert main(["lint", "claim.yaml", "--diff"]) == 0


def test_fix_writes_through_a_link_and_keeps_line_ends(here: Path) -> None:
    (here / "real").mkdir()
    real = here / "real" / "claim.yaml"
    real.write_bytes(CLAIM.replace("\n", "\r\n").encode())
    (here / "link.yaml").symlink_to(real)
    assert main(["lint", "link.yaml", "--fix"]) == 0
    assert (here / "link.yaml").is_symlink()
    assert (
        real.read_bytes()
        == CLAIM.replace("kubernbetes", "kubernetes").replace("\n", "\r\n").encode()
    )


# -- devices --


def test_devices_show_the_matches_of_a_selector(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "slices.yaml").write_text(
        """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel: {expression: 'device.driver == "gpu.example.com"'}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    attributes: {architecture: {string: Ampere}, gpu.example.com/index: {int: 0}}
    capacity: {memory: {value: 40Gi}}
"""
    )
    (here / "claim.yaml").write_text(
        """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: none
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel: {expression: 'device.attributes["gpu.example.com"].architecture == "Hopper"'}
    - name: fails
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel: {expression: 'device.attributes["gpu.example.com"].arch == "Ampere"'}
    - name: large
      exactly:
        deviceClassName: gpu.example.com
        capacity: {requests: {memory: 80Gi}}
    - name: typo
      exactly: {deviceClassName: gpus.example.com}
    constraints:
    - {requests: [large, typo], matchAttribute: gpu.example.com/idx}
"""
    )
    assert (
        main(["lint", "claim.yaml", "--devices", "slices.yaml", "--select", "DRA75", "-o", "json"])
        == 1
    )
    found = {item["code"]: item for item in json.loads(capsys.readouterr().out)["findings"]}
    assert set(found) == {"DRA751", "DRA752", "DRA753", "DRA754", "DRA755"}
    assert found["DRA752"]["help"] == "architecture: Ampere ×1"
    assert "no such key: arch" in found["DRA751"]["message"]
    assert found["DRA751"]["path"].startswith("spec.devices.requests[1]")
    assert found["DRA753"]["help"] == "did you mean gpu.example.com/index?"
    assert found["DRA754"]["help"] == "the largest available is 40Gi"
    assert found["DRA755"]["help"] == "did you mean gpu.example.com?"
    assert (
        main(["lint", "claim.yaml", "--devices", "slices.yaml", "--kubernetes-version", "1.33"])
        == 3
    )


def test_slices_without_classes_are_tried_all_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dractl render` writes this by default."""
    assert main(["render", "--hardware", "2xH100,nic", "--output-file", "slices.yaml"]) == 0
    text = CLAIM.replace("kubernbetes", "kubernetes").replace("gpu.example.com", "CLASS")
    selectors = """\
        selectors:
        - cel: {expression: 'device.attributes["gpu.nvidia.com"].architcture == "Hopper"'}
"""
    text = text.replace("        count: 2\n", "        count: 2\n" + selectors)
    for name, code, severity in (
        ("gpu.nvidia.com", 1, "error"),
        ("our-own", 0, "warning"),
        ("mig.nvidia.com", 0, ""),
    ):
        (here / "claim.yaml").write_text(text.replace("CLASS", name))
        assert main(["lint", "claim.yaml", "--devices", "slices.yaml", "-o", "json"]) == code
        captured = capsys.readouterr()
        found = json.loads(captured.out)["findings"]
        assert [(item["code"], item["severity"]) for item in found] == [("DRA751", severity)][
            : bool(severity)
        ]
        assert captured.err.count("no DeviceClasses came with the devices") == 1
    own = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: our-own}\nspec: {}\n"
    (here / "claim.yaml").write_text(own + "---\n" + text.replace("CLASS", "our-own"))
    main(["lint", "claim.yaml", "--devices", "slices.yaml", "-o", "json"])
    assert "no DeviceClasses" not in capsys.readouterr().err


# -- formats --


def test_sarif_points_at_its_rules(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "claim.yaml", "-o", "sarif"])
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == "2.1.0"
    (run,) = report["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "DRA701"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "claim.yaml"
    assert location["region"] == {
        "startLine": 12,
        "startColumn": 23,
        "endLine": 12,
        "endColumn": 55,
    }
    replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["insertedContent"]["text"] == "resource.kubernetes.io/pcieRoot"


def test_junit_is_xml_even_for_control_characters(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "claim.yaml").write_text(CLAIM.replace("name: gpus", 'name: "a\\u0001<&\\"\\u001b"'))
    main(["lint", "claim.yaml", "-o", "junit"])
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert root.get("failures") == "2"
    assert len(root.findall("testsuite/testcase/failure")) == 2


def test_github_escapes_characters_of_its_commands(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a,b:c%.yaml").write_text(CLAIM)
    main(["lint", "a,b:c%.yaml", "-o", "github"])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "::error file=a%2Cb%3Ac%25.yaml,line=12,endLine=12,title=DRA701 unknown-standard-attribute,"
    )
    assert ",col=23,endColumn=54::" in line


def test_gitlab_fingerprints_differ(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "claim.yaml").write_text(CLAIM + "---\n" + CLAIM)
    main(["lint", "claim.yaml", "-o", "gitlab"])
    issues = json.loads(capsys.readouterr().out)
    lines = [
        issue["location"]["lines"]["begin"] for issue in issues if issue["check_name"] == "DRA701"
    ]
    assert lines == [12, 25]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_text_from_files_cannot_steer_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "claim.yaml").write_text(CLAIM.replace("gpu.example.com", '"\\u001b[31m\\u202e"'))
    for output in ("full", "concise"):
        main(["lint", "claim.yaml", "-o", output])
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "DRA109" in out


def test_a_long_line_is_shown_around_the_fault(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus", "annotations": {"a": "x" * 5000}},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "UPPER"}}]}
        },
    }
    (here / "claim.json").write_text(json.dumps(claim))
    main(["lint", "claim.json"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 110
    at = next(number for number, line in enumerate(lines) if "^" in line)
    assert lines[at - 1][lines[at].index("^") :].startswith('"UPPER"')


def test_no_colour_and_no_unicode_where_there_is_none(here: Path) -> None:
    dractl = Path(sys.executable).with_name("dractl")
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [dractl, "lint", "claim.yaml"], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert b"\x1b" not in done.stdout
    assert b"--> claim.yaml:12:23" in done.stdout


def test_the_library_of_selectors_is_not_loaded_without_selectors(here: Path) -> None:
    program = """
import sys
from dractl.cli.main import main
main(["lint", "claim.yaml"])
costly = ("jsonschema", "cel_expr_python", "pyudev", "dractl.explain")
print([name for name in costly if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]"


# -- rule --


def test_rule_shows_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "count-zero"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("DRA704 count-zero (warning)\n")
    assert "exactly: {deviceClassName: gpu.example.com, count: 0}" in out


def test_page_of_a_reason_quotes_the_messages_of_the_scheduler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # v1.37.1, pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go:859, in the
    # frame of framework/types.go FitError
    message = "request gpu: device class gpu.example.com does not exist"
    assert main(["rule", "class-missing"]) == 0
    assert message in capsys.readouterr().out
    assert main(["rule", "class-missing", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["reasons"][0]["messages"] == [
        f"0/1 nodes are available: {message}."
    ]


def test_rule_shows_a_reason_of_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "device-in-use"]) == 0
    assert "How to fix it" in capsys.readouterr().out
    assert main(["rule", "device-in-us"]) == 2
    assert "did you mean device-in-use?" in capsys.readouterr().err


def test_rule_lists_all_and_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule"]) == 0
    everything = capsys.readouterr().out.splitlines()
    assert main(["rule", "DRA7"]) == 0
    some = capsys.readouterr().out.splitlines()
    assert {line[:6] for line in some} < {line[:6] for line in everything}
    assert some[0].split() == ["code", "severity", "fix", "releases", "name"]
    assert all(line.startswith("DRA7") for line in some[1:])
    fixes = {line.split()[0]: line.split()[2] for line in some[1:]}
    assert (fixes["DRA701"], fixes["DRA722"], fixes["DRA704"]) == ("safe", "unsafe", "-")
    assert main(["rule", "DRA704", "-o", "json"]) == 0
    (rule,) = json.loads(capsys.readouterr().out)["rules"]
    assert (rule["code"], rule["severity"]) == ("DRA704", "warning")


def test_rule_as_json_follows_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "rules"]) == 0
    schema = json.loads(capsys.readouterr().out)
    for names in ([], ["DRA701"], ["device-in-use"]):
        assert main(["rule", *names, "-o", "json"]) == 0
        jsonschema.validate(json.loads(capsys.readouterr().out), schema)


SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n}
spec:
  driver: nic.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices: [{name: nic-0}]
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SLICE, "slices.yaml:3:18: metadata.name of this ResourceSlice is a boolean, not a string"),
        (
            SLICE.replace("{name: n}", "{labels: {a: b}}"),
            "slices.yaml:3:1: this ResourceSlice has no metadata.name",
        ),
        (CLAIM, "slices.yaml: it has no ResourceSlice, and it is not a machine snapshot"),
        ("a: 1\n", "slices.yaml: it has no ResourceSlice, and it is not a machine snapshot"),
        ("a: [\n", "slices.yaml:2:1: did not find expected node content"),
    ],
)
def test_invalid_devices_are_refused(
    content: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "slices.yaml").write_text(content)
    assert main(["lint", "claim.yaml", "--devices", "slices.yaml"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_explain_reads_no_object_without_a_name(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "slices.yaml").write_text(SLICE)
    assert main(["explain", "-f", "claim.yaml", "-f", "slices.yaml"]) == 3
    assert (
        "slices.yaml:3:18: metadata.name of this ResourceSlice is a boolean"
        in capsys.readouterr().err
    )


def test_a_folder_of_manifests_is_no_machine(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "claim.yaml", "--devices", "."]) == 3
    assert "it has no ResourceSlice" in capsys.readouterr().err


def test_without_a_path_it_is_the_working_directory(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lint", "-o", "concise"])
    assert capsys.readouterr().out.startswith("claim.yaml:")


def test_described_machines_are_devices_to_try_selectors_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8, selectors: "
        '[{cel: {expression: \'device.attributes["gpu.nvidia.com"].productName == "NVIDIA B200"\'}}]}}]}}\n'
    )
    assert (
        main(
            [
                "lint",
                str(claim),
                "--isolated",
                "-o",
                "json",
                "-q",
                "--hardware",
                "dgx-h100,p5.48xlarge",
            ]
        )
        == 0
    )
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["code"] == "DRA752"
    assert "NVIDIA H100 80GB HBM3 ×16" in finding["help"]
    assert (
        main(["lint", str(claim), "--isolated", "-o", "json", "-q", "--hardware", "dgx-b200"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert main(["lint", str(claim), "--hardware", "dgx-h1000"]) == 2
    assert main(["lint", str(claim), "--hardware", "dgx-h100", "--kubernetes-version", "1.33"]) == 3


@pytest.mark.parametrize("site", ["", "https://docs.example.com"])
def test_without_an_address_the_rule_is_explained_locally(
    site: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dractl.lint.registry.DOCUMENTATION", site)
    (here / "slice.yaml").write_text(EMPTY_BASIC)
    main(["lint", "slice.yaml"])
    shown = capsys.readouterr().out
    assert ("\n`dractl rule DRA003` explains the rule\n" in shown) == (not site)
    assert ("page: https://docs.example.com/rules/DRA003/" in shown) == bool(site)
    main(["lint", "slice.yaml", "-q"])
    assert "explains the rule" not in capsys.readouterr().out


def test_the_charts_of_a_folder_are_one_note(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for chart in ("a", "b"):
        (here / "charts" / chart / "templates").mkdir(parents=True)
        (here / "charts" / chart / "Chart.yaml").write_text(f"name: {chart}\nversion: 1.0.0\n")
        for template in ("x", "y"):
            text = CLAIM.replace("kubernbetes", "kubernetes").replace(
                "count: 2", "count: {{ include `n` . }}"
            )
            (here / "charts" / chart / "templates" / f"{template}.yaml").write_text(text)
    main(["lint", "charts", "--no-render"])
    notes = [line for line in capsys.readouterr().err.splitlines() if "skipped" in line]
    why = "skipped, a template of a Helm chart; helm template CHART | dractl lint -"
    assert notes == [f"note: charts: 4 templates of 2 charts: {why}"]


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--fail-on-empty"], 1), (["--fail-on-empty", "--exit-zero"], 0)],
)
def test_a_run_without_manifests(
    here: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int
) -> None:
    (here / "empty").mkdir()
    assert main(["lint", "empty", *options]) == code
    assert "no manifests found" in capsys.readouterr().err
    (here / "empty" / "other.yaml").write_text("a: b\n")
    assert main(["lint", "empty", *options]) == 0
