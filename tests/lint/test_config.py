"""The configuration: where it is found, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.errors import InputError, UsageError
from dractl.lint.config import baseline, find, read

if TYPE_CHECKING:
    from pathlib import Path


def test_the_nearest_folder_counts_and_other_pyprojects_do_not(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find(inner) is None or tmp_path not in find(inner).parents  # type: ignore[union-attr]
    (tmp_path / "pyproject.toml").write_text("[tool.dractl]\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert find(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "a" / ".dractl.toml").write_text("")
    assert find(inner) == tmp_path / "a" / ".dractl.toml"
    (tmp_path / "a" / "dractl.toml").write_text("")
    assert find(inner) == tmp_path / "a" / "dractl.toml"


def test_everything_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "dractl.toml"
    path.write_text(
        """
        kubernetes-version = "1.36"
        exclude = ["vendor/"]
        [feature-gates]
        DRAListTypeAttributes = true
        [lint]
        select = ["ALL"]
        ignore = ["DRA7"]
        fail-on = "warning"
        baseline = "known.json"
        devices = ["slices/", "local"]
        [lint.per-file-ignores]
        "tests/**" = ["DRA1"]
        """
    )
    config = read(path)
    assert config.kubernetes_version == "1.36"
    assert config.feature_gates == {"DRAListTypeAttributes": True}
    assert (config.exclude, config.select, config.ignore, config.fail_on) == (
        ("vendor/",),
        ("ALL",),
        ("DRA7",),
        "warning",
    )
    assert config.baseline == str(tmp_path / "known.json")
    assert config.devices == (str(tmp_path / "slices"), "local")
    assert config.per_file_ignores == {"tests/**": ("DRA1",)}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "kubernetes-verson = '1.36'",
            "unknown setting kubernetes-verson",
            "did you mean kubernetes-version?",
        ),
        ("fail-on = 'error'", "unknown setting fail-on", "did you mean lint.fail-on?"),
        ("[lint]\nselct = []", "unknown setting lint.selct", "did you mean lint.select?"),
        ("[lint]\nselect = 'DRA1'", "lint.select must be a list of strings", None),
        (
            "kubernetes-version = 1.36",
            "kubernetes-version must be a string, not 1.36",
            "put it in quotes",
        ),
        (
            "[feature-gates]\nDRAAdminAccess = 'yes'",
            "feature-gates.DRAAdminAccess must be true or false",
            None,
        ),
        ("lint = 3", "lint must be a table", None),
        (
            "[lint]\ndevices = ['slices', 'cluster']",
            "lint.devices: a configuration cannot name the cluster",
            "remove it, and give --devices cluster on the command line, where you are allowed to read the cluster",
        ),
        ("[lint", "not TOML", None),
        pytest.param("x = " + "[" * 100_000, "not TOML: nested too deeply", None, id="deep"),
    ],
)
def test_unknown_setting_is_wrong_usage(
    tmp_path: Path, text: str, message: str, hint: str | None
) -> None:
    path = tmp_path / "dractl.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.hint == hint


def test_missing_file_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other", "findings": []}', '{"schema": "dractl/lint/v1"}']
)
def test_a_baseline_is_an_earlier_report(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        baseline(path)
    assert "dractl lint -o json" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('exclude = ["vendor", "a\\u0000b"]', "exclude"),
        ('kubernetes-version = "1.36\\u0000"', "kubernetes-version"),
        ('[feature-gates]\n"A\\u0000" = true', "feature-gates"),
        ('[lint]\nbaseline = "a\\u0000b"', "lint.baseline"),
        ('[lint]\ndevices = ["slices", "a\\u0000b"]', "lint.devices"),
        ('[lint]\nselect = ["DRA\\u0000"]', "lint.select"),
        ('[lint.per-file-ignores]\n"a\\u0000b" = ["DRA7"]', "lint.per-file-ignores"),
        ('[lint.per-file-ignores]\nab = ["DRA\\u0000"]', "lint.per-file-ignores.ab"),
    ],
)
def test_nul_is_an_error_naming_the_file_and_the_setting(
    text: str, key: str, tmp_path: Path
) -> None:
    """The kernel takes no path with one, and Python raises ValueError."""
    path = tmp_path / "dractl.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: {key} contains a NUL character: ")


def test_a_folder_is_neither_a_configuration_nor_a_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a folder, where a file is expected"):
        read(tmp_path)
    with pytest.raises(UsageError, match=f"the baseline {tmp_path} is a folder, not a report"):
        baseline(tmp_path)
