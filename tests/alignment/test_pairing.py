"""Pairs are as near as any even pairing allows, compared with all pairings of small sets."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from dractl.alignment.pairing import count_as_near, pair_devices, pair_ranks


def all_even_pairings(first: int, second: int) -> list[tuple[int, ...]]:
    """Return each way to give every one of ``first`` devices one of ``second``, used evenly."""
    uses = -(-first // second)
    return [
        partners
        for partners in product(range(second), repeat=first)
        if max(partners.count(partner) for partner in partners) <= uses
    ]


@pytest.mark.parametrize("seed", range(30))
def test_no_even_pairing_is_nearer(seed: int) -> None:
    random = Random(seed)
    sizes = sorted((random.randint(1, 5), random.randint(1, 5)), reverse=True)
    ranks = [[random.randint(0, 3) for _ in range(sizes[1])] for _ in range(sizes[0])]
    best = min(
        tuple(sorted((ranks[a][b] for a, b in enumerate(partners)), reverse=True))
        for partners in all_even_pairings(*sizes)
    )
    first, second = range(sizes[0]), range(sizes[1])
    assert pair_ranks(first, second, lambda a, b: ranks[a][b]) == best
    assert pair_ranks(second, first, lambda b, a: ranks[a][b]) == best


def test_devices_of_one_kind_are_all_paired() -> None:
    assert pair_devices([1, 2, 3], None, lambda a, b: 0) == [(1, 2), (1, 3), (2, 3)]


def test_a_kind_without_devices_has_no_pairs() -> None:
    assert pair_devices([1, 2], [], lambda a, b: 0) == []


def test_pairs_are_compared_by_their_sorted_ranks() -> None:
    assert count_as_near([5, 0, 1], [0, 1, 1]) == 2
    assert count_as_near([1, 1, 1], [1, 1, 1]) == 3
