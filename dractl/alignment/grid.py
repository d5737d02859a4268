"""Devices of a node by location, as the search for the best alignment needs them."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from dractl.alignment.distance import Distance, Levels, Location, distance
from dractl.alignment.pairing import RankFunction


class LocationGrid(Struct, frozen=True):
    """Numbered devices at numbered locations."""

    location_by_device: Sequence[int]
    """The location of each device."""

    kinds: Sequence[str]
    """The kind of the devices at each location."""

    rank: RankFunction
    """Function that returns the rank of the level between two locations, or between two devices at
    one location.
    """


DeviceMasks = Mapping[int, int]
"""Sets of devices, as bits, by location."""


def build_grid(
    location_by_device: Sequence[int],
    locations: Sequence[Location],
    levels: Levels | None,
    rank: Callable[[Distance], int],
) -> LocationGrid:
    """Return the grid of a node. ``rank`` is a function that returns the smallest, or the largest,
    possible rank of a distance.
    """
    ranks: dict[tuple[int, int], int] = {}

    def rank_between(a: int, b: int) -> int:
        key = (a, b) if a <= b else (b, a)
        if key not in ranks:
            ranks[key] = rank(distance(locations[a], locations[b], levels))
        return ranks[key]

    return LocationGrid(location_by_device, [place.kind for place in locations], rank_between)


def merge_locations(
    grid: LocationGrid, masks: Sequence[DeviceMasks], kinds: Collection[str]
) -> LocationGrid:
    """Merge locations that the search need not distinguish, such as the locations of GPUs that have
    their own PCIe roots.

    Such locations are equally far from each other, and from every other location of ``kinds``.
    """
    devices: dict[int, int] = {}
    for request_masks in masks:
        for location, mask in request_masks.items():
            devices[location] = devices.get(location, 0) | mask
    locations = [location for location in devices if grid.kinds[location] in kinds]
    crowded = {location for location in locations if devices[location].bit_count() > 1}

    def is_equivalent(a: int, b: int) -> bool:
        rank = grid.rank(a, b)
        if grid.kinds[a] != grid.kinds[b]:
            return False
        if any(grid.rank(each, each) != rank for each in (a, b) if each in crowded):
            return False
        others = (each for each in locations if each not in (a, b))
        return all(grid.rank(a, other) == grid.rank(b, other) for other in others)

    merged: dict[int, int] = {}
    inner_ranks: dict[int, int] = {}
    for location in locations:
        representatives = dict.fromkeys(merged.values())
        representative = next((r for r in representatives if is_equivalent(r, location)), location)
        merged[location] = representative
        if representative != location:
            inner_ranks[representative] = grid.rank(representative, location)

    def rank_between(a: int, b: int) -> int:
        return inner_ranks[a] if a == b and a in inner_ranks else grid.rank(a, b)

    location_by_device = [merged.get(location, location) for location in grid.location_by_device]
    return LocationGrid(location_by_device, grid.kinds, rank_between)
