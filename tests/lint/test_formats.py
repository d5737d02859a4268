"""The formats of services: what their schemas and parsers ask for, with names of files that are hard to write."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit
from xml.etree import ElementTree

import pytest

from dractl.lint import Report, lint, registry
from dractl.lint.registry import rules
from dractl.manifests import load
from dractl.model import Target
from dractl.report.canvas import Canvas
from dractl.report.lint import (
    full as lint_full,
    github as lint_github,
    gitlab as lint_gitlab,
    junit as lint_junit,
    markdown as lint_markdown,
    sarif as lint_sarif,
)

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: 2}
    constraints:
    - matchAttribute: resource.kubernbetes.io/pcieRoot
"""
NAMES = (
    "plain.yaml",
    "with space/a b.yaml",
    "ü#x%41.yaml",
    "%20.yaml",
    "what?&=;@!$().yaml",
    "C:colon.yaml",
    "C:/folder.yaml",
    "back\\slash.yaml",
    "new\nline.yaml",
    "rocket\U0001f680.yaml",
    os.fsdecode(b"latin-\xe9.yaml"),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def report(*paths: str) -> Report:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(CLAIM)
    return lint(load(list(paths)), Target.of())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lead", ["", "./", "absolute"])
def test_sarif_names_files_by_resolvable_uris(here: Path, name: str, lead: str) -> None:
    path = str(here / name) if lead == "absolute" else lead + name
    (run,) = json.loads(lint_sarif.render(report(path)))["runs"]
    (uri,) = {
        item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for item in run["results"]
    }
    # RFC 3986; a colon in the first segment of a relative reference would be the end of a scheme.
    assert re.fullmatch(r"(?:[\w.~!$&'()*+,;=@/-]|%[0-9A-F]{2})+", uri, re.ASCII)
    assert not urlsplit(uri).scheme
    assert unquote_to_bytes(uri) == os.fsencode(name)


def test_sarif_names_files_elsewhere_with_a_scheme(here: Path) -> None:
    (run,) = json.loads(lint_sarif.render(report("../a b.yaml")))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (here.parent / "a b.yaml").as_uri()
    assert ".." not in uri


@pytest.mark.parametrize("name", NAMES)
def test_gitlab_gets_unicode_and_paths_from_the_repository(here: Path, name: str) -> None:
    for path in (name, f"./{name}", str(here / name)):
        text = lint_gitlab.render(report(path))
        (issue,) = json.loads(text)
        text.encode("ascii")
        shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        assert issue["location"]["path"] == shown
        assert issue["location"]["lines"]["begin"] == 10
        # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
        assert issue.keys() >= {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")


@pytest.mark.parametrize("name", NAMES)
def test_a_github_command_is_one_line_and_its_file_can_be_read_back(here: Path, name: str) -> None:
    text = lint_github.render(report(str(here / name)))
    match = re.fullmatch(r"::error ((?:\w+=[^,:\r\n]*,?)+)::([^\r\n]*)", text)
    assert match
    properties = dict(item.split("=", 1) for item in match[1].split(","))
    # actions/runner: %25 comes last
    read = properties["file"]
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        read = read.replace(code, sign)
    assert read == name


def test_junit_has_the_elements_and_attributes_of_the_schema_of_jenkins(here: Path) -> None:
    root = ElementTree.fromstring(lint_junit.render(report(*NAMES[:-1])))
    # jenkinsci/xunit-plugin types/model/xsd/junit-10.xsd
    allowed = {
        "testsuites": {"name", "tests", "failures", "errors"},
        "testsuite": {"name", "tests", "failures", "errors", "skipped"},
        "testcase": {"name", "classname"},
        "failure": {"type", "message"},
        "system-out": set(),
    }
    for element in root.iter():
        assert set(element.keys()) <= allowed[element.tag], element.tag
    assert root.get("tests") == str(len(NAMES) - 1)


def test_a_rule_has_an_address_where_the_project_has_a_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (rules()["DRA116"].page is None) == (not registry.DOCUMENTATION)
    monkeypatch.setattr(registry, "DOCUMENTATION", "https://docs.example.com/d")
    assert rules()["DRA116"].page == "https://docs.example.com/d/rules/DRA116/"


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_a_row_a_finding_whatever_the_file_is_called(here: Path, name: str) -> None:
    head, empty, *table = lint_markdown.render(report(str(here / name))).splitlines()
    assert head.startswith("### dractl: 1 error in 1 document of 1 file for Kubernetes 1.37")
    assert not empty
    assert table[:2] == ["| where | rule | what |", "|---|---|---|"]
    (row,) = table[2:]
    assert re.fullmatch(r"\| `[^`]*:10` \| error DRA\d+ \| .* \|", row)


def test_markdown_counts_the_findings_above_its_limit(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "a.yaml").write_text(CLAIM)
    (here / "b.yaml").write_text(CLAIM)
    monkeypatch.setattr(lint_markdown, "MAX_ROWS", 1)
    one = lint_markdown.render(report(str(here / "a.yaml")))
    two = lint_markdown.render(report(str(here / "a.yaml"), str(here / "b.yaml")))
    assert " more |" not in one
    assert "| | | and 1 more |" in two


def test_markdown_shows_words_as_they_are(here: Path) -> None:
    file = here / "a.yaml"
    file.write_text(CLAIM.replace("gpus", '"<img|x> `a` *b* [c](d)"'))
    text = lint_markdown.render(report(str(file)))
    assert re.search(r"(?<!\\)[<*\[]img|(?<!\\)<img", text) is None


def test_hidden_findings_are_counted(here: Path) -> None:
    file = here / "a.yaml"
    file.write_text(CLAIM.replace("count: 2", "count: 0").split("    constraints")[0])
    whole = lint(load([str(file)]), Target.of("1.37"))
    assert [finding.severity for finding in whole.findings] == ["warning"]
    shown = whole.from_severity("error")
    assert shown.findings == ()
    assert shown.notes[-1] == "1 finding is less severe than error and not shown"
    assert whole.from_severity("warning") is whole


def test_no_words_of_a_finding_are_wider_than_the_terminal(here: Path) -> None:
    """Only an excerpt may be as wide as it is, since it is the text of the file."""
    written = report("claim.yaml")
    assert any(finding.help for finding in written.findings)
    for width in range(50, 110):
        text = lint_full.render(written, Canvas(width))
        words = [line for line in text.splitlines() if not line[:1].isdigit()]
        assert [line for line in words if len(line) > width and len(line.split()) > 3] == []
