"""Charts, hostile ones among them: with a program that stands in for helm, and with helm."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.inputs.charts import MAX_TIMEOUTS, ChartRenderer, ChartValues, ValueChoice
from dractl.inputs.memory import Memory
from dractl.inputs.programs import Limits
from dractl.inputs.trees import Overlay
from dractl.model import Target

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = Target.of("1.37")
HELM = shutil.which("helm")
LIST_FILES = """
for folder, _, names in os.walk(chart):
    for name in sorted(names):
        print("#", os.path.relpath(os.path.join(folder, name), chart))
"""
SHOW_VALUES = """
print("set:", *(sys.argv[at + 1] for at, word in enumerate(sys.argv) if word == "--set"))
for at, word in enumerate(sys.argv):
    if word == "--values":
        print(open(sys.argv[at + 1]).read())
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return a chart in a repository."""
    folder = tmp_path / "repository" / "chart"
    (folder / "templates").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("count: 1\n")
    (folder / "templates" / "a.yaml").write_text("count: {{ .Values.count }}\n")
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that installs a program in Python as helm; it logs its runs."""

    def write(body: str) -> Path:
        (tmp_path / "bin").mkdir(exist_ok=True)
        path, log = tmp_path / "bin" / "helm", tmp_path / "runs"
        path.write_text(
            f"#!{sys.executable} -IS\nimport os, sys\nchart = sys.argv[3]\n"
            f"with open({str(log)!r}, 'a') as file: print(sys.argv[1], file=file)\n{body}\n"
        )
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        return log

    return write


def test_helm_sees_a_copy_and_nothing_beside_it(
    chart: Path, install: Callable[[str], Path]
) -> None:
    (chart.parent / "secret").write_text("hunter2")
    (chart / ".git").mkdir()
    (chart / ".git" / "config").write_text("token")
    install(LIST_FILES + "print(os.listdir(os.path.join(chart, '..')))")
    (rendered,) = ChartRenderer(TARGET).render(str(chart))
    lines = (rendered.data or b"").decode().splitlines()
    assert lines[:3] == ["# Chart.yaml", "# values.yaml", "# templates/a.yaml"]
    assert "secret" not in lines[3]


def test_links_are_followed_within_the_repository_only(
    chart: Path, install: Callable[[str], Path]
) -> None:
    log = install(LIST_FILES)
    (chart.parent / "shared").mkdir()
    (chart.parent / "shared" / "b.yaml").write_text("b: 1\n")
    (chart / "files").symlink_to("../shared")
    (chart.parent / "shared" / "loop").symlink_to("../chart")
    (rendered,) = ChartRenderer(TARGET).render(str(chart))
    assert b"# files/b.yaml" in (rendered.data or b"")
    log.unlink()
    for target in ("/etc/passwd", "../../../beside", "../.git/config"):
        (chart / "note").symlink_to(target)
        (rendered,) = ChartRenderer(TARGET).render(str(chart))
        assert "chart/note leads out of the repository" in (rendered.why or "")
        (chart / "note").unlink()
    assert not log.exists()


def test_chart_linking_out_of_the_repository_is_refused(
    chart: Path, install: Callable[[str], Path], tmp_path: Path
) -> None:
    install(LIST_FILES)
    shutil.copytree(chart, tmp_path / "private")
    (chart.parent / "link").symlink_to("../private")
    (rendered,) = ChartRenderer(TARGET).render(str(chart.parent / "link"))
    assert "leads out of the repository" in (rendered.why or "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_in_a_chart_is_not_waited_for(chart: Path, install: Callable[[str], Path]) -> None:
    install(LIST_FILES)
    os.mkfifo(chart / "files")
    (rendered,) = ChartRenderer(TARGET).render(str(chart))
    assert "chart/files is not a regular file" in (rendered.why or "")


SCHEMAS = {
    '{"$ref": "file:///etc/passwd"}': "file:///etc/passwd",
    '{"properties": {"a": {"\\u0024ref": "https://example.com/a.json"}}}': "https://example.com",
    '{"$id": "file:///home/ci/a.json", "$ref": "#/definitions/a"}': "file:///home/ci/a.json",
    '{"$ref": "#/a", "$ref": "other.json"}': "other.json",
}


@pytest.mark.parametrize(("schema", "reference"), SCHEMAS.items())
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_schema_of_values_does_not_read_other_files(
    chart: Path, install: Callable[[str], Path], schema: str, reference: str, is_packed: bool
) -> None:
    log = install(LIST_FILES)
    if is_packed:
        (chart / "charts").mkdir()
        with tarfile.open(chart / "charts" / "sub.tgz", "w:gz") as archive:
            member = tarfile.TarInfo("sub/values.schema.json")
            member.size = len(schema)
            archive.addfile(member, io.BytesIO(schema.encode()))
    else:
        (chart / "values.schema.json").write_text(schema)
    (rendered,) = ChartRenderer(TARGET).render(str(chart))
    assert f"values.schema.json refers to {reference}" in (rendered.why or "")
    assert not log.exists()


def test_self_referencing_schema_is_fine(chart: Path, install: Callable[[str], Path]) -> None:
    install(LIST_FILES)
    (chart / "values.schema.json").write_text(json.dumps({"$ref": "#/definitions/a"}))
    (rendered,) = ChartRenderer(TARGET).render(str(chart))
    assert rendered.data is not None


def test_each_file_of_ci_is_a_rendering_of_its_own(
    chart: Path, install: Callable[[str], Path]
) -> None:
    log = install(SHOW_VALUES)
    (chart / "ci").mkdir()
    for number in range(10):
        (chart / "ci" / f"{number}-values.yaml").write_text(f"count: {number}\n")
    (chart / "ci" / "notes.yaml").write_text("count: 99\n")
    renderings = ChartRenderer(TARGET, is_ci_rendered=True).render(str(chart))
    assert [item.is_variant for item in renderings] == [False, *[True] * 10]
    assert b"count: 3" in (renderings[4].data or b"")
    assert renderings[4].values == (str(chart / "ci" / "3-values.yaml"),)
    assert len(log.read_text().splitlines()) == 11
    assert len(ChartRenderer(TARGET).render(str(chart))) == 1


def test_values_of_the_user_take_the_place_of_ci(
    chart: Path, install: Callable[[str], Path], tmp_path: Path
) -> None:
    install(SHOW_VALUES)
    (chart / "ci").mkdir()
    (chart / "ci" / "a-values.yaml").write_text("count: 9\n")
    mine = tmp_path / "mine.yaml"
    mine.write_text("count: 7\n")
    choice = ValueChoice(ChartValues((str(mine),), ("a.b=c", "d=e")))
    (rendered,) = ChartRenderer(TARGET, choice=choice, is_ci_rendered=True).render(str(chart))
    assert (rendered.data or b"").decode().splitlines()[:2] == ["set: a.b=c d=e", "count: 7"]


def test_unsaved_text_is_rendered(chart: Path, install: Callable[[str], Path]) -> None:
    install("print(open(os.path.join(chart, 'values.yaml')).read())")
    overlay = Overlay({str(chart / "values.yaml"): b"count: 2\n"})
    (rendered,) = ChartRenderer(TARGET, overlay=overlay).render(str(chart))
    assert b"count: 2" in (rendered.data or b"")


def test_the_same_content_is_rendered_once(chart: Path, install: Callable[[str], Path]) -> None:
    log = install(SHOW_VALUES)
    memory = Memory()
    for text in ("count: 1\n", "count: 1\n", "count: 2\n", "count: 1\n"):
        (chart / "values.yaml").write_text(text)
        ChartRenderer(TARGET, memory=memory).render(str(chart))
    ChartRenderer(Target.of("1.36"), memory=memory).render(str(chart))
    assert len(log.read_text().splitlines()) == 3


def test_after_some_endless_charts_no_other_is_rendered(
    chart: Path, install: Callable[[str], Path]
) -> None:
    log = install("while True: pass")
    renderer = ChartRenderer(TARGET, limits=Limits(seconds=0.2))
    reasons = [renderer.render(str(chart))[0].why for _ in range(MAX_TIMEOUTS + 2)]
    assert reasons[0] == "helm template took longer than 0.2 seconds"
    assert reasons[-1] == "3 renderings before it took too long"
    assert len(log.read_text().splitlines()) == MAX_TIMEOUTS


def test_a_failure_names_the_users_files(
    chart: Path, install: Callable[[str], Path], tmp_path: Path
) -> None:
    install("sys.exit(f'Error: failed to parse {sys.argv[-3]}: in {chart}templates/a.yaml')")
    mine = tmp_path / "mine.yaml"
    mine.write_text(":\n")
    renderer = ChartRenderer(TARGET, choice=ValueChoice(ChartValues((str(mine),))))
    (rendered,) = renderer.render(str(chart))
    why = f"helm template failed: Error: failed to parse {mine}: in {chart}/templates/a.yaml"
    assert rendered.why == why


HOSTILE = {
    "a: {{ .Files.Get `../../secret` | quote }}": 'a: ""',
    "a: {{ .Files.Get `/etc/passwd` | quote }}": 'a: ""',
    "a: {{ (.Files.Glob `../**`) | len }}": "a: 0",
    "a: {{ lookup `v1` `Secret` `a` `b` | len }}": "a: 0",
    "a: {{ getHostByName `example.com` | quote }}": 'a: ""',
    "a: {{ env `HOME` }}": 'function "env" not defined; helm here is v',
    "{{ range until 2000000000 }}x{{ end }}": "more than 1024 MiB of memory|took longer",
    "{{ range until 10000 }}{{ repeat 100000 `x` }}{{ end }}": "more than|took longer",
    "{{ define `a` }}{{ include `a` . }}{{ end }}{{ include `a` . }}": "rendering template has",
    "{{ range until 99999 }}{{ range until 99999 }}{{ end }}{{ end }}": "took longer than 3 seconds",
    "a: {{ required `a count is needed` .Values.none }}": "a count is needed",
}


@pytest.mark.skipif(HELM is None, reason="helm is not installed here; a program stands in above")
@pytest.mark.parametrize(("template", "words"), HOSTILE.items())
def test_hostile_template_reads_no_secret(chart: Path, template: str, words: str) -> None:
    (chart.parent / "secret").write_text("hunter2")
    (chart / "templates" / "a.yaml").write_text(template)
    (rendered,) = ChartRenderer(TARGET, limits=Limits(seconds=3)).render(str(chart))
    assert re.search(words, rendered.why or (rendered.data or b"").decode())
    assert "hunter2" not in str(rendered)


@pytest.mark.skipif(HELM is None, reason="helm is not installed here; a program stands in above")
def test_helm_places_values_of_each_kind(chart: Path, tmp_path: Path) -> None:
    (chart / "ci").mkdir()
    (chart / "ci" / "a-values.yaml").write_text("count: 5\n")
    first, second = ChartRenderer(TARGET, is_ci_rendered=True).render(str(chart))
    assert (b"count: 1" in (first.data or b""), b"count: 5" in (second.data or b"")) == (True, True)
    mine = tmp_path / "mine.yaml"
    mine.write_text("count: 7\n")
    choice = ValueChoice(ChartValues((str(mine),), ("count=8",)))
    (rendered,) = ChartRenderer(TARGET, choice=choice).render(str(chart))
    assert b"count: 8" in (rendered.data or b"")
