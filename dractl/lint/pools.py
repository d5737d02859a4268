"""The pools of the run: the slices of each pool's newest generation."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl.lint.model import Manifest, Run
from dractl.objects import newest


class SlicePool(Struct, frozen=True):
    """A pool of a driver; ``str()`` names it in a sentence."""

    driver: str
    name: str
    generation: int
    slices: list[Manifest]

    @property
    def announced(self) -> int:
        """The number of slices in the pool, according to the first one."""
        return self.slices[0].slice.announced

    @property
    def complete(self) -> bool:
        return self.announced == len(self.slices)

    def __str__(self) -> str:
        return f"pool {self.name} of {self.driver}"


def pools(run: Run) -> Sequence[SlicePool]:
    """Return the pools in the order of their first slice."""
    return run.derive(_list_pools)


def _list_pools(run: Run) -> Sequence[SlicePool]:
    """Return the pools of a run.

    If the slices of one node are complete without the others, they are listed as a pool of their
    own, since the scheduler uses no others on that node
    (k8s.io/dynamic-resource-allocation/structured GatherPools).
    """
    slices_by_pool: dict[tuple[str, str], list[Manifest]] = {}
    for subject in run.of("ResourceSlice"):
        driver, name, _ = subject.slice.identity
        if driver and name:
            slices_by_pool.setdefault((driver, name), []).append(subject)
    return [
        pool
        for slices in slices_by_pool.values()
        for state in _split_states(slices)
        for pool in _pools_of_state(state)
    ]


def _split_states(slices: list[Manifest]) -> Iterator[list[Manifest]]:
    """Yield the slices of one pool, grouped by the state of the cluster that they show.

    Copies of one slice in several files show several states: each copy is judged with the slices of
    its file, and with slices that have no copy.
    """
    files: dict[str, dict[str, None]] = {}
    for subject in slices:
        if subject.document.name:
            files.setdefault(subject.document.name, {})[subject.document.file] = None
    copied = {name for name, places in files.items() if len(places) > 1}
    if not copied:
        yield slices
        return
    for file in dict.fromkeys(file for name in sorted(copied) for file in files[name]):
        yield [
            subject
            for subject in slices
            if subject.document.file == file or subject.document.name not in copied
        ]


def node_of(subject: Manifest) -> str:
    """Return the node that a slice belongs to; empty if the slice does not name its node."""
    return subject.slice.node


def _pools_of_state(slices: list[Manifest]) -> Iterator[SlicePool]:
    nodes: dict[str, list[Manifest]] = {}
    for subject in slices:
        nodes.setdefault(node_of(subject), []).append(subject)
    incomplete: list[Manifest] = []
    for node, members in nodes.items():
        pool = _newest(members)
        if node and pool.complete and "" not in nodes:
            yield pool
        else:
            incomplete += members
    if incomplete:
        yield _newest(incomplete)


def _newest(slices: list[Manifest]) -> SlicePool:
    ((driver, name), members) = next(
        iter(newest(slices, lambda subject: subject.slice.identity).items())
    )
    return SlicePool(driver, name, members[0].slice.generation, members)
