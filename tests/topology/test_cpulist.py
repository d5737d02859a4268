"""Lists and masks of CPUs as the kernel writes them (Documentation/admin-guide/cputopology.rst)."""

from __future__ import annotations

import pytest

from dractl.topology import cpulist


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", set()), ("0", {0}), ("0-3,8", {0, 1, 2, 3, 8}), ("0-1,4-5\n", {0, 1, 4, 5})],
)
def test_lists(text: str, numbers: set[int]) -> None:
    assert cpulist.parse(text) == numbers
    assert cpulist.show(numbers) == text.strip()


@pytest.mark.parametrize("text", ["3-1", "-4", "0-99999999999", "a-b", "70000"])
def test_invalid_list_is_refused_without_using_memory(text: str) -> None:
    with pytest.raises(ValueError, match=r"list|int"):
        cpulist.parse(text)


def test_masks() -> None:
    assert cpulist.parse_mask("00000001,0000000f") == {0, 1, 2, 3, 32}
    with pytest.raises(ValueError, match="wide"):
        cpulist.parse_mask("f" * 20000)


def test_the_widest_mask() -> None:
    assert cpulist.parse_mask(f"{1 << cpulist.LIMIT - 1:x}") == {cpulist.LIMIT - 1}
    with pytest.raises(ValueError, match="wide"):
        cpulist.parse_mask(f"{1 << cpulist.LIMIT:x}")
