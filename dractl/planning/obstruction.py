"""The reasons why there is no plan: the pods that hold the devices for the subject, and why they do
not move.
"""

from collections.abc import Iterator, Sequence

from dractl.planning.landscape import Client, Landscape
from dractl.planning.movable import Movability

MAX_NAMED_PODS = 6


def describe_obstruction(
    landscape: Landscape, movability: Movability, clients: Sequence[Client]
) -> tuple[str, ...]:
    """Return why no move makes room for the clients."""
    movable = sum(unit.size for unit in movability.units)
    nodes = {node for client in clients for node in landscape.nodes_for(client)}
    if nodes:
        return (
            f"{movable} pods may move, and however they were arranged, no node would have room",
            *_describe_kept_pods(landscape, movability),
        )
    summary = "none of the pods that run may move"
    if movable:
        summary = f"even without the {movable} pods that may move, no node has room"
    return (summary, *_describe_kept_pods(landscape, movability))


def _describe_kept_pods(landscape: Landscape, movability: Movability) -> Iterator[str]:
    """Yield the pods that hold devices and do not move, each with the reason why it stays."""
    state = landscape.scheduler.state
    holders = [
        (key, why)
        for key, why in movability.kept.items()
        if any(state.claim(claim).is_allocated for claim in state.claims_of_pod(key))
    ]
    for key, why in holders[:MAX_NAMED_PODS]:
        yield f"pod {'/'.join(key)} on {state.pod(key).node_name} does not move: {why}"
    if len(holders) > MAX_NAMED_PODS:
        yield f"{len(holders) - MAX_NAMED_PODS} more pods that hold devices do not move"
