"""Turns inputs into a plan, with one step for each release and each driver, and with the changes of
each step.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.allocation.features import MODELLED
from dractl.cluster import ClusterState, sources
from dractl.cluster.platform_objects import PlatformObjects
from dractl.cluster.schedulers import identify
from dractl.errors import UsageError
from dractl.facts.kubernetes import kubernetes
from dractl.model import Target
from dractl.model.releases import (
    COMPARED,
    GROUPS,
    PREVIEWS,
    RELEASES,
    caveat,
    is_known,
    is_newer,
    release_of,
    stage,
)
from dractl.objects import Raw
from dractl.upgrade import known, server
from dractl.upgrade.finding import (
    Finding,
    Plan,
    Step,
    add_owners,
    merge_findings,
    steps_before_driver,
    steps_before_nodes,
    steps_before_release,
)
from dractl.upgrade.flags import RuntimeConfig
from dractl.upgrade.gates import GateSetting
from dractl.upgrade.placing import Describe, Outcomes, Placing, quote_scheduler
from dractl.upgrade.platform import find_platform
from dractl.upgrade.server import Input
from dractl.views import DEFAULT_SCHEDULER, Pod, View

if TYPE_CHECKING:
    from dractl.cluster.described_nodes import DescribedNode

_NO_DEVICES = ("what kube-scheduler does: the input has no ResourceSlice",)
_DRA = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule")


class UpgradeInput(Struct, frozen=True):
    """The objects that are compared, and the known facts about the cluster."""

    manifests: tuple[Input, ...]
    """Manifests that are created again in each release."""
    state: ClusterState
    """The stored objects of a cluster."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    """The gates that are set for all components."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The later versions of drivers, or ``PRESENT..LATER``, by driver."""
    machines: tuple["DescribedNode", ...] = ()
    """The nodes whose hardware is known."""
    settings: tuple[GateSetting, ...] = ()
    """The places where components set their gates."""
    runtime_config: RuntimeConfig = RuntimeConfig()
    """The API versions that kube-apiserver is configured to serve."""
    others: tuple[Raw, ...] = ()
    """Objects of the input that a ClusterState does not contain: admission, custom kinds, roles,
    workloads without devices.
    """
    live: PlatformObjects = PlatformObjects()
    """The roles, webhooks and admission policies of a live cluster."""


def path_of(start: str, to: str) -> tuple[str, ...]:
    """Return every release from one to another, including both.

    Raises UsageError for an unknown release, and for a downgrade.
    """
    releases = ", ".join(RELEASES)
    for text in (start, to):
        if is_newer(text) or release_of(text) not in RELEASES:
            raise UsageError(f"unknown Kubernetes release {text}", hint=f"dractl knows {releases}")
    first, last = RELEASES.index(release_of(start)), RELEASES.index(release_of(to))
    if last < first:
        raise UsageError(
            f"Kubernetes {start} to {to} is a downgrade",
            hint=f"--to is {start} or a later release; dractl knows {releases}",
        )
    return RELEASES[first : last + 1]


def plan(inputs: UpgradeInput, start: str, to: str, describe: Describe = quote_scheduler) -> Plan:
    """Return the plan of an upgrade: the changes of each step.

    ``describe`` makes the sentence about an outcome of the scheduler. Raises UsageError.
    """
    releases = path_of(start, to)
    refuse_unknown_gates(releases[-1], inputs.gates)
    gates = {release: gates_of(release, inputs.gates) for release in releases}
    targets = [Target.of(release, gates[release]) for release in releases]
    features = [_features(release, gates[release], inputs.gates) for release in releases]
    items = server.merge_inputs((*inputs.manifests, *list_stored(inputs.state)))
    namespaces = _labels(inputs)
    answers: server.Answers = {}
    manifest_state = sources.from_manifests(item.value for item in inputs.manifests)
    state = inputs.state.merge(manifest_state)
    placing = Placing(state, manifest_state, describe) if state.has("ResourceSlice") else None
    placed = _place(placing, state, features) if placing is not None else []
    settings = (*inputs.settings, GateSetting("a component", inputs.gates, "--feature-gates"))
    platform = find_platform(
        state, settings, inputs.runtime_config, inputs.others, inputs.live, releases[0]
    )
    steps = []
    for number, (before, after) in enumerate(pairwise(targets)):
        findings = [*server.differences(items, before, after, namespaces, answers)]
        findings += platform.differences(items, before, after)
        if placing is not None:
            findings += placing.differences(placed[number], placed[number + 1])
        if after is targets[-1] and (_is_patch_release(to) or state.objects("Node")):
            findings += known.faults_of_release(known.CONTROL_PLANE, to, release_of(start))
        findings += _preview_findings(after.release)
        before_it = tuple(steps_before_release(after.release, findings, state.nodes.values()))
        steps.append(Step(f"Kubernetes {after.release}", before_it, merge_findings(findings)))
    target = targets[-1]
    if len(targets) > 1 or _is_patch_release(to):
        breaks = platform.kubelet_differences(releases[0], releases[-1])
        steps += _node_steps(state, start, to, breaks)
        driver_findings = merge_findings(known.faults_of_drivers(state, inputs.versions))
        steps += [Step("Drivers", (), driver_findings)] if driver_findings else []
    drivers = _upgrade_drivers(
        inputs, state, target, placing, placed[-1] if placed else [], features[-1]
    )
    steps += drivers.steps
    endings = merge_findings(server.endings(inputs.manifests, target.release))
    steps += [Step("Manifests", (), endings)] if endings and len(targets) > 1 else []
    notes = [note] if (note := caveat(releases[-1])) else []
    notes += [
        *_note_unmodelled_releases(releases),
        *platform.list_unknown(releases),
        *drivers.notes,
    ]
    undecided = _NO_DEVICES if placing is None else tuple(placing.undecided)
    schedulers = tuple(_list_other_schedulers(state))
    gates_seen = tuple(_note_assumed_gates(items, targets[0], namespaces, answers))
    unseen = (*_list_unread(state), *platform.list_unseen(releases))
    whole = inputs.state.merge(manifest_state)
    steps = [_add_owners(step, whole, drivers.upgraded) for step in steps]
    # Facts that the input shows come before its gaps, since a report shows only the first few.
    not_compared = (*undecided, *schedulers, *gates_seen, *notes, *unseen)
    kinds = tuple(sorted(set(whole.kinds)))
    return Plan(releases[0], releases[-1], tuple(steps), drivers.upgraded, not_compared, kinds)


def _features(release: str, gates: Mapping[str, bool], settings: Mapping[str, bool]) -> Features:
    """Return the scheduler of a release; for a release whose allocator is not modelled, the
    scheduler of the first modelled release.
    """
    if release in MODELLED:
        return Features.for_release(release, gates)
    return Features.for_release(MODELLED[0], gates_of(MODELLED[0], settings))


def _place(placing: Placing, state: ClusterState, features: Sequence[Features]) -> list[Outcomes]:
    """Return the outcomes of each release's scheduler; equal schedulers run only once."""
    outcomes = {each: placing.outcomes(state, each) for each in dict.fromkeys(features)}
    return [outcomes[each] for each in features]


def _note_unmodelled_releases(releases: Sequence[str]) -> Iterator[str]:
    names = [release for release in releases if release not in MODELLED]
    if names:
        yield (
            f"what kube-scheduler of {_join_names(names)} does: dractl uses that of {MODELLED[0]}, "
            "the first that it knows"
        )
    uncompared = [release for release in names if release not in COMPARED]
    if uncompared:
        yield (
            f"the API servers of {_join_names(uncompared)}: their rules were read in the "
            "source code, and not compared with a server"
        )


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


class _DriverSteps(Struct, frozen=True):
    """The steps at which drivers are upgraded."""

    steps: tuple[Step, ...]
    upgraded: Mapping[str, tuple[str, str]]
    """The present and the later version, by driver."""
    notes: tuple[str, ...]
    """Questions that the input does not answer."""


def _upgrade_drivers(
    inputs: UpgradeInput,
    state: ClusterState,
    target: Target,
    placing: Placing | None,
    outcomes: Outcomes,
    features: Features,
) -> _DriverSteps:
    """Upgrade the drivers one after the other, after the releases; each step begins with the result
    of the step before it.
    """
    if not inputs.versions:
        return _DriverSteps((), {}, ())
    from dractl.upgrade.driver_step import (  # few upgrades are of drivers
        find_change,
        place_readers,
        read_without_slices,
        upgrade_slices,
    )

    steps, upgraded, notes = [], {}, list[str]()
    for name, text in inputs.versions.items():
        change = find_change(state, name, text)
        if change is None:
            notes.append(f"{name}: the input has no slice of it")
            continue
        upgraded[name] = " or ".join(change.start), change.to
        slices = upgrade_slices(state, change, inputs.machines, target, features)
        findings = [*slices.findings]
        notes += slices.notes
        if placing is not None:
            later = placing.outcomes(slices.state, features)
            findings += place_readers(placing, change, slices, (state, outcomes), later, features)
            outcomes = later
        else:
            findings += read_without_slices(state, change, slices, features)
        state = slices.state
        findings += known.faults_of_driver(name, change.start, text.rpartition("..")[2])
        steps.append(
            Step(
                f"{name} {change.to}",
                tuple(steps_before_driver(name, findings)),
                merge_findings(findings),
            )
        )
    return _DriverSteps(tuple(steps), upgraded, tuple(notes))


def _add_owners(step: Step, state: ClusterState, upgraded: Mapping[str, Any]) -> Step:
    """Return a step whose findings have the owners of their objects."""
    driver = _driver_of(step, upgraded)
    return replace(step, findings=add_owners(step.findings, state, driver))


def _driver_of(step: Step, upgraded: Mapping[str, Any]) -> str:
    name = step.step.partition(" ")[0]
    return name if name in upgraded else ""


def _is_patch_release(text: str) -> bool:
    return text.count(".") > 1


def _node_steps(
    state: ClusterState, start: str, to: str, breaks: Iterable[Finding]
) -> Iterator[Step]:
    """Yield the step of the nodes, which follow the control plane.

    ``breaks`` are the findings about kubelets that do not start.
    """
    nodes = state.nodes.values()
    findings = [
        *breaks,
        *known.faults_of_nodes(state),
        *(
            known.faults_of_release(
                known.NODES, to, release_of(start), [node.kubelet_version for node in nodes]
            )
            if nodes or _is_patch_release(to)
            else ()
        ),
    ]
    before = tuple(steps_before_nodes(release_of(to), findings, nodes))
    if findings or before:
        yield Step(f"Nodes {release_of(to)}", before, merge_findings(findings))


def _preview_findings(release: str) -> Iterator[Finding]:
    """Yield the announced changes of a release that is not out, which do not affect dractl's
    verdicts.
    """
    for row in kubernetes().coming if release in PREVIEWS else ():
        if row.release == release:
            code = "landed" if row.landed else "planned"
            yield Finding(
                code, "info", row.what, source=row.source, date=row.read or kubernetes().read
            )


def _note_assumed_gates(
    items: Sequence[Input], target: Target, namespaces: server.Labels, answers: server.Answers
) -> Iterator[str]:
    """Yield the gates that a cluster must have, or must have had, turned on although they are
    assumed to be off.
    """
    dropped = (
        server.ask_once(item, target, namespaces, answers).dropped for item in items if item.stored
    )
    fields = sorted({re.sub(r"\[\d+\]", "[]", path) for paths in dropped for path in paths})
    if fields:
        yield (
            f"feature gates: stored objects have {', '.join(fields)}, which {target.release} "
            "drops with the gates that are assumed; --feature-gates names the cluster's"
        )


def _list_other_schedulers(state: ClusterState) -> Iterator[str]:
    """Yield the pods of other schedulers, for which there are no outcomes."""
    others = {pod.scheduler_name for pod in state.pods.values() if pod.claim_references}
    for name in sorted(others - {DEFAULT_SCHEDULER}):
        scheduler = identify(state, name)
        if scheduler.is_kube_scheduler:
            yield f"what the profile of kube-scheduler {name} changes"
        else:
            title = f" ({scheduler.title})" if scheduler.title != name else ""
            yield f"pods of the scheduler {name}{title}"


def _list_unread(state: ClusterState) -> Iterator[str]:
    """Yield the kinds that were not seen, not rendered, or that the user is not allowed to read."""
    for unread in state.list_unread() if state.kinds else state.coverage.unrendered:
        if unread.why == "forbidden":
            yield f"{unread.resource}: you are not allowed to read them"
        elif unread.why == "not-rendered":
            yield f"{unread.resource}: {unread.reason}"
        elif unread.seen == "unseen":
            yield f"{unread.resource}: not in the input; add `{unread.add}`"


def refuse_unknown_gates(release: str, gates: Mapping[str, bool]) -> None:
    """Raise UsageError for a gate that no release has had, unless the last ``release`` is a
    preview, which may have such a gate.
    """
    for gate, on in gates.items():
        if not is_known(gate) and gate not in kubernetes().retired:
            Target.of(release, {gate: on})


def gates_of(release: str, gates: Mapping[str, bool]) -> dict[str, bool]:
    """Return the gates that a release has and has not locked."""
    return {gate: on for gate, on in gates.items() if _switchable(gate, release, on)}


def _switchable(gate: str, release: str, on: bool) -> bool:
    if gate in GROUPS:
        return True
    gate_stage = stage(gate, release)
    return gate_stage is not None and not (gate_stage.locked and gate_stage.default != on)


def list_stored(state: ClusterState) -> Iterator[Input]:
    """Yield the objects of a cluster that an API server judges: objects of DRA, workloads, and pods
    that no workload makes.
    """
    for kind in state.kinds:
        for value in state.objects(kind).values():
            if kind in _DRA or (_makes_pods(value) and not View(value).owners):
                yield server.Input(value, stored=True)


def _makes_pods(value: Mapping[str, Any]) -> bool:
    return value.get("kind") != "Pod" or Pod(value).is_pending


def _labels(inputs: UpgradeInput) -> dict[str, Mapping[str, str]]:
    manifests = (item.value for item in inputs.manifests if item.value.get("kind") == "Namespace")
    namespaces = map(View, (*inputs.state.objects("Namespace").values(), *manifests))
    return {namespace.name: namespace.labels for namespace in namespaces}
