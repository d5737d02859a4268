"""The pools of the run: the slices of each pool's newest generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dractl.lint.run import mapping, number, text

if TYPE_CHECKING:
    from dractl.lint.run import Run, Subject


class Pool(NamedTuple):
    """A pool of a driver; ``str()`` names it in a sentence."""

    driver: str
    name: str
    generation: int
    slices: list[Subject]

    @property
    def announced(self) -> int:
        """How many slices the first one says that there are."""
        return number(mapping(self.slices[0].spec.get("pool")).get("resourceSliceCount"))

    @property
    def complete(self) -> bool:
        return self.announced == len(self.slices)

    def __str__(self) -> str:
        return f"pool {self.name} of {self.driver}"


def pools(run: Run) -> list[Pool]:
    """In the order of their first slice."""
    found: dict[tuple[str, str], list[tuple[int, Subject]]] = {}
    for subject in run.of("ResourceSlice"):
        driver, pool = text(subject.spec.get("driver")), mapping(subject.spec.get("pool"))
        name = text(pool.get("name"))
        if driver and name:
            found.setdefault((driver, name), []).append((number(pool.get("generation")), subject))
    made = []
    for (driver, name), slices in found.items():
        newest = max(generation for generation, _ in slices)
        made.append(Pool(driver, name, newest, [subject for generation, subject in slices if generation == newest]))
    return made
