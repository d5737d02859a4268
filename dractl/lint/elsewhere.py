"""Names that a home's own objects lack, looked up in the rest of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.objects import CLAIMS, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dractl.lint.model import Subject
    from dractl.lint.workers import Exchange

    Name = tuple[str, str]


def elsewhere(mine: Sequence[Subject], advised: Sequence[Subject], exchange: Exchange) -> Sequence[Subject]:
    """The objects that :attr:`Run.others` needs, so that a name means the same in a part as in the whole input.

    ``mine``: the objects of this part; ``advised``: those that it advises on. From other parts come the objects that
    these name, and those that they name in turn: the classes of a claim.
    """
    if exchange.size == 1:
        return mine
    found: dict[int, list[Subject]] = {rank: [] for rank in range(exchange.size)}
    found[exchange.rank] = [*mine]
    fresh: Iterable[Subject] = advised
    known: set[Name] = set()
    for _ in range(2):
        wanted = {name for item in fresh for name in _names(item)} - known
        asked = exchange.to_all(wanted)
        answers = exchange.to_each([[item for item in mine if (item.kind, item.name) in names] for names in asked])
        fresh = [item for rank, items in enumerate(answers) if rank != exchange.rank for item in items]
        for rank, items in enumerate(answers):
            if rank != exchange.rank:
                found[rank] += items
        known |= wanted
    return [item for items in found.values() for item in items]


def _names(subject: Subject) -> Iterator[Name]:
    """The names that an object refers to."""
    if subject.claim is not None:
        yield from (("DeviceClass", request.device_class) for request in subject.claim.alternatives)
    for pod in subject.pods:
        for _, entry in pod.claims:
            for field in ("resourceClaimName", "resourceClaimTemplateName"):
                yield from ((kind, text(entry.get(field))) for kind in CLAIMS)
