"""The YAML blocks of a Markdown file that is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.lint import lint
from dractl.lint.fixes import apply_text_fixes
from dractl.manifests import FileFilter, load_readable
from dractl.model import Target
from tests.lint.written import claim, pod

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint.finding import Report

MISSPELT = claim("gpu gpu.nvidia.con")


def report(folder: Path, text: str) -> Report:
    (folder / "README.md").write_text(text, encoding="utf-8")
    return lint(load_readable([str(folder / "README.md")]), Target.of("1.37"))


def block(text: str, fence: str = "```yaml", indent: str = "") -> str:
    body = "".join(f"{indent}{line}\n" for line in text.splitlines())
    return f"{indent}{fence}\n{body}{indent}{fence[:3]}\n"


@pytest.mark.parametrize("indent", ["", "   "])
@pytest.mark.parametrize("fence", ["```yaml", "~~~yml"])
def test_findings_stand_at_their_place_in_the_file(tmp_path: Path, indent: str, fence: str) -> None:
    before = "# Title\n\nkind: `ResourceClaim`\n\n"
    text = before + block(MISSPELT, fence, indent)
    (finding,) = report(tmp_path, text).findings
    line = text.splitlines()[finding.position.line - 1]
    assert line[finding.position.column - 1 : finding.position.end_column - 1] == "gpu.nvidia.con"
    assert finding.fix is not None
    assert apply_text_fixes(text, [finding.fix])[0] == text.replace(
        "gpu.nvidia.con", "gpu.nvidia.com"
    )


@pytest.mark.parametrize("fence", ["```", "```go", "```console"])
def test_other_blocks_are_not_read(tmp_path: Path, fence: str) -> None:
    found = report(tmp_path, block(MISSPELT, fence))
    assert (found.findings, found.documents) == ((), 0)


@pytest.mark.parametrize("elision", ["...", "…", "- ...", "- ...  # one for each"])
def test_elided_lines_are_not_missed(tmp_path: Path, elision: str) -> None:
    shortened = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
    assert report(tmp_path, block(shortened)).findings != ()
    assert report(tmp_path, block(f"{shortened}  {elision}\n")).findings == ()
    wrong = (
        shortened
        + f"  devices:\n    requests:\n    {elision}\n    - name: gpu\n      exactyl: {{}}\n"
    )
    assert "DRA003" in {item.code for item in report(tmp_path, block(wrong)).findings}


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
def test_a_part_of_an_object_is_not_judged(tmp_path: Path, field: str) -> None:
    lines = MISSPELT.splitlines(keepends=True)
    assert (
        report(
            tmp_path, block("".join(line for line in lines if not line.startswith(field)))
        ).findings
        == ()
    )


def test_block_of_invalid_yaml_is_counted(tmp_path: Path) -> None:
    found = report(tmp_path, "text\n" + block("kind: ResourceClaim\n  a: [") + block(MISSPELT))
    assert [item.code for item in found.findings] == ["DRA722"]
    (skipped,) = found.skipped
    assert skipped.why == "a block that is not YAML by itself"


def test_a_file_beside_it_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(pod("a=gpus"))
    (tmp_path / ".git").mkdir()
    text = block(claim("gpu gpu.nvidia.com"))
    (tmp_path / "claim.yaml").write_text(claim("gpu gpu.nvidia.com"))
    assert report(tmp_path, text).findings == ()


def test_two_examples_of_one_name_are_no_mistake(tmp_path: Path) -> None:
    example = block(claim("gpu gpu.nvidia.com"))
    assert report(tmp_path, example + "or\n" + example).findings == ()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a pod, a claim, and prose about a claim of the same name and a namespace of its own."""
    example = MISSPELT + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text(
        "# Claims\n\n" + block(example) + "\n" + block("...\n")
    )
    (tmp_path / "pod.yaml").write_text(pod("a=gpuz"))
    (tmp_path / "claim.yaml").write_text(
        claim("gpu gpu.nvidia.com").replace("name: gpus", "name: other")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["lint", "-q", "--no-cache", "-o", "concise", *arguments])
    found = (line for line in capsys.readouterr().out.splitlines() if "DRA" in line)
    return [line.removeprefix("./").partition(": ")[0] for line in found]


def test_folders_have_prose_when_configured(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(".", capsys=capsys) == []
    (repository / "dractl.toml").write_text("markdown = true\n")
    lines = (repository / "docs/README.md").read_text().splitlines()
    line = next(line for line in lines if "gpu.nvidia.con" in line)
    place = f"docs/README.md:{lines.index(line) + 1}:{line.index('gpu.nvidia.con') + 1}"
    assert run(".", capsys=capsys) == [place]
    assert run("--changed-files", "docs/README.md", "pod.yaml", capsys=capsys) == [place]
    assert run("--changed-files", "pod.yaml", capsys=capsys) == []


def test_unknown_setting_of_a_block_is_refused(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "dractl.toml").write_text('markdown = "yes"\n')
    assert main(["lint", "."]) == 2
    assert "markdown must be true or false, not 'yes'" in capsys.readouterr().err


def test_folders_and_changed_files_pass_over_prose(tmp_path: Path) -> None:
    report(tmp_path, block(MISSPELT))
    assert load_readable([str(tmp_path)]).documents == ()
    assert (
        load_readable(
            [str(tmp_path / "README.md")], choice=FileFilter(changed_files=True)
        ).documents
        == ()
    )
