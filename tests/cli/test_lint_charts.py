"""lint of charts, rendered by a program that stands in for helm: it fills in flat values."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

HELM = """
import os, re, sys
chart, values, words = sys.argv[3], {}, sys.argv[4:]
files = [os.path.join(chart, "values.yaml")]
files += [words[at + 1] for at, word in enumerate(words) if word == "--values"]
for name in files:
    for line in open(name):
        key, _, value = line.split("#")[0].partition(":")
        if value.strip():
            values[key] = value.strip()
for at, word in enumerate(words):
    if word == "--set":
        key, _, value = words[at + 1].partition("=")
        values[key] = value
if "broken" in values:
    sys.exit("Error: values do not match the schema: broken is not allowed")
for name in sorted(os.listdir(os.path.join(chart, "templates"))):
    text = open(os.path.join(chart, "templates", name)).read()
    print("---\\n# Source: c/templates/" + name)
    print(re.sub(r"{{ .Values.(\\w+) }}", lambda found: values.get(found[1], ""), text))
"""
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          count: {{ .Values.count }}
          selectors:
          - cel:
              expression: device.driver == "{{ .Values.driver }}"
"""


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a chart in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "helm").write_text(f"#!{sys.executable} -IS\n{HELM}")
    (tmp_path / "bin" / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    folder = Path("c")
    (folder / "templates").mkdir(parents=True)
    (folder / "ci").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("count: 2\ndriver: gpu.example.com\n")
    (folder / "templates" / "claim.yaml").write_text(TEMPLATE)
    return folder


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    main(["lint", *words, "-o", "json"])
    return list(json.loads(capsys.readouterr().out)["findings"])


def places(found: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(finding["code"], finding["file"], finding["line"]) for finding in found]


def test_finding_is_placed_in_its_values_file(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings(capsys, "c") == []
    (chart / "ci" / "a-values.yaml").write_text("# more\ncount: -1\n")
    (chart / "ci" / "b-values.yaml").write_text("count: 3\n")
    (finding,) = findings(capsys, "c")
    assert places([finding]) == [("DRA116", "c/ci/a-values.yaml", 2)]
    assert finding["origin"] == "c/templates/claim.yaml with c/ci/a-values.yaml"


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ("count: -1\ntasks: 1\n", ("DRA116", "c/values.yaml", 1)),
        ("count: 1\ntasks: -1\n", ("DRA116", "c/values.yaml", 2)),
        ("count: 1\nboth: -1\n", ("DRA116", "c/values.yaml", 2)),
    ],
)
def test_lines_with_the_same_key_are_told_apart(
    chart: Path, capsys: pytest.CaptureFixture[str], values: str, place: tuple[str, str, int]
) -> None:
    # The template is the second that helm prints, so the numbers of its lines do not help.
    (chart / "templates" / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n" + "\n" * 20)
    second = "both" if "both" in values else "tasks"
    request = TEMPLATE[TEMPLATE.index("      - name: gpu") :]
    more = request.replace("name: gpu", "name: task").replace("count }}", f"{second} }}}}")
    (chart / "templates" / "claim.yaml").write_text(TEMPLATE + more)
    (chart / "values.yaml").write_text(values + "driver: gpu.example.com\n")
    assert places(findings(capsys, "c")) == [place]


def test_equal_lines_are_told_apart_by_those_above(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "templates" / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n" + "\n" * 20)
    text = TEMPLATE.replace("count: {{ .Values.count }}", "count: -1")
    request = text[text.index("      - name: gpu") :]
    more = request.replace("name: gpu", "name: task").replace("count: -1", "count: 1")
    (chart / "templates" / "claim.yaml").write_text(text + more)
    line = text[: text.index("count: -1")].count("\n") + 1
    assert places(findings(capsys, "c")) == [("DRA116", "c/templates/claim.yaml", line)]
    (chart / "templates" / "claim.yaml").write_text(text + request.replace("name: gpu", "name: b"))
    assert [place for _, _, place in places(findings(capsys, "c"))] == [line, line + 7]


def test_renderings_are_judged_apart_and_a_shared_finding_is_reported_once(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "values.yaml").write_text("count: -1\ndriver: gpu.example.com\n")
    for name in "abc":
        (chart / "ci" / f"{name}-values.yaml").write_text("other: 1\n")
    assert places(findings(capsys, "c")) == [("DRA116", "c/values.yaml", 1)]
    main(["lint", "c", "-q"])
    main(["lint", "c"])
    assert "1 error in 1 document" in capsys.readouterr().out


def test_unrenderable_values_are_a_note_with_the_message_of_helm(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "ci" / "a-values.yaml").write_text("broken: 1\n")
    assert main(["lint", "c"]) == 0
    captured = capsys.readouterr()
    assert "c/ci/a-values.yaml: skipped, the chart was not rendered with it: " in captured.err
    assert "helm template failed: Error: values do not match the schema" in captured.err
    assert "(1 skipped)" in captured.out
    assert main(["lint", "c", "--fail-on-skipped"]) == 1


def test_mistake_of_the_template_is_not_placed_in_the_value(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = TEMPLATE.replace("device.driver == ", "device.drver == ")
    (chart / "templates" / "claim.yaml").write_text(template)
    (finding,) = findings(capsys, "c")
    assert (finding["file"], finding["line"]) == ("c/templates/claim.yaml", 15)


@pytest.mark.parametrize(
    ("file", "line"), [("c/values.yaml", "count: -1"), ("c/templates/claim.yaml", "count: {{")]
)
def test_a_comment_counts_where_a_finding_is_shown_and_where_it_is_written(
    chart: Path, capsys: pytest.CaptureFixture[str], file: str, line: str
) -> None:
    (chart / "values.yaml").write_text("count: -1\ndriver: gpu.example.com\n")
    assert places(findings(capsys, "c")) == [("DRA116", "c/values.yaml", 1)]
    text = Path(file).read_text()
    ends = [row + "  # dractl: ignore[DRA116]" if line in row else row for row in text.split("\n")]
    Path(file).write_text("\n".join(ends))
    assert findings(capsys, "c") == []
    assert findings(capsys, ".") == []


def test_useless_ignore_comment_in_values_is_reported(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "values.yaml").write_text("count: 1  # dractl: ignore[DRA116]\ndriver: a.example\n")
    assert places(findings(capsys, "c")) == [("DRA901", "c/values.yaml", 1)]


@pytest.mark.parametrize("path", [".", "c", "./c/templates/claim.yaml"])
def test_comments_are_added_to_values(
    chart: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (chart / "ci" / "a-values.yaml").write_text("count: -1\n")
    assert main(["lint", path, "--add-ignore"]) == 0
    captured = capsys.readouterr()
    assert "c/ci/a-values.yaml: 1 suppressed" in captured.err
    assert "changed after it was read" not in captured.err
    text = (chart / "ci" / "a-values.yaml").read_text()
    assert text == "count: -1  # dractl: ignore[DRA116]\n"
    assert main(["lint", path]) == 0


def test_a_fix_is_written_to_values(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "values.yaml").write_text('count: "2"  # of GPUs\ndriver: gpu.example.com\n')
    (finding,) = findings(capsys, "c")
    assert (finding["file"], finding["fix"]["edits"][0]["file"]) == ("c/values.yaml",) * 2
    assert main(["lint", "c", "--diff"]) == 1
    assert "+count: 2  # of GPUs" in capsys.readouterr().out
    assert main(["lint", "c", "--fix"]) == 0
    assert (chart / "values.yaml").read_text().startswith("count: 2  # of GPUs\n")
    assert (chart / "templates" / "claim.yaml").read_text() == TEMPLATE


KUSTOMIZE = """
import os, re, sys
top = sys.argv[2]
start = re.search(r'"resources": \\["(.*)"\\]', open(top + "/kustomization.yaml").read())[1]
repository = start.partition("/")[0]
count = re.search("count: (\\S+)", open(f"{top}/{start}/count.yaml").read())[1]
print(f'''apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  annotations:
    config.kubernetes.io/origin: |
      path: {repository}/base/claim.yaml
  name: gpu
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        count: {count}
        deviceClassName: gpu.example.com''')
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
"""


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a kustomization with a patch, below the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kustomize").write_text(f"#!{sys.executable} -IS\n{KUSTOMIZE}")
    (tmp_path / "bin" / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name, kustomization in (
        ("base", "resources: [claim.yaml]\n"),
        ("prod", "resources: [../base]\npatches: [{path: count.yaml}]\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text(kustomization)
    (tmp_path / "base" / "claim.yaml").write_text(CLAIM)
    patch = CLAIM + "        count: -1\n"  # the whole list: kustomize replaces it
    (tmp_path / "prod" / "count.yaml").write_text(patch)
    return Path("prod")


@pytest.mark.parametrize("path", [".", "prod", "./prod/count.yaml", "absolute"])
def test_a_patch_is_silenced_where_the_finding_is_shown(
    overlay: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    path = str(overlay.absolute()) if path == "absolute" else path
    assert places(findings(capsys, path)) == [("DRA116", "prod/count.yaml", 11)]
    assert main(["lint", path, "--add-ignore"]) == 0
    assert "prod/count.yaml: 1 suppressed" in capsys.readouterr().err
    text = (overlay / "count.yaml").read_text()
    assert "        count: -1  # dractl: ignore[DRA116]\n" in text
    assert findings(capsys, path) == []


@pytest.mark.parametrize("path", [".", "prod"])
def test_a_fix_is_written_to_a_patch(
    overlay: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    patch = (overlay / "count.yaml").read_text().replace("-1", '"2"')
    (overlay / "count.yaml").write_text(patch)
    assert main(["lint", path, "--fix"]) == 0
    assert (overlay / "count.yaml").read_text() == patch.replace('"2"', "2")
    assert "prod/count.yaml: 1 fixed" in capsys.readouterr().err


def test_values_of_the_command_line_are_for_the_only_chart(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "ci" / "a-values.yaml").write_text("count: -1\n")
    Path("mine.yaml").write_text("driver: a.example.com\n\ncount: -2\n")
    assert places(findings(capsys, "c", "--values", "./mine.yaml")) == [("DRA116", "mine.yaml", 3)]
    assert findings(capsys, "c", "--values", "mine.yaml", "--set", "count=3") == []
    (finding,) = findings(capsys, "c", "--set", "count=-3")
    assert places([finding]) == [("DRA116", "c/templates/claim.yaml", 12)]
    assert "-3" in finding["message"]


def test_values_without_exactly_one_chart_are_exit_code_2(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("claim.yaml").write_text(CLAIM)
    assert main(["lint", "claim.yaml", "--set", "count=2"]) == 2
    assert "need a chart" in capsys.readouterr().err
    (chart.parent / "d" / "templates").mkdir(parents=True)
    for name in ("Chart.yaml", "values.yaml", "templates/claim.yaml"):
        Path("d", name).write_text((chart / name).read_text())
    assert main(["lint", ".", "--set", "count=2"]) == 2
    error = capsys.readouterr().err
    assert "for one chart, and the input has several: c, d" in error
    assert "dractl.toml" in error
    assert main(["lint", "c", "--set", "count=2", "--no-render"]) == 2
    assert main(["lint", "c", "--values", "none.yaml"]) == 3


def test_a_configuration_has_the_values_of_each_chart(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("prod.yaml").write_text("count: -1\n")
    Path("dractl.toml").write_text('[charts.c]\nvalues = ["prod.yaml"]\n')
    assert places(findings(capsys, "c")) == [("DRA116", "prod.yaml", 1)]
    Path("dractl.toml").write_text('[charts.c]\nvalues = ["prod.yaml"]\nset = ["count=3"]\n')
    assert findings(capsys, "c") == []
    Path("dractl.toml").write_text('[charts.c]\nvalue = ["prod.yaml"]\n')
    assert main(["lint", "c"]) == 2
    assert "did you mean charts.c.values?" in capsys.readouterr().err
    Path("dractl.toml").write_text('[charts.c]\nvalues = ["/etc/passwd"]\n')
    assert main(["lint", "c"]) == 2
    assert "is outside of" in capsys.readouterr().err


def test_charts_of_a_large_input_are_rendered_too(
    chart: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dractl.cli.commands.lint.is_large", lambda _: True)
    (chart / "values.yaml").write_text("count: -1\ndriver: gpu.example.com\n")
    assert places(findings(capsys, ".")) == [("DRA116", "c/values.yaml", 1)]


def test_template_disabled_by_values_is_named_with_the_value(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (chart / "templates" / "claim.yaml").read_text()
    off = "{{- if .Values.dra.enabled }}\n" + text + "{{- end }}\n"
    for name in ("claim.yaml", "more.yaml"):
        (chart / "templates" / name).write_text(off)
    (chart / "values.yaml").write_text("dra:\n  enabled: false\n")
    renders_nothing = HELM[: HELM.index("for name in sorted")]
    (Path("bin") / "helm").write_text(f"#!{sys.executable} -IS\n{renders_nothing}")
    assert main(["lint", "c"]) == 0
    captured = capsys.readouterr()
    assert "c/templates/claim.yaml and 1 more: skipped, 2 templates with DRA" in captured.err
    assert "were not rendered: dra.enabled is false" in captured.err
    assert "no DRA objects found" not in captured.err
    assert main(["lint", "c", "--fail-on-skipped"]) == 1


def test_a_template_without_the_name_of_a_manifest_is_rendered(
    chart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "templates" / "claim.yaml").rename(chart / "templates" / "claim.tpl")
    (chart / "templates" / "_helpers.tpl").write_text("resource.k8s.io/v1 {{ broken")
    (chart / "values.yaml").write_text("count: -1\ndriver: gpu.example.com\n")
    helm = Path("bin") / "helm"
    helm.write_text(
        helm.read_text().replace("for name in sorted(", "for name in ['claim.tpl'] or (")
    )
    assert places(findings(capsys, "c")) == [("DRA116", "c/values.yaml", 1)]
