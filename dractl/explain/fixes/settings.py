"""Wait for another attempt, enable a feature gate, or upgrade the cluster."""

from collections.abc import Iterator

from dractl.allocation import Features
from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target
from dractl.cluster.state import at, maps_at
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import replace
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingPending
from dractl.explain.reasons.claims import ClaimNotCreated
from dractl.explain.reasons.constraints import AttributeType
from dractl.explain.reasons.limits import GateOff
from dractl.explain.reasons.running import NotPrepared
from dractl.explain.reasons.scheduling import ExtendedResourceUnmapped, UpstreamBug, WouldFitNow
from dractl.model.releases import DEPENDENCIES, GATES, NEWEST, stage
from dractl.objects.values import drop_server_fields

_REFUSAL_WORDS = ("denied", "forbidden", "is invalid")  # in errors of the claim controller


@fix_for(WouldFitNow)
def await_next_attempt(_: FixProblem, cause: WouldFitNow) -> Iterator[Candidate]:
    """Wait until the scheduler retries the pod: there is nothing to change."""
    if cause.leaving:
        title = f"wait until {', '.join(cause.leaving[:3])} on {cause.nodes[0]} end"
        effect = "the scheduler tries again then"
    elif cause.unbound:
        title = f"wait until {', '.join(cause.unbound[:3])} on {cause.nodes[0]} is bound"
        effect = "if nothing happens for ten minutes, the scheduler retries: see the pod's events"
    else:
        title = (
            "wait until the scheduler tries again, for five minutes at most, or recreate the pod"
        )
        effect = "if nothing happens: is kube-scheduler running?"
    yield _wait_candidate(title, effect)


@fix_for(BindingPending)
def await_binding(_: FixProblem, cause: BindingPending) -> Iterator[Candidate]:
    """Wait until the driver has prepared the device: there is nothing to change."""
    if cause.driver:
        title = f"wait until driver {cause.driver} sets {', '.join(cause.conditions)}"
        yield _wait_candidate(title, "if nothing happens: is the driver's controller running?")


@fix_for(ClaimNotCreated)
def await_claim_creation(_: FixProblem, cause: ClaimNotCreated) -> Iterator[Candidate]:
    """Wait until the claim controller tries again, unless the API server refused its claim."""
    if cause.webhook:
        title = f"wait until admission webhook {cause.webhook} answers"
        yield _wait_candidate(
            title,
            "the claim controller tries again with growing delays; "
            "recreate the pod to make it try at once",
        )
    elif not any(word in cause.event for word in _REFUSAL_WORDS):
        title = "wait until the claim controller tries again, or recreate the pod"
        yield _wait_candidate(title, "if nothing happens: is kube-controller-manager running?")


@fix_for(NotPrepared)
def correct_configuration(problem: FixProblem, _: NotPrepared) -> Iterator[Candidate]:
    """Correct values in a claim's configuration, and recreate the pod with a new claim."""
    from dractl.drivers import opaque

    for claim in problem.claims:
        if claim.editable is None:
            continue
        target, prefix = claim.editable.target, claim.editable.path
        value = problem.state.get(*parse_target(target)) or {}
        for index, driver, fault in opaque.find_faults_in_claim(
            maps_at(value, *prefix, "devices", "config")
        ):
            if fault.nearest is None or fault.key:
                continue
            path = (*prefix, "devices", "config", index, "opaque", "parameters", *fault.path)
            patch = Patch(target, (replace(path, fault.nearest),))
            yield Candidate(
                f"change {'.'.join(map(str, fault.path))} from {at(value, *path)} "
                f"to {fault.nearest} in the configuration of claim {claim.name} for {driver}",
                (patch,),
                FixSlot(Topic.CLAIM, repr(path)),
                Preference.CORRECT,
                consequences=(patch, Delete(problem.target)),
                corrects=True,
            )


def _wait_candidate(title: str, effect: str) -> Candidate:
    """Return a candidate without changes: the user only waits."""
    return Candidate(title, (), FixSlot(Topic.WAIT), Preference.AGAIN, effect=effect, corrects=True)


def recreate_subject(problem: FixProblem) -> tuple[Change, ...]:
    """Recreate the waiting pod; if it has a controller, only delete it."""
    deletion, pod = Delete(problem.target), problem.pod
    if pod is None or problem.owner is not None:
        return (deletion,)
    return (deletion, Create(drop_server_fields(pod)))


@fix_once_for(GateOff, AttributeType, ExtendedResourceUnmapped)
def enable_gates(problem: FixProblem) -> Iterator[Candidate]:
    """Enable the feature gates that are off."""
    features = problem.scheduler.features
    for gate in dict.fromkeys(filter(None, map(_find_gate, problem.causes))):
        if gate not in GATES or stage(gate, features.release) is None or gate in features.on:
            continue
        # From 1.35 on, a server does not start if a gate is on and its dependencies are off.
        dependencies = {name for name in DEPENDENCIES.get(gate, ()) if name not in features.on}
        gates = {gate, *dependencies}
        names = " and ".join([gate, *sorted(gates - {gate})])
        noun = "gates" if len(gates) > 1 else "gate"
        yield Candidate(
            f"enable feature {noun} {names}",
            (),
            FixSlot(Topic.GATE, gate),
            Preference.CLUSTER,
            features=Features(
                features.release, features.on | gates, (features.cel_on or features.on) | gates
            ),
            effect="in kube-apiserver, kube-scheduler and kube-controller-manager",
        )


def _find_gate(cause: Cause) -> str | None:
    """Return the gate that a cause names."""
    if isinstance(cause, ExtendedResourceUnmapped):
        return "DRAExtendedResource" if cause.gate_off else None
    return cause.gate if isinstance(cause, GateOff | AttributeType) else None


@fix_for(UpstreamBug)
def upgrade_cluster(problem: FixProblem, cause: UpstreamBug) -> Iterator[Candidate]:
    """Upgrade to the release that fixes the bug, or to the newest one."""
    for release in dict.fromkeys((cause.mended or NEWEST, NEWEST)):
        if release != problem.scheduler.features.release:
            yield Candidate(
                f"upgrade to Kubernetes {release}",
                (),
                FixSlot(Topic.RELEASE),
                Preference.CLUSTER,
                features=Features.for_release(release),
                effect="the bug is fixed there",
            )
