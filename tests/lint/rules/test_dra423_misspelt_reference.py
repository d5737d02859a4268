"""DRA423 misspelt-reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import ONE, claim, device_class, documents, found, pod, template

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("made", [ONE, template(ONE)])
def test_a_claim_is_no_template(made: str) -> None:
    right, wrong = ("a=gpu", "a:gpu") if made is ONE else ("a:gpu", "a=gpu")
    assert not found(documents(made, pod(right)), "DRA423")
    text = documents(made, pod(wrong))
    (advice,) = found(text, "DRA423")
    field = "resourceClaimName" if made is ONE else "resourceClaimTemplateName"
    assert advice.help == f"write {field}: gpu"
    assert advice.fix is not None
    (edit,) = advice.fix.edits
    line = text.splitlines()[edit.position.line - 1]
    mended = line[: edit.position.column - 1] + edit.text + line[edit.position.end_column - 1 :]
    assert mended.strip() == f"- {{name: a, {field}: gpu}}"


def test_file_beside_those_of_a_hook_may_have_the_right_name(tmp_path: Path) -> None:
    aligned, unaligned = (
        template(ONE).replace("name: gpu}", f"name: {name}}}") for name in ("aligned", "unaligned")
    )
    (tmp_path / "pod.yaml").write_text(pod("a:aligned"))
    (tmp_path / "unaligned.yaml").write_text(unaligned)

    def codes() -> set[str]:
        named = [str(tmp_path / "pod.yaml"), str(tmp_path / "unaligned.yaml")]
        return {finding.code for finding in lint(load(named), Target.of("1.37")).findings}

    assert "DRA423" in codes()
    (tmp_path / "aligned.yaml").write_text(aligned)
    assert "DRA423" not in codes()


def test_another_folder_of_the_repository_may_have_the_right_one(tmp_path: Path) -> None:
    # sympozium-ai/llmfit-dra: examples/ use classes of deploy/
    one, other = (
        device_class(name, '"true"') for name in ("gpu.vendor.example", "gpu-any.vendor.example")
    )
    for folder in (".git", "deploy", "examples", "node_modules"):
        (tmp_path / folder).mkdir()
    (tmp_path / "examples" / "claim.yaml").write_text(claim("gpu gpu.vendor.example"))
    (tmp_path / "examples" / "class.yaml").write_text(other)

    def codes() -> set[str]:
        named = [str(tmp_path / "examples" / name) for name in ("claim.yaml", "class.yaml")]
        return {finding.code for finding in lint(load(named), Target.of("1.37")).findings}

    (tmp_path / "node_modules" / "class.yaml").write_text(one)
    assert "DRA423" in codes()
    (tmp_path / "deploy" / "class.yaml").write_text(one)
    assert "DRA423" not in codes()


def test_template_of_another_folder_is_not_suggested(tmp_path: Path) -> None:
    # NVIDIA/k8s-dra-driver-gpu demo/specs/quickstart/v1beta1/gpu-test-vfiopci.yaml
    for folder in (".git", "v1", "v1beta1"):
        (tmp_path / folder).mkdir()
    (tmp_path / "v1" / "a.yaml").write_text(template(ONE))
    there, here = template(ONE).replace("{name", "{namespace: there, name"), pod("a:gpu")
    (tmp_path / "v1beta1" / "a.yaml").write_text(
        documents(there, here.replace("{name: p", "{namespace: here, name: p"))
    )
    codes = {
        finding.code
        for finding in lint(
            load([str(tmp_path / "v1beta1" / "a.yaml")]), Target.of("1.37")
        ).findings
    }
    assert "DRA423" in codes


def test_only_unused_template_of_the_file_is_suggested() -> None:
    # pkenchap/power-dra-driver example/demo/nx-test.yaml
    one = template(ONE).replace("name: gpu}", "name: nx-gzip}", 1)
    text = documents(one, pod("a:nx-gzip-template-0"))
    (finding,) = found(text, "DRA423")
    assert (finding.severity, finding.message) == (
        "warning",
        "unknown ResourceClaimTemplate nx-gzip-template-0; this file has nx-gzip, which nothing uses",
    )
    assert found(documents(text, pod("a:nx-gzip").replace("name: p", "name: q", 1)), "DRA423") == []
