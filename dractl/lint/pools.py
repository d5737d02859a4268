"""The pools of the run: the slices of each pool's newest generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dractl.lint.run import mapping, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
        return number(_pool(self.slices[0]).get("resourceSliceCount"))

    @property
    def complete(self) -> bool:
        return self.announced == len(self.slices)

    def __str__(self) -> str:
        return f"pool {self.name} of {self.driver}"


def pools(run: Run) -> list[Pool]:
    """In the order of their first slice.

    Slices of a node that are complete by themselves are a pool of their own: the scheduler looks no further on that
    node (k8s.io/dynamic-resource-allocation/structured GatherPools).
    """
    found: dict[tuple[str, str], list[Subject]] = {}
    for subject in run.of("ResourceSlice"):
        driver, name = text(subject.spec.get("driver")), text(_pool(subject).get("name"))
        if driver and name:
            found.setdefault((driver, name), []).append(subject)
    return [pool for (driver, name), slices in found.items() for pool in _seen(driver, name, slices)]


def node_of(subject: Subject) -> str:
    """The node that a slice belongs to; empty where it says otherwise who can use it."""
    return text(subject.spec.get("nodeName"))


def _seen(driver: str, name: str, slices: list[Subject]) -> Iterator[Pool]:
    nodes: dict[str, list[Subject]] = {}
    for subject in slices:
        nodes.setdefault(node_of(subject), []).append(subject)
    rest: list[Subject] = []
    for node, members in nodes.items():
        pool = _newest(driver, name, members)
        if node and pool.complete and "" not in nodes:
            yield pool
        else:
            rest += members
    if rest:
        yield _newest(driver, name, rest)


def _newest(driver: str, name: str, slices: list[Subject]) -> Pool:
    newest = max(_generation(subject) for subject in slices)
    return Pool(driver, name, newest, [subject for subject in slices if _generation(subject) == newest])


def _pool(subject: Subject) -> Mapping[str, Any]:
    return mapping(subject.spec.get("pool"))


def _generation(subject: Subject) -> int:
    return number(_pool(subject).get("generation"))
