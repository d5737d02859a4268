"""Ignore comments that ``dractl lint --add-ignore`` writes: where they stand, and that they work."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: gpus}\nspec:\n  devices:\n    requests:\n"
CLAIM = (
    HEAD.replace("{", "{{").replace("}", "}}")
    + "    - name: gpu\n      exactly:\n        deviceClassName: gpu.example.com\n        count: -2{}\n"
)
FLOW = (
    HEAD.replace("{", "{{").replace("}", "}}")
    + "    - {{name: gpu, exactly: {{deviceClassName: gpu.example.com, count: -2, cuont: 1}}}}{}\n"
)
SUM = "device.foo == 3"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dractl.toml").write_text("")  # nothing above is looked at
    return tmp_path


def selector(*lines: str) -> str:
    """A claim with the lines of an expression below its ``cel``."""
    head = "    - name: gpu\n      exactly:\n        deviceClassName: x\n        selectors:\n        - cel:\n"
    return HEAD + head + "".join(f"            {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CLAIM.format(""), CLAIM.format("  # dractl: ignore[DRA116]")),
        (CLAIM.format("  # two"), CLAIM.format("  # two  # dractl: ignore[DRA116]")),
        (CLAIM.format("  # dractl: ignore"), CLAIM.format("  # dractl: ignore[DRA116]")),
        (CLAIM.format("  # dractl: ignore[] why"), CLAIM.format("  # dractl: ignore[DRA116] why")),
        (
            FLOW.format(" # dractl: ignore[DRA116] why"),
            FLOW.format(" # dractl: ignore[DRA116, DRA003] why"),
        ),
        (FLOW.format(""), FLOW.format("  # dractl: ignore[DRA003, DRA116]")),
        (
            CLAIM.format("  # dractl: ignore-file[DRA701]"),
            CLAIM.format("  # dractl: ignore-file[DRA701]").replace(
                "        count", "        # dractl: ignore[DRA116]\n        count"
            ),
        ),
        (
            selector("expression: |", "  true &&", f"  {SUM}"),
            selector("expression: |  # dractl: ignore[DRA113]", "  true &&", f"  {SUM}"),
        ),
        (
            selector(f'expression: "{SUM} &&', '  true"'),
            selector("# dractl: ignore[DRA113]", f'expression: "{SUM} &&', '  true"'),
        ),
        (
            selector("expression:", '  "true &&', f"  {SUM} &&", '  true"'),
            selector(
                "expression:  # dractl: ignore[DRA113]", '  "true &&', f"  {SUM} &&", '  true"'
            ),
        ),
        (
            selector("expression: true &&", f"  {SUM}"),
            selector("expression: true &&", f"  {SUM}  # dractl: ignore[DRA113]"),
        ),
    ],
    ids=[
        "plain",
        "comment",
        "bare",
        "empty",
        "merged",
        "two",
        "file",
        "block",
        "first-line",
        "middle",
        "last-line",
    ],
)
def test_where_comments_stand(
    here: Path, capsys: pytest.CaptureFixture[str], before: str, after: str
) -> None:
    path = here / "claim.yaml"
    path.write_text(before)
    assert main(["lint", "claim.yaml"]) == 1
    assert main(["lint", "claim.yaml", "--add-ignore", "--diff"]) == 1
    assert path.read_text() == before
    main(["lint", "claim.yaml", "--add-ignore"])
    assert path.read_text() == after
    capsys.readouterr()
    main(["lint", "claim.yaml", "-o", "concise", "--ignore", "DRA901"])
    assert capsys.readouterr().out.startswith("nothing found in")
    main(["lint", "claim.yaml", "--add-ignore"])
    assert path.read_text() == after


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_bytes_stay_as_they_are(here: Path, mark: str, newline: str) -> None:
    path = here / "claim.yaml"
    path.write_bytes((mark + CLAIM.format("")).replace("\n", newline).encode())
    path.chmod(0o640)
    assert main(["lint", "claim.yaml", "--add-ignore"]) == 0
    wanted = mark + CLAIM.format("  # dractl: ignore[DRA116]")
    assert path.read_bytes() == wanted.replace("\n", newline).encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(item.name for item in here.iterdir()) == ["claim.yaml", "dractl.toml"]


CLAIM_JSON = """\
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "g"}, "spec": {"devices": {
  "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": -2}}]}}}
"""


@pytest.mark.parametrize("name", ["claim.json", "claim.yaml"])
def test_json_is_left_as_it_is(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (here / name).write_text(CLAIM_JSON)
    assert main(["lint", name, "--add-ignore", "-o", "concise"]) == 1
    assert (here / name).read_text() == CLAIM_JSON
    shown = capsys.readouterr()
    assert "DRA116" in shown.out
    assert "JSON has no comments" in shown.err


def test_archives_are_left_as_they_are(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tarfile.open(here / "all.tar", "w") as archive:
        data = CLAIM.format("").encode()
        member = tarfile.TarInfo("claim.yaml")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    before = (here / "all.tar").read_bytes()
    assert main(["lint", "all.tar", "--add-ignore", "-o", "concise"]) == 1
    assert (here / "all.tar").read_bytes() == before
    assert "all.tar/claim.yaml: no comments added" in capsys.readouterr().err


def test_a_manifest_inside_a_string_keeps_its_value(here: Path) -> None:
    """The comment stands where the string begins."""
    inside = "".join(f"    {line}\n" for line in CLAIM.format("").splitlines())
    text = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  claim.yaml: |\n{inside}"
    )
    (here / "map.yaml").write_text(text)
    assert main(["lint", "map.yaml", "--add-ignore", "-o", "concise"]) == 0
    comment = "claim.yaml: |  # dractl: ignore[DRA116]\n"
    assert (here / "map.yaml").read_text() == text.replace("claim.yaml: |\n", comment)


def test_only_selected_codes_are_ignored(here: Path) -> None:
    path = here / "claim.yaml"
    path.write_text(FLOW.format(""))
    assert main(["lint", "claim.yaml", "--add-ignore", "--select", "DRA003"]) == 0
    assert path.read_text() == FLOW.format("  # dractl: ignore[DRA003]")


def test_standard_input_is_printed_with_comments(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CLAIM.format("").encode())))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    assert main(["lint", "-", "--add-ignore"]) == 0
    assert out.buffer.getvalue().decode() == CLAIM.format("  # dractl: ignore[DRA116]")


@pytest.mark.parametrize("other", ["--fix", "--watch", "--unsafe-fixes"])
def test_mutually_exclusive_options_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    assert main(["lint", ".", "--add-ignore", other]) == 2
    assert other in capsys.readouterr().err
