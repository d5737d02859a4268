"""From inputs to a plan: one step a release and one a driver, each with what it changes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dractl.allocation import Features
from dractl.cluster import sources
from dractl.cluster.pods import is_pending
from dractl.cluster.state import map_at
from dractl.errors import UsageError
from dractl.model import Target
from dractl.model.releases import COMPARED, GATES, is_newer, release_of, stage
from dractl.upgrade import server
from dractl.upgrade.finding import Plan, Step, grouped
from dractl.upgrade.placing import Placing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.cluster import ClusterState
    from dractl.upgrade.server import Input

_NO_DEVICES = ("what kube-scheduler does: the input has no ResourceSlice",)
_DRA = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule")


class Inputs(Struct, frozen=True):
    """What is compared: manifests, which are created anew, and the stored objects of a cluster."""

    manifests: tuple[Input, ...]
    state: ClusterState
    gates: Mapping[str, bool] = field(default_factory=dict)


def path_of(start: str, to: str) -> tuple[str, ...]:
    """Every release from one to another, both included. Raises UsageError for an unknown one, and for a downgrade."""
    known = ", ".join(COMPARED)
    for text in (start, to):
        if is_newer(text) or release_of(text) not in COMPARED:
            raise UsageError(f"Kubernetes {text} is not known to upgrade", hint=f"known are {known}")
    first, last = COMPARED.index(release_of(start)), COMPARED.index(release_of(to))
    if last < first:
        raise UsageError(
            f"Kubernetes {start} to {to} is a downgrade", hint=f"--to is {start} or a later release; known are {known}"
        )
    return COMPARED[first : last + 1]


def plan(inputs: Inputs, start: str, to: str) -> Plan:
    """What each step of an upgrade changes. Raises UsageError."""
    releases = path_of(start, to)
    targets = [_target(release, inputs.gates) for release in releases]
    items = server.merged((*inputs.manifests, *stored(inputs.state)))
    namespaces = _labels(inputs)
    answers: dict[Any, server.Said] = {}
    state, written = _together(inputs)
    placing = Placing(state, written) if state.has("ResourceSlice") else None
    placed = [placing.outcomes(state, _features(target)) for target in targets] if placing is not None else []
    steps = []
    for number, (before, after) in enumerate(pairwise(targets)):
        found = [*server.differences(items, before, after, namespaces, answers)]
        if placing is not None:
            found += placing.differences(placed[number], placed[number + 1])
        last = server.endings(inputs.manifests, after.release) if after is targets[-1] else ()
        steps.append(Step(f"Kubernetes {after.release}", findings=grouped((*found, *last))))
    undecided = _NO_DEVICES if placing is None else tuple(placing.undecided)
    return Plan(releases[0], releases[-1], tuple(steps), not_compared=undecided)


def _together(inputs: Inputs) -> tuple[ClusterState, ClusterState]:
    """The cluster with the objects of the manifests, and these alone."""
    written = sources.of_objects(item.value for item in inputs.manifests)
    return inputs.state.merged(written), written


def _features(target: Target) -> Features:
    return Features.for_release(target.release, {gate: gate in target.gates for gate in GATES if _free(gate, target)})


def _free(gate: str, target: Target) -> bool:
    found = stage(gate, target.release)
    return found is not None and (gate in target.gates) != found.default


def _target(release: str, gates: Mapping[str, bool]) -> Target:
    """A release with the gates that it has."""
    return Target.of(release, {gate: on for gate, on in gates.items() if _switchable(gate, release, on)})


def _switchable(gate: str, release: str, on: bool) -> bool:
    if gate in ("AllAlpha", "AllBeta"):
        return True
    found = stage(gate, release)
    return found is not None and not (found.locked and found.default != on)


def stored(state: ClusterState) -> Iterator[Input]:
    """The objects of a cluster that an API server judges: those of DRA, workloads, and pods that no workload makes."""
    for kind in state.kinds:
        for value in state.all(kind).values():
            if kind in _DRA or (_makes_pods(value) and not map_at(value, "metadata").get("ownerReferences")):
                yield server.Input(value, stored=True)


def _makes_pods(value: Mapping[str, Any]) -> bool:
    return value.get("kind") != "Pod" or is_pending(value)


def _labels(inputs: Inputs) -> dict[str, Mapping[str, str]]:
    manifests = (item.value for item in inputs.manifests if item.value.get("kind") == "Namespace")
    return {
        str(map_at(value, "metadata").get("name")): map_at(value, "metadata", "labels")
        for value in (*inputs.state.all("Namespace").values(), *manifests)
    }
